// How runs begin, wait, stop and end: the items of the checklist.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { call } from './support/api.mjs';
import { Conversation, isAction, isResult, llmOf, observed, ofKind, startRequest, text } from './support/conversation.mjs';
import { finish, terminal } from './support/model_calls.mjs';
import { isSnapshot, restingSnapshot } from './support/socket.mjs';
import { waitUntil } from './support/wait.mjs';

const think = (thought) => ({ name: 'think', arguments: { thought } });
const ACTIONS = ['ActionEvent', 'ObservationEvent', 'AgentErrorEvent'];

let fake;

before(async () => {
  fake = await startModel();
  fake.setScenario('command', [{ calls: [terminal('echo ran')] }, { calls: [finish] }]);
  fake.setScenario('endless', [{ calls: [terminal('sleep 600')] }, { text: 'over' }]);
  fake.setScenario('looping', Array.from({ length: 20 }, (_, i) => ({ calls: [terminal(`echo ${i}`)] })));
});

after(() => fake.close());

async function fresh(t, scenario, more = {}) {
  const conversation = await Conversation.create(startRequest(llmOf(fake, scenario), more));
  t.after(() => conversation.delete());
  return conversation;
}

async function listening(t, conversation) {
  const socket = await conversation.socket();
  t.after(() => socket.close());
  await socket.frame(isSnapshot, 'the first snapshot');
  return socket;
}

test('agent-server 30: a run has status running from its acknowledgement until its end', async (t) => {
  fake.setScenario('held', [{ park: true, text: 'over' }]);
  const conversation = await fresh(t, 'held');
  await conversation.say('go');
  assert.equal(await conversation.status(), 'idle');
  await conversation.run();
  assert.equal(await conversation.status(), 'running');
  await waitUntil(async () => {
    fake.release();
    const status = await conversation.status();
    assert.ok(['running', 'finished'].includes(status), status);
    return status === 'finished';
  }, 'the run ends');
});

test('agent-server 31: a second run is refused while one is on', async (t) => {
  const conversation = await fresh(t, 'park');
  await conversation.say('wait');
  await conversation.run();
  const second = await conversation.call('POST', '/run');
  assert.deepEqual([second.status, second.json], [409, { detail: 'Conversation already running. Wait for completion or pause first.' }]);
  await conversation.must(200, 'POST', '/interrupt');
});

test('agent-server 32: a run with nothing to do is reported as over, after the answer', async (t) => {
  const conversation = await fresh(t, 'text');
  assert.equal(await conversation.ask('hi'), 'finished');
  const n = (await conversation.events()).length;
  const socket = await listening(t, conversation);
  const from = socket.frames.length;
  await conversation.run();
  const end = await socket.frame(restingSnapshot(), 'the end', { from });
  assert.equal(end.value.execution_status, 'finished');
  assert.equal((await conversation.events()).length, n, 'nothing was added');
});

test('agent-server 33: a pause waits for the tool, and a run continues after it', async (t) => {
  // It does not end by itself before the pause.
  fake.setScenario('patient', Array.from({ length: 60 }, (_, i) => ({ calls: [terminal(`sleep 1; echo hi ${i}`)] })));
  const conversation = await fresh(t, 'patient');
  const socket = await listening(t, conversation);
  await conversation.say('go', true);
  await socket.frame(isAction('terminal'), 'the command');
  assert.deepEqual(await conversation.must(200, 'POST', '/pause'), { success: true });
  assert.equal(await conversation.status(), 'paused');
  await socket.frame(restingSnapshot(['paused']), 'the snapshot of the pause');
  const events = await conversation.events();
  assert.ok(events.some(ofKind('PauseEvent')));
  assert.match(observed(events.find(isResult('terminal'))), /hi/, 'the tool came to its end');
  assert.equal(events.filter(isResult('terminal')).length, events.filter(isAction('terminal')).length, 'as did each');
  fake.setScenario('patient', [{ text: 'over' }]);
  await conversation.run();
  assert.equal(await conversation.rest(['finished', 'error']), 'finished');
});

