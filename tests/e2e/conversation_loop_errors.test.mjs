// Refusals of the model's server: how often it is asked, and which error ends the run.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertSound } from './support/database.mjs';
import { kindsOf, play, requestsOf, textOf } from './support/loop.mjs';
import { Socket } from './support/socket.mjs';

const done = { text: 'done' };
/** As many attempts as by default, without the waits between them. */
const IMPATIENT = { num_retries: undefined, retry_multiplier: 0 };
/** The first two waits are random, up to these. */
const WAITS_MAX_MS = [8000, 16_000];
const refusal = (status, message, more = {}) => ({ status, error: { message, ...more } });

for (const [item, what, step, attempts, code, kind, detail] of [
  [35, 'a lasting rate limit', refusal(429, 'slow down'), 5, 'LLMRateLimitError', 'rate_limit', /slow down/],
  [36, 'a refused key', refusal(401, 'no such key', { code: 'invalid_api_key' }), 1, 'LLMAuthenticationError', 'auth', /API key/],
  [37, 'a lasting bad gateway', refusal(502, 'nothing behind me'), 5, 'BadGatewayError', 'transient', /nothing behind me/],
  [40, 'a proxy\'s exceeded budget', refusal(400, 'ExceededBudget: over budget'), 1, 'LLMBadRequestError', 'config', /ExceededBudget/],
]) {
  test(`agent-loop ${item}: ${what} ends the run after ${attempts === 1 ? 'one attempt' : `${attempts} attempts`}, classified as ${kind}`, async (t) => {
    const conversation = await play(t, [step], { llm: IMPATIENT });
    assert.equal(await conversation.ask('go'), 'error');
    const events = await conversation.events();
    assert.deepEqual(kindsOf(events).slice(3), ['S(error)', 'ConversationErrorEvent']);
    assert.equal(events.at(-1).code, code);
    assert.match(events.at(-1).detail, detail);
    const retryable = attempts > 1;
    assert.deepEqual(events.at(-1).classification, { kind, retryable, user_action: retryable ? 'retry' : 'settings' });
    assert.equal(requestsOf(conversation).length, attempts);
  });
}

test('agent-loop 34: a rate limit that passes is waited for, and leaves one answer and no error', async (t) => {
  let n = 0;
  const times = [];
  const conversation = await play(t, () => {
    times.push(performance.now());
    return n++ < 2 ? refusal(429, 'slow down') : done;
  }, { llm: { num_retries: undefined, retry_multiplier: undefined, retry_min_wait: undefined, retry_max_wait: undefined } });
  const session = await Socket.open(`/sockets/session/${conversation.id}`);
  t.after(() => session.close());
  await session.frame(({ type }) => type === 'transient', 'the first snapshot');
  await conversation.say('go', true);
  assert.equal(await conversation.rest(['finished', 'error']), 'finished');
  assert.deepEqual(kindsOf(await conversation.events()).slice(3), ['MessageEvent agent', 'S(finished)']);
  assert.equal(requestsOf(conversation).length, 3);
  const failed = session.frames.filter(({ type }) => type === 'item_aborted');
  assert.equal(failed.length, WAITS_MAX_MS.length);
  for (const [i, most] of WAITS_MAX_MS.entries()) {
    const [told, kept] = [failed[i].retry_in_ms, times[i + 1] - times[i]];
    assert.ok(told <= most && told <= kept, `wait ${i} was to take ${told} ms, and took ${kept} ms`);
  }
});

test('agent-loop 41: a content filter\'s refusal is followed by a request to rephrase', async (t) => {
  let n = 0;
  const conversation = await play(t, () => (n++ === 0 ? refusal(400, 'filtered', { code: 'content_filter' }) : done));
  assert.equal(await conversation.ask('go'), 'finished');
  const events = await conversation.events();
  assert.deepEqual(kindsOf(events).slice(3), ['MessageEvent user', 'MessageEvent agent', 'S(finished)']);
  const [, asked] = events.filter((event) => event.kind === 'MessageEvent' && event.source === 'user');
  const [{ text }] = asked.llm_message.content;
  assert.match(text, /other words/);
  assert.ok(requestsOf(conversation)[1].messages.some((message) => textOf(message).includes(text)));
  await assertSound(conversation);
});
