// Databases of the old plan (sql/old) are migrated to sql/sqitch.plan, from any of its steps: same schema as a new
// database, no row lost.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { assertCarried, create, expected, inserted, kept, migrate, name, psql, rows, schema, sql, sqitch, steps } from './migration.mjs';

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

test('every step of both plans is installed', async () => {
  const installed = (await readFile(`${sql}local.mk`, 'utf8')).split(/\s+/);
  const now = (await steps('sqitch.plan')).flatMap((step) => ['deploy', 'revert', 'verify'].map((part) => `sql/${part}/${step}.sql`));
  const old = (await steps('old/sqitch.plan')).map((step) => `sql/old/deploy/${step}.sql`);
  for (const path of [...now, ...old, 'sql/migrate.sh', 'sql/sqitch.plan', 'sql/sqitch.conf', 'sql/old/sqitch.plan', 'sql/old/sqitch.conf']) assert.ok(installed.includes(path), path);
});
