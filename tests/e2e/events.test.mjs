// Reading events: the items of the checklist.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { call, getWithBody } from './support/api.mjs';
import { Conversation, text } from './support/conversation.mjs';
import { execute } from './support/database.mjs';

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}$/;
const MESSAGE_PATH = 'openhands.sdk.event.llm_convertible.message.MessageEvent';

let fake;
let conversation;
let stored;

before(async () => {
  fake = await startModel();
  conversation = await Conversation.start(fake, 'hello');
  assert.equal(await conversation.ask('hi there'), 'finished');
  stored = await conversation.events();
});

after(async () => {
  await conversation?.delete();
  await fake.close();
});

const search = (query) => conversation.must(200, 'GET', '/events/search', { query });
const count = (query) => conversation.must(200, 'GET', '/events/count', { query });

async function walk(query) {
  const ids = [];
  let page;
  do {
    const found = await search({ ...query, ...(page === undefined ? {} : { page_id: page }) });
    assert.ok(found.items.length <= query.limit);
    ids.push(...found.items.map(({ id }) => id));
    page = found.next_page_id;
  } while (page !== null);
  return ids;
}

test('agent-server 23: a message is stored after the system prompt', async (t) => {
  const one = await Conversation.start(fake, 'text');
  t.after(() => one.delete());
  assert.deepEqual(await one.must(200, 'POST', '/events', { json: { content: [{ type: 'text', text: 'hi' }] } }), { success: true });
  const events = await one.events();
  const prompt = events.findIndex(({ kind }) => kind === 'SystemPromptEvent');
  const message = events.findIndex(({ kind }) => kind === 'MessageEvent');
  assert.ok(prompt >= 0 && prompt < message, `${prompt} ${message}`);
  assert.equal(events[message].source, 'user');
  assert.equal(await one.status(), 'idle');
});

test('agent-server 24: invalid messages are refused', async () => {
  const wrong = [{ content: 'hi' }, { role: 'robot', content: [] }, { content: [{ type: 'text', text: 'x', extra: 1 }] }];
  for (const json of wrong) {
    const answer = await conversation.call('POST', '/events', { json });
    assert.deepEqual([answer.status, Array.isArray(answer.json.detail)], [422, true], JSON.stringify(json));
  }
  const unknown = randomUUID();
  const answer = await call('POST', `/api/conversations/${unknown}/events`, { json: { content: [{ type: 'text', text: 'x' }] } });
  assert.deepEqual([answer.status, answer.json], [404, { detail: `Conversation not found: ${unknown}` }]);
  assert.equal((await conversation.events()).length, stored.length, 'nothing was stored');
});

test('a message keeps its sender in every representation', async (t) => {
  const one = await Conversation.start(fake, 'text', { initial_message: { ...text('first'), sender: 'planner' } });
  t.after(() => one.delete());
  await one.rest(['finished']);
  for (const sender of ['reviewer é', '', null]) await one.must(200, 'POST', '/events', { json: { ...text('more'), sender } });
  await one.say('nobody in particular');
  const said = (await one.events()).filter(({ kind, source }) => kind === 'MessageEvent' && source === 'user');
  assert.deepEqual(said.map(({ sender }) => sender), ['planner', 'reviewer é', '', undefined, undefined]);
  assert.equal((await one.must(200, 'GET', `/events/${said[1].id}`)).sender, 'reviewer é');
  assert.equal((await one.must(200, 'GET', `/events/${said[4].id}`)).sender, null);
});

test('a message with an invalid sender is refused', async () => {
  for (const [sender, type] of [[7, 'string_type'], [{}, 'string_type'], ['x'.repeat(257), 'string_too_long']]) {
    const answer = await conversation.call('POST', '/events', { json: { ...text('hi'), sender } });
    assert.deepEqual([answer.status, answer.json.detail?.[0]?.type, answer.json.detail?.[0]?.loc], [422, type, ['body', 'sender']]);
  }
  assert.equal((await conversation.events()).length, stored.length, 'nothing was stored');
});

test('agent-server 25: pages contain every event once, in both orders', async () => {
  const ids = stored.map(({ id }) => id);
  assert.deepEqual(await walk({ limit: 2 }), ids);
  assert.deepEqual(await walk({ limit: 2, sort_order: 'TIMESTAMP_DESC' }), [...ids].reverse());
  assert.equal((await conversation.call('GET', '/events/search', { query: { limit: 0 } })).status, 422);
  assert.deepEqual((await search({ limit: 2, page_id: randomUUID() })).items.map(({ id }) => id), ids.slice(0, 2));
});

/** Paths of members that are null, except in the values of state updates. */
function nulls(value, path = '') {
  if (value === null) return [path];
  if (typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([name, member]) => nulls(member, `${path}/${name}`));
}

