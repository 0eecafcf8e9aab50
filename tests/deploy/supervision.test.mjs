// ./deft on a running instance: up changes nothing, status reports, and dead processes are restarted.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { chmod, chown, mkdir, mkdtemp, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { request, waitUntil } from './http.mjs';

const run = promisify(execFile);
const { DEFT, DEFT_APP_URL, DEFT_KEYS, DEFT_RUN, DEFT_SERVICES } = process.env;
const DEADLINE_MS = 120_000;
const PROCESSES = ['nginx', 'gateway', 'fcgi', 'worker', 'runtime', 'resolver', 'postgres'];

const pidOf = async (name) => Number(await readFile(`${DEFT_SERVICES}/${name}/supervise/pid`, 'utf8'));
const pids = async () => Object.fromEntries(await Promise.all(PROCESSES.map(async (name) => [name, await pidOf(name)])));

const isWell = () => run(DEFT, ['status']).then(() => true, () => false);
/** Resolves once each process answers. */
const wellAgain = () => waitUntil(isWell, DEADLINE_MS);

test('a second ./deft up changes nothing', async () => {
  await wellAgain();
  const before = await pids();
  const { stdout } = await run(DEFT, ['up']);
  assert.deepEqual(await pids(), before, stdout);
});

test('up restarts the processes that read a changed catalogue, and no others', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'deft-overrides-'));
  const up = () => run(DEFT, ['up'], { env: { ...process.env, DEFT_CATALOGUE_OVERRIDES: folder } });
  t.after(async () => {
    await run(DEFT, ['up']);
    await rm(folder, { recursive: true });
  });
  await chmod(folder, 0o755);
  await mkdir(join(folder, 'prompt'), { mode: 0o755 });
  await up();
  const before = await pids();
  await writeFile(join(folder, 'prompt/role.txt'), 'You help.\n');
  const { stdout } = await up();
  const after = await pids();
  assert.deepEqual(PROCESSES.filter((name) => after[name] !== before[name]), ['gateway', 'fcgi', 'worker'], stdout);
});

test('status names every process, and fails when one is down', async () => {
  const { stdout } = await run(DEFT, ['status']);
  for (const name of PROCESSES) assert.match(stdout, new RegExp(`^${name} +running`, 'm'));
  await run('sv', ['-w', '60', 'down', `${DEFT_SERVICES}/gateway`]);
  try {
    await assert.rejects(run(DEFT, ['status']), (error) => error.code === 1 && /gateway +DOWN/.test(error.stdout));
  } finally {
    await run('sv', ['-w', '60', 'up', `${DEFT_SERVICES}/gateway`]);
    await wellAgain();
  }
});

test('status detects another server on deft\'s port', async (t) => {
  const { port } = new URL(process.env.DEFT_AGENT_URL);
  await run('sv', ['-w', '60', 'down', `${DEFT_SERVICES}/nginx`]);
  const stranger = createServer((_, response) => response.end('{}')).listen(Number(port), '127.0.0.1');
  t.after(async () => {
    stranger.close();
    stranger.closeAllConnections();
    await wellAgain();
  });
  await once(stranger, 'listening');
  await run('sv', ['up', `${DEFT_SERVICES}/nginx`]);
  await assert.rejects(run(DEFT, ['status']), (error) => error.code === 1 && !/agent API +ok/.test(error.stdout));
  await assert.rejects(run(DEFT, ['up']), (error) => error.code === 1 && error.stderr.includes(`port ${port} is used by another program`));
});

for (const name of ['nginx', 'postgres', 'resolver']) {
  test(`${name} comes back after kill -9`, async () => {
    const old = await pidOf(name);
    process.kill(old, 'SIGKILL');
    await waitUntil(async () => {
      const now = await pidOf(name);
      return now > 0 && now !== old && (await isWell());
    }, DEADLINE_MS);
    assert.equal((await request(DEFT_APP_URL, 'GET', '/')).status, 200);
  });
}

