// Condensations by tokens: the condenser's limit, the model's window, servers that cut prompts silently, and the hard
// reset when nothing else helps.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call } from './support/api.mjs';
import { condensations, fake, startCondensed, talk, textOf, tooLong } from './support/condenser.mjs';
import { Conversation, llmOf, ofKind, startRequest } from './support/conversation.mjs';
import { assertSound } from './support/database.mjs';
import { terminal } from './support/model_calls.mjs';

const long = (word, n) => `${word} ${`${word} lorem ipsum `.repeat(n)}`;
const bytesOf = ({ body }) => textOf({ body }).length;
/** The bytes of the messages of a first request: system prompt and a few words. */
async function systemBytes(t) {
  const from = fake.requests.length;
  await talk(await startCondensed(t, 'talk', 'talk'), 1, 1);
  return bytesOf(fake.requests[from]);
}

test('a view of more tokens than max_tokens is condensed to half of them', async (t) => {
  fake.setScenario('memory-tokens', [{ text: 'they talked at length' }]);
  const room = 8000;
  const maxTokens = Math.ceil((await systemBytes(t)) / 4 * 1.1) + room;
  const conversation = await startCondensed(t, 'talk', 'memory-tokens', { max_size: 240, max_tokens: maxTokens });
  for (const word of ['alpha', 'beta', 'gamma']) assert.equal(await conversation.ask(long(word, 300)), 'finished');
  assert.deepEqual(await condensations(conversation), [], 'not before its time');
  const from = fake.requests.length;
  assert.equal(await conversation.ask(long('delta', 1200)), 'finished');
  assert.deepEqual(fake.requests.slice(from).map(({ body }) => body.model), ['memory-tokens', 'talk']);
  const next = fake.requests.at(-1);
  assert.match(textOf(next), /they talked at length/);
  assert.doesNotMatch(textOf(next), /beta lorem/);
  assert.ok(bytesOf(next) / 4 < maxTokens);
  await assertSound(conversation);
});

test('a view of more tokens than the model\'s window is condensed before the model refuses it', async (t) => {
  fake.setScenario('memory-window', [{ text: 'they talked' }]);
  const window = 30000;
  const conversation = await startCondensed(t, 'talk', 'memory-window', { max_size: 240, llm: { max_input_tokens: window } });
  assert.equal(await conversation.ask(long('alpha', 100)), 'finished');
  assert.equal(await conversation.ask(long('beta', 100)), 'finished');
  assert.equal(await conversation.ask(long('gamma', 9000)), 'finished');
  assert.equal((await condensations(conversation)).length, 1);
  assert.ok(bytesOf(fake.requests.at(-1)) / 4 < window);
  await assertSound(conversation);
});

test('a condenser that cannot read its part is asked again with less of each event', async (t) => {
  const asked = [];
  fake.setScenario('short-sighted', ({ messages }) => {
    const text = textOf({ body: { messages: messages.slice(1) } });
    asked.push(text);
    return Math.max(...text.split('\n').map((line) => line.length)) > 350 ? tooLong : { text: 'in short' };
  });
  fake.setScenario('narrow-tokens', ({ messages }) => (messages.length > 3 ? tooLong : { text: 'an answer' }));
  const conversation = await startCondensed(t, 'narrow-tokens', 'short-sighted', { max_size: 240 });
  assert.equal(await conversation.ask(long('alpha', 50)), 'finished');
  assert.equal(await conversation.ask(long('beta', 50)), 'finished');
  const lengths = asked.map((text) => Math.max(...text.split('\n').map((line) => line.length)));
  assert.ok(lengths.length >= 2 && lengths.length <= 6, `${lengths}`);
  assert.ok(lengths.at(-1) <= 350, `${lengths}`);
  const [condensation] = await condensations(conversation);
  assert.deepEqual([condensation.summary, condensation.summary_offset], ['in short', 1]);
  await assertSound(conversation);
});

test('a condenser is asked no more often than it allows', async (t) => {
  fake.setScenario('blind', [tooLong]);
  fake.setScenario('narrower', ({ messages }) => (messages.length > 2 ? tooLong : { text: 'an answer' }));
  const conversation = await startCondensed(t, 'narrower', 'blind', { max_size: 240, hard_context_reset_max_retries: 3 });
  assert.equal(await conversation.ask(long('alpha', 50)), 'finished');
  const from = fake.requests.length;
  assert.equal(await conversation.ask(long('beta', 50)), 'error');
  const n = fake.requests.slice(from).filter(({ body }) => body.model === 'blind').length;
  assert.ok(n === 3 || n === 4, `one for the usual part, and three for all: ${n}`);
  assert.equal((await conversation.event(ofKind('ConversationErrorEvent'), 'the failure')).code, 'LLMContextWindowExceedError');
});

const TOOL_TOKENS = 3000;
/** A server that reads so many tokens, and says nothing of the rest; its model prints numbers until it is told to end. */
const cutting = (window, n_steps) => {
  let n = 0;
  return ({ messages }) => ({
    ...(n++ < n_steps ? { calls: [terminal(`seq ${n} 2000`)] } : { text: 'done' }),
    usage: { prompt_tokens: Math.min(window, Math.ceil(textOf({ body: { messages } }).length / 4) + TOOL_TOKENS) },
  });
};

test('a server that cuts prompts silently is noticed, and the history condensed to what it reads', async (t) => {
  const window = Math.ceil((await systemBytes(t)) / 4) + TOOL_TOKENS + 5000;
  fake.setScenario('cutting', cutting(window, 6));
  fake.setScenario('memory-cut', [{ text: 'they counted' }]);
  const conversation = await startCondensed(t, 'cutting', 'memory-cut', { max_size: 240 });
  const from = fake.requests.length;
  assert.equal(await conversation.ask('count.'), 'finished');
  const models = fake.requests.slice(from).map(({ body }) => body.model);
  assert.ok(models.includes('memory-cut'), `${models}`);
  assert.ok((await condensations(conversation)).length >= 1);
  assert.match(textOf(fake.requests.at(-1)), /they counted/);
  await assertSound(conversation);
});

test('without a condenser a run that such a server cannot read ends with words', async (t) => {
  fake.setScenario('cutting-bare', cutting(Math.ceil((await systemBytes(t)) / 4) + TOOL_TOKENS + 5000, 12));
  const conversation = await Conversation.create(startRequest(llmOf(fake, 'cutting-bare')));
  t.after(() => conversation.delete());
  assert.equal(await conversation.ask('count.'), 'error');
  const failure = await conversation.event(ofKind('ConversationErrorEvent'), 'the failure');
  assert.equal(failure.code, 'LLMContextWindowExceedError');
  assert.match(failure.detail, /drops the rest without an error/);
});

test('members of a condenser that make no sense are refused in words', async () => {
  const refused = [{ max_tokens: 0 }, { minimum_progress: 1 }, { hard_context_reset_context_scaling: 1.5 }, { max_size: 20, keep_first: 9 }, { kind: 'StrangeCondenser' }];
  for (const members of refused) {
    const request = startRequest(llmOf(fake, 'talk'));
    request.agent.condenser = { kind: 'LLMSummarizingCondenser', llm: llmOf(fake, 'talk'), ...members };
    const answer = await call('POST', '/api/conversations', { json: request });
    assert.equal(answer.status, 422, JSON.stringify(members));
  }
});
