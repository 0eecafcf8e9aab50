// The systemd units match ./deft: the same users and keys, no more privileges.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);
const FOLDER = new URL('../../deploy/systemd/', import.meta.url);
const KEYS = {
  fcgi: ['DEFT_DATABASE_URL', 'DEFT_SECRET_KEY', 'DEFT_RUNTIME_API_KEY'],
  gateway: ['DEFT_DATABASE_URL', 'DEFT_HASH_KEY', 'DEFT_RUNTIME_API_KEY'],
  worker: ['DEFT_DATABASE_URL', 'DEFT_SECRET_KEY', 'DEFT_RUNTIME_API_KEY'],
  runtime: ['DEFT_DATABASE_URL', 'DEFT_SECRET_KEY', 'DEFT_RUNTIME_API_KEY'],
  resolver: [],
};
const USERS = { fcgi: 'deft-fcgi', gateway: 'deft-gateway', worker: 'deft-worker', resolver: 'deft-resolver', runtime: 'root' };

/** The directives of a unit: name to values, in their order. */
const unit = (name) => directivesOf(`deft-${name}.service`);

async function directivesOf(file) {
  const directives = new Map();
  for (const line of (await readFile(new URL(file, FOLDER), 'utf8')).split('\n')) {
    const [, key, value] = /^([A-Za-z]+)=(.*)$/.exec(line) ?? [];
    if (key) directives.set(key, [...(directives.get(key) ?? []), value]);
  }
  return directives;
}

for (const [name, user] of Object.entries(USERS)) {
  test(`the unit of ${name} sets its user and its keys, and prevents new privileges`, async () => {
    const directives = await unit(name);
    const one = (key) => directives.get(key)?.join(' ');
    assert.equal(one('User'), user);
    assert.equal(one('NoNewPrivileges'), 'yes');
    assert.equal(one('ProtectSystem'), 'strict');
    assert.equal(one('LimitCORE'), '0');
    assert.ok(directives.get('SystemCallFilter').length > 0);
    const environment = directives.get('Environment') ?? [];
    const keys = environment.map((line) => /^(\w+)_FILE=%d\/(\w+)$/.exec(line)).filter(Boolean);
    assert.deepEqual(keys.map(([, key]) => key), KEYS[name]);
    assert.deepEqual(directives.get('LoadCredential') ?? [], keys.map(([, , file]) => `${file}:/etc/deft/keys/${file}`));
    // The environment contains no key, and each setting is one of the program's.
    const { stdout: known } = await run(`${process.env.DEFT_BIN}/deft-${name}`, ['--help-config']);
    for (const line of environment) {
      const setting = line.split('=')[0];
      assert.match(known, new RegExp(`\\b${setting}\\b`), setting);
      assert.ok(!KEYS[name].includes(setting), setting);
    }
    if (user !== 'root') assert.equal(one('CapabilityBoundingSet'), '');
  });
}

test('sandboxes get deft\'s seccomp profile, unless the administrator names another', async () => {
  const { stdout: known } = await run(`${process.env.DEFT_BIN}/deft-runtime`, ['--help-config']);
  assert.match(known, /DEFT_SANDBOX_SECCOMP/);
  const lines = (await readFile(new URL('deft-runtime.service', FOLDER), 'utf8')).split('\n');
  const profile = lines.indexOf('Environment=DEFT_SANDBOX_SECCOMP=/usr/share/deft/seccomp.json');
  assert.ok(profile >= 0, 'the profile is set');
  // systemd: settings of EnvironmentFile= override those of Environment=.
  assert.ok(lines.includes('EnvironmentFile=/etc/deft/runtime.env'));
});

const DROP_INS = ['nginx.service', 'postgresql@.service'];

for (const name of DROP_INS) {
  test(`the drop-in of ${name} prevents new privileges and unneeded system calls`, async () => {
    const directives = await directivesOf(`${name}.d/deft.conf`);
    const worker = await unit('worker');
    for (const key of ['NoNewPrivileges', 'ProtectSystem', 'LimitCORE', 'RestrictNamespaces', 'RestrictAddressFamilies', 'LockPersonality', 'ProtectHome'])
      assert.deepEqual(directives.get(key), worker.get(key), key);
    const refused = (all) => all.get('SystemCallFilter').join(' ').replace('~', '').split(' ').filter((one) => one !== '@privileged');
    for (const call of refused(worker)) assert.ok(refused(directives).includes(call), call);
    assert.doesNotMatch(directives.get('CapabilityBoundingSet').join(' '), /SYS_ADMIN|SYS_PTRACE|SYS_MODULE|NET_ADMIN|RAW|~/);
  });
}

test('systemd accepts the drop-ins', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'deft-units-'));
  t.after(() => rm(folder, { recursive: true }));
  for (const name of DROP_INS) {
    await mkdir(join(folder, `${name}.d`));
    await writeFile(join(folder, name), '[Service]\nExecStart=/bin/true\n');
    await copyFile(new URL(`${name}.d/deft.conf`, FOLDER), join(folder, `${name}.d/deft.conf`));
  }
  const { stderr } = await run('systemd-analyze', ['verify', '--man=no', join(folder, 'nginx.service'), join(folder, 'postgresql@.service')]).catch((error) => {
    if (error.code === 'ENOENT') t.skip('there is no systemd-analyze');
    return error;
  });
  assert.deepEqual((stderr ?? '').split('\n').filter((line) => line.includes('deft.conf')), []);
});

test('systemd accepts the units', async (t) => {
  const files = Object.keys(USERS).map((name) => new URL(`deft-${name}.service`, FOLDER).pathname);
  const { stderr } = await run('systemd-analyze', ['verify', '--man=no', ...files]).catch((error) => {
    if (error.code === 'ENOENT') t.skip('there is no systemd-analyze');
    return error;
  });
  // The programs are not installed in the units' paths, which is the only allowed complaint.
  const ours = (stderr ?? '').split('\n').filter((line) => line.includes('deft-') && !/is not executable|No such file or directory/.test(line));
  assert.deepEqual(ours, []);
});