// Like after a crash of the host: the pid file contains a number that is another process's by now.
test('postgres starts even if its old pid belongs to another process of the same user', async (t) => {
  const service = `${DEFT_SERVICES}/postgres`;
  const files = [`${dirname(DEFT_SERVICES)}/pg/data/postmaster.pid`, `${DEFT_RUN}/pg/.s.PGSQL.5432.lock`];
  const locks = await Promise.all(files.map(async (file) => ({ file, text: await readFile(file, 'utf8'), ...await stat(file) })));
  await run('sv', ['-w', '60', 'down', service]);
  t.after(async () => {
    await run('sv', ['up', service]);
    await wellAgain();
  });
  const stranger = await pidOf('postgres/log');
  for (const { file, text, uid, gid } of locks) {
    await writeFile(file, text.replace(/^\d+/, stranger), { mode: 0o600 });
    await chown(file, uid, gid);
  }
  await run('sv', ['up', service]);
  await wellAgain();
});

test('secrets are readable by root only, and on no command line', async () => {
  for (const file of ['secret_key', 'runtime_api_key']) {
    const { mode } = await stat(`${DEFT_KEYS}/${file}`);
    assert.equal(mode & 0o077, 0, file);
  }
  const secret = (await readFile(`${DEFT_KEYS}/secret_key`, 'utf8')).trim();
  const { stdout } = await run('ps', ['-eo', 'args', 'ww']);
  assert.ok(!stdout.includes(secret));
});

test('logs and keys are not readable by all users of the host', async () => {
  for (const folder of ['log', 'keys', 'pg/data', 'services/fcgi/env']) {
    const { mode } = await stat(`${dirname(DEFT_SERVICES)}/${folder}`);
    assert.equal(mode & 0o007, 0, folder);
  }
});

test('all programs but the runtime run as unprivileged users', async () => {
  for (const name of ['fcgi', 'gateway', 'worker', 'resolver', 'postgres']) {
    const status = await readFile(`/proc/${await pidOf(name)}/status`, 'utf8');
    assert.doesNotMatch(status, /^Uid:\t0\t/m, name);
  }
  assert.match(await readlink(`/proc/${await pidOf('runtime')}/exe`), /deft-runtime$/);
});

