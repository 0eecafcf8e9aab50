// Automatic condensations: above the condenser's size, and when the model's context is exceeded.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Conversation, llmOf, ofKind, startRequest } from './support/conversation.mjs';
import { assertSound } from './support/database.mjs';
import { strictModel } from './support/model.mjs';
import { killAndAwait } from './support/processes.mjs';
import { waitUntil } from './support/wait.mjs';

const SIZE_MAX = 20;
const KEEP_FIRST = 2;

const fake = await strictModel();
fake.setScenario('talk', [{ text: 'an answer in words' }]);
const wordsOf = (message) => [message.content].flat().map((part) => part?.text ?? part).join('');
const textOf = ({ body }) => body.messages.map(wordsOf).join('\n');

/** A conversation whose model and condenser play these scenarios. */
async function start(t, scenario, condenser, { pipeline = false } = {}) {
  const request = startRequest(llmOf(fake, scenario));
  const one = { kind: 'LLMSummarizingCondenser', llm: { ...llmOf(fake, condenser), usage_id: 'condenser' }, max_size: SIZE_MAX, keep_first: KEEP_FIRST };
  request.agent.condenser = pipeline ? { kind: 'PipelineCondenser', condensers: [{ kind: 'NoOpCondenser' }, one] } : one;
  const conversation = await Conversation.create(request);
  t.after(() => conversation.delete());
  return conversation;
}

/** Sends word-first to word-last, each with an answer. */
async function talk(conversation, first, last) {
  for (let n = first; n <= last; n++) assert.equal(await conversation.ask(`word-${n}.`), 'finished');
}

const condensations = async (conversation) => (await conversation.events()).filter(ofKind('Condensation'));

test('a history longer than the condenser\'s limit is condensed before the next model call', async (t) => {
  fake.setScenario('memory', [{ text: 'USER_CONTEXT: they count' }]);
  const conversation = await start(t, 'talk', 'memory');
  await talk(conversation, 1, 9);
  assert.deepEqual(await condensations(conversation), [], 'not before its time');
  const before = await conversation.events();
  const from = fake.requests.length;
  await talk(conversation, 10, 10);
  assert.deepEqual(fake.requests.slice(from).map(({ body }) => body.model), ['talk'], 'the longest view that is allowed');
  await talk(conversation, 11, 11);
  const [, asked, next] = fake.requests.slice(from);
  assert.deepEqual([asked.body.model, next.body.model], ['memory', 'talk']);
  assert.match(textOf(asked), /word-2\./);
  assert.deepEqual([/word-1\./, /they count/, /word-2\./, /word-7\./, /word-8\./, /word-11\./].map((words) => words.test(textOf(next))), [true, true, false, false, true, true]);
  const [condensation] = await condensations(conversation);
  const read = before.filter(({ kind }) => kind === 'SystemPromptEvent' || kind === 'MessageEvent').map(({ id }) => id);
  assert.deepEqual(condensation.forgotten_event_ids, read.slice(KEEP_FIRST, KEEP_FIRST + 13));
  assert.equal(condensation.summary_offset, KEEP_FIRST);
  assert.deepEqual(Object.keys((await conversation.info()).stats.usage_to_metrics).sort(), ['agent', 'condenser']);
  await talk(conversation, 12, 12);
  assert.equal((await condensations(conversation)).length, 1, 'and then not soon again');
  await assertSound(conversation);
});

test('a failing condenser of a pipeline leaves the history unchanged', async (t) => {
  fake.setScenario('mute', [{ status: 401, error: { message: 'bad key', type: 'invalid_request_error', code: 'invalid_api_key' } }]);
  const conversation = await start(t, 'talk', 'mute', { pipeline: true });
  await talk(conversation, 1, 11);
  assert.ok(fake.requests.some(({ body }) => body.model === 'mute'), 'it was asked');
  assert.deepEqual(await condensations(conversation), []);
  assert.match(textOf(fake.requests.at(-1)), /word-2\./);
  await assertSound(conversation);
});

test('an interrupt ends a condensation, and the next run starts it again', async (t) => {
  fake.setScenario('slow', [{ park: true, text: 'late' }]);
  const conversation = await start(t, 'talk', 'slow');
  await talk(conversation, 1, 10);
  const from = fake.requests.length;
  await conversation.say('word-11.', true);
  await waitUntil(() => fake.requests.length > from, 'the condenser is asked');
  await conversation.must(200, 'POST', '/interrupt');
  await conversation.rest(['paused']);
  assert.deepEqual(await condensations(conversation), []);
  fake.setScenario('slow', [{ text: 'at last' }]);
  await conversation.run();
  await conversation.rest(['finished']);
  assert.deepEqual((await condensations(conversation)).map(({ summary }) => summary), ['at last']);
  await assertSound(conversation);
});

