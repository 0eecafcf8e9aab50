// Users on the host: one for each process, and sockets that only their clients reach.
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, mkdtemp, readFile, readdir, readlink, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { uidOfUser } from './accounts.mjs';
import { waitUntil } from './http.mjs';

const run = promisify(execFile);
const { DEFT, DEFT_RUN, DEFT_SERVICES } = process.env;
const VAR = dirname(DEFT_SERVICES);
const HOME = dirname(DEFT);

const USERS = { fcgi: 'deft-fcgi', gateway: 'deft-gateway', worker: 'deft-worker', resolver: 'deft-resolver', postgres: 'deft-postgres', runtime: 'root' };
const pidOf = async (name) => Number(await readFile(`${DEFT_SERVICES}/${name}/supervise/pid`, 'utf8'));
const childrenOf = async (pid) => (await run('ps', ['-o', 'pid=', '--ppid', String(pid)]).catch((error) => error)).stdout.trim().split(/\s+/).filter(Boolean).map(Number);
const valueIn = (status, name) => new RegExp(`^${name}:[ \\t]*(.*)$`, 'm').exec(status)[1];
const field = async (pid, name) => valueIn(await readFile(`/proc/${pid}/status`, 'utf8'), name);
const uidsOf = async (pid) => new Set((await field(pid, 'Uid')).split(/\s+/).map(Number));

/** Each process of the instance with the user that it should have: the supervised one, or the workers of nginx. */
async function processes() {
  const all = await Promise.all(Object.entries(USERS).map(async ([name, user]) => ({ name, user, pid: await pidOf(name) })));
  let workers = [];
  await waitUntil(async () => {
    workers = await childrenOf(await pidOf('nginx'));
    return workers.length >= 2;
  }, 60_000);
  return [...all, ...workers.map((pid) => ({ name: 'nginx', user: 'deft-nginx', pid }))];
}

test('each process runs as a user of its own', async () => {
  const uids = new Map();
  for (const { name, user, pid } of await processes()) {
    assert.deepEqual(await uidsOf(pid), new Set([uidOfUser(user)]), name);
    uids.set(name, uidOfUser(user));
  }
  assert.equal(new Set(uids.values()).size, uids.size);
  for (const name of Object.keys(USERS)) {
    const [logger] = await childrenOf(await pidOf(`${name}/log`));
    assert.deepEqual(await uidsOf(logger), new Set([uidOfUser('deft-log')]), `the logger of ${name}`);
  }
});

// A user with the groups that it has as a process; the first one is its own.
const ACCOUNTS = {
  fcgi: ['deft-fcgi', 'deft-fcgi', 'deft', 'deft-runtime'],
  gateway: ['deft-gateway', 'deft-gateway', 'deft', 'deft-runtime'],
  worker: ['deft-worker', 'deft-worker', 'deft', 'deft-runtime'],
  nginx: ['deft-nginx', 'deft-nginx'],
  resolver: ['deft-resolver', 'deft-resolver'],
  log: ['deft-log', 'deft-log'],
  stranger: ['nobody', 'nogroup'],
};
const as = ([user, group, ...more], ...command) =>
  run('setpriv', ['--reuid', user, '--regid', group, '--groups', [group, ...more].join(), '--', ...command]);

/** Whether a program of that account may connect; any error other than a missing permission fails the test. */
async function canConnect(account, socket) {
  const script = 'use Errno; use IO::Socket::UNIX; IO::Socket::UNIX->new(Peer => shift) or exit($!{EACCES} ? 3 : 4)';
  const code = await as(account, 'perl', '-e', script, socket).then(() => 0, (error) => error.code);
  assert.ok(code === 0 || code === 3, `${account[0]} at ${socket}: ${code}`);
  return code === 0;
}

const gidOf = (group) => Number(execFileSync('getent', ['group', group], { encoding: 'utf8' }).split(':')[2]);

test('the processes have the listed groups, and no capability', async () => {
  for (const name of ['fcgi', 'gateway', 'worker', 'resolver']) {
    const pid = await pidOf(name);
    const gids = [(await field(pid, 'Gid')).split(/\s+/)[0], ...(await field(pid, 'Groups')).trim().split(/\s+/).filter(Boolean)].map(Number);
    assert.deepEqual(new Set(gids), new Set(ACCOUNTS[name].slice(1).map(gidOf)), name);
  }
  for (const { name, pid } of (await processes()).filter((one) => one.name !== 'runtime')) {
    assert.equal(await field(pid, 'NoNewPrivs'), '1', name);
    assert.equal(BigInt(`0x${await field(pid, 'CapEff')}`), 0n, name);
    if (name !== 'nginx') assert.equal(BigInt(`0x${await field(pid, 'CapBnd')}`), 0n, name);
  }
  assert.equal(await field(await pidOf('runtime'), 'NoNewPrivs'), '1');
});

