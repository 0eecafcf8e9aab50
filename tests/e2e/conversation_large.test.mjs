// A conversation of 100,000 events: paged from both ends, counted, searched in the middle, and copied.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { Conversation } from './support/conversation.mjs';
import { execute, query } from './support/database.mjs';

const N_EVENTS = 100_000;

let fake;
let large;

before(async () => {
  fake = await startModel();
  fake.setScenario('talk', [{ text: 'an answer' }]);
  large = await Conversation.start(fake, 'talk');
  assert.equal(await large.ask('hi'), 'finished');
  await execute(`
    INSERT INTO events (conversation_id, seq, id, kind, source, timestamp, body)
    SELECT :'id'::uuid, last.seq + n, made.id, 'PauseEvent', 'user', last.timestamp,
      json_build_object('id', made.id, 'timestamp', last.timestamp, 'source', 'user', 'kind', 'PauseEvent')
    FROM generate_series(1, ${N_EVENTS} - (SELECT count(*)::int FROM events WHERE conversation_id = :'id'::uuid)) AS n,
      LATERAL (SELECT gen_random_uuid() AS id, n AS place) AS made,
      (SELECT seq, timestamp FROM events WHERE conversation_id = :'id'::uuid ORDER BY seq DESC LIMIT 1) AS last`, { id: large.id });
  await execute('ANALYZE events'); // what autovacuum does, soon after that many rows
});

after(async () => {
  await large?.delete();
  await fake.close();
});

test('the first and last pages of a large conversation are read by cursor', async () => {
  for (const order of ['TIMESTAMP', 'TIMESTAMP_DESC']) {
    const first = await large.must(200, 'GET', '/events/search', { query: { sort_order: order } });
    const second = await large.must(200, 'GET', '/events/search', { query: { sort_order: order, page_id: first.next_page_id } });
    assert.equal(first.items.length, 100);
    assert.equal(second.items[0].id, first.next_page_id);
  }
  assert.equal(await large.must(200, 'GET', '/events/count'), N_EVENTS);
});

test('a page in the middle is found by the primary key, without counting', async () => {
  const [{ id }] = await query(`SELECT id FROM events WHERE conversation_id = :'id'::uuid AND seq = ${N_EVENTS / 2}`, { id: large.id });
  const page = await large.must(200, 'GET', '/events/search', { query: { page_id: id, limit: 2 } });
  assert.equal(page.items[0].id, id);
  const plan = await execute(`EXPLAIN SELECT id, body FROM events WHERE conversation_id = :'id'::uuid AND seq >= ${N_EVENTS / 2} ORDER BY seq LIMIT 101`, { id: large.id });
  assert.match(plan, /Index Scan using events_\d_pkey/);
  assert.doesNotMatch(plan, /Sort/);
});

test('a fork of a large conversation is complete, and can be continued', async (t) => {
  const copy = new Conversation((await large.must(201, 'POST', '/fork')).id);
  t.after(() => copy.delete());
  assert.equal(await copy.must(200, 'GET', '/events/count'), N_EVENTS);
  assert.equal(await copy.ask('still there?'), 'finished');
});
