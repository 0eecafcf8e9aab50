// Rows that a migration of the old plan refuses, and those that it corrects.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CONVERSATION, assertCarried, create, expected, migrate, name, psql, rows, schema, sql, sqitch } from './migration.mjs';

// A database each, so they run side by side.
describe('rows of old databases', { concurrency: 3 }, () => {
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

  test('runs that wait for a sub-agent wait on, and can be taken back', async () => {
    await create('waits');
    await sqitch('.', 'waits', 'deploy', '--to', 'spending');
    const child = '00000000-0000-4000-8000-000000000009';
    const row = (n, columns) => `('00000000-0000-4000-8000-00000000000${n}', (SELECT id FROM users), 'local', 's', '{}', ${columns})`;
    await psql(name('waits'), '-c', `INSERT INTO users (email) VALUES ('w@test.invalid');
      INSERT INTO conversations (id, user_id, runtime_kind, runtime_session, spec, waits_for, wanted_at, lease_owner, lease_expires_at) VALUES
        ${row(1, `'${child}', now(), NULL, NULL`)}, ${row(2, `'${child}', now(), gen_random_uuid(), now()`)}, ${row(3, `'${child}', NULL, NULL, NULL`)}, ${row(4, 'NULL, now(), NULL, NULL')}`);
    const states = (columns) => psql(name('waits'), '-c', `SELECT right(id::text, 1), ${columns} FROM conversations c ORDER BY id`);
    const moved = 'is_suspended, (SELECT string_agg(child_id::text, \',\') FROM task_waits WHERE conversation_id = c.id)';
    const expectedStates = `1|t|${child}\n2|f|${child}\n3|f|\n4|f|`;
    await migrate('waits');
    assert.equal(await states(moved), expectedStates);
    await psql(name('waits'), '-f', `${sql}deploy/task_waits.sql`);
    assert.equal(await states(moved), expectedStates, 'the script may run twice');
    assert.equal(await states('waits_for'), `1|${child}\n2|${child}\n3|${child}\n4|`, 'processes of the release before use it until they are restarted');
    assert.deepEqual(await schema('waits'), expected);
    await sqitch('.', 'waits', 'revert', '-y', '--to', 'spending');
    assert.equal(await states('waits_for'), `1|${child}\n2|${child}\n3|\n4|`);
    await migrate('waits');
    assert.equal(await states(moved), `1|t|${child}\n2|f|${child}\n3|f|\n4|f|`);
  });
});
