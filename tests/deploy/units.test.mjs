// The units for systemd say what ./deft does: the same users, the same keys, no more rights.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
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
async function unit(name) {
  const directives = new Map();
  for (const line of (await readFile(new URL(`deft-${name}.service`, FOLDER), 'utf8')).split('\n')) {
    const [, key, value] = /^([A-Za-z]+)=(.*)$/.exec(line) ?? [];
    if (key) directives.set(key, [...(directives.get(key) ?? []), value]);
  }
  return directives;
}

for (const [name, user] of Object.entries(USERS)) {
  test(`the unit of ${name} gives it its user, its keys, and no way to more`, async () => {
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
    // No key stands in the environment itself, and each setting is one of the program's.
    const { stdout: known } = await run(`${process.env.DEFT_BIN}/deft-${name}`, ['--help-config']);
    for (const line of environment) {
      const setting = line.split('=')[0];
      assert.match(known, new RegExp(`\\b${setting}\\b`), setting);
      assert.ok(!KEYS[name].includes(setting), setting);
    }
    if (user !== 'root') assert.equal(one('CapabilityBoundingSet'), '');
  });
}

test('systemd reads the units', async (t) => {
  const files = Object.keys(USERS).map((name) => new URL(`deft-${name}.service`, FOLDER).pathname);
  const { stderr } = await run('systemd-analyze', ['verify', '--man=no', ...files]).catch((error) => {
    if (error.code === 'ENOENT') t.skip('there is no systemd-analyze');
    return error;
  });
  // The programs are not installed where the units say, and that is all there is to complain of.
  const ours = (stderr ?? '').split('\n').filter((line) => line.includes('deft-') && !/is not executable|No such file or directory/.test(line));
  assert.deepEqual(ours, []);
});
