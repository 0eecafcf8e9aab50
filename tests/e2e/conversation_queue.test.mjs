// Run slots: a user's further runs are queued, and refused only if the queue is full, too.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { call } from './support/api.mjs';
import { Conversation, llmOf, startRequest, text } from './support/conversation.mjs';
import { assertSound, execute } from './support/database.mjs';
import { newUser } from './support/users.mjs';
import { waitUntil } from './support/wait.mjs';

const LIMIT_TEXT = 'Conversation run limit reached. Retry the request later.';
const UNKNOWN = '00000000-0000-4000-8000-000000000000';

let fake;

before(async () => {
  fake = await startModel();
  fake.setScenario('talk', [{ text: 'an answer' }]);
  fake.setScenario('parked', [{ park: true, text: 'late' }]);
});

after(async () => {
  fake.release();
  assert.deepEqual(fake.violations, []);
  await fake.close();
});

async function userWith(slots, queue) {
  const user = await newUser();
  await execute(`UPDATE users SET run_slots = :'slots', run_queue = :'queue' WHERE id = :'id'`, { id: user.id, slots, queue });
  return user;
}

async function fresh(t, { key }, scenario) {
  const conversation = await Conversation.create(startRequest(llmOf(fake, scenario)), { key });
  t.after(() => conversation.delete());
  return conversation;
}

/** A conversation of the user whose run does not end before the model is released. */
async function busy(t, user) {
  const asked = fake.requests.length;
  const conversation = await fresh(t, user, 'parked');
  await conversation.say('work', true);
  await waitUntil(() => fake.requests.length > asked, 'the model is asked');
  return conversation;
}

test('agent-server 67: a run beyond the user\'s slots is queued, reported as waiting, and starts when a slot is free', async (t) => {
  const user = await userWith(1, 10);
  const first = await busy(t, user);
  const [second, third] = [await fresh(t, user, 'talk'), await fresh(t, user, 'talk')];
  await second.say('hi', true);
  await third.say('hi', true);
  for (const [conversation, position] of [[second, 1], [third, 2]]) {
    const info = await conversation.info();
    assert.equal(info.execution_status, 'running', 'as acknowledged');
    assert.deepEqual(info.agent_state.run_queue, { position });
  }
  assert.equal((await first.info()).agent_state.run_queue, undefined);
  assert.equal((await second.call('POST', '/run')).status, 409);
  fake.release();
  for (const conversation of [first, second, third]) assert.equal(await conversation.rest(['finished', 'error']), 'finished');
  assert.deepEqual((await second.info()).agent_state, {});
  await assertSound(first, second, third);
});

test('agent-server 67: a queued run can be paused, and leaves the queue', async (t) => {
  const user = await userWith(1, 10);
  await busy(t, user);
  const [second, third] = [await fresh(t, user, 'talk'), await fresh(t, user, 'talk')];
  await second.say('hi', true);
  await third.say('hi', true);
  await second.must(200, 'POST', '/pause');
  assert.equal(await second.status(), 'paused');
  assert.deepEqual((await third.info()).agent_state.run_queue, { position: 1 });
  fake.release();
  assert.equal(await third.rest(['finished', 'error']), 'finished');
  assert.equal(await second.status(), 'paused');
});

test('agent-server 67: with slots and queue full runs get 429, and messages are stored', async (t) => {
  const user = await userWith(1, 0);
  const idle = await fresh(t, user, 'talk');
  await idle.say('hi');
  const waiting = await Conversation.create({ ...startRequest(llmOf(fake, 'hello')), confirmation_policy: { kind: 'AlwaysConfirm' } }, { key: user.key });
  t.after(() => waiting.delete());
  await waiting.say('Create hello.txt', true);
  await waiting.rest(['waiting_for_confirmation']);
  await busy(t, user);
  const refused = async (answer, words = LIMIT_TEXT) => {
    const { status, json, headers } = await answer;
    assert.equal(status, 429);
    assert.equal(json.detail, words);
    assert.match(headers.get('retry-after'), /^[1-9][0-9]*$/, 'it is said when to come again');
  };
  await refused(call('POST', '/api/conversations', { key: user.key, json: { ...startRequest(llmOf(fake, 'talk')), initial_message: text('hi') } }));
  await refused(idle.call('POST', '/run'));
  await refused(idle.call('POST', '/children', { json: { task: 'x', isolation: 'shared' } }));
  await refused(idle.call('POST', '/goal', { json: { objective: 'x' } }));
  await refused(waiting.call('POST', '/events/respond_to_confirmation', { json: { accept: true } }));
  const before = await idle.must(200, 'GET', '/events/count');
  await refused(
    idle.call('POST', '/events', { json: { ...text('kept'), run: true } }),
    'Conversation run limit reached. The message is stored; request the run again later.',
  );
  assert.ok((await idle.must(200, 'GET', '/events/count')) > before);
  for (const [path, json] of [['run'], ['goal', { objective: 'x' }], ['events', { ...text('lost'), run: true }], ['events/respond_to_confirmation', { accept: true }]]) {
    const { status } = await call('POST', `/api/conversations/${UNKNOWN}/${path}`, { key: user.key, json });
    assert.equal(status, 404, `${path} of a conversation that is not there`);
  }
  assert.equal(await idle.status(), 'idle');
  await idle.say('another', false);
  fake.release();
  await waitUntil(async () => (await idle.call('POST', '/run')).status === 200, 'there is room');
  assert.equal(await idle.rest(['finished', 'error']), 'finished');
  const said = (await idle.events()).filter(({ kind, source }) => kind === 'MessageEvent' && source === 'user');
  assert.deepEqual(said.map((event) => event.llm_message.content[0].text), ['hi', 'kept', 'another']);
});

test('agent-server 67: a message on a socket is stored even if its run is refused', async (t) => {
  const user = await userWith(1, 0);
  const idle = await fresh(t, user, 'talk');
  await busy(t, user);
  const socket = await idle.socket();
  t.after(() => socket.close());
  socket.send(text('kept'));
  const told = await socket.frame(({ kind }) => kind === 'ServerErrorEvent', 'the run is refused');
  assert.equal(told.code, 'RunLimitError');
  assert.equal(told.detail, 'Conversation run limit reached. The message is stored; request the run again later.');
  await socket.frame(({ kind, source }) => kind === 'MessageEvent' && source === 'user', 'the message is told');
  assert.equal(await idle.status(), 'idle');
  fake.release();
  await waitUntil(async () => (await idle.call('POST', '/run')).status === 200, 'there is room');
  assert.equal(await idle.rest(['finished', 'error']), 'finished');
});

test('one user\'s runs do not use another user\'s slots', async (t) => {
  const [one, other] = [await userWith(1, 0), await userWith(1, 0)];
  await busy(t, one);
  const conversation = await fresh(t, other, 'talk');
  assert.equal(await conversation.ask('hi'), 'finished');
  fake.release();
});
