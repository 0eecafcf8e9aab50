// What the tests of all formats of models have in common: the words, the runs, and what is told of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isResult, observed, ofKind } from './conversation.mjs';
import { terminal } from './model_calls.mjs';
import { Socket, restingSnapshot } from './socket.mjs';

export const WORDS = 'The quick brown fox jumps over the lazy dog. Grüße, 世界!';
export const THOUGHTS = 'First I think about it for a while.';
export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
export const PNG_URL = `data:image/png;base64,${PNG}`;
export const N_STEPS = 20;
const CACHED_SHARE = 0.9;

/** A scenario: a call, two at once, and the end; `first`: further members of the first step. */
export const runSteps = (first = {}) => [
  { reasoning: THOUGHTS, ...first, text: 'I look.', calls: [terminal('echo o""ne')] },
  { reasoning: 'Again.', calls: [terminal('echo t""wo'), terminal('echo thr""ee')] },
  { reasoning: 'Enough.', text: 'It is done.' },
];

export const answersOf = (events) =>
  events.filter((event) => event.kind === 'MessageEvent' && event.source === 'agent').map(({ llm_message: { content } }) => content[0].text);

export const errorsOf = async (conversation) => (await conversation.events()).filter(ofKind('ConversationErrorEvent'));

/** That the calls of runSteps() ran in their order, and the answer was `answer`. */
export function assertRan(events, answer = 'It is done.') {
  assert.deepEqual(events.filter(isResult('terminal')).map((event) => observed(event).match(/one|two|three/)[0]), ['one', 'two', 'three']);
  assert.deepEqual(answersOf(events), [answer]);
}

/** A scenario of N_STEPS calls. */
export const manySteps = () => [...Array.from({ length: N_STEPS }, (_, n) => ({ calls: [terminal(`echo ${n}`)] })), { text: 'done' }];

/** That nine tenths of the prompts were read from the cache; returns { usage, cost }. */
export async function assertCached(t, conversation) {
  const { stats } = await conversation.info();
  const { accumulated_token_usage: usage, accumulated_cost: cost } = stats.usage_to_metrics.agent;
  const share = usage.cache_read_tokens / usage.prompt_tokens;
  t.diagnostic(`${(100 * share).toFixed(1)} % of ${usage.prompt_tokens} tokens`);
  assert.ok(share >= CACHED_SHARE, `${share}`);
  return { usage, cost };
}

/** Says words with images, and waits for the end. */
export async function askWithImages(conversation, urls = [PNG_URL]) {
  const content = [{ type: 'text', text: 'what is it?' }, { type: 'image', image_urls: urls }];
  await conversation.must(200, 'POST', '/events', { json: { role: 'user', content, run: true } });
  assert.equal(await conversation.rest(['finished', 'error']), 'finished');
}

const joined = (frames, attempt, kind) => frames
  .filter((frame) => frame.type === 'delta' && frame.attempt === attempt && frame.kind === kind)
  .map(({ content }) => content).join('');

/** A test per way in which a stream ends early, { name: members of the step }; begin: as in the files that use it. */
export function testBrokenStreams(fake, begin, ends) {
  for (const [name, once] of Object.entries(ends)) {
    test(`a stream that ${name} is asked for again, and no text is doubled`, async (t) => {
      const step = { reasoning: 'Hm.', text: WORDS };
      const conversation = await begin(t, name.replaceAll(' ', '-'), [{ ...step, hold: true, once: { ...step, ...once, drip_ms: 5 } }],
        { llm: { stream: true, num_retries: 3, retry_multiplier: 0 } });
      const session = await Socket.open(`/sockets/session/${conversation.id}`);
      t.after(() => session.close());
      await session.frame(({ type }) => type === 'transient', 'the first snapshot');
      await conversation.say('go', true);
      await session.until((all) => joined(all, 2, 'text') === WORDS, 'the pieces of the second answer');
      fake.release();
      await session.frame(({ type, event }) => type === 'transient' && restingSnapshot(['finished', 'error'])(event), 'the end');
      const { frames } = session;
      const starts = frames.filter(({ type }) => type === 'item_started');
      assert.deepEqual(starts.map(({ attempt }) => attempt), [1, 2]);
      assert.equal(frames.filter(({ type }) => type === 'item_aborted').length, 1);
      assert.equal(joined(frames, 2, 'reasoning'), 'Hm.');
      assert.equal(joined(frames, 2, 'text'), WORDS);
      const answer = (await conversation.events()).filter((event) => event.kind === 'MessageEvent' && event.source === 'agent');
      assert.deepEqual(answersOf(answer), [WORDS]);
      assert.equal(answer[0].id, starts[0].item_id);
    });
  }
}
