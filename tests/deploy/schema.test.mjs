// The schema by itself: every change deploys, verifies, reverts and deploys again.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
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

test('states outside their lists are refused', async () => {
  const conversation = (status) =>
    psql(dbname, `WITH u AS (INSERT INTO users (email) VALUES ('${status}@test.invalid') RETURNING id)
      INSERT INTO conversations (id, user_id, runtime_kind, runtime_session, spec, execution_status) SELECT gen_random_uuid(), id, 'local', 's', '{}', '${status}' FROM u`);
  for (const status of ['idle', 'running', 'paused', 'waiting_for_confirmation', 'finished', 'error', 'stuck']) await conversation(status);
  await assert.rejects(conversation('dreaming'), /conversations_execution_status_check/);
  const job = (kind) => psql(dbname, `INSERT INTO jobs (kind) VALUES ('${kind}')`);
  for (const kind of ['title', 'ask', 'condense', 'goal', 'worktree']) await job(kind);
  await assert.rejects(job('chore'), /jobs_kind_check/);
});

test('a list of keys says if there are none', async () => {
  const env = { ...process.env, DEFT_DATABASE_URL: `host=${host} user=${user} dbname=${dbname}`, DEFT_SECRET_KEY: '00'.repeat(32), DEFT_FCGI_SOCKET: '/nonexistent' };
  const { stdout } = await run(`${process.env.DEFT_BIN}/deft-fcgi`, ['--list-keys'], { env });
  assert.equal(stdout, 'There are no keys yet: ./deft key NAME makes one.\n');
});
