// Continuing from an earlier event: in a copy (fork), or in place (navigate).
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { must } from './support/api.mjs';
import { Conversation, isAction, ofKind } from './support/conversation.mjs';
import { assertSound } from './support/database.mjs';
import { waitUntil } from './support/wait.mjs';

let fake;
let source;

before(async () => {
  fake = await startModel();
  fake.setScenario('talk', [{ text: 'an answer in words' }]);
  source = await Conversation.start(fake, 'hello', { tags: { team: 'core' }, secrets: { TOKEN: { kind: 'StaticSecret', value: 'swordfish' } } });
  assert.equal(await source.ask('Create hello.txt'), 'finished');
});

after(async () => {
  await source?.delete();
  assert.deepEqual(fake.violations, []);
  await fake.close();
});

async function fork(t, json, from = source) {
  const info = await from.must(201, 'POST', '/fork', { json });
  const copy = new Conversation(info.id);
  t.after(() => copy.delete());
  return { info, copy };
}

const textsOf = (request) => request.body.messages.map((message) => [message.role, [message.content].flat().map((part) => part?.text ?? part).join('')]);

test('agent-server 42: a fork has all events of its source, is idle and has cost nothing', async (t) => {
  const before = await source.events();
  const { info, copy } = await fork(t, { title: 'fork one', tags: { team: 'x' } });
  assert.equal(info.execution_status, 'idle');
  assert.equal(info.title, 'fork one');
  assert.deepEqual(info.tags, { team: 'x' });
  assert.deepEqual(info.stats, { usage_to_metrics: {} });
  assert.equal(info.forked_from_conversation_id, source.id);
  assert.equal(info.forked_from_event_id, null);
  assert.equal(info.leaf_event_id, (await source.info()).leaf_event_id);
  assert.equal(info.runtime_info, null);
  assert.deepEqual(await copy.events(), before);
  assert.deepEqual(await source.events(), before, 'the source is as it was');
});

test('agent-server 42: a fork needs no body; metrics are kept unless they are reset', async (t) => {
  const bare = new Conversation((await source.must(201, 'POST', '/fork')).id);
  t.after(() => bare.delete());
  assert.equal(await bare.must(200, 'GET', '/events/count'), (await source.events()).length);
  const { info } = await fork(t, { reset_metrics: false });
  assert.deepEqual(info.stats, (await source.info()).stats);
  assert.equal(info.title, null);
  assert.deepEqual(info.tags, {});
});

test('agent-server 42: a fork from an event has the path to that event, and is independent', async (t) => {
  const events = await source.events();
  const at = events.findIndex(isAction('file_editor')) + 1;
  const { info, copy } = await fork(t, { from_event_id: events[at].id });
  assert.equal(info.forked_from_event_id, events[at].id);
  assert.equal(info.leaf_event_id, events[at].id);
  assert.deepEqual(await copy.events(), events.slice(0, at + 1).filter(({ kind }) => kind !== 'ConversationStateUpdateEvent'));
  const from = fake.requests.length;
  assert.equal(await copy.ask('Say it again'), 'finished');
  const [first] = textsOf(fake.requests[from]).filter(([role]) => role === 'user');
  assert.equal(first[1], 'Create hello.txt');
  assert.deepEqual((await source.events()).length, events.length);
  await assertSound(source, copy);
});

test('agent-server 42: a fork does not run its source\'s pending calls', async (t) => {
  const events = await source.events();
  const call = events.find(isAction('file_editor'));
  const { copy } = await fork(t, { from_event_id: call.id });
  const from = fake.requests.length;
  await copy.run();
  await copy.rest(['finished']);
  assert.equal(fake.requests[from].body.messages.at(-1).role, 'user', 'the open call is not part of what the model reads');
  const seen = await copy.events();
  assert.ok(!seen.some((event) => event.action_id === call.id));
});

test('agent-server 42: a fork with an unknown source, an unknown event or a used id is refused', async () => {
  const foreign = new Conversation(randomUUID());
  assert.deepEqual((await foreign.call('POST', '/fork')).json, { detail: 'Source conversation not found' });
  const unknown = await source.call('POST', '/fork', { json: { from_event_id: 'no-such-event' } });
  assert.equal(unknown.status, 404);
  assert.deepEqual(unknown.json, { detail: 'Unknown from_event_id: no-such-event' });
  const used = await source.call('POST', '/fork', { json: { id: source.id } });
  assert.equal(used.status, 409);
  assert.deepEqual(used.json, { detail: `Conversation with id ${source.id} already exists` });
  for (const json of [{ id: 'x' }, { title: 'x'.repeat(201) }, { tags: { 'Bad-Key': 'x' } }, { tags: [] }, { reset_metrics: 'perhaps' }, { from_event_id: 7 }]) {
    assert.equal((await source.call('POST', '/fork', { json })).status, 422, JSON.stringify(json));
  }
});

