// The official Python SDK, as published, used as in its documentation: a run, its answer, its error, its events.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { call } from './support/api.mjs';
import { Conversation } from './support/conversation.mjs';
import { assertSound } from './support/database.mjs';
import { terminal } from './support/model_calls.mjs';
import { sdkWithModel } from './support/sdk.mjs';

const { fake, sdk } = await sdkWithModel();

test('agent-server 60: an agent runs a message in a conversation', async () => {
  const seen = await sdk.play('talk.whole');
  assert.equal(seen.status, 'finished');
  assert.ok(seen.cost > 0, `${seen.cost}`);
  assert.ok(seen.prompt_tokens > 1000);
  assert.deepEqual(seen.calls, ['file_editor', 'terminal', 'task_tracker', 'think', 'finish']);
  assert.deepEqual(seen.results, seen.calls, 'each action has its observation');
  assert.ok(seen.order, 'events are in the order of their times');
  assert.equal(seen.calls_later, 2 * seen.calls.length);
  assert.equal((await call('GET', `/api/conversations/${seen.id}`)).status, 404, 'close deletes, as the SDK does by default');
});

test('agent-server 38: run() raises the model\'s error', async () => {
  const seen = await sdk.play('talk.fails', { scenario: 'err' });
  assert.equal(seen.status, 'error');
  assert.match(seen.text, /LLMAuthenticationError: \S/, 'the code and the detail of the run, or of the title that nobody could make');
});

test('agent-server 95: token callbacks get an answer piece by piece', async () => {
  const seen = await sdk.play('talk.streams');
  assert.deepEqual(seen.said, ['drop by drop']);
  assert.ok(seen.pieces.length > 1, `${seen.pieces.length} pieces`);
  assert.equal(seen.pieces.join(''), 'drop by drop');
});

test('agent-server 29: the SDK accepts every stored event', async () => {
  const kinds = new Set();
  fake.setScenario('reasons', [{ reasoning: 'First I think.', text: 'Then I look.', calls: [terminal('true')] }, { text: 'done' }]);
  for (const scenario of ['hello', 'badtool', 'parallel', 'err', 'reasons']) {
    const conversation = await Conversation.start(fake, scenario, {
      security_analyzer: { kind: 'LLMSecurityAnalyzer' }, workspace: { kind: 'LocalWorkspace', working_dir: `/workspace/${randomUUID()}` },
    });
    await conversation.must(200, 'POST', '/secrets', { json: { secrets: { TOKEN: 'of-no-worth' } } });
    assert.match(await conversation.ask('go'), /^(finished|error)$/, scenario);
    const events = await conversation.events();
    for (const event of events) kinds.add(event.kind);
    assert.deepEqual(await sdk.play('oracle.refused', { events }), [], scenario);
    await assertSound(conversation);
    assert.equal(await conversation.delete(), 200);
  }
  for (const kind of ['SystemPromptEvent', 'ActionEvent', 'ObservationEvent', 'AgentErrorEvent', 'ConversationErrorEvent', 'SecurityAnalysisEvent']) {
    assert.ok(kinds.has(kind), `${kind} was among them`);
  }
});
