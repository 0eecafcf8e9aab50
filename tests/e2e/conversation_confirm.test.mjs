// Decisions about waiting calls: a request with action_ids applies to exactly those calls.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Conversation, llmOf, ofKind, startRequest, text } from './support/conversation.mjs';
import { strictModel } from './support/model.mjs';
import { terminal } from './support/model_calls.mjs';
import { Socket } from './support/socket.mjs';
import { waitUntil } from './support/wait.mjs';

const fake = await strictModel();
const risky = (command) => terminal(command, 'HIGH');
const RESPOND = '/events/respond_to_confirmation';
fake.setScenario('one', [{ calls: [risky('echo one')] }, { text: 'done' }]);
fake.setScenario('two', [{ calls: [risky('echo one')] }, { calls: [risky('echo two'), risky('echo three')] }, { text: 'done' }]);

async function waiting(t, scenario) {
  const conversation = await Conversation.create(startRequest(llmOf(fake, scenario), { confirmation_policy: { kind: 'AlwaysConfirm' } }));
  t.after(() => conversation.delete());
  await conversation.say('go', true);
  await conversation.rest(['waiting_for_confirmation']);
  return conversation;
}

const post = (conversation, path, json) => conversation.call('POST', path, { json });
const idsOf = async (conversation) => (await conversation.events()).filter(ofKind('ActionEvent')).map(({ id }) => id);
const ran = async (conversation) => (await conversation.events()).filter(ofKind('ObservationEvent')).length;
const said = (events) => events.filter((event) => event.kind === 'MessageEvent' && event.source === 'user').length;

test('a request that would run unnamed calls is refused with a message, and changes nothing', async (t) => {
  const conversation = await waiting(t, 'one');
  const before = await conversation.events();
  const others = [[], ['0b8f2c1e-5a44-4a0b-9c55-1f2f6f0a0016']];
  for (const ids of others) {
    for (const [path, body] of [['/events', { ...text('No, do not'), run: true }], ['/run', {}], [RESPOND, { accept: true }], [RESPOND, { accept: false }]]) {
      const answer = await post(conversation, path, { ...body, action_ids: ids });
      assert.equal(answer.status, 409, `${path} ${JSON.stringify(ids)}`);
      assert.match(answer.json.detail, /waits for a decision about a call of terminal/);
    }
  }
  assert.deepEqual(await conversation.events(), before);
  assert.equal(await conversation.status(), 'waiting_for_confirmation');
});

for (const [socket, refusalOf] of [['events', (frame) => frame.kind === 'ServerErrorEvent'], ['session', (frame) => frame.type === 'error']]) {
  test(`a message on the ${socket} socket that would run unnamed calls is refused with a message, and changes nothing`, async (t) => {
    const conversation = await waiting(t, 'one');
    const before = await conversation.events();
    const [id] = await idsOf(conversation);
    const live = await Socket.open(`/sockets/${socket}/${conversation.id}`);
    t.after(() => live.close());
    let n = 0;
    const refused = async (message, code, words) => {
      const from = live.frames.length;
      live.send(message);
      const refusal = await live.frame(refusalOf, 'it is refused', { from });
      assert.equal(refusal.code, code);
      assert.match(refusal.detail, words);
      n++;
    };
    for (const ids of [[], ['0b8f2c1e-5a44-4a0b-9c55-1f2f6f0a0016']]) await refused({ ...text('No, do not'), action_ids: ids }, 'ConflictError', /waits for a decision about a call of terminal/);
    for (const ids of [{}, 'x', [1], Array(1001).fill('x')]) await refused({ ...text('No, do not'), action_ids: ids }, 'ValidationError', /^action_ids: Input should be/);
    assert.deepEqual(await conversation.events(), before);
    assert.equal(await conversation.status(), 'waiting_for_confirmation');
    live.send({ ...text('yes'), action_ids: [id.replaceAll('-', '')] });
    const result = await conversation.event(ofKind('ObservationEvent'), 'the call ran');
    assert.equal(result.action_id, id);
    assert.equal(live.frames.filter(refusalOf).length, n);
  });
}

test('on a socket a message without action_ids approves, as in the contract', async (t) => {
  const conversation = await waiting(t, 'one');
  const live = await conversation.socket();
  t.after(() => live.close());
  live.send({ ...text('yes'), action_ids: null });
  const [id] = await idsOf(conversation);
  assert.equal((await conversation.event(ofKind('ObservationEvent'), 'the call ran')).action_id, id);
});

