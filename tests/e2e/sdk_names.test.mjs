// The official Python SDK condenses a conversation on request, and names it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { must } from './support/api.mjs';
import { sdkWithModel } from './support/sdk.mjs';

const { fake, sdk } = await sdkWithModel();

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