test('deft\'s processes filter system calls, and can be neither traced nor dumped', async () => {
  for (const name of ['fcgi', 'gateway', 'worker', 'runtime']) {
    const pid = await pidOf(name);
    assert.equal(await field(pid, 'Seccomp'), '2', name);
    assert.match(await readFile(`/proc/${pid}/limits`, 'utf8'), /^Max core file size +0 +0 /m, name);
    // The /proc files of a process that is not dumpable belong to root.
    assert.equal((await stat(`/proc/${pid}/environ`)).uid, 0, name);
    const logged = (await readFile(`${VAR}/log/${name}/current`, 'utf8')).split('\n').filter((line) => line.includes('"confinement.unsupported"'));
    for (const line of logged) assert.match(JSON.parse(line).meaning, /^the kernel cannot \w+/, line);
  }
});

/** All processes of the instance except loggers and supervisors, each with its service. */
async function everyProcess() {
  const all = [];
  const add = async (name, pid) => {
    all.push({ name, pid });
    for (const child of await childrenOf(pid)) await add(name, child);
  };
  for (const name of [...Object.keys(USERS), 'nginx']) await add(name, await pidOf(name));
  return all;
}

const capabilities = (...numbers) => numbers.reduce((mask, number) => mask | 1n << BigInt(number), 0n);
const CAPABILITIES = { // chown, dac_override, kill, setgid, setuid, net_bind_service: of nginx's master
  'nginx master': capabilities(0, 1, 5, 6, 7, 10),
  // net_admin, net_raw, dac_override: packet filter rules
  runtime: capabilities(12, 13, 1),
};

test('every process filters system calls, cannot gain privileges, and has only the capabilities that it needs', async () => {
  await processes();
  const seen = new Set();
  for (const { name, pid } of await everyProcess()) {
    const files = ['cmdline', 'status', 'limits'].map((file) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => ''));
    const [words, status, limits] = await Promise.all(files);
    const title = words.replaceAll('\0', ' ').trim();
    if (!title || !status || !limits) continue; // it ended, as a server process of PostgreSQL may
    const what = `${name}: ${title}`;
    seen.add(title.replace(/[:/].*/, ''));
    assert.equal(valueIn(status, 'Seccomp'), '2', what);
    assert.equal(valueIn(status, 'NoNewPrivs'), '1', what);
    assert.match(limits, /^Max core file size +0 +0 /m, what);
    const may = CAPABILITIES[title.startsWith('nginx: master') ? 'nginx master' : name] ?? 0n;
    assert.equal(BigInt(`0x${valueIn(status, 'CapEff')}`), may, what);
    if (!title.startsWith('nginx: worker')) assert.equal(BigInt(`0x${valueIn(status, 'CapBnd')}`), may, what);
  }
  assert.ok(seen.has('nginx') && seen.has('postgres'), [...seen].join());
});

test('PostgreSQL starts no program, and writes only to its data folders', async (t) => {
  const { DEFT_DATABASE_URL: url } = process.env;
  if (!/landlock/.test(await readFile('/sys/kernel/security/lsm', 'utf8').catch(() => 'landlock'))) t.skip('the kernel has no Landlock');
  const sql = (statement) => run('psql', ['-X', '-q', '-A', '-t', '-d', url, '-c', statement]);
  await assert.rejects(sql("COPY (SELECT 1) TO PROGRAM 'cat > /dev/null'"), /program "cat > \/dev\/null" failed|could not execute command/);
  await assert.rejects(sql("COPY (SELECT 1) TO '/tmp/deft-users-test'"), /Permission denied/);
  assert.equal((await sql("SELECT count(*) FROM generate_series(1, 200000) AS n, pg_sleep(0)")).stdout.trim(), '200000');
  await sql('CREATE TEMPORARY TABLE t AS SELECT n FROM generate_series(1, 300000) AS n; SET max_parallel_workers_per_gather = 4; SET parallel_setup_cost = 0; SET min_parallel_table_scan_size = 0; SELECT sum(n) FROM t');
  await sql('VACUUM');
  await sql("SET debug_parallel_query = on; SELECT 1").catch(() => sql("SET force_parallel_mode = on; SELECT 1"));
});

