// The official Python SDK gives secrets to a conversation.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { terminal } from './support/model_calls.mjs';
import { sdkWithModel, storedIds } from './support/sdk.mjs';

const { fake, sdk } = await sdkWithModel();

test('agent-server 86: secrets reach the shell and no event', async () => {
  fake.setScenario('secrets', [{ calls: [terminal('echo $FIRST_TOKEN; echo $SECOND_TOKEN')] }, { text: 'done' }]);
  const seen = await sdk.play('talk.keeps_secrets');
  assert.deepEqual(seen.registered, ['FIRST_TOKEN', 'SECOND_TOKEN']);
  assert.equal(seen.shown.join('').match(/<secret-hidden>/g)?.length, 2, seen.shown.join(''));
  assert.doesNotMatch(seen.all, /value-of-the/);
  assert.doesNotMatch(JSON.stringify(fake.requests), /value-of-the/);
});

test('a conversation can be loaded again whatever values its secrets have', async () => {
  const words = ['x', 'text', 'Terminal', 'agent', 'MessageEvent', 'TerminalObservation', 'environment', 'terminal', 'assistant', 'create', '/workspace/project'];
  const file = `words-${randomUUID()}.txt`;
  fake.setScenario('words', [
    { text: 'to the Terminal', calls: [terminal('echo "Terminal x text agent"')] },
    { calls: [{ name: 'file_editor', arguments: { command: 'create', path: `/workspace/project/${file}`, file_text: 'x', security_risk: 'LOW', summary: 'a create' } }] },
    { text: 'a MessageEvent of text' },
  ]);
  const secrets = Object.fromEntries(words.map((word, i) => [`WORD_${i}`, word]));
  const seen = await sdk.play('returning.with_words_as_secrets', { secrets }, { answers: { 'stored ids': storedIds } });
  assert.equal(seen.end, 'finished');
  assert.ok(seen.same, 'the SDK reads each event that is stored');
  assert.deepEqual(seen.kinds.filter((kind) => kind !== 'ConversationStateUpdateEvent'),
    ['SystemPromptEvent', 'MessageEvent', 'ActionEvent', 'ObservationEvent', 'ActionEvent', 'ObservationEvent', 'MessageEvent']);
  assert.deepEqual(seen.said, ['a <secret-hidden> of text'], 'long ones are hidden in words, short ones are not');
  assert.match(seen.shown[0], /<secret-hidden> x text agent/);
});
