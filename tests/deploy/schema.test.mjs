// The schema by itself: every change deploys, verifies, reverts and deploys again.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);
const home = process.env.DEFT_DATABASE_URL; // host=… user=… dbname=…: the cluster in which a database is made
const { host, user } = Object.fromEntries(home.split(' ').map((pair) => pair.split('=')));
const dbname = `deft_schema_${process.pid}`;
const psql = (database, sql) => run('psql', ['-qAtX', '-v', 'ON_ERROR_STOP=1', '-h', host, '-U', user, '-d', database, '-c', sql]);
const sqitch = (...args) =>
  run('sqitch', [...args, `db:pg://${user}@/${dbname}?host=${host}`], {
    cwd: new URL('../../sql', import.meta.url).pathname,
    env: { ...process.env, TZ: 'UTC', SQITCH_FULLNAME: 'test', SQITCH_EMAIL: 'test@test.invalid' },
  });
const tables = async () =>
  (await psql(dbname, "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') ORDER BY 1")).stdout.trim().split('\n').filter(Boolean);

before(() => psql('postgres', `CREATE DATABASE ${dbname} TEMPLATE template0`));
after(() => psql('postgres', `DROP DATABASE ${dbname} WITH (FORCE)`));

test('every change deploys, verifies, reverts, and deploys again', async () => {
  await sqitch('deploy', '--verify');
  const deployed = await tables();
  for (const name of ['users', 'api_keys', 'conversations', 'events', 'runtimes', 'jobs', 'documents']) assert.ok(deployed.includes(name), name);
  await sqitch('verify');
  await sqitch('revert', '-y');
  assert.deepEqual(await tables(), []);
  await sqitch('deploy', '--verify');
  assert.deepEqual(await tables(), deployed);
});

test('a second result of an action, a second event of a number are refused by the schema', async () => {
  const insert = (seq, id, resultOf) =>
    psql(dbname, `INSERT INTO events (conversation_id, seq, id, kind, source, timestamp, result_of, body)
      VALUES ('00000000-0000-4000-8000-000000000001', ${seq}, '${id}', 'ObservationEvent', 'environment', 'x', ${resultOf}, '{}')`);
  const action = "'00000000-0000-4000-8000-0000000000aa'";
  await insert(1, '00000000-0000-4000-8000-000000000011', action);
  await assert.rejects(insert(1, '00000000-0000-4000-8000-000000000012', 'NULL'), /_pkey/);
  await assert.rejects(insert(2, '00000000-0000-4000-8000-000000000011', 'NULL'), /_id_key/);
  await assert.rejects(insert(2, '00000000-0000-4000-8000-000000000013', action), /result_of/);
  await insert(2, '00000000-0000-4000-8000-000000000014', 'NULL');
});

test('every change of the plan is installed', async () => {
  const folder = new URL('../../sql/', import.meta.url);
  const plan = (await readFile(new URL('sqitch.plan', folder), 'utf8')).split('\n').filter((line) => /^\w/.test(line)).map((line) => line.split(' ')[0]);
  const installed = await readFile(new URL('local.mk', folder), 'utf8');
  const missing = plan.flatMap((name) => ['deploy', 'revert', 'verify'].map((part) => `sql/${part}/${name}.sql`)).filter((path) => !installed.includes(`${path} `) && !installed.includes(`${path}\n`));
  assert.deepEqual(missing, []);
});

test('events that were written with one time are set apart by the upgrade, and no others are touched', async () => {
  await sqitch('revert', '-y', '--to', 'event_times^');
  const conversation = (n) => `00000000-0000-4000-8000-00000000010${n}`;
  const time = (second, us) => `2026-01-15T10:30:${second}.${String(us).padStart(6, '0')}`;
  // What was stored, and what is read afterwards: a batch; one that meets what follows it; a clock that went back; none.
  const logs = [
    [[time('00', 5), time('00', 5), time('00', 5), time('01', 0)], [time('00', 5), time('00', 6), time('00', 7), time('01', 0)]],
    [[time('59', 999999), time('59', 999999), '2026-01-15T10:31:00.000000'], [time('59', 999999), '2026-01-15T10:31:00.000000', '2026-01-15T10:31:00.000001']],
    [[time('30', 1), time('10', 0), time('30', 2), time('31', 0)], [time('30', 1), time('30', 2), time('30', 3), time('31', 0)]],
    [[time('00', 1), time('00', 2)], [time('00', 1), time('00', 2)]],
  ];
  const body = (id, stamp) => `{"id":"${id}","timestamp":"${stamp}","source":"agent","text":"\\"timestamp\\":\\"${stamp}\\" Größe","kind":"MessageEvent"}`;
  for (const [n, [stored]] of logs.entries())
    for (const [i, stamp] of stored.entries()) {
      const id = `00000000-0000-4000-8000-0000000${n}020${i}`;
      await psql(dbname, `INSERT INTO events (conversation_id, seq, id, kind, source, timestamp, body)
        VALUES ('${conversation(n)}', ${i + 1}, '${id}', 'MessageEvent', 'agent', '${stamp}', '${body(id, stamp)}')`);
    }
  await sqitch('deploy', '--verify');
  for (const [n, [stored, expected]] of logs.entries()) {
    const rows = (await psql(dbname, `SELECT timestamp, body FROM events WHERE conversation_id = '${conversation(n)}' ORDER BY seq`)).stdout.trim().split('\n').map((line) => line.split('|'));
    assert.deepEqual(rows.map(([stamp]) => stamp), expected);
    assert.deepEqual(rows.map(([, text]) => text), expected.map((stamp, i) => body(`00000000-0000-4000-8000-0000000${n}020${i}`, stored[i]).replace(stored[i], stamp)), 'the head alone');
  }
});

test('a list of keys says when there are none', async () => {
  const env = { ...process.env, DEFT_DATABASE_URL: `host=${host} user=${user} dbname=${dbname}`, DEFT_SECRET_KEY: '00'.repeat(32), DEFT_FCGI_SOCKET: '/nonexistent' };
  const { stdout } = await run(`${process.env.DEFT_BIN}/deft-fcgi`, ['--list-keys'], { env });
  assert.equal(stdout, 'There are no keys yet: ./deft key NAME makes one.\n');
});
