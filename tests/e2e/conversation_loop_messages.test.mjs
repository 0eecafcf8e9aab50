// Messages, pauses and interrupts in the middle of a run, and messages after it.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { must } from './support/api.mjs';
import { ofKind } from './support/conversation.mjs';
import { assertSound, query } from './support/database.mjs';
import { fake, kindsOf, play, requestsOf, textOf } from './support/loop.mjs';
import { finish, terminal } from './support/model_calls.mjs';
import { waitUntil } from './support/wait.mjs';

const done = { text: 'done' };
const wantsPause = async ({ id }) => (await query("SELECT stop_requested FROM conversations WHERE id = :'id'::uuid", { id }))[0].stop_requested === 'pause';
const asked = () => waitUntil(() => fake.nParked() === 1, 'the model is asked');
const shell = (command) => must(200, 'POST', '/api/bash/execute_bash_command', { json: { command, cwd: '/' } });
const appeared = (path) => waitUntil(async () => (await shell(`test -e ${path}`)).exit_code === 0, `${path} is there`);

test('agent-loop 28: a pause during a model call takes effect after its calls, and the next run continues', async (t) => {
  const conversation = await play(t, [{ park: true, calls: [terminal('echo ran')] }, done]);
  await conversation.say('go', true);
  await asked();
  const paused = conversation.must(200, 'POST', '/pause');
  await waitUntil(() => wantsPause(conversation), 'the pause is stored');
  fake.release();
  await paused;
  await conversation.rest(['paused']);
  assert.deepEqual(kindsOf(await conversation.events()).slice(3), ['ActionEvent terminal', 'ObservationEvent terminal', 'S(paused)', 'PauseEvent']);
  assert.equal(requestsOf(conversation).length, 1);
  await conversation.run();
  assert.equal(await conversation.rest(['finished', 'error']), 'finished');
  assert.equal(requestsOf(conversation).length, 2);
  await assertSound(conversation);
});

test('agent-loop 29: an interrupt reaches the running command, and ends its call', async (t) => {
  const mark = `/tmp/interrupted-${randomUUID()}`;
  const conversation = await play(t, [{ calls: [terminal(`sh -c 'trap "touch ${mark}.caught" INT; touch ${mark}; sleep 100'`)] }, done]);
  await conversation.say('go', true);
  await appeared(mark);
  await conversation.must(200, 'POST', '/interrupt');
  await appeared(`${mark}.caught`);
  const events = await conversation.events();
  assert.deepEqual(kindsOf(events).slice(3), ['ActionEvent terminal', 'AgentErrorEvent terminal', 'S(paused)', 'InterruptEvent']);
  assert.equal(events.find(ofKind('AgentErrorEvent')).tool_call_id, events.find(ofKind('ActionEvent')).tool_call_id);
  await assertSound(conversation);
});

test('agent-loop 30: a message during a model call is stored before its answer, and read by the next call', async (t) => {
  const conversation = await play(t, [{ park: true, calls: [terminal('echo ran')] }, done]);
  await conversation.say('go', true);
  await asked();
  await conversation.say('and this', true);
  fake.release();
  assert.equal(await conversation.rest(['finished', 'error']), 'finished');
  const kinds = kindsOf(await conversation.events());
  assert.deepEqual(kinds.slice(2, 5), ['S(running)', 'MessageEvent user', 'ActionEvent terminal']);
  assert.equal(kinds.filter((kind) => kind === 'S(running)').length, 1);
  assert.equal(requestsOf(conversation).length, 2);
  assert.ok(requestsOf(conversation)[1].messages.some((message) => message.role === 'user' && textOf(message).includes('and this')));
});

test('agent-loop 31: a message during the last calls of a run is answered in that run', async (t) => {
  const mark = `/tmp/last-${randomUUID()}`;
  const conversation = await play(t, [{ calls: [terminal(`touch ${mark}; until [ -e ${mark}.go ]; do sleep 0.1; done`), finish] }]);
  await conversation.say('go', true);
  await appeared(mark);
  await conversation.say('and this', true);
  await shell(`touch ${mark}.go`);
  assert.equal(await conversation.rest(['finished', 'error']), 'finished');
  const calls = ['ActionEvent terminal', 'ActionEvent finish'];
  const results = ['ObservationEvent terminal', 'ObservationEvent finish'];
  assert.deepEqual(kindsOf(await conversation.events()).slice(3), [...calls, 'MessageEvent user', ...results, ...calls, ...results, 'S(finished)']);
  assert.equal(requestsOf(conversation).length, 2);
  await assertSound(conversation);
});

test('agent-loop 31: a message during the last model call of a run is answered in that run', async (t) => {
  const conversation = await play(t, [{ park: true, text: 'one' }]);
  await conversation.say('go', true);
  await asked();
  await conversation.say('and this', true);
  fake.release();
  await waitUntil(() => requestsOf(conversation).length === 2, 'the model is asked again');
  await asked();
  fake.release();
  assert.equal(await conversation.rest(['finished', 'error']), 'finished');
  assert.deepEqual(kindsOf(await conversation.events()).slice(3), ['MessageEvent user', 'MessageEvent agent', 'MessageEvent agent', 'S(finished)']);
});

test('agent-loop 49: a message to a finished conversation continues it, with the same prompt', async (t) => {
  const conversation = await play(t, [done]);
  assert.equal(await conversation.ask('go'), 'finished');
  const n = kindsOf(await conversation.events()).length;
  assert.equal(await conversation.ask('and this'), 'finished');
  const events = await conversation.events();
  assert.deepEqual(kindsOf(events).slice(n), ['S(idle)', 'MessageEvent user', 'S(running)', 'MessageEvent agent', 'S(finished)']);
  assert.equal(events.filter(ofKind('SystemPromptEvent')).length, 1);
  const [first, second] = requestsOf(conversation);
  assert.deepEqual(second.messages[0], first.messages[0]);
});
