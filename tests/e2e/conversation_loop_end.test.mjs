// How runs end: by words, by a finish, at a limit, or because the agent goes round in circles.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { observed, ofKind } from './support/conversation.mjs';
import { assertSound } from './support/database.mjs';
import { fake, kindsOf, play, requestsOf } from './support/loop.mjs';
import { finish, terminal } from './support/model_calls.mjs';
import { waitUntil } from './support/wait.mjs';

const done = { text: 'done' };
/** The same output each time it runs. */
const same = { calls: [terminal('echo sa""me')] };
const failing = { calls: [{ name: 'nope', arguments: {} }] };

/** Steps by number of the request, whatever it contains; the last one repeats. */
function inTurn(steps) {
  let n = 0;
  return () => steps[Math.min(n++, steps.length - 1)];
}

test('agent-loop 1: an answer in words ends the run', async (t) => {
  const conversation = await play(t, [{ text: 'hi' }]);
  assert.equal(await conversation.ask('hello'), 'finished');
  const events = await conversation.events();
  assert.deepEqual(kindsOf(events), ['SystemPromptEvent', 'MessageEvent user', 'S(running)', 'MessageEvent agent', 'S(finished)']);
  const answer = events.findLast(ofKind('MessageEvent'));
  assert.deepEqual(answer.llm_message.content.map(({ text }) => text), ['hi']);
  assert.ok(answer.llm_response_id);
  assert.equal(requestsOf(conversation).length, 1);
});

test('agent-loop 2: a command and a finish each have their result, and end the run', async (t) => {
  const conversation = await play(t, [{ calls: [terminal('ls /')] }, { calls: [finish] }]);
  assert.equal(await conversation.ask('go'), 'finished');
  const events = await conversation.events();
  assert.deepEqual(kindsOf(events).slice(3), ['ActionEvent terminal', 'ObservationEvent terminal', 'ActionEvent finish', 'ObservationEvent finish', 'S(finished)']);
  const [listed, end] = events.filter(ofKind('ObservationEvent'));
  assert.equal(listed.observation.exit_code, 0);
  assert.deepEqual([end.observation.kind, observed(end)], ['FinishObservation', finish.arguments.message]);
  await assertSound(conversation);
});

test('agent-loop 13: an answer that only reasons is followed by a nudge', async (t) => {
  const conversation = await play(t, inTurn([{ reasoning: 'I only think.' }, done]));
  assert.equal(await conversation.ask('go'), 'finished');
  const events = await conversation.events();
  assert.deepEqual(kindsOf(events).slice(3), ['MessageEvent agent', 'MessageEvent environment', 'MessageEvent agent', 'S(finished)']);
  assert.equal(events.find(({ source, kind }) => kind === 'MessageEvent' && source === 'environment').llm_message.role, 'user');
  assert.equal(requestsOf(conversation).length, 2);
});

test('agent-loop 14: three empty answers are a monologue, and stuck', async (t) => {
  const conversation = await play(t, inTurn([{ text: '' }]));
  assert.equal(await conversation.ask('go'), 'stuck');
  assert.deepEqual(kindsOf(await conversation.events()).slice(3), [
    ...Array.from({ length: 3 }, () => ['MessageEvent agent', 'MessageEvent environment']).flat(), 'S(stuck)',
  ]);
  assert.equal(requestsOf(conversation).length, 3);
});

test('agent-loop 15: one call with one result, four times, is stuck', async (t) => {
  const conversation = await play(t, [same]);
  assert.equal(await conversation.ask('go'), 'stuck');
  const kinds = kindsOf(await conversation.events());
  assert.equal(kinds.filter((kind) => kind === 'ObservationEvent terminal').length, 4);
  assert.equal(kinds.at(-1), 'S(stuck)');
  assert.equal(requestsOf(conversation).length, 4);
});

test('agent-loop 16: one failing call is nudged after three times, and stuck after four', async (t) => {
  const conversation = await play(t, inTurn([failing]));
  assert.equal(await conversation.ask('go'), 'stuck');
  const round = ['ActionEvent nope', 'AgentErrorEvent nope'];
  assert.deepEqual(kindsOf(await conversation.events()).slice(3), [...round, ...round, ...round, 'MessageEvent environment', ...round, 'S(stuck)']);
  assert.equal(requestsOf(conversation).length, 4);
});

test('agent-loop 17: two alternating calls, three times, are stuck', async (t) => {
  let n = 0;
  const conversation = await play(t, () => ({ calls: [terminal(n++ % 2 === 0 ? 'echo ti""ck' : 'echo to""ck')] }));
  assert.equal(await conversation.ask('go'), 'stuck');
  const events = await conversation.events();
  assert.deepEqual(events.filter(ofKind('ObservationEvent')).map((event) => /tick|tock/.exec(observed(event))[0]), ['tick', 'tock', 'tick', 'tock', 'tick', 'tock']);
  assert.equal(kindsOf(events).at(-1), 'S(stuck)');
  assert.equal(requestsOf(conversation).length, 6);
});

test('agent-loop 18: a message of the user starts the count again', async (t) => {
  const conversation = await play(t, inTurn([same, same, same, { ...same, park: true }, done]));
  await conversation.say('go', true);
  await waitUntil(() => fake.nParked() === 1, 'the model is asked for the fourth call');
  await conversation.say('go on', true);
  fake.release();
  assert.equal(await conversation.rest(), 'finished');
  const events = await conversation.events();
  assert.equal(events.filter(ofKind('ObservationEvent')).length, 4);
  assert.ok(!kindsOf(events).includes('S(stuck)'));
});

test('agent-loop 19: a run ends at its iteration limit with an error, classified as the agent\'s', async (t) => {
  const conversation = await play(t, [{ calls: [terminal('echo one')] }, { calls: [terminal('echo two')] }, done], { max_iterations: 2 });
  assert.equal(await conversation.ask('go'), 'error');
  const events = await conversation.events();
  const round = ['ActionEvent terminal', 'ObservationEvent terminal'];
  assert.deepEqual(kindsOf(events).slice(3), [...round, ...round, 'S(error)', 'ConversationErrorEvent']);
  assert.equal(events.at(-1).code, 'MaxIterationsReached');
  assert.deepEqual(events.at(-1).classification, { kind: 'agent_action', retryable: false, user_action: 'none' });
});

test('agent-loop 20: a finish within the iteration limit is no error', async (t) => {
  const conversation = await play(t, [{ calls: [finish] }], { max_iterations: 1 });
  assert.equal(await conversation.ask('go'), 'finished');
  assert.ok(!(await conversation.events()).some(ofKind('ConversationErrorEvent')));
});
