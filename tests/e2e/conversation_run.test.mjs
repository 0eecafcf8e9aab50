// Runs as clients start, stop and confirm them, and how answers with several calls are kept.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { call } from './support/api.mjs';
import { Conversation, isAction, llmOf, ofKind, startRequest, text } from './support/conversation.mjs';
import { assertSound } from './support/database.mjs';
import { strictModel } from './support/model.mjs';
import { finish, terminal } from './support/model_calls.mjs';
import { restingSnapshot } from './support/socket.mjs';
import { waitUntil } from './support/wait.mjs';

const think = { name: 'think', arguments: { thought: 'hm' } };

const fake = await strictModel();
fake.setScenario('talk', [{ text: 'an answer' }]);
fake.setScenario('sleeper', [{ calls: [terminal('sleep 600; echo slept')] }, { text: 'just text' }]);
fake.setScenario('parked', [{ park: true, text: 'just text' }]);
fake.setScenario('acting', [{ calls: [terminal('echo acted')] }, { calls: [finish] }]);

async function fresh(t, scenario, more = {}) {
  const conversation = await Conversation.start(fake, scenario, more);
  t.after(() => conversation.delete());
  return conversation;
}

/** Resolves once the conversation has got all answers of the model. */
const letAnswer = (conversation) => waitUntil(async () => {
  fake.release();
  return (await conversation.status()) === 'finished';
}, 'the run ends');

const kindsOf = (events) => events.filter(({ kind }) => !['ConversationStateUpdateEvent', 'SystemPromptEvent', 'MessageEvent'].includes(kind)).map(({ kind, tool_name: name }) => `${kind} ${name}`);

test('agent-server 30: a run has status running from its answer until it is finished', async (t) => {
  const conversation = await fresh(t, 'parked');
  await conversation.say('go');
  await conversation.run();
  const seen = new Set([await conversation.status()]);
  await waitUntil(async () => {
    fake.release();
    const status = await conversation.status();
    seen.add(status);
    return status === 'finished';
  }, 'the run ends');
  assert.deepEqual([...seen], ['running', 'finished']);
});

test('a working directory that cannot be created is reported to the model', async (t) => {
  const conversation = await fresh(t, 'acting', { workspace: { kind: 'LocalWorkspace', working_dir: '/proc/no-such-folder' } });
  assert.equal(await conversation.ask('hi'), 'finished');
  const { observation } = (await conversation.events()).find(({ kind, tool_name: name }) => kind === 'ObservationEvent' && name === 'terminal');
  assert.equal(observation.is_error, true);
  assert.match(observation.content[0].text, /^The working directory cannot be created: creating \/proc\/no-such-folder: /);
  assert.ok(JSON.stringify(fake.requests.at(-1).body.messages).includes('The working directory cannot be created'));
});

test('long output is saved completely in the sandbox, and the model is given the path', async (t) => {
  fake.setScenario('counter', [{ calls: [terminal('seq 20000')] }, { calls: [finish] }]);
  const conversation = await fresh(t, 'counter');
  assert.equal(await conversation.ask('hi'), 'finished');
  const { observation } = (await conversation.events()).find(({ kind, tool_name: name }) => kind === 'ObservationEvent' && name === 'terminal');
  assert.equal(observation.full_output_save_dir, '/workspace/.openhands/outputs');
  const [file] = /\/workspace\/\.openhands\/outputs\/terminal_output_[0-9a-f]{8}\.txt/.exec(observation.content[0].text);
  assert.ok(JSON.stringify(fake.requests.at(-1).body.messages).includes(file));
  const kept = await call('GET', '/api/file/download', { query: { path: file } });
  assert.deepEqual([kept.status, kept.text.length, kept.text.slice(-12)], [200, 108894, '19999\n20000\n']);
});

test('agent-server 31: a second run is refused during the first', async (t) => {
  const conversation = await fresh(t, 'parked');
  await conversation.say('go', true);
  const answer = await conversation.call('POST', '/run');
  assert.equal(answer.status, 409);
  assert.deepEqual(answer.json, { detail: 'Conversation already running. Wait for completion or pause first.' });
  await letAnswer(conversation);
});

test('agent-server 32: a run on a finished conversation is reported as over', async (t) => {
  const conversation = await fresh(t, 'talk');
  assert.equal(await conversation.ask('hi'), 'finished');
  const socket = await conversation.socket();
  await socket.frame(restingSnapshot(['finished']), 'the first snapshot');
  const from = socket.frames.length;
  await conversation.run();
  await socket.frame(restingSnapshot(['finished']), 'the snapshot behind the answer', { from });
  await socket.close();
});