test('dnsmasq has the resolver\'s filter, and only its settings', async () => {
  const pid = await pidOf('resolver');
  assert.match(await readlink(`/proc/${pid}/exe`), /\/dnsmasq$/);
  assert.equal(await field(pid, 'Seccomp'), '2');
  assert.match(await readFile(`/proc/${pid}/limits`, 'utf8'), /^Max core file size +0 +0 /m);
  for (const setting of await readdir(`${DEFT_SERVICES}/resolver/env`)) assert.match(setting, /^(DEFT_INSTANCE|DEFT_RESOLVER_\w+|LOG_LEVEL)$/);
});

const CLIENTS = {
  'fcgi/fcgi.sock': ['fcgi', 'nginx'],
  'fcgi/probe.sock': ['fcgi', 'nginx'],
  'fcgi/sandbox.sock': ['fcgi', 'nginx'],
  'fcgi/stream.sock': ['fcgi', 'nginx'],
  'gateway/gateway.sock': ['gateway', 'nginx'],
  'gateway/preview.sock': ['gateway', 'nginx'],
  'runtime/runtime.sock': ['nginx'],
  'private/runtime-http.sock': ['fcgi', 'gateway', 'worker'],
  'pg/.s.PGSQL.5432': ['fcgi', 'gateway', 'worker'],
};

test('a socket is reachable by its clients only', async () => {
  for (const [socket, clients] of Object.entries(CLIENTS)) {
    for (const [name, account] of Object.entries(ACCOUNTS))
      assert.equal(await canConnect(account, `${DEFT_RUN}/${socket}`), clients.includes(name), `${name} at ${socket}`);
  }
});

test('keys, logs, data and settings of processes are not readable by other users', async () => {
  for (const path of ['keys/secret_key', 'log/fcgi/current', 'pg/data/PG_VERSION', 'services/fcgi/env/DEFT_DATABASE_URL_FILE']) {
    await stat(`${VAR}/${path}`);
    for (const who of ['stranger', 'nginx', 'gateway']) await assert.rejects(as(ACCOUNTS[who], 'cat', `${VAR}/${path}`), /Permission denied/, `${who}: ${path}`);
  }
  const { stdout } = await as(['nobody', 'nogroup', 'deft-log'], 'head', '-c', '1', `${VAR}/log/fcgi/current`);
  assert.equal(stdout, '{');
});

const KEYS = {
  fcgi: ['DEFT_DATABASE_URL', 'DEFT_RUNTIME_API_KEY', 'DEFT_SECRET_KEY'],
  gateway: ['DEFT_DATABASE_URL', 'DEFT_HASH_KEY', 'DEFT_RUNTIME_API_KEY'],
  worker: ['DEFT_DATABASE_URL', 'DEFT_RUNTIME_API_KEY', 'DEFT_SECRET_KEY'],
  runtime: ['DEFT_DATABASE_URL', 'DEFT_RUNTIME_API_KEY', 'DEFT_SECRET_KEY'],
  resolver: [],
  nginx: [],
  postgres: [],
};

test('a process has the keys that it needs, in files that no other process can read', async () => {
  const accounts = { ...ACCOUNTS, postgres: ['deft-postgres', 'deft-postgres'] };
  for (const [name, keys] of Object.entries(KEYS)) {
    const folder = `${DEFT_SERVICES}/${name}/keys`;
    assert.deepEqual((await readdir(folder)).filter((key) => !key.startsWith('LLM_')).sort(), keys, name);
    for (const key of keys) {
      for (const [other, account] of Object.entries(accounts))
        assert.equal(await as(account, 'cat', `${folder}/${key}`).then(() => true, () => false), other === name, `${other} reads ${key} of ${name}`);
    }
  }
});

test('no key is in the environment of a process', async () => {
  const secrets = [];
  for (const name of Object.keys(KEYS)) for (const key of KEYS[name]) secrets.push((await readFile(`${DEFT_SERVICES}/${name}/keys/${key}`, 'utf8')).trim());
  assert.equal(secrets.length, 12);
  for (const { name, pid } of await processes()) {
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8');
    for (const secret of secrets) assert.ok(!environment.includes(secret), name);
  }
  // A file with an invalid key stops the gateway with a message.
  await assert.rejects(run(`${process.env.DEFT_BIN}/deft-gateway`, [], { env: { DEFT_DATABASE_URL: 'host=/nonexistent', DEFT_GATEWAY_SOCKET: '/nonexistent/s', DEFT_HASH_KEY_FILE: '/nonexistent/key' } }),
    ({ stderr }) => /DEFT_HASH_KEY_FILE: open \/nonexistent\/key: No such file/.test(stderr));
});

