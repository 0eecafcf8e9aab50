// The official Python SDK forks a conversation, and asks a side question.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sdkWithModel, storedIds } from './support/sdk.mjs';

const { sdk } = await sdkWithModel();

test('agent-server 42: a fork starts at its source\'s state, and is independent', async () => {
  const answers = { 'stored ids': storedIds };
  assert.deepEqual(await sdk.play('aside.forks', {}, { answers }), {
    copied: true, title: 'The fork', tags: { team: 'core' }, cost: 0, end: 'finished', untouched: true, part: true,
  });
});

test('agent-server 43: a side question adds nothing to the conversation', async () => {
  assert.deepEqual(await sdk.play('aside.asks'), { answer: 'just text', messages: ['go', 'just text'] });
});