test('agent-server 33: a pause waits for the command, and the next run continues', async (t) => {
  // It does not end by itself before the pause.
  fake.setScenario('napper', Array.from({ length: 60 }, (_, i) => ({ calls: [terminal(`sleep 1; echo slept ${i}`)] })));
  const conversation = await fresh(t, 'napper');
  const socket = await conversation.socket();
  await conversation.say('go', true);
  await socket.frame(isAction('terminal'), 'the command');
  await conversation.must(200, 'POST', '/pause');
  assert.equal(await conversation.status(), 'paused');
  await socket.frame(restingSnapshot(['paused']), 'the snapshot');
  assert.ok((await conversation.events()).some(ofKind('PauseEvent')));
  await socket.close();
  fake.setScenario('napper', [{ text: 'just text' }]);
  await conversation.run();
  assert.equal(await conversation.rest(['finished', 'error']), 'finished');
  await assertSound(conversation);
});

test('agent-server 34: an interrupt ends a long command, and its call', async (t) => {
  const conversation = await fresh(t, 'sleeper');
  await conversation.say('go', true);
  await conversation.event(isAction('terminal'), 'the command');
  await conversation.must(200, 'POST', '/interrupt');
  assert.equal(await conversation.status(), 'paused');
  assert.deepEqual(kindsOf(await conversation.events()), ['ActionEvent terminal', 'AgentErrorEvent terminal', 'InterruptEvent undefined']);
});

test('agent-server 36: calls wait for confirmation, and can be rejected or approved', async (t) => {
  const policy = { confirmation_policy: { kind: 'AlwaysConfirm' } };
  const waiting = async () => {
    const conversation = await fresh(t, 'acting', policy);
    await conversation.say('go', true);
    await conversation.rest(['waiting_for_confirmation']);
    assert.deepEqual(kindsOf(await conversation.events()), ['ActionEvent terminal']);
    return conversation;
  };
  const refused = await waiting();
  await refused.must(200, 'POST', '/events/respond_to_confirmation', { json: { accept: false, reason: 'too risky' } });
  assert.equal(await refused.status(), 'idle');
  assert.equal((await refused.events()).find(ofKind('UserRejectObservation')).rejection_reason, 'too risky');
  for (const agree of [(one) => one.must(200, 'POST', '/events/respond_to_confirmation', { json: { accept: true } }), (one) => one.run()]) {
    const accepted = await waiting();
    await agree(accepted);
    assert.equal(await accepted.rest(['finished', 'error']), 'finished', 'a lone finish needs nobody');
    assert.equal((await accepted.events()).filter(ofKind('ObservationEvent')).length, 2);
  }
});

test('agent-server 39: a model that never finishes is stopped by the iteration limit', async (t) => {
  const conversation = await fresh(t, 'loop', { max_iterations: 1 });
  assert.equal(await conversation.ask('go'), 'error');
  assert.equal((await conversation.events()).find(ofKind('ConversationErrorEvent')).code, 'MaxIterationsReached');
});

test('the start request configures stuck detection', async (t) => {
  fake.setScenario('circling', [{ calls: [think] }]);
  for (const [more, status, n] of [
    [{}, 'stuck', 4],
    [{ stuck_detection_thresholds: { action_observation: 2 } }, 'stuck', 2],
    [{ stuck_detection_thresholds: { action_observation: 30, alternating_pattern: 30 } }, 'error', 12],
    [{ stuck_detection: false, stuck_detection_thresholds: { action_observation: 2 } }, 'error', 12],
  ]) {
    const conversation = await fresh(t, 'circling', { max_iterations: 12, ...more });
    await conversation.say('go', true);
    await conversation.rest(['stuck', 'error', 'finished']);
    assert.equal(await conversation.status(), status, JSON.stringify(more));
    assert.equal((await conversation.events()).filter(ofKind('ActionEvent')).length, n, JSON.stringify(more));
  }
  for (const thresholds of [{ monologue: 0 }, { action_error: 'often' }, 3]) {
    const answer = await call('POST', '/api/conversations', { json: startRequest(llmOf(fake, 'circling'), { stuck_detection_thresholds: thresholds }) });
    assert.equal(answer.status, 422, JSON.stringify(thresholds));
  }
});

