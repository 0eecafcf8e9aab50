// Stopping a process while one of its requests waits for another server.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { call } from './support/api.mjs';
import { llmOf } from './support/conversation.mjs';
import { start, stop } from './support/processes.mjs';
import { waitUntil } from './support/wait.mjs';

let fake;

before(async () => {
  fake = await startModel();
  fake.setScenario('silent', [{ park: true, text: 'late' }]);
});

after(async () => {
  fake.release();
  await fake.close();
  await start('fcgi');
});

test('a test of a silent model is answered when deft-fcgi is stopped', async () => {
  const asked = fake.requests.length;
  const answer = call('POST', '/api/profiles/silent/validate', { json: { llm: llmOf(fake, 'silent') } });
  await waitUntil(() => fake.requests.length > asked, 'the model is asked');
  stop('fcgi');
  const { status, json } = await answer;
  assert.equal(status, 200, 'no gateway says that the process has gone');
  assert.equal(json.valid, false);
});