test('a fork under a given id keeps the secrets of its source', async (t) => {
  const id = randomUUID();
  fake.setScenario('secret', [{ calls: [{ name: 'terminal', arguments: { command: 'echo $TOKEN | tr a-z A-Z' } }] }, { text: 'done' }]);
  const { info, copy } = await fork(t, { id });
  assert.equal(info.id, id);
  await copy.must(200, 'POST', '/switch_llm', { json: { llm: { ...info.agent.llm, model: 'openai/secret', base_url: fake.url, api_key: 'sk-test' } } });
  assert.equal(await copy.ask('Print it'), 'finished');
  const result = (await copy.events()).findLast((event) => event.tool_name === 'terminal' && ofKind('ObservationEvent')(event));
  assert.match(result.observation.content[0].text, /SWORDFISH/);
});

test('navigate goes back to an event, and the model is sent only the path to it', async (t) => {
  const conversation = await Conversation.start(fake, 'talk');
  t.after(() => conversation.delete());
  for (const words of ['first', 'second', 'third']) assert.equal(await conversation.ask(words), 'finished');
  const events = await conversation.events();
  const answer = events.find((event) => event.kind === 'MessageEvent' && event.source === 'agent');
  const info = await conversation.must(200, 'POST', '/navigate', { json: { event_id: answer.id } });
  assert.equal(info.leaf_event_id, answer.id);
  assert.equal(info.execution_status, 'finished');
  assert.deepEqual(await conversation.events(), events, 'nothing is deleted or added');
  const from = fake.requests.length;
  assert.equal(await conversation.ask('other'), 'finished');
  assert.deepEqual(textsOf(fake.requests[from]).slice(1), [['user', 'first'], ['assistant', 'an answer in words'], ['user', 'other']]);
  const copy = new Conversation((await conversation.must(201, 'POST', '/fork')).id);
  t.after(() => copy.delete());
  const said = (await copy.events()).filter((event) => event.kind === 'MessageEvent' && event.source === 'user').map((event) => event.llm_message.content[0].text);
  assert.deepEqual(said, ['first', 'other'], 'a copy has the path');
  await assertSound(conversation, copy);
});

test('a search along the path leaves out other branches, which are listed', async (t) => {
  const conversation = await Conversation.start(fake, 'talk');
  t.after(() => conversation.delete());
  for (const words of ['first', 'second', 'third']) assert.equal(await conversation.ask(words), 'finished');
  const pathOf = async (query) => {
    const ids = [];
    let page;
    do {
      const found = await conversation.must(200, 'GET', '/events/search', { query: { on_path: true, limit: 3, ...query, ...(page ? { page_id: page } : {}) } });
      ids.push(...found.items.map(({ id }) => id));
      page = found.next_page_id;
    } while (page);
    return ids;
  };
  const events = await conversation.events();
  assert.deepEqual(await pathOf({}), events.map(({ id }) => id));
  assert.deepEqual(await conversation.must(200, 'GET', '/branches'), { items: [] });
  const at = events.findIndex((event) => event.kind === 'MessageEvent' && event.source === 'agent');
  await conversation.must(200, 'POST', '/navigate', { json: { event_id: events[at].id } });
  assert.deepEqual(await conversation.must(200, 'GET', '/branches'), { items: [{ parent_event_id: events[at].id, first_event_id: null }] });
  assert.equal(await conversation.ask('other'), 'finished');
  const added = (await conversation.events()).slice(events.length);
  const path = [...events.slice(0, at + 1), ...added].map(({ id }) => id);
  assert.deepEqual(await pathOf({}), path);
  assert.deepEqual(await pathOf({ sort_order: 'TIMESTAMP_DESC' }), [...path].reverse());
  assert.equal((await pathOf({ kind: 'MessageEvent' })).length, 4);
  assert.deepEqual(await conversation.must(200, 'GET', '/branches'), { items: [{ parent_event_id: events[at].id, first_event_id: added[0].id }] });
});

test('navigate returns to an abandoned branch', async (t) => {
  const conversation = await Conversation.start(fake, 'talk');
  t.after(() => conversation.delete());
  for (const words of ['first', 'second']) assert.equal(await conversation.ask(words), 'finished');
  const [first, second] = (await conversation.events()).filter((event) => event.kind === 'MessageEvent' && event.source === 'agent');
  await conversation.must(200, 'POST', '/navigate', { json: { event_id: first.id } });
  assert.equal(await conversation.ask('aside'), 'finished');
  await conversation.must(200, 'POST', '/navigate', { json: { event_id: second.id } });
  const from = fake.requests.length;
  assert.equal(await conversation.ask('third'), 'finished');
  const said = textsOf(fake.requests[from]).filter(([role]) => role === 'user').map(([, words]) => words);
  assert.deepEqual(said, ['first', 'second', 'third']);
});

