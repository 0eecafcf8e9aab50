// A worker dies while a run waits for its model's server, or asks it again: the outage goes on where it was.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ATTEMPTS, DEFAULT_RETRIES, age, down, waits } from '../e2e/support/outage.mjs';
import { killAndAwait, signal } from '../e2e/support/processes.mjs';
import { waitUntil } from '../e2e/support/wait.mjs';
import { start as startModel } from '../fakes/openai.mjs';
import { RUN_MS, assertWhole, expireLeases, heldLease, startAlone, takenOver } from './support.mjs';

let fake;

before(async () => {
  fake = await startModel();
});

after(() => fake.close());

/** A run that waits, with what its model does next. */
async function beginOutage(t, scenario) {
  let n = 0;
  fake.setScenario(scenario, () => down()(++n));
  const conversation = await startAlone(t, fake, scenario, { llm: DEFAULT_RETRIES });
  await conversation.say('go', true);
  const outage = await waits(conversation, 1);
  const count = () => fake.requests.filter(({ body }) => body.model === scenario).length;
  assert.equal(count(), ATTEMPTS);
  return { conversation, outage, count };
}

test('a run that waits for its model is not concerned by the death of its worker', async (t) => {
  const { conversation, outage, count } = await beginOutage(t, 'waits');
  await killAndAwait('worker');
  assert.deepEqual(await waits(conversation, 1), outage);
  await age(conversation);
  assert.equal((await waits(conversation, 2)).since, outage.since);
  assert.equal(count(), ATTEMPTS + 1, 'without the retries of a new call');
  fake.setScenario('waits', [{ text: 'done' }]);
  await age(conversation);
  assert.equal(await conversation.rest(undefined, RUN_MS), 'finished');
  await assertWhole(conversation);
});

test('a worker that dies while it asks again is replaced by one that asks once, in the same outage', async (t) => {
  const { conversation, outage, count } = await beginOutage(t, 'asks');
  fake.setScenario('asks', [{ park: true }]);
  await age(conversation);
  await waitUntil(() => count() === ATTEMPTS + 1, 'the model is asked again');
  const lease = await heldLease(conversation);
  let n = ATTEMPTS;
  fake.setScenario('asks', () => down()(++n));
  signal('worker', 'SIGKILL');
  await expireLeases(conversation);
  await takenOver(conversation, lease);
  assert.equal((await waits(conversation, 2)).since, outage.since);
  assert.equal(count(), ATTEMPTS + 2);
  await conversation.must(200, 'POST', '/interrupt');
  assert.equal(await conversation.status(), 'paused');
  await assertWhole(conversation);
});
