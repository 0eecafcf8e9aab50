// The schema by itself: every change deploys, verifies, reverts and deploys again.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);
const conninfo = process.env.DEFT_SQITCH_DATABASE; // host=… user=… dbname=…
const { host, user, dbname } = Object.fromEntries(conninfo.split(' ').map((pair) => pair.split('=')));
const target = `db:pg://${user}@/${dbname}?host=${host}`;
const sqitch = (...args) => run('sqitch', args, { cwd: new URL('../../sql', import.meta.url).pathname, env: { ...process.env, TZ: 'UTC', SQITCH_FULLNAME: 'test', SQITCH_EMAIL: 'test@test.invalid' } });
const tables = async () => (await run('psql', ['-qAtX', '-d', conninfo, '-c', "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') ORDER BY 1"])).stdout.trim().split('\n').filter(Boolean);

test('every change deploys, verifies, reverts, and deploys again', async () => {
  await sqitch('deploy', '--verify', target);
  const deployed = await tables();
  for (const name of ['users', 'api_keys', 'conversations', 'events', 'runtimes', 'jobs']) assert.ok(deployed.includes(name), name);
  await sqitch('verify', target);
  await sqitch('revert', '-y', target);
  assert.deepEqual(await tables(), []);
  await sqitch('deploy', '--verify', target);
  assert.deepEqual(await tables(), deployed);
});

test('a second result of an action, a second event of a number are refused by the schema', async () => {
  const insert = (seq, id, resultOf) => run('psql', ['-qAtX', '-v', 'ON_ERROR_STOP=1', '-d', conninfo, '-c',
    `INSERT INTO events (conversation_id, seq, id, kind, source, timestamp, result_of, body)
     VALUES ('00000000-0000-4000-8000-000000000001', ${seq}, '${id}', 'ObservationEvent', 'environment', 'x', ${resultOf}, '{}')`]);
  const action = "'00000000-0000-4000-8000-0000000000aa'";
  await insert(1, '00000000-0000-4000-8000-000000000011', action);
  await assert.rejects(insert(1, '00000000-0000-4000-8000-000000000012', 'NULL'), /_pkey/);
  await assert.rejects(insert(2, '00000000-0000-4000-8000-000000000011', 'NULL'), /_id_key/);
  await assert.rejects(insert(2, '00000000-0000-4000-8000-000000000013', action), /result_of/);
  await insert(2, '00000000-0000-4000-8000-000000000014', 'NULL');
});