test('of two concurrent condensations, by a client and by the run, the first one is stored', async (t) => {
  fake.setScenario('both', [{ park: true, text: 'of the run' }]);
  const conversation = await start(t, 'talk', 'both');
  await talk(conversation, 1, 10);
  const from = fake.requests.length;
  await conversation.say('word-11.', true);
  await waitUntil(() => fake.requests.length > from, 'the condenser is asked');
  fake.setScenario('both', [{ text: 'of the client' }]);
  await conversation.must(200, 'POST', '/condense');
  fake.release();
  await conversation.rest(['finished']);
  assert.deepEqual((await condensations(conversation)).map(({ summary }) => summary), ['of the client']);
  assert.equal((await conversation.info()).stats.usage_to_metrics.condenser.token_usages.length, 2, 'both are counted');
  const read = textOf(fake.requests.at(-1));
  assert.deepEqual([/of the client/, /of the run/].map((words) => words.test(read)), [true, false]);
  await assertSound(conversation);
});

const tooLong = { status: 400, error: { message: 'prompt is too long: 9 tokens > 8 maximum', type: 'invalid_request_error' } };

test('a history that exceeds the model\'s context is condensed, and the run continues', async (t) => {
  fake.setScenario('narrow', ({ messages }) => (messages.length > 6 ? tooLong : { text: 'an answer' }));
  fake.setScenario('memory2', [{ text: 'they counted' }]);
  const conversation = await start(t, 'narrow', 'memory2');
  await talk(conversation, 1, 3);
  const before = (await conversation.events()).length;
  await talk(conversation, 4, 4);
  const added = (await conversation.events()).slice(before).map(({ kind, key }) => key ?? kind);
  assert.deepEqual(added.slice(added.indexOf('CondensationRequest')), ['CondensationRequest', 'stats', 'Condensation', 'stats', 'MessageEvent', 'execution_status']);
  const last = textOf(fake.requests.at(-1));
  assert.match(last, /they counted/);
  assert.match(last, /word-4\./);
  await assertSound(conversation);
});

test('a run ends with an error if even the summary exceeds the model\'s context', async (t) => {
  fake.setScenario('tiny', ({ messages }) => (messages.length > 2 ? tooLong : { text: 'an answer' }));
  fake.setScenario('lost', [tooLong]);
  const conversation = await start(t, 'tiny', 'lost');
  await talk(conversation, 1, 1);
  assert.equal(await conversation.ask('word-2.'), 'error');
  const failure = await conversation.event(ofKind('ConversationErrorEvent'), 'the failure');
  assert.equal(failure.code, 'LLMContextWindowExceedError');
  fake.setScenario('none', [tooLong]);
  fake.setScenario('memory3', [{ text: 'all of it' }]);
  const another = await start(t, 'none', 'memory3');
  assert.equal(await another.ask('word-1.'), 'error');
  await waitUntil(async () => (await another.events()).some(({ code, detail }) => code === 'LLMContextWindowExceedError' && /summarised/.test(detail)), 'it says why');
  await assertSound(another);
});

test('a condensation survives the death of its worker', async (t) => {
  const wide = [{ text: 'an answer' }];
  fake.setScenario('limited', wide);
  for (const name of ['mortal', 'mortal2']) fake.setScenario(name, [{ park: true, text: 'late' }]);
  const long = await start(t, 'talk', 'mortal');
  const large = await start(t, 'limited', 'mortal2');
  await Promise.all([talk(long, 1, 10), talk(large, 1, 3)]);
  fake.setScenario('limited', ({ messages }) => (messages.length > 6 ? tooLong : wide[0]));
  const from = fake.requests.length;
  for (const conversation of [long, large]) await conversation.say('word-last.', true);
  const asked = (name) => fake.requests.slice(from).some(({ body }) => body.model === name);
  await waitUntil(() => asked('mortal') && asked('mortal2'), 'both condensers are asked');
  for (const name of ['mortal', 'mortal2']) fake.setScenario(name, [{ text: 'by the next worker' }]);
  await killAndAwait('worker');
  for (const conversation of [long, large]) {
    assert.equal(await conversation.rest(['finished', 'error']), 'finished');
    assert.deepEqual((await condensations(conversation)).map(({ summary }) => summary), ['by the next worker']);
    await assertSound(conversation);
  }
});