test('key and link print what they created', async () => {
  assert.match((await run(DEFT, ['key', 'of a test'])).stdout, /^sk-deft-[A-Za-z0-9_-]{43}\n$/);
  assert.match((await run(DEFT, ['link'])).stdout, /^http:\/\/localhost:\d+\/sign-in#[A-Za-z0-9_-]+\n$/);
});

const statusWith = async (key) => (await fetch(`${process.env.DEFT_AGENT_URL}/api/settings`, { headers: { 'x-session-api-key': key } })).status;
const keyLines = async (name) => (await run(DEFT, ['key', '--list'])).stdout.split('\n').filter((one) => one.endsWith(`  ${name}`));

test('keys are listed, and revoked by name', async () => {
  const name = `of a test ${randomUUID()}`;
  const key = (await run(DEFT, ['key', name])).stdout.trim();
  assert.equal(await statusWith(key), 200);
  assert.match((await keyLines(name))[0], /^[0-9a-f]{8}  \d{4}-\d\d-\d\d \d\d:\d\d  valid /);
  assert.equal((await run(DEFT, ['key', '--revoke', name])).stdout, '');
  assert.equal(await statusWith(key), 401);
  assert.match((await keyLines(name))[0], /^[0-9a-f]{8}  \d{4}-\d\d-\d\d \d\d:\d\d  revoked \d{4}-\d\d-\d\d \d\d:\d\d  /);
  await assert.rejects(run(DEFT, ['key', '--revoke', name]), ({ code, stderr }) => code === 1 && stderr.includes(`there is no valid key with the id or name '${name}'`));
});

test('keys with the same name are distinguished by their ids, and revoked one by one', async () => {
  const name = `of a test ${randomUUID()}`;
  const keys = [];
  for (let i = 0; i < 3; i++) keys.push((await run(DEFT, ['key', name])).stdout.trim());
  const ids = (await keyLines(name)).map((line) => line.split('  ')[0]);
  assert.equal(new Set(ids).size, 3);
  await assert.rejects(run(DEFT, ['key', '--revoke', name]), ({ code, stderr }) =>
    code === 1 && stderr.includes(`several keys are named '${name}'`) && ids.every((id) => stderr.includes(id)));
  await run(DEFT, ['key', '--revoke', ids[1]]);
  const lines = await keyLines(name);
  assert.deepEqual(lines.map((line) => line.includes('  valid ')), [true, false, true]);
  assert.deepEqual((await Promise.all(keys.map(statusWith))).sort(), [200, 200, 401]);
  // The id of a revoked key is no longer valid.
  await assert.rejects(run(DEFT, ['key', '--revoke', ids[1]]), ({ stderr }) => stderr.includes('there is no valid key'));
  await run(DEFT, ['key', '--revoke', ids[0]]);
  await run(DEFT, ['key', '--revoke', name]); // one is left, so the name is enough
  assert.deepEqual(await Promise.all(keys.map(statusWith)), [401, 401, 401]);
});

test('every command has a help text with its settings, which needs no running instance', async () => {
  const elsewhere = { ...process.env, DEFT_VAR: '/nonexistent/var' };
  for (const command of ['up', 'down', 'status', 'logs', 'key', 'link', 'test', 'bench', 'doctor']) {
    const { stdout } = await run(DEFT, [command, '--help'], { env: elsewhere });
    assert.match(stdout, new RegExp(`^Usage: ./deft ${command}\\b`), command);
    assert.match(stdout, /^Settings/m, command);
  }
  assert.match((await run(DEFT, ['--version'], { env: elsewhere })).stdout, /^deft \d+\.\d+\.\d+( \([0-9a-f]+\))?\n$/);
});

test('an IPv6 address to listen on is accepted with and without brackets', async () => {
  const script = 'DEFT_HOME=$1; . "$1/deploy/lib/say.sh"; . "$1/deploy/lib/settings.sh"; DEFT_TRIAL=yes; settings_load; echo "$DEFT_LISTEN"';
  for (const [given, meant] of [['::1', '[::1]'], ['[::1]', '[::1]'], ['127.0.0.1', '127.0.0.1']]) {
    const { stdout } = await run('sh', ['-euc', script, 'sh', dirname(DEFT)], { env: { ...process.env, DEFT_LISTEN: given } });
    assert.equal(stdout, `${meant}\n`);
  }
});

const REFUSED_ARGUMENTS = {
  "unknown command 'fly'": ['fly'],
  "unknown process 'nobody'": ['logs', 'nobody'],
  'status takes no arguments': ['status', 'now'],
  'doctor takes no arguments': ['doctor', 'now'],
  "up: unknown option '--fast'": ['up', '--fast'],
  'up takes no arguments': ['up', 'now'],
  "down: unknown option '--hard'": ['down', '--hard'],
  "logs: unknown option '--all'": ['logs', '--all'],
  'logs takes at most one process': ['logs', 'fcgi', 'worker'],
  "link: unknown option '--new'": ['link', '--new'],
  "unknown option '--verbose'": ['--verbose'],
  "key: unknown arguments '-x'": ['key', '-x'],
  'key --revoke requires an id or a name': ['key', '--revoke'],
  "bench: unknown option '--jsn'": ['bench', '--jsn'],
  "test: unknown option '--every'": ['test', '--every'],
};

const REFUSED_SETTINGS = {
  'DEFT_APP_PORT=70000 is not a port number': { DEFT_APP_PORT: '70000' },
  'DEFT_VAR=/tmp/a b contains a space': { DEFT_VAR: '/tmp/a b' },
  'DEFT_LISTEN=300.1.1.1 is not a valid address': { DEFT_LISTEN: '300.1.1.1' },
  'DEFT_LISTEN=[127.0.0.1] is not a valid address': { DEFT_LISTEN: '[127.0.0.1]' },
  'DEFT_LISTEN=[::1 is not a valid address': { DEFT_LISTEN: '[::1' },
  'DEFT_INSTANCE=a b is not a valid prefix': { DEFT_INSTANCE: 'a b' },
};

const refusedWith = (words) => ({ code, stderr }) => code === 1 && stderr.includes(`deft: ${words}`);

test('unknown commands, arguments and invalid settings are refused with a message', async () => {
  for (const [words, given] of Object.entries(REFUSED_ARGUMENTS))
    await assert.rejects(run(DEFT, given), refusedWith(words), words);
  for (const [words, settings] of Object.entries(REFUSED_SETTINGS))
    await assert.rejects(run(DEFT, ['status'], { env: { ...process.env, ...settings } }), refusedWith(words), words);
});
