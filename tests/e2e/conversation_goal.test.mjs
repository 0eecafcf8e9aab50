// A goal: runs are repeated until a judge accepts the result, the rounds are used up, or the user intervenes.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { Conversation } from './support/conversation.mjs';
import { assertSound } from './support/database.mjs';
import { strictModel } from './support/model.mjs';
import { killAndAwait } from './support/processes.mjs';
import { waitUntil } from './support/wait.mjs';

const NOT_YET = JSON.stringify({ score: 0.4, complete: false, missing: 'two tests fail' });
const DONE = `Here it is: ${JSON.stringify({ score: 1, complete: true, missing: '' })}`;

const fake = await strictModel();

// One scenario answers agent and judge: the fake gives both the same answer.
async function fresh(t, words) {
  const name = `goal-${randomUUID().slice(0, 8)}`;
  fake.setScenario(name, [{ text: words }]);
  const conversation = await Conversation.start(fake, name);
  t.after(() => conversation.delete());
  return { conversation, say: (other) => fake.setScenario(name, [{ text: other }]), park: () => fake.setScenario(name, [{ park: true, text: NOT_YET }]), name };
}

const goals = async (conversation) => (await conversation.events()).filter(({ key }) => key === 'goal').map(({ value }) => value);
const settled = (conversation) => waitUntil(async () => {
  const last = (await goals(conversation)).at(-1);
  return last?.active === false && last;
}, 'the loop has ended');

test('a goal is repeated until the judge accepts the result', async (t) => {
  const { conversation, say } = await fresh(t, NOT_YET);
  await conversation.must(200, 'POST', '/goal', { json: { objective: 'All tests pass' } });
  await waitUntil(async () => (await goals(conversation)).length >= 2, 'a second round');
  say(DONE);
  const last = await settled(conversation);
  assert.equal(last.status, 'complete');
  assert.equal(last.objective, 'All tests pass');
  assert.equal(last.max_iterations, 10);
  assert.deepEqual(last.verdict, { score: 1, complete: true, missing: '' });
  const [first, second] = await goals(conversation);
  assert.deepEqual(first, { active: true, status: 'running', iteration: 1, max_iterations: 10, objective: 'All tests pass', verdict: null });
  assert.equal(second.iteration, 2);
  assert.deepEqual(second.verdict, JSON.parse(NOT_YET));
  const said = (await conversation.events()).filter(({ kind, source }) => kind === 'MessageEvent' && source === 'user').map((event) => event.llm_message.content[0].text);
  assert.equal(said[0], 'All tests pass');
  assert.match(said[1], /two tests fail/);
  assert.equal(await conversation.status(), 'finished');
  const judged = (await goals(conversation)).filter(({ verdict }) => verdict !== null).length;
  assert.equal((await conversation.info()).stats.usage_to_metrics['goal-judge'].token_usages.length, judged, 'each judgement is counted');
  await assertSound(conversation);
});

test('a goal ends when its rounds are used up or the verdict is invalid', async (t) => {
  const { conversation } = await fresh(t, 'I think it is fine');
  await conversation.must(200, 'POST', '/goal', { json: { objective: 'x', max_iterations: 2 } });
  const last = await settled(conversation);
  assert.equal(last.status, 'capped');
  assert.equal(last.iteration, 2);
  assert.equal(last.verdict.score, 0);
  assert.equal((await conversation.call('POST', '/goal/resume')).status, 400);
});

test('a message, a stop and a pause end the goal\'s loop; it can be resumed', async (t) => {
  const { conversation, say, park, name } = await fresh(t, NOT_YET);
  park();
  const parked = () => waitUntil(() => fake.requests.some(({ body }) => body.model === name), 'the model is asked');
  await conversation.must(200, 'POST', '/goal', { json: { objective: 'x' } });
  await parked();
  assert.equal((await conversation.call('POST', '/goal', { json: { objective: 'y' } })).status, 409);
  assert.equal((await conversation.call('POST', '/goal/resume')).status, 409);
  await conversation.must(200, 'POST', '/goal/stop');
  assert.equal((await settled(conversation)).status, 'interrupted');
  say(NOT_YET);
  fake.release();
  await conversation.rest(['finished']);
  say(DONE);
  await conversation.must(200, 'POST', '/goal/resume');
  assert.equal((await settled(conversation)).status, 'complete');
  say(NOT_YET);
  await conversation.must(200, 'POST', '/goal', { json: { objective: 'again', max_iterations: 500 } });
  await waitUntil(async () => (await goals(conversation)).at(-1).iteration > 1, 'another round');
  await conversation.say('something else');
  assert.equal((await settled(conversation)).status, 'interrupted');
});

test('a goal survives the death of the worker between its rounds', async (t) => {
  const { conversation, say } = await fresh(t, NOT_YET);
  await conversation.must(200, 'POST', '/goal', { json: { objective: 'x', max_iterations: 500 } });
  await waitUntil(async () => (await goals(conversation)).length >= 2, 'a second round');
  await killAndAwait('worker');
  const n = (await goals(conversation)).length;
  await waitUntil(async () => (await goals(conversation)).length > n, 'the loop goes on');
  say(DONE);
  assert.equal((await settled(conversation)).status, 'complete');
  await assertSound(conversation);
});

test('invalid goals are refused', async (t) => {
  const { conversation } = await fresh(t, 'hi');
  const empty = await conversation.call('POST', '/goal', { json: { objective: ' ' } });
  assert.equal(empty.status, 400);
  assert.deepEqual(empty.json, { detail: 'Goal objective must not be empty.' });
  for (const json of [{}, { objective: 'x', max_iterations: 0 }, { objective: 'x', max_iterations: 'many' }]) assert.equal((await conversation.call('POST', '/goal', { json })).status, 422);
  for (const [path, json] of [['/goal', { objective: 'x' }], ['/goal/stop'], ['/goal/resume']]) assert.equal((await new Conversation(randomUUID()).call('POST', path, { json })).status, 404);
  await conversation.must(200, 'POST', '/goal/stop');
  const nothing = await conversation.call('POST', '/goal/resume');
  assert.equal(nothing.status, 400);
  assert.deepEqual(nothing.json, { detail: 'no_resumable_goal' });
});
