// Databases of the old plan (sql/old) are migrated to sql/sqitch.plan, from any of its steps, and
// also after a kill during the migration: same schema as a new database, no row lost.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';

const run = promisify(execFile);
const { host, user } = Object.fromEntries(process.env.DEFT_DATABASE_URL.split(' ').map((pair) => pair.split('=')));
const sql = new URL('../../sql/', import.meta.url).pathname;
const env = { ...process.env, TZ: 'UTC', SQITCH_FULLNAME: 'test', SQITCH_EMAIL: 'test@test.invalid' };
const name = (part) => `deft_migrate_${process.pid}_${part}`;
const target = (part) => `db:pg://${user}@/${name(part)}?host=${host}`;
const psql = async (database, ...args) => (await run('psql', ['-qAtX', '-v', 'ON_ERROR_STOP=1', '-h', host, '-U', user, '-d', database, ...args])).stdout.trim();
const made = [];
const create = async (part, template = 'template0') => {
  await psql('postgres', '-c', `CREATE DATABASE ${name(part)} TEMPLATE ${template}`);
  made.push(name(part));
};
const sqitch = (folder, part, ...args) => run('sqitch', [...args, target(part)], { cwd: `${sql}${folder}`, env });
const migrate = (part) => run('sh', [`${sql}migrate.sh`, target(part)], { env });
const schema = async (part) =>
  (await run('pg_dump', ['-s', '-N', 'sqitch', '-h', host, '-U', user, name(part)])).stdout
    .split('\n')
    .filter((line) => line && !/^(--|SET |SELECT pg_catalog|\\(un)?restrict)/.test(line));
const steps = async (path) => (await readFile(`${sql}${path}`, 'utf8')).split('\n').filter((line) => /^\w/.test(line)).map((line) => line.split(' ')[0]);

const USER = '00000000-0000-4000-8000-000000000001';
const CONVERSATION = '00000000-0000-4000-8000-000000000002';
const rows = `
  INSERT INTO users (id, email) VALUES ('${USER}', 'a@test.invalid');
  INSERT INTO conversations (id, user_id, runtime_kind, runtime_session, spec, execution_status) VALUES ('${CONVERSATION}', '${USER}', 'local', 's', '{"a":1}', 'paused');
  INSERT INTO events (conversation_id, seq, id, kind, source, timestamp, body) SELECT '${CONVERSATION}', n, gen_random_uuid(), 'MessageEvent', 'user', 'x' || n, '{"n":' || n || '}' FROM generate_series(1, 50) n;
  INSERT INTO jobs (kind, conversation_id, payload) VALUES ('title', '${CONVERSATION}', '{"b":2}');
  INSERT INTO runtimes (id, session_id, owner_id, image, spec, session_key, session_key_hash) VALUES ('r1', 's', '${USER}', 'i', '{"c":3}', 'k', 'h');`;
const kept = (part) =>
  psql(name(part), '-c', `SELECT u.email, c.spec, c.execution_status, j.payload, r.spec, r.proves,
    (SELECT string_agg(body, '' ORDER BY seq) FROM events WHERE conversation_id = c.id)
    FROM users u JOIN conversations c ON c.user_id = u.id JOIN jobs j ON j.conversation_id = c.id JOIN runtimes r ON r.owner_id = u.id`);

let expected; // the schema of a new database
let inserted; // the rows in it

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
});

const assertCarried = async (part) => {
  assert.deepEqual(await schema(part), expected);
  assert.equal(await kept(part), inserted);
  assert.match((await sqitch('.', part, 'verify')).stdout, /success/i);
  assert.match((await migrate(part)).stdout, /up-to-date/);
};

test('a new database does not contain the old plan', async () => {
  assert.equal(await psql(name('new'), '-c', 'SELECT DISTINCT project FROM sqitch.changes'), 'deft_schema');
});

test('a database at the head of the old plan is migrated', async () => {
  await create('whole', name('head'));
  await migrate('whole');
  await assertCarried('whole');
});