test('a message on a socket need not name calls outside the current path', async (t) => {
  const conversation = await waiting(t, 'one');
  const message = (await conversation.events()).find(({ source }) => source === 'user');
  await conversation.must(200, 'POST', '/navigate', { json: { event_id: message.id } });
  const live = await conversation.socket();
  t.after(() => live.close());
  live.send({ ...text('something else'), action_ids: [] });
  await waitUntil(async () => said(await conversation.events()) === 2, 'the message is stored');
  assert.equal(await ran(conversation), 0);
});

test('a message without a run approves nothing, even if it names calls', async (t) => {
  const conversation = await waiting(t, 'one');
  assert.equal((await post(conversation, '/events', text('Well'))).status, 200);
  assert.equal((await post(conversation, '/events', { ...text('Well'), run: false, action_ids: [] })).status, 200);
  assert.equal(await conversation.status(), 'waiting_for_confirmation');
  assert.equal(await ran(conversation), 0);
  assert.equal(said(await conversation.events()), 3);
});

test('without action_ids a message with a run approves, as in the contract', async (t) => {
  const conversation = await waiting(t, 'one');
  assert.equal((await post(conversation, '/events', { ...text('yes'), run: true })).status, 200);
  const [id] = await idsOf(conversation);
  const result = await conversation.event(ofKind('ObservationEvent'), 'the call ran');
  assert.equal(result.action_id, id);
});

test('an approval applies to exactly the calls that it names', async (t) => {
  const conversation = await waiting(t, 'two');
  const [first] = await idsOf(conversation);
  assert.equal((await post(conversation, RESPOND, { accept: true, action_ids: [first] })).status, 200);
  await conversation.rest(['waiting_for_confirmation']);
  const [, second, third] = await idsOf(conversation);
  assert.equal((await post(conversation, '/run', { action_ids: [first] })).status, 409);
  assert.equal((await post(conversation, RESPOND, { accept: true, action_ids: [first, second] })).status, 409);
  assert.equal(await ran(conversation), 1);
  assert.equal((await post(conversation, '/run', { action_ids: [second.replaceAll('-', ''), third] })).status, 200);
  assert.equal(await conversation.rest(['finished', 'error']), 'finished');
  assert.equal(await ran(conversation), 3);
});

test('of two concurrent decisions one applies, and the other gets 409', async (t) => {
  const conversation = await waiting(t, 'one');
  const ids = await idsOf(conversation);
  const answers = await Promise.all(
    [true, false, true, false].map((accept) => post(conversation, RESPOND, { accept, action_ids: ids })),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409, 409]);
  assert.match(answers.find(({ status }) => status === 409).json.detail, /no longer wait for a decision/);
  const isAccepted = answers.findIndex(({ status }) => status === 200) % 2 === 0;
  await conversation.rest([isAccepted ? 'finished' : 'idle']);
  assert.equal(await ran(conversation), isAccepted ? 1 : 0);
});

test('after a rejection with run the agent reads the reason at once', async (t) => {
  const conversation = await waiting(t, 'one');
  const ids = await idsOf(conversation);
  const body = { accept: false, reason: 'No, use the other folder', run: true, action_ids: ids };
  assert.equal((await post(conversation, RESPOND, body)).status, 200);
  assert.equal(await conversation.rest(['finished', 'error']), 'finished');
  assert.equal(await ran(conversation), 0);
  assert.match(JSON.stringify(fake.requests.at(-1).body.messages.at(-1)), /Action rejected: No, use the other folder/);
});

test('a decision about a call that no longer waits is refused', async (t) => {
  const conversation = await waiting(t, 'one');
  const ids = await idsOf(conversation);
  await conversation.must(200, 'POST', RESPOND, { json: { accept: false } });
  for (const accept of [true, false]) assert.equal((await post(conversation, RESPOND, { accept, action_ids: ids })).status, 409);
  assert.equal((await post(conversation, RESPOND, { accept: false })).status, 200);
  assert.equal(await conversation.status(), 'idle');
});

test('action_ids other than a list of strings are refused', async (t) => {
  const conversation = await waiting(t, 'one');
  for (const ids of ['all', {}, [1], [null], Array(1001).fill('x')]) {
    for (const [path, body] of [['/events', { ...text('x'), run: true }], ['/run', {}], [RESPOND, { accept: true }]])
      assert.equal((await post(conversation, path, { ...body, action_ids: ids })).status, 422, `${path} ${JSON.stringify(ids).slice(0, 40)}`);
  }
  assert.equal(await ran(conversation), 0);
});
