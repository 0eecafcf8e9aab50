// How runs end: by words, by a finish, at a limit, or because the agent goes round in circles.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { observed, ofKind } from './support/conversation.mjs';
import { assertSound } from './support/database.mjs';
import { fake, kindsOf, play, requestsOf, textOf } from './support/loop.mjs';
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

/** Each call costs 2 cents and little more. */
const PRICED = { input_cost_per_token: 2e-5, output_cost_per_token: 0 };

test('agent-loop 21: a run ends with an error at its budget, and goes on when that is raised', async (t) => {
  const conversation = await play(t, inTurn([{ calls: [terminal('echo one')] }, done]), { llm: PRICED, max_budget_per_run: 0.01 });
  assert.equal(await conversation.ask('go'), 'error');
  const events = await conversation.events();
  assert.deepEqual(kindsOf(events).slice(3), ['ActionEvent terminal', 'ObservationEvent terminal', 'S(error)', 'ConversationErrorEvent']);
  const { code, detail, classification } = events.at(-1);
  assert.equal(code, 'MaxBudgetReached');
  assert.deepEqual(classification, { kind: 'quota', retryable: false, user_action: 'settings' });
  assert.match(detail, /budget of \$0\.0100: .* cost \$0\.02\d\d\b/);
  assert.equal(requestsOf(conversation).length, 1);
  await conversation.run();
  assert.equal(await conversation.rest(['finished', 'error']), 'error');
  assert.equal(requestsOf(conversation).length, 1, 'a further run changes nothing');
  await conversation.must(200, 'PATCH', '', { json: { max_budget_per_run: 0.05 } });
  assert.equal((await conversation.info()).max_budget_per_run, 0.05);
  await conversation.run();
  assert.equal(await conversation.rest(['finished']), 'finished');
  assert.equal(requestsOf(conversation).length, 2);
  await assertSound(conversation);
});

test('a finish that exceeds the budget is no error', async (t) => {
  const conversation = await play(t, [{ calls: [finish] }], { llm: PRICED, max_budget_per_run: 0.01 });
  assert.equal(await conversation.ask('go'), 'finished');
});

test('a run with a budget does not call a model whose price is unknown', async (t) => {
  const conversation = await play(t, [done], { max_budget_per_run: 1 });
  assert.equal(await conversation.ask('go'), 'error');
  const { code, detail } = (await conversation.events()).at(-1);
  assert.equal(code, 'MaxBudgetReached');
  assert.match(detail, /price of the model .* is unknown/);
  assert.equal(requestsOf(conversation).length, 0);
});

test('a budget is a number of at least 0, or null', async (t) => {
  const conversation = await play(t, [done]);
  for (const budget of ['1', -1, true]) await conversation.must(422, 'PATCH', '', { json: { max_budget_per_run: budget } });
  await conversation.must(200, 'PATCH', '', { json: { max_budget_per_run: null } });
  assert.equal((await conversation.info()).max_budget_per_run, undefined);
});

test('an answer that reached its limit of tokens is continued, not shown as finished', async (t) => {
  const conversation = await play(t, inTurn([{ text: 'The first half', finish: 'length' }, done]));
  assert.equal(await conversation.ask('go'), 'finished');
  const events = await conversation.events();
  assert.deepEqual(kindsOf(events).slice(3), ['MessageEvent agent', 'MessageEvent environment', 'MessageEvent agent', 'S(finished)']);
  const { messages } = requestsOf(conversation)[1];
  assert.match(textOf(messages.at(-1)), /cut off/);
  assert.match(textOf(messages.at(-2)), /The first half/);
});