test('agent-server 34: an interrupt does not wait for the tool', async (t) => {
  const conversation = await fresh(t, 'endless');
  await conversation.say('go', true);
  const action = await conversation.event(isAction('terminal'), 'the command');
  assert.deepEqual(await conversation.must(200, 'POST', '/interrupt'), { success: true });
  assert.equal(await conversation.status(), 'paused');
  const events = await conversation.events();
  const error = events.find(ofKind('AgentErrorEvent'));
  assert.equal(error.tool_call_id, action.tool_call_id);
  assert.equal(events.find(isResult('terminal')), undefined, 'the command did not come to its end');
  assert.ok(events.some(ofKind('InterruptEvent')));
});

test('agent-server 36: actions wait for approval; a rejection carries its reason', async (t) => {
  const conversation = await fresh(t, 'command', { confirmation_policy: { kind: 'AlwaysConfirm' } });
  await conversation.say('go', true);
  await conversation.rest(['waiting_for_confirmation']);
  assert.deepEqual((await conversation.events()).filter(({ kind }) => ACTIONS.includes(kind)).map(({ kind }) => kind), ['ActionEvent']);
  await conversation.must(200, 'POST', '/events/respond_to_confirmation', { json: { accept: false, reason: 'too loud' } });
  assert.equal(await conversation.status(), 'idle');
  const events = await conversation.events();
  const rejection = events.find(ofKind('UserRejectObservation'));
  assert.equal(rejection.rejection_reason, 'too loud');
  assert.equal(rejection.action_id, events.find(ofKind('ActionEvent')).id);
});

for (const [words, go] of [
  ['accept: true', (conversation) => conversation.must(200, 'POST', '/events/respond_to_confirmation', { json: { accept: true } })],
  ['a plain run', (conversation) => conversation.run()],
]) {
  test(`agent-server 36: ${words} approves waiting actions, and a single finish needs no approval`, async (t) => {
    const conversation = await fresh(t, 'command', { confirmation_policy: { kind: 'AlwaysConfirm' } });
    await conversation.say('go', true);
    await conversation.rest(['waiting_for_confirmation']);
    await go(conversation);
    assert.equal(await conversation.rest(['finished', 'error', 'waiting_for_confirmation']), 'finished');
    assert.match(observed((await conversation.events()).find(isResult('terminal'))), /ran/);
  });
}

test('agent-server 39: a run ends at its iteration limit', async (t) => {
  const conversation = await fresh(t, 'looping', { max_iterations: 1 });
  assert.equal(await conversation.ask('go'), 'error');
  const error = (await conversation.events()).findLast(ofKind('ConversationErrorEvent'));
  assert.equal(error.code, 'MaxIterationsReached');
  assert.match(error.detail, /1/);
});

test('agent-server 40: a message during a run is answered in that run', async (t) => {
  fake.setScenario('attentive', [{ park: true, text: 'first' }]);
  const conversation = await fresh(t, 'attentive');
  await conversation.say('one', true);
  await waitUntil(() => fake.n_parked > 0, 'the model is asked');
  assert.deepEqual(await conversation.must(200, 'POST', '/events', { json: { ...text('two'), run: true } }), { success: true });
  await waitUntil(async () => {
    fake.release();
    return (await conversation.status()) === 'finished';
  }, 'both are answered');
  const sent = fake.requests.filter(({ body }) => body.model === 'attentive').at(-1).body.messages;
  assert.ok(sent.some(({ role, content }) => role === 'user' && JSON.stringify(content).includes('two')));
  assert.ok((await conversation.events()).findLast(ofKind('MessageEvent')).source === 'agent');
});

test('agent-server 80: concurrent starts with one id create one conversation', async (t) => {
  const request = { ...startRequest(llmOf(fake, 'text')), conversation_id: randomUUID(), initial_message: text('hi') };
  const answers = await Promise.all(Array.from({ length: 8 }, () => call('POST', '/api/conversations', { json: request })));
  const conversation = new Conversation(request.conversation_id);
  t.after(() => conversation.delete());
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 200, 200, 200, 200, 200, 200, 201]);
  assert.ok(answers.every(({ json }) => json.id === request.conversation_id));
  assert.equal(await conversation.rest(['finished', 'error']), 'finished');
  const messages = (await conversation.events()).filter(({ kind, source }) => kind === 'MessageEvent' && source === 'user');
  assert.equal(messages.length, 1);
});

