// What killed migrations can leave: the next one continues from there.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assertCarried, create, expected, migrate, name, psql, schema, sql, sqitch } from './migration.mjs';

// A database each, so they run side by side.
describe('what killed migrations leave', { concurrency: 3 }, () => {
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

  test('a migration killed when some steps were recorded, and none was in progress, is continued', async () => {
    await create('half', name('head'));
    await sqitch('old', 'half', 'deploy');
    await sqitch('.', 'half', 'deploy', '--log-only', '--to', 'conversations');
    await migrate('half');
    await assertCarried('half');
  });

  test('a first migration killed after a step, before it was recorded, is continued', async () => {
    await create('first');
    await sqitch('.', 'first', 'deploy', '--to', 'users');
    await psql(name('first'), '-f', `${sql}deploy/documents.sql`);
    await migrate('first');
    assert.deepEqual(await schema('first'), expected);
  });
});
