// Condensations that are ended before their time: by an interrupt, by another one, by the death of the worker.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { condensations, fake, startCondensed, talk, textOf, tooLong } from './support/condenser.mjs';
import { assertSound } from './support/database.mjs';
import { killAndAwait } from './support/processes.mjs';
import { waitUntil } from './support/wait.mjs';

test('an interrupt ends a condensation, and the next run starts it again', async (t) => {
  fake.setScenario('slow', [{ park: true, text: 'late' }]);
  const conversation = await startCondensed(t, 'talk', 'slow');
  await talk(conversation, 1, 10);
  const from = fake.requests.length;
  await conversation.say('word-11.', true);
  await waitUntil(() => fake.requests.length > from, 'the condenser is asked');
  await conversation.must(200, 'POST', '/interrupt');
  await conversation.rest(['paused']);
  assert.deepEqual(await condensations(conversation), []);
  fake.setScenario('slow', [{ text: 'at last' }]);
  await conversation.run();
  await conversation.rest(['finished']);
  assert.deepEqual((await condensations(conversation)).map(({ summary }) => summary), ['at last']);
  await assertSound(conversation);
});

test('of two concurrent condensations, by a client and by the run, the first one is stored', async (t) => {
  fake.setScenario('both', [{ park: true, text: 'of the run' }]);
  const conversation = await startCondensed(t, 'talk', 'both');
  await talk(conversation, 1, 10);
  const from = fake.requests.length;
  await conversation.say('word-11.', true);
  await waitUntil(() => fake.requests.length > from, 'the condenser is asked');
  fake.setScenario('both', [{ text: 'of the client' }]);
  await conversation.must(200, 'POST', '/condense');
  fake.release();
  await conversation.rest(['finished']);
  assert.deepEqual((await condensations(conversation)).map(({ summary }) => summary), ['of the client']);
  assert.equal((await conversation.info()).stats.usage_to_metrics.condenser.token_usages.length, 2, 'both are counted');
  const read = textOf(fake.requests.at(-1));
  assert.deepEqual([/of the client/, /of the run/].map((words) => words.test(read)), [true, false]);
  await assertSound(conversation);
});

test('a condensation survives the death of its worker', async (t) => {
  const wide = [{ text: 'an answer' }];
  fake.setScenario('limited', wide);
  for (const name of ['mortal', 'mortal2']) fake.setScenario(name, [{ park: true, text: 'late' }]);
  const long = await startCondensed(t, 'talk', 'mortal');
  const large = await startCondensed(t, 'limited', 'mortal2');
  await Promise.all([talk(long, 1, 10), talk(large, 1, 3)]);
  fake.setScenario('limited', ({ messages }) => (messages.length > 6 ? tooLong : wide[0]));
  const from = fake.requests.length;
  for (const conversation of [long, large]) await conversation.say('word-last.', true);
  const asked = (name) => fake.requests.slice(from).some(({ body }) => body.model === name);
  await waitUntil(() => asked('mortal') && asked('mortal2'), 'both condensers are asked');
  for (const name of ['mortal', 'mortal2']) fake.setScenario(name, [{ text: 'by the next worker' }]);
  await killAndAwait('worker');
  for (const conversation of [long, large]) {
    assert.equal(await conversation.rest(['finished', 'error']), 'finished');
    assert.deepEqual((await condensations(conversation)).map(({ summary }) => summary), ['by the next worker']);
    await assertSound(conversation);
  }
});
