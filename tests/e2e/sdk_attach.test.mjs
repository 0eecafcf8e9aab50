// The official Python SDK attaches to conversations, and starts them by other ways than its own.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { must } from './support/api.mjs';
import { sdkWithModel, storedIds } from './support/sdk.mjs';

const { sdk } = await sdkWithModel();

test('agent-server 61: attaches to an existing conversation', async () => {
  assert.deepEqual(await sdk.play('returning.again', {}, { answers: { 'stored ids': storedIds } }), {
    history: true, more: true, attached: true, agent: 'Agent', end: 'finished',
  });
});

test('starts a conversation with the client\'s id, and one by a complete request', async () => {
  assert.deepEqual(await sdk.play('returning.new_by_id'), { same: true, end: 'finished' });
  const answers = { info: (id) => must(200, 'GET', `/api/conversations/${id}`) };
  assert.deepEqual(await sdk.play('returning.by_request', {}, { answers }), { max_iterations: 7, tags: { team: 'core' }, end: 'finished' });
});