test('navigate to null starts over with a system prompt', async (t) => {
  const conversation = await Conversation.start(fake, 'talk');
  t.after(() => conversation.delete());
  assert.equal(await conversation.ask('first'), 'finished');
  const info = await conversation.must(200, 'POST', '/navigate', { json: { event_id: null } });
  assert.equal(info.leaf_event_id, null);
  const socket = await conversation.socket();
  const snapshot = await socket.frame((event) => event.key === 'full_state', 'the snapshot');
  assert.equal(snapshot.value.head_is_empty, true);
  await socket.close();
  const from = fake.requests.length;
  assert.equal(await conversation.ask('anew'), 'finished');
  assert.deepEqual(textsOf(fake.requests[from]).map(([role]) => role), ['system', 'user']);
  assert.equal((await conversation.events()).filter(ofKind('SystemPromptEvent')).length, 2);
});

test('navigate away from a call removes it for the model, and it is not run again', async (t) => {
  const conversation = await Conversation.start(fake, 'hello');
  t.after(() => conversation.delete());
  assert.equal(await conversation.ask('Create hello.txt'), 'finished');
  const events = await conversation.events();
  const call = events.find(isAction('file_editor'));
  await conversation.must(200, 'POST', '/navigate', { json: { event_id: call.id } });
  assert.equal(await conversation.ask('Once more'), 'finished');
  const results = (await conversation.events()).filter((event) => event.action_id === call.id);
  assert.equal(results.length, 1);
});

const rejected = (events) => events.filter(ofKind('UserRejectObservation')).map((event) => event.action_id);
const REJECT = ['POST', '/events/respond_to_confirmation', { json: { accept: false, reason: 'no' } }];

test('a rejection ends only calls on the current path', async (t) => {
  fake.setScenario('ask twice', [{ calls: [{ name: 'terminal', arguments: { command: 'echo one' } }] }, { calls: [{ name: 'terminal', arguments: { command: 'echo two' } }] }]);
  const conversation = await Conversation.start(fake, 'ask twice', { confirmation_policy: { kind: 'AlwaysConfirm' } });
  t.after(() => conversation.delete());
  await conversation.say('first', true);
  await conversation.rest(['waiting_for_confirmation']);
  const events = await conversation.events();
  const message = events.find((event) => event.source === 'user');
  await conversation.must(200, 'POST', '/navigate', { json: { event_id: message.id } });
  await conversation.must(200, ...REJECT);
  assert.deepEqual(rejected(await conversation.events()), [], 'nothing waits on this path');
  await conversation.say('second', true);
  await conversation.rest(['waiting_for_confirmation']);
  await conversation.must(200, ...REJECT);
  const calls = (await conversation.events()).filter(isAction('terminal'));
  assert.equal(calls.length, 2);
  assert.deepEqual(rejected(await conversation.events()), [calls[1].id]);
});

test('a rejection in a fork does not affect its source', async (t) => {
  fake.setScenario('ask on', [{ calls: [{ name: 'terminal', arguments: { command: 'echo one' } }] }]);
  const conversation = await Conversation.start(fake, 'ask on', { confirmation_policy: { kind: 'AlwaysConfirm' } });
  t.after(() => conversation.delete());
  await conversation.say('first', true);
  await conversation.rest(['waiting_for_confirmation']);
  const [call] = (await conversation.events()).filter(isAction('terminal'));
  const { copy } = await fork(t, { from_event_id: call.id }, conversation);
  await copy.say('second', true);
  await copy.rest(['waiting_for_confirmation']);
  await copy.must(200, ...REJECT);
  const own = (await copy.events()).filter(isAction('terminal')).at(-1);
  assert.notEqual(own.id, call.id);
  assert.deepEqual(rejected(await copy.events()), [own.id]);
});

test('navigate refuses unknown conversations and events, invalid bodies, and a running conversation', async (t) => {
  assert.equal((await new Conversation(randomUUID()).call('POST', '/navigate', { json: { event_id: null } })).status, 404);
  assert.equal((await source.call('POST', '/navigate', { json: { event_id: randomUUID() } })).status, 404);
  assert.equal((await source.call('POST', '/navigate', { json: {} })).status, 422);
  assert.equal((await source.call('POST', '/navigate', { json: { event_id: 3 } })).status, 422);
  fake.setScenario('parked', [{ park: true, text: 'late' }]);
  const busy = await Conversation.start(fake, 'parked');
  t.after(() => busy.delete());
  await busy.say('wait', true);
  await waitUntil(() => fake.requests.some(({ body }) => body.model === 'parked'), 'the model is asked');
  assert.equal((await busy.call('POST', '/navigate', { json: { event_id: null } })).status, 409);
  fake.release();
  await busy.rest(['finished', 'error']);
});

test('agent-server 23: the system prompt precedes the first message, also after state changes', async (t) => {
  const conversation = await Conversation.start(fake, 'talk');
  t.after(() => conversation.delete());
  await must(200, 'PATCH', conversation.path, { json: { tags: { early: 'yes' } } });
  assert.equal(await conversation.ask('hi'), 'finished');
  const kinds = (await conversation.events()).map((event) => event.key ?? event.kind);
  assert.deepEqual(kinds.slice(0, 3), ['tags', 'SystemPromptEvent', 'MessageEvent']);
});