test('a database at an older step gets the remaining old steps first', async () => {
  await create('older');
  await sqitch('old', 'older', 'deploy', '--to', 'warm_sandboxes');
  await psql(name('older'), '-c', rows);
  await migrate('older');
  assert.deepEqual(await schema('older'), expected);
  assert.equal(await kept('older'), inserted.replace('|t|', '|f|'), 'its sandbox cannot prove itself');
});

test('a migration killed after the last old step, before it was recorded, is continued', async () => {
  await create('unrecorded', name('head'));
  await psql(name('unrecorded'), '-f', `${sql}old/deploy/state_lists.sql`);
  await migrate('unrecorded');
  await assertCarried('unrecorded');
});

test('a migration killed between the two plans is continued', async () => {
  await create('between', name('head'));
  await sqitch('old', 'between', 'deploy');
  await migrate('between');
  await assertCarried('between');
});

test('a migration killed when some steps were recorded is continued', async () => {
  await create('part', name('head'));
  const child = spawn('sh', [`${sql}migrate.sh`, target('part')], { env, detached: true });
  await new Promise((resolve) => {
    let text = '';
    child.stdout.on('data', (data) => {
      text += data;
      if (/\+ conversations/.test(text)) resolve();
    });
    child.on('exit', resolve);
  });
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch (error) {
    assert.equal(error.code, 'ESRCH', 'it was too fast');
  }
  await migrate('part');
  await assertCarried('part');
});

test('a migration killed when some steps were recorded, and none was in progress, is continued', async () => {
  await create('half', name('head'));
  await sqitch('old', 'half', 'deploy');
  await sqitch('.', 'half', 'deploy', '--log-only', '--to', 'conversations');
  await migrate('half');
  await assertCarried('half');
});

// sqitch records a step after its script is committed: a kill in between makes the next run repeat the script.
for (const plan of ['', 'old/'])
  test(`every script of the plan in sql/${plan} may run twice`, async () => {
    const part = plan ? 'twice_old' : 'twice';
    await create(part);
    await psql(name(part), ...(await steps(`${plan}sqitch.plan`)).flatMap((step) => ['-f', `${sql}${plan}deploy/${step}.sql`, '-f', `${sql}${plan}deploy/${step}.sql`]));
    assert.deepEqual(await schema(part), expected);
  });

test('a first migration killed after a step, before it was recorded, is continued', async () => {
  await create('first');
  await sqitch('.', 'first', 'deploy', '--to', 'users');
  await psql(name('first'), '-f', `${sql}deploy/documents.sql`);
  await migrate('first');
  assert.deepEqual(await schema('first'), expected);
});