test('the password of a database does not stay in the environment', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'deft-users-'));
  await chmod(folder, 0o755);
  const own = { DEFT_GATEWAY_SOCKET: join(folder, 'gateway.sock'), DEFT_HASH_KEY: '00'.repeat(32), DEFT_DATABASE_URL: `host=${folder} user=deft password=tell-nobody dbname=deft`, DEFT_CATALOGUE_DIR: join(process.env.DEFT_BIN, '../share/deft/catalogue') };
  const gateway = spawn(`${process.env.DEFT_BIN}/deft-gateway`, [], { env: own, stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(gateway, 'exit');
  t.after(async () => {
    gateway.kill('SIGTERM');
    await ended;
    await rm(folder, { recursive: true });
  });
  let said = '';
  for await (const chunk of gateway.stderr.iterator({ destroyOnReturn: false })) {
    said += chunk;
    if (said.includes('gateway.started')) break;
  }
  const environment = await readFile(`/proc/${gateway.pid}/environ`, 'utf8');
  assert.match(environment, /DEFT_GATEWAY_SOCKET/);
  assert.doesNotMatch(environment, /tell-nobody/);
  assert.doesNotMatch(said, /tell-nobody/);
});

test('status and doctor report processes that run as the wrong user', async (t) => {
  const script = `DEFT_HOME=$1; for part in say help settings users services status; do . "$1/deploy/lib/$part.sh"; done; DEFT_SERVICES=$2; users_load
    service_has_its_user fcgi && echo right; user_of $$`;
  const folder = await mkdtemp(join(tmpdir(), 'deft-users-'));
  t.after(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, 'fcgi/supervise'), { recursive: true });
  const says = async (pid) => {
    await writeFile(join(folder, 'fcgi/supervise/pid'), `${pid}\n`);
    return (await run('sh', ['-c', script, 'sh', HOME, folder])).stdout;
  };
  assert.equal(await says(await pidOf('fcgi')), 'right\nroot\n');
  assert.equal(await says(await pidOf('worker')), 'root\n');
  const { stdout } = await run(DEFT, ['status']);
  for (const [name, user] of Object.entries(USERS)) assert.match(stdout, new RegExp(`^${name} +running .* ${user}$`, 'm'));
});

test('doctor reports keys, logs and data that others can read', async (t) => {
  const script = `DEFT_HOME=$1; for part in say help settings users services doctor; do . "$1/deploy/lib/$part.sh"; done; users_load; shift; "$@"`;
  const holds = (check) => run('sh', ['-euc', script, 'sh', HOME, check]).then(() => true, () => false);
  const cases = [
    ['doctor_keys_closed', `${VAR}/keys/secret_key`, 0o644],
    ['doctor_process_keys_closed', `${DEFT_SERVICES}/gateway/keys/DEFT_HASH_KEY`, 0o444],
    ['doctor_process_keys_closed', `${DEFT_SERVICES}/fcgi/keys`, 0o755],
    ['doctor_data_closed', `${VAR}/log`, 0o755],
    ['doctor_data_closed', `${VAR}/pg`, 0o711],
  ];
  for (const [check, path, mode] of cases) {
    const { mode: closed } = await stat(path);
    t.after(() => chmod(path, closed & 0o7777));
    assert.ok(await holds(check), `${check}: all is closed`);
    await chmod(path, mode);
    assert.ok(!(await holds(check)), `${check}: ${path} is open`);
    await chmod(path, closed & 0o7777);
  }
});

test('the state directory is where the users of the processes can reach it', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'deft-home-'));
  t.after(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, 'deft'));
  const script = 'DEFT_HOME=$1; . "$2/deploy/lib/say.sh"; . "$2/deploy/lib/settings.sh"; settings_default_var';
  const place = async () => (await run('sh', ['-euc', script, 'sh', join(folder, 'deft'), HOME])).stdout.trim();
  await chown(join(folder, 'deft'), uidOfUser('nobody'), -1); // a person's checkout
  await chmod(folder, 0o755);
  assert.equal(await place(), join(folder, 'deft/var'));
  await chmod(folder, 0o700);
  assert.match(await place(), /^\/var\/lib\/deft\/deft-[0-9a-f]{8}$/);
});