test('agent-server 40: a message during a run is answered', async (t) => {
  const conversation = await fresh(t, 'parked');
  const from = fake.requests.length;
  await conversation.say('go', true);
  await waitUntil(() => fake.requests.length > from, 'the model is asked');
  await conversation.say('and this', true);
  await letAnswer(conversation);
  assert.ok(fake.requests.some(({ body }) => JSON.stringify(body.messages).includes('and this')));
});

test('agent-server 80: two concurrent creates with one id make one conversation', async (t) => {
  const request = { ...startRequest(llmOf(fake, 'talk')), conversation_id: randomUUID(), initial_message: text('once') };
  const answers = await Promise.all([1, 2].map(() => call('POST', '/api/conversations', { json: request })));
  const conversation = new Conversation(request.conversation_id);
  t.after(() => conversation.delete());
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 201]);
  await conversation.rest(['finished']);
  assert.equal((await conversation.events()).filter(({ kind, source }) => kind === 'MessageEvent' && source === 'user').length, 1);
});

test('agent-server 83: valid and invalid calls of one answer stay in one answer', async (t) => {
  fake.setScenario('mixed', [{ calls: [terminal('echo one'), { name: 'nosuch', arguments: { x: 1 } }, think] }, { text: 'done' }]);
  const conversation = await fresh(t, 'mixed');
  const from = fake.requests.length;
  assert.equal(await conversation.ask('go'), 'finished');
  assert.deepEqual(kindsOf(await conversation.events()), [
    'ActionEvent terminal', 'ActionEvent nosuch', 'AgentErrorEvent nosuch', 'ActionEvent think', 'ObservationEvent terminal', 'ObservationEvent think',
  ]);
  const messages = fake.requests[from + 1].body.messages.slice(2);
  assert.deepEqual(messages.map(({ role }) => role), ['assistant', 'tool', 'tool', 'tool']);
  assert.deepEqual(messages.slice(1).map((message) => message.tool_call_id), messages[0].tool_calls.map(({ id }) => id));
});

test('agent-server 84: a call after finish does not run, and gets a result for the model', async (t) => {
  fake.setScenario('ending', [{ calls: [think, finish, think] }]);
  const conversation = await fresh(t, 'ending');
  assert.equal(await conversation.ask('go'), 'finished');
  assert.deepEqual(kindsOf(await conversation.events()), [
    'ActionEvent think', 'ActionEvent finish', 'ActionEvent think', 'ObservationEvent think', 'ObservationEvent finish', 'AgentErrorEvent think',
  ]);
  const from = fake.requests.length;
  assert.equal(await conversation.ask('more'), 'finished');
  const { messages } = fake.requests[from].body;
  const calls = messages.flatMap((message) => message.tool_calls ?? []).map(({ id }) => id);
  assert.deepEqual(messages.filter(({ role }) => role === 'tool').map((message) => message.tool_call_id), calls);
  await assertSound(conversation);
});

test('a client tool is offered to the model, and its calls go to the client', async (t) => {
  const parameters = { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] };
  fake.setScenario('pointing', [{ calls: [{ name: 'show_on_map', arguments: { place: 'Vaduz' } }] }, { text: 'shown' }]);
  const conversation = await fresh(t, 'pointing', { client_tools: [{ name: 'show_on_map', description: 'Shows a place', parameters }] });
  const from = fake.requests.length;
  assert.equal(await conversation.ask('go'), 'finished');
  const [first, second] = fake.requests.slice(from).map(({ body }) => body);
  assert.deepEqual(first.tools.at(-1).function, { name: 'show_on_map', description: 'Shows a place', parameters });
  assert.equal(second.messages.at(-1).role, 'tool');
  const events = await conversation.events();
  const { tools } = events.find(ofKind('SystemPromptEvent'));
  const { kind, action_type: action, observation_type: result, client_tool_name: name, input_schema: schema } = tools.at(-1);
  assert.deepEqual({ kind, action, result, name, schema }, { kind: 'ClientTool', action: 'ClientAction_show_on_map', result: 'ClientToolObservation', name: 'show_on_map', schema: parameters });
  const call = events.find(isAction('show_on_map'));
  assert.deepEqual(call.action, { place: 'Vaduz', kind: 'ClientAction_show_on_map' });
  const seen = events.find(ofKind('ObservationEvent'));
  assert.equal(seen.observation.kind, 'ClientToolObservation');
  assert.equal(seen.observation.content[0].text, 'Tool call dispatched to client.');
});