test('a migration waits for a step that a killed one left in progress', async () => {
  await create('orphan', name('head'));
  const holder = spawn('psql', ['-qAtX', '-h', host, '-U', user, '-d', name('orphan'), '-c', 'BEGIN; LOCK TABLE jobs', '-c', 'SELECT pg_sleep(2)', '-c', 'COMMIT'], { stdio: 'ignore' });
  const waits = (n) => psql(name('orphan'), '-c', `SELECT count(*) = ${n} FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE d.datname = current_database() AND NOT l.granted`);
  const child = spawn('sh', [`${sql}migrate.sh`, target('orphan')], { env, stdio: 'ignore' });
  while ((await waits(1)) !== 't') assert.equal(child.exitCode, null);
  const sqitches = (await readFile(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8')).trim().split(' ');
  child.kill('SIGKILL');
  for (const pid of sqitches) process.kill(Number(pid), 'SIGKILL');
  await migrate('orphan');
  await new Promise((resolve) => (holder.exitCode === null ? holder.on('exit', resolve) : resolve()));
  await assertCarried('orphan');
});

test('a row with an unknown state stops the migration, which names it, and nothing is changed', async () => {
  await create('unknown', name('head'));
  await psql(name('unknown'), '-c', "UPDATE conversations SET execution_status = 'dreaming'; UPDATE jobs SET kind = 'chore'");
  const was = await schema('unknown');
  await assert.rejects(migrate('unknown'), ({ stderr }) => /dreaming/.test(stderr) && stderr.includes(CONVERSATION) && /chore/.test(stderr));
  assert.deepEqual(await schema('unknown'), was);
  await psql(name('unknown'), '-c', "UPDATE conversations SET execution_status = 'paused'; UPDATE jobs SET kind = 'title'");
  await migrate('unknown');
  await assertCarried('unknown');
});

test('a step that fails leaves the steps before it', async () => {
  await create('failing');
  await sqitch('old', 'failing', 'deploy', '--to', 'sandbox_proofs');
  await psql(name('failing'), '-c', `${rows} UPDATE jobs SET kind = 'chore'`);
  await assert.rejects(migrate('failing'), ({ stdout, stderr }) => !/Revert|repair|  - /.test(stdout + stderr));
  assert.equal(await psql(name('failing'), '-c', "SELECT change FROM sqitch.changes ORDER BY committed_at DESC LIMIT 1"), 'secret_read_lists');
  await create('failing_new');
  await psql(name('failing_new'), '-c', 'CREATE VIEW jobs AS SELECT 1');
  await assert.rejects(migrate('failing_new'));
  assert.equal(await psql(name('failing_new'), '-c', "SELECT string_agg(change, ' ' ORDER BY committed_at) FROM sqitch.changes"), 'users documents conversations events');
});

test('every step of both plans is installed', async () => {
  const installed = (await readFile(`${sql}local.mk`, 'utf8')).split(/\s+/);
  const now = (await steps('sqitch.plan')).flatMap((step) => ['deploy', 'revert', 'verify'].map((part) => `sql/${part}/${step}.sql`));
  const old = (await steps('old/sqitch.plan')).map((step) => `sql/old/deploy/${step}.sql`);
  for (const path of [...now, ...old, 'sql/migrate.sh', 'sql/sqitch.plan', 'sql/sqitch.conf', 'sql/old/sqitch.plan', 'sql/old/sqitch.conf']) assert.ok(installed.includes(path), path);
});

test('events with equal times are corrected by an old step, and no others are changed', async () => {
  await create('times');
  await sqitch('old', 'times', 'deploy', '--to', 'event_times^');
  const conversation = (n) => `00000000-0000-4000-8000-00000000010${n}`;
  const time = (second, us) => `2026-01-15T10:30:${second}.${String(us).padStart(6, '0')}`;
  // Stored times, and those after the step: a batch; a batch that reaches the next event; a clock that went back; no change.
  const logs = [
    [[time('00', 5), time('00', 5), time('00', 5), time('01', 0)], [time('00', 5), time('00', 6), time('00', 7), time('01', 0)]],
    [[time('59', 999999), time('59', 999999), '2026-01-15T10:31:00.000000'], [time('59', 999999), '2026-01-15T10:31:00.000000', '2026-01-15T10:31:00.000001']],
    [[time('30', 1), time('10', 0), time('30', 2), time('31', 0)], [time('30', 1), time('30', 2), time('30', 3), time('31', 0)]],
    [[time('00', 1), time('00', 2)], [time('00', 1), time('00', 2)]],
  ];
  const body = (id, stamp) => `{"id":"${id}","timestamp":"${stamp}","source":"agent","text":"\\"timestamp\\":\\"${stamp}\\" Größe","kind":"MessageEvent"}`;
  const id = (n, i) => `00000000-0000-4000-8000-0000000${n}020${i}`;
  for (const [n, [stored]] of logs.entries())
    for (const [i, stamp] of stored.entries())
      await psql(name('times'), '-c', `INSERT INTO events (conversation_id, seq, id, kind, source, timestamp, body)
        VALUES ('${conversation(n)}', ${i + 1}, '${id(n, i)}', 'MessageEvent', 'agent', '${stamp}', '${body(id(n, i), stamp)}')`);
  await migrate('times');
  for (const [n, [stored, wanted]] of logs.entries()) {
    const lines = (await psql(name('times'), '-c', `SELECT timestamp, body FROM events WHERE conversation_id = '${conversation(n)}' ORDER BY seq`)).split('\n').map((line) => line.split('|'));
    assert.deepEqual(lines.map(([stamp]) => stamp), wanted);
    assert.deepEqual(lines.map(([, text]) => text), wanted.map((stamp, i) => body(id(n, i), stored[i]).replace(stored[i], stamp)), 'the head alone');
  }
});
