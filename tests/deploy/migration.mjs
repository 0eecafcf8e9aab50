// Databases for tests of migrations: new ones, and those of the old plan (sql/old).
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { after, before } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);
export const { host, user } = Object.fromEntries(process.env.DEFT_DATABASE_URL.split(' ').map((pair) => pair.split('=')));
export const sql = new URL('../../sql/', import.meta.url).pathname;
export const env = { ...process.env, TZ: 'UTC', SQITCH_FULLNAME: 'test', SQITCH_EMAIL: 'test@test.invalid' };
export const name = (part) => `deft_migrate_${process.pid}_${part}`;
export const target = (part) => `db:pg://${user}@/${name(part)}?host=${host}`;
export const psql = async (database, ...args) => (await run('psql', ['-qAtX', '-v', 'ON_ERROR_STOP=1', '-h', host, '-U', user, '-d', database, ...args])).stdout.trim();
const scratch = await mkdtemp(`${tmpdir()}/deft-migrate.`);
/** The plans that a database is migrated by: a copy for each, since migrations by one folder wait for each other. */
export const folder = (part) => `${scratch}/${part}/`;
const made = [];
export const create = async (part, template = 'template0') => {
  await cp(sql, folder(part), { recursive: true });
  await psql('postgres', '-c', `CREATE DATABASE ${name(part)} TEMPLATE ${template}`);
  made.push(name(part));
};
export const sqitch = (plan, part, ...args) => run('sqitch', [...args, target(part)], { cwd: folder(part) + plan, env });
export const migrate = (part) => run('sh', [`${folder(part)}migrate.sh`, target(part)], { env });
export const schema = async (part) =>
  (await run('pg_dump', ['-s', '-N', 'sqitch', '-h', host, '-U', user, name(part)])).stdout
    .split('\n')
    .filter((line) => line && !/^(--|SET |SELECT pg_catalog|\\(un)?restrict)/.test(line));

export const steps = async (path) => (await readFile(`${sql}${path}`, 'utf8')).split('\n').filter((line) => /^\w/.test(line)).map((line) => line.split(' ')[0]);

const USER = '00000000-0000-4000-8000-000000000001';
export const CONVERSATION = '00000000-0000-4000-8000-000000000002';
export const rows = `
  INSERT INTO users (id, email) VALUES ('${USER}', 'a@test.invalid');
  INSERT INTO conversations (id, user_id, runtime_kind, runtime_session, spec, execution_status) VALUES ('${CONVERSATION}', '${USER}', 'local', 's', '{"a":1}', 'paused');
  INSERT INTO events (conversation_id, seq, id, kind, source, timestamp, body) SELECT '${CONVERSATION}', n, gen_random_uuid(), 'MessageEvent', 'user', 'x' || n, '{"n":' || n || '}' FROM generate_series(1, 50) n;
  INSERT INTO jobs (kind, conversation_id, payload) VALUES ('title', '${CONVERSATION}', '{"b":2}');
  INSERT INTO runtimes (id, session_id, owner_id, image, spec, session_key, session_key_hash) VALUES ('r1', 's', '${USER}', 'i', '{"c":3}', 'k', 'h');`;
export const kept = (part) =>
  psql(name(part), '-c', `SELECT u.email, c.spec, c.execution_status, j.payload, r.spec, r.proves,
    (SELECT string_agg(body, '' ORDER BY seq) FROM events WHERE conversation_id = c.id)
    FROM users u JOIN conversations c ON c.user_id = u.id JOIN jobs j ON j.conversation_id = c.id JOIN runtimes r ON r.owner_id = u.id`);

export let expected; // the schema of a new database
export let inserted; // the rows in it

before(async () => {
  await create('new');
  await migrate('new');
  expected = await schema('new');
  await create('head');
  await sqitch('old', 'head', 'deploy', '--to', 'secret_read_lists');
  await psql(name('head'), '-c', rows);
  inserted = await kept('head');
});
after(async () => {
  for (const database of made) await psql('postgres', '-c', `DROP DATABASE ${database} WITH (FORCE)`);
  await rm(scratch, { recursive: true });
});

export const assertCarried = async (part) => {
  assert.deepEqual(await schema(part), expected);
  assert.equal(await kept(part), inserted);
  assert.match((await sqitch('.', part, 'verify')).stdout, /success/i);
  assert.match((await migrate(part)).stdout, /up-to-date/);
};
