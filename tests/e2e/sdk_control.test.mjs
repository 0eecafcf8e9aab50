// The official Python SDK pauses, interrupts and confirms.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { terminal } from './support/model_calls.mjs';
import { sdkWithModel } from './support/sdk.mjs';

const { fake, sdk } = await sdkWithModel();

test('a pause ends run(), and the next run() continues', async () => {
  const seen = await sdk.play('talk.pauses');
  assert.equal(seen.paused, 'paused');
  assert.ok(seen.kinds.includes('ObservationEvent') && seen.kinds.includes('PauseEvent'), seen.kinds.join());
  assert.equal(seen.end, 'finished');
});

test('an interrupt ends the command, and the next run() continues', async () => {
  const seen = await sdk.play('talk.interrupts');
  assert.equal(seen.interrupted, 'paused');
  assert.equal(seen.errors.length, 1);
  assert.equal(seen.end, 'finished');
});

test('a pause before the first message still sets up the agent\'s prompt and tools', async () => {
  const from = fake.requests.length;
  assert.deepEqual(await sdk.play('talk.rests_first'), {
    kinds: ['PauseEvent', 'SystemPromptEvent', 'MessageEvent', 'MessageEvent'], end: 'finished',
  });
  const step = fake.requests.slice(from).find(({ body }) => body.tools !== undefined);
  assert.equal(step?.body.messages[0].role, 'system');
});

test('each step waits for confirmation, and a rejected one is not run', async () => {
  assert.deepEqual(await sdk.play('talk.confirms'), {
    waiting: 'waiting_for_confirmation',
    rejected: ['not that file'],
    after_rejection: 'idle',
    steps: 1,
    end: 'finished',
    policy: 'AlwaysConfirm',
    policy_later: 'NeverConfirm',
  });
});

test('a risky step waits, another runs', async () => {
  fake.setScenario('risks', [
    { calls: [terminal('true')] },
    { calls: [terminal('true', 'HIGH')] },
    { text: 'done' },
  ]);
  assert.deepEqual(await sdk.play('talk.weighs'), {
    status: 'waiting_for_confirmation', risks: ['LOW', 'HIGH'], n_results: 1, analyzer: 'LLMSecurityAnalyzer', end: 'finished',
  });
});