/** The assistant's messages with calls in the newest request to a model, each with the ids of its results. */
function history(model) {
  const { messages } = fake.requests.filter(({ body }) => body.model === model).at(-1).body;
  return messages.flatMap((message, i) => {
    if (!message.tool_calls) return [];
    const behind = messages.slice(i + 1);
    const end = behind.findIndex(({ role }) => role !== 'tool');
    const results = behind.slice(0, end < 0 ? behind.length : end).map(({ tool_call_id: id }) => id);
    return [{ calls: message.tool_calls.map(({ id }) => id), results }];
  });
}

test('agent-server 83: valid and unknown calls of one answer keep their order', async (t) => {
  fake.setScenario('mixed', [{ calls: [terminal('echo one'), { name: 'nosuch', arguments: { x: 1 } }, terminal('echo three')] }, { calls: [finish] }]);
  const conversation = await fresh(t, 'mixed');
  assert.equal(await conversation.ask('go'), 'finished');
  const kinds = (await conversation.events()).filter(({ kind }) => ACTIONS.includes(kind)).map(({ kind }) => kind);
  assert.deepEqual(kinds.slice(0, 6), ['ActionEvent', 'ActionEvent', 'AgentErrorEvent', 'ActionEvent', 'ObservationEvent', 'ObservationEvent']);
  const [only, ...more] = history('mixed');
  assert.deepEqual(more, [], 'one answer, one message');
  assert.equal(only.calls.length, 3);
  assert.deepEqual(only.results, only.calls);
});

test('agent-server 84: calls after finish leave a valid history', async (t) => {
  fake.setScenario('ending', [{ calls: [think('first'), finish, think('late')] }]);
  const conversation = await fresh(t, 'ending');
  assert.equal(await conversation.ask('go'), 'finished');
  const results = (await conversation.events()).filter(({ kind }) => kind === 'ObservationEvent');
  assert.deepEqual(results.slice(0, 2).map(({ tool_name: tool }) => tool), ['think', 'finish']);
  assert.ok(results.length === 2, 'the call behind finish did not run');
  assert.equal(await conversation.ask('again'), 'finished');
  for (const { calls, results: answered } of history('ending')) assert.deepEqual([...answered].sort(), [...calls].sort(), 'every call has exactly one result');
});

const promptOf = async (conversation) => {
  await conversation.say('hi');
  return (await conversation.events()).find(ofKind('SystemPromptEvent')).system_prompt.text;
};
const sectionsOf = (prompt) => [...prompt.matchAll(/^<([A-Z_]+)>$/gm)].map(([, name]) => name);

test('agent-server 89: a persona replaces the built-in one and the coding sections, and keeps the rules', async (t) => {
  const { agent, ...request } = startRequest(llmOf(fake, 'text'));
  const persona = 'You are a gardener.';
  const start = async (more) => {
    const conversation = await Conversation.create({ ...request, agent: { ...agent, ...more } });
    t.after(() => conversation.delete());
    return promptOf(conversation);
  };
  const [plain, own] = [await start({}), await start({ persona })];
  assert.ok(own.startsWith(persona), own.slice(0, 80));
  const kept = ['MEMORY', 'SECURITY', 'SECURITY_RISK_ASSESSMENT', 'EXTERNAL_SERVICES', 'PROCESS_MANAGEMENT'];
  assert.deepEqual(sectionsOf(own).filter((name) => kept.includes(name)), kept);
  for (const name of ['ROLE', 'CODE_QUALITY', 'PULL_REQUESTS']) {
    assert.ok(sectionsOf(plain).includes(name), name);
    assert.ok(!sectionsOf(own).includes(name), name);
  }
});

test('agent-server 50: two sockets get the same events, and a stalled one does not delay the other', async (t) => {
  const conversation = await fresh(t, 'command');
  const [reading, standing] = [await listening(t, conversation), await listening(t, conversation)];
  standing.ws.pause();
  await conversation.say('go', true);
  await reading.frame(restingSnapshot(['finished']), 'the end of the run, for the one that reads');
  standing.ws.resume();
  await standing.frame(restingSnapshot(['finished']), 'the end of the run, for the one that stood still');
  const idsOf = ({ frames }) => frames.filter((event) => !isSnapshot(event)).map(({ id }) => id);
  assert.deepEqual(idsOf(standing), idsOf(reading));
  assert.deepEqual(idsOf(reading), (await conversation.events()).map(({ id }) => id));
});