test('agent-server 26: events have the required members, and none is null', async () => {
  let before = '';
  for (const event of stored) {
    const { value, ...rest } = event;
    const found = event.kind === 'ConversationStateUpdateEvent' && event.key === 'stats' ? nulls(rest) : nulls({ ...rest, value });
    assert.deepEqual(found.filter((path) => value !== undefined || path !== '/value'), [], event.kind);
    for (const name of ['id', 'source', 'kind']) assert.equal(typeof event[name], 'string');
    assert.match(event.timestamp, TIME);
    assert.ok(event.timestamp > before, 'times grow');
    before = event.timestamp;
  }
  assert.equal(new Set(stored.map(({ id }) => id)).size, stored.length);
});

test('agent-server 27: events are counted and filtered', async () => {
  assert.equal(await count(), stored.length);
  const messages = (await search({ kind: 'MessageEvent' })).items;
  assert.ok(messages.length > 0);
  assert.deepEqual((await search({ kind: MESSAGE_PATH })).items, messages);
  assert.equal(await count({ kind: MESSAGE_PATH }), messages.length);
  const byUser = (await search({ source: 'user' })).items;
  assert.deepEqual(byUser.map(({ id }) => id), stored.filter(({ source }) => source === 'user').map(({ id }) => id));
  assert.deepEqual((await search({ body: 'HI THERE' })).items.map(({ id }) => id), byUser.map(({ id }) => id), 'small and capital letters are the same');
  assert.equal(await count({ body: 'nobody said this' }), 0);
});

test('agent-server 28: an event is found by its id; a snapshot is not an event', async () => {
  for (const event of [stored[0], stored.at(-1)]) {
    const one = await conversation.must(200, 'GET', `/events/${event.id}`);
    assert.deepEqual([one.id, one.kind, one.timestamp], [event.id, event.kind, event.timestamp]);
  }
  assert.ok(stored.every(({ key }) => key !== 'full_state'));
});

test('agent-server 87: an unknown event is a 404 in a single request, and null in a batch', async () => {
  const alone = await conversation.call('GET', `/events/${randomUUID()}`);
  assert.deepEqual([alone.status, alone.json], [404, { detail: 'Not Found' }]);
  const batch = await getWithBody(`${conversation.path}/events`, JSON.stringify([stored[1].id, randomUUID()]));
  assert.deepEqual([batch.status, batch.json.map((event) => event && event.id)], [200, [stored[1].id, null]]);
});

/** Ids as a client without page ids gets them: the newest ones, then those before its oldest. */
async function scrollUp(one, limit) {
  const ids = [];
  let before = {};
  for (;;) {
    const { items } = await one.must(200, 'GET', '/events/search', { query: { limit, sort_order: 'TIMESTAMP_DESC', ...before } });
    if (items.length === 0) return ids.reverse();
    ids.push(...items.map(({ id }) => id));
    before = { timestamp__lt: items.at(-1).timestamp };
  }
}

/** The same from the beginning: those at or after its newest, without known ones. */
async function scrollDown(one, limit) {
  const ids = new Set();
  let since = {};
  for (;;) {
    const { items } = await one.must(200, 'GET', '/events/search', { query: { limit, ...since } });
    if (items.every(({ id }) => ids.has(id))) return [...ids];
    for (const { id } of items) ids.add(id);
    since = { timestamp__gte: items.at(-1).timestamp };
  }
}

async function assertPagedByTime(one) {
  const events = await one.events();
  const ids = events.map(({ id }) => id);
  for (let i = 1; i < events.length; i++) assert.ok(events[i - 1].timestamp < events[i].timestamp, `${events[i - 1].timestamp} ${events[i].timestamp}`);
  for (const limit of [1, 7, 50, 99]) assert.deepEqual(await scrollUp(one, limit), ids, `pages of ${limit}`);
  for (const limit of [2, 50]) assert.deepEqual(await scrollDown(one, limit), ids, `pages of ${limit}`);
  return ids;
}

test('paging by time returns every event once, also with batches and clock changes', async (t) => {
  const thoughts = Array.from({ length: 20 }, (_, i) => ({ name: 'think', arguments: { thought: `thought ${i}`, security_risk: 'LOW', summary: 's' } }));
  fake.setScenario('batches', [...Array(5).fill({ calls: thoughts }), { text: 'thought about' }]);
  const one = await Conversation.start(fake, 'batches');
  t.after(() => one.delete());
  assert.equal(await one.ask('think'), 'finished');
  const first = await assertPagedByTime(one);
  assert.ok(first.length >= 188, `${first.length} events`);
  // Simulates a clock that was an hour ahead when the newest event was written.
  await execute(`UPDATE events SET timestamp = '2099-12-31T23:59:59.999999', body = replace(body, timestamp, '2099-12-31T23:59:59.999999')
    WHERE conversation_id = :'id'::uuid AND seq = (SELECT max(seq) FROM events WHERE conversation_id = :'id'::uuid)`, { id: one.id });
  assert.equal(await one.ask('and now?'), 'finished');
  const second = await assertPagedByTime(one);
  assert.deepEqual(second.slice(0, first.length), first);
  const copy = new Conversation((await one.must(201, 'POST', '/fork')).id);
  t.after(() => copy.delete());
  assert.equal(await copy.ask('still there?'), 'finished');
  assert.deepEqual((await assertPagedByTime(copy)).slice(0, second.length), second);
});
