// Errors of a model as clients see them: once in the history, and live before each further attempt.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Conversation, llmOf, ofKind, startRequest, text } from './support/conversation.mjs';
import { execute } from './support/database.mjs';
import { strictModel } from './support/model.mjs';
import { Socket } from './support/socket.mjs';
import { waitUntil } from './support/wait.mjs';

/** Long enough for what is to happen before the next attempt, on a busy machine too. */
const RETRY_AFTER_S = 15;
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
  test(`a model's ${name} is stored once, even if the title's request fails, too`, async (t) => {
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

test('a failed attempt is reported live, with its reason and the time of the next one', async (t) => {
  fake.setScenario('again', [{ text: 'good', once: refusal(429, { message: 'slow down' }, { 'retry-after': String(RETRY_AFTER_S) }) }]);
  const conversation = await begin(t, 'again', {}, { num_retries: 4 });
  const session = await Socket.open(`/sockets/session/${conversation.id}`);
  const events = await conversation.socket();
  t.after(() => Promise.all([session.close(), events.close()]));
  const asked = fake.requests.length;
  await conversation.say('go', true);
  await waitUntil(() => fake.requests.length > asked, 'the model is asked');
  const end = await session.frame((frame) => frame.type === 'item_aborted', 'the attempt is told of');
  assert.match(end.reason, /slow down \(error code: 429\)/);
  assert.deepEqual([end.attempt, end.attempts], [1, 4]);
  // Less by the time until the socket was ready for it; the next attempt is still to come.
  assert.ok(end.retry_in_ms > 0 && end.retry_in_ms <= 1000 * RETRY_AFTER_S, String(end.retry_in_ms));
  assert.equal(await conversation.rest(['finished', 'error']), 'finished');
  const answer = await session.frame((frame) => frame.event?.kind === 'MessageEvent' && frame.event.source === 'agent', 'the answer');
  assert.equal(answer.event.id, end.item_id);
  const kinds = new Set(events.frames.map((event) => event.kind));
  for (const kind of ['MessageEvent', 'SystemPromptEvent', 'ConversationStateUpdateEvent']) kinds.delete(kind);
  assert.deepEqual([...kinds], [], 'the events of the contract, and no others');
});

/** The frames item_started and item_aborted of an attempt with a retry, on a session socket. */
async function toldRetry(session) {
  const end = await session.frame((frame) => frame.type === 'item_aborted', 'the attempt is told of');
  const begin = session.frames.find((frame) => frame.type === 'item_started');
  assert.deepEqual([begin.item_id, begin.attempt], [end.item_id, end.attempt]);
  return end;
}

test('a socket that connects between two attempts gets the reason and the time of the next one at once', async (t) => {
  fake.setScenario('between', [{ text: 'good', once: refusal(429, { message: 'slow down' }, { 'retry-after': '60' }) }]);
  const conversation = await begin(t, 'between', {}, { num_retries: 4 });
  const first = await Socket.open(`/sockets/session/${conversation.id}`);
  t.after(() => first.close());
  await conversation.say('go', true);
  await toldRetry(first);
  const count = (await conversation.events()).length;
  for (const query of ['', '?after_seq=-1', `?after_seq=${count - 2}`]) {
    const late = await Socket.open(`/sockets/session/${conversation.id}${query}`);
    const end = await toldRetry(late);
    assert.match(end.reason, /slow down/);
    assert.deepEqual([end.attempt, end.attempts], [1, 4]);
    assert.ok(end.retry_in_ms > 0 && end.retry_in_ms <= 60_000, String(end.retry_in_ms));
    const types = late.frames.map(({ type }) => type);
    assert.ok(types.indexOf('transient') < types.indexOf('item_started'), types.join(' '));
    assert.ok(types.lastIndexOf('durable') < types.indexOf('item_started'), types.join(' '));
    await late.close();
  }
  await conversation.must(200, 'POST', '/pause');
  await conversation.rest(['paused']);
  const rested = await Socket.open(`/sockets/session/${conversation.id}`);
  t.after(() => rested.close());
  await rested.frame((frame) => frame.type === 'transient', 'the first snapshot');
  await conversation.say('well');
  await rested.frame((frame) => frame.type === 'durable', 'what came after it');
  assert.ok(!rested.frames.some((frame) => frame.type.startsWith('item_')), 'nothing is waited for');
});

test('failed attempts at a condensation are reported like those at an answer', async (t) => {
  fake.setScenario('talk', [{ text: 'an answer in words' }]);
  fake.setScenario('memory', [{ text: 'they count', once: refusal(429, { message: 'slow down' }, { 'retry-after': String(RETRY_AFTER_S) }) }]);
  const request = startRequest(llmOf(fake, 'talk'));
  request.agent.condenser = { kind: 'LLMSummarizingCondenser', llm: { ...llmOf(fake, 'memory', { num_retries: 4 }), usage_id: 'condenser' }, max_size: 20, keep_first: 2 };
  const conversation = await Conversation.create(request);
  t.after(() => conversation.delete());
  for (let n = 1; n <= 10; n++) assert.equal(await conversation.ask(`word-${n}.`), 'finished');
  const session = await Socket.open(`/sockets/session/${conversation.id}`);
  const events = await conversation.socket();
  t.after(() => Promise.all([session.close(), events.close()]));
  await conversation.say('word-11.', true);
  await waitUntil(() => fake.requests.some(({ body }) => body.model === 'memory'), 'the condenser is asked');
  const end = await toldRetry(session);
  assert.match(end.reason, /slow down/);
  assert.deepEqual([end.attempt, end.attempts], [1, 4]);
  // Less by the time until the socket was ready for it; the next attempt is still to come.
  assert.ok(end.retry_in_ms > 0 && end.retry_in_ms <= 1000 * RETRY_AFTER_S, String(end.retry_in_ms));
  const late = await Socket.open(`/sockets/session/${conversation.id}`);
  t.after(() => late.close());
  assert.equal((await toldRetry(late)).item_id, end.item_id);
  await session.frame((frame) => frame.event?.kind === 'Condensation', 'it is condensed');
  assert.equal(await conversation.rest(['finished', 'error']), 'finished');
  assert.ok(!session.frames.some((frame) => frame.type === 'delta'), 'a summary is no answer');
  const ends = session.frames.filter((frame) => frame.type === 'item_aborted').length;
  assert.equal(ends, session.frames.filter((frame) => frame.type === 'item_started').length);
  assert.ok(!events.frames.some((event) => event.kind === 'StreamingDeltaEvent'));
});

test('a socket that connects during a long silence is told its duration', async (t) => {
  fake.setScenario('mute', [{ park: true, text: 'at last' }]);
  const conversation = await begin(t, 'mute');
  await conversation.say('go', true);
  await waitUntil(() => fake.nParked() === 1, 'the model is asked');
  const early = await Socket.open(`/sockets/session/${conversation.id}`);
  t.after(() => early.close());
  const first = await early.frame((frame) => frame.type === 'sync', 'the first frame');
  assert.equal(first.silent_ms, undefined, 'not yet long');
  await execute("UPDATE events SET timestamp = to_char(timestamp::timestamp - interval '30 seconds', 'YYYY-MM-DD\"T\"HH24:MI:SS.US') WHERE conversation_id = :'id'", { id: conversation.id });
  const late = await Socket.open(`/sockets/session/${conversation.id}`);
  t.after(() => late.close());
  const { silent_ms: silentMs } = await late.frame((frame) => frame.type === 'sync', 'the first frame');
  assert.ok(silentMs >= 30_000 && silentMs < 300_000, String(silentMs));
  fake.release();
  assert.equal(await conversation.rest(['finished']), 'finished');
  const rested = await Socket.open(`/sockets/session/${conversation.id}`);
  t.after(() => rested.close());
  assert.equal((await rested.frame((frame) => frame.type === 'sync', 'the first frame')).silent_ms, undefined, 'nothing runs');
});

test('the last attempt is not reported as one with a retry', async (t) => {
  fake.setScenario('never', [refusal(503, {})]);
  const conversation = await begin(t, 'never', {}, { num_retries: 2, retry_multiplier: 0 });
  const session = await Socket.open(`/sockets/session/${conversation.id}`);
  t.after(() => session.close());
  await conversation.must(200, 'POST', '/events', { json: { ...text('go'), run: true } });
  await toldRetry(session);
  await session.frame((frame) => frame.event?.kind === 'ConversationErrorEvent', 'the error');
  const ends = session.frames.filter((frame) => frame.type === 'item_aborted');
  assert.deepEqual(ends.map(({ attempt, attempts }) => [attempt, attempts]), [[1, 2]]);
});
