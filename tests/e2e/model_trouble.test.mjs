// A model that refuses, and what clients are told of it: once in the history, and live while another attempt is waited for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Conversation, llmOf, ofKind, startRequest, text } from './support/conversation.mjs';
import { strictModel } from './support/model.mjs';
import { Socket } from './support/socket.mjs';
import { waitUntil } from './support/wait.mjs';

const SOON_MS = 2000;
const fake = await strictModel();
const refusal = (status, error, headers) => ({ status, error: { message: 'no', ...error }, headers });

async function begin(t, scenario, more = {}, llm = {}) {
  const conversation = await Conversation.create(startRequest(llmOf(fake, scenario, llm), more));
  t.after(() => conversation.delete());
  return conversation;
}

for (const [name, step, code] of [
  ['refused key', refusal(401, { code: 'invalid_api_key' }), 'LLMAuthenticationError'],
  ['server fault', refusal(500, {}), 'LLMServiceUnavailableError'],
  ['empty account', refusal(429, { code: 'insufficient_quota' }), 'LLMRateLimitError'],
]) {
  test(`a model's ${name} is stored once, though a title was asked for too`, async (t) => {
    const scenario = `once-${code}`;
    fake.setScenario(scenario, [step]);
    const conversation = await begin(t, scenario, { autotitle: true });
    await conversation.say('Name me and go', true);
    assert.equal(await conversation.rest(['error']), 'error');
    await waitUntil(async () => (await conversation.info()).title !== null, 'the title is settled');
    const errors = (await conversation.events()).filter(ofKind('ConversationErrorEvent'));
    assert.deepEqual(errors.map((event) => event.code), [code]);
  });
}

test('an attempt that failed is told live, with its reason and when the next one begins', async (t) => {
  fake.setScenario('again', [{ text: 'good', once: refusal(429, { message: 'slow down' }, { 'retry-after': '3' }) }]);
  const conversation = await begin(t, 'again', {}, { num_retries: 4 });
  const session = await Socket.open(`/sockets/session/${conversation.id}`);
  const events = await conversation.socket();
  t.after(() => Promise.all([session.close(), events.close()]));
  const asked = fake.requests.length;
  await conversation.say('go', true);
  await waitUntil(() => fake.requests.length > asked, 'the model is asked');
  const refusedAt = Date.now();
  const end = await session.frame((frame) => frame.type === 'item_aborted', 'the attempt is told of');
  assert.ok(Date.now() - refusedAt < SOON_MS, `${Date.now() - refusedAt} ms`);
  assert.match(end.reason, /slow down \(error code: 429\)/);
  assert.deepEqual([end.attempt, end.attempts, end.retry_in_ms], [1, 4, 3000]);
  assert.equal(await conversation.rest(['finished', 'error']), 'finished');
  const answer = await session.frame((frame) => frame.event?.kind === 'MessageEvent' && frame.event.source === 'agent', 'the answer');
  assert.equal(answer.event.id, end.item_id);
  const kinds = new Set(events.frames.map((event) => event.kind));
  for (const kind of ['MessageEvent', 'SystemPromptEvent', 'ConversationStateUpdateEvent']) kinds.delete(kind);
  assert.deepEqual([...kinds], [], 'the events of the contract, and no others');
});

test('the last attempt is not told as one that another follows', async (t) => {
  fake.setScenario('never', [refusal(503, {})]);
  const conversation = await begin(t, 'never', {}, { num_retries: 2, retry_multiplier: 0 });
  const session = await Socket.open(`/sockets/session/${conversation.id}`);
  t.after(() => session.close());
  await conversation.must(200, 'POST', '/events', { json: { ...text('go'), run: true } });
  await session.frame((frame) => frame.event?.kind === 'ConversationErrorEvent', 'the error');
  const ends = session.frames.filter((frame) => frame.type === 'item_aborted');
  assert.deepEqual(ends.map(({ attempt, attempts }) => [attempt, attempts]), [[1, 2]]);
});
