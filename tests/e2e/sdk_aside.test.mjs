// The official Python SDK forks, asks, condenses and names, beside the runs of a conversation.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { must } from './support/api.mjs';
import { sdkWithModel, storedIds } from './support/sdk.mjs';

const { fake, sdk } = await sdkWithModel();

test('agent-server 42: a fork starts at its source\'s state, and is independent', async () => {
  const answers = { 'stored ids': storedIds };
  assert.deepEqual(await sdk.play('aside.forks', {}, { answers }), {
    copied: true, title: 'The fork', tags: { team: 'core' }, cost: 0, end: 'finished', untouched: true, part: true,
  });
});

test('agent-server 43: a side question adds nothing to the conversation', async () => {
  assert.deepEqual(await sdk.play('aside.asks'), { answer: 'just text', messages: ['go', 'just text'] });
});

test('a conversation is condensed on request', async () => {
  fake.setScenario('long', [{ text: 'words' }]);
  const seen = await sdk.play('aside.condenses');
  assert.equal(seen.summary, 'words');
  assert.ok(seen.forgotten > 0);
  assert.equal(seen.end, 'finished');
});

test('titles are set by the client\'s model and by hand', async () => {
  const answers = { info: (id) => must(200, 'GET', `/api/conversations/${id}`) };
  assert.deepEqual(await sdk.play('aside.names', {}, { answers }), { made: 'just text', kept: 'By hand' });
});
