// Automatic condensations: above the condenser's size, and when the model's context is exceeded.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { condensations, fake, KEEP_FIRST, startCondensed, talk, textOf, tooLong } from './support/condenser.mjs';
import { ofKind } from './support/conversation.mjs';
import { assertSound } from './support/database.mjs';
import { terminal } from './support/model_calls.mjs';
import { waitUntil } from './support/wait.mjs';

test('a history longer than the condenser\'s limit is condensed before the next model call', async (t) => {
  fake.setScenario('memory', [{ text: 'USER_CONTEXT: they count' }]);
  const conversation = await startCondensed(t, 'talk', 'memory');
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

test('agent-loop 39: a condensation keeps the beginning, and no call loses its result', async (t) => {
  let n = 0;
  fake.setScenario('working', () => (n++ < 9 ? { calls: [terminal(`echo ${n}`)] } : { text: 'done' }));
  fake.setScenario('memory4', [{ text: 'they worked' }]);
  const conversation = await startCondensed(t, 'working', 'memory4');
  await conversation.say('word-1.');
  const from = fake.requests.length;
  assert.equal(await conversation.ask('word-2.'), 'finished');
  const asked = fake.requests.slice(from).map(({ body }) => body.model);
  assert.deepEqual(asked, [...Array.from({ length: 9 }, () => 'working'), 'memory4', 'working'], 'after 21 events');
  const events = await conversation.events();
  const read = events.filter(({ kind }) => ['SystemPromptEvent', 'MessageEvent', 'ActionEvent', 'ObservationEvent'].includes(kind));
  const { forgotten_event_ids: forgotten } = (await condensations(conversation))[0];
  assert.ok(forgotten.length > 0);
  assert.deepEqual(read.slice(0, KEEP_FIRST).map(({ id }) => forgotten.includes(id)), [false, false]);
  for (const result of events.filter(ofKind('ObservationEvent'))) assert.equal(forgotten.includes(result.id), forgotten.includes(result.action_id));
  await assertSound(conversation);
});

test('a failing condenser of a pipeline leaves the history unchanged', async (t) => {
  fake.setScenario('mute', [{ status: 401, error: { message: 'bad key', type: 'invalid_request_error', code: 'invalid_api_key' } }]);
  const conversation = await startCondensed(t, 'talk', 'mute', { pipeline: true });
  await talk(conversation, 1, 11);
  assert.ok(fake.requests.some(({ body }) => body.model === 'mute'), 'it was asked');
  assert.deepEqual(await condensations(conversation), []);
  assert.match(textOf(fake.requests.at(-1)), /word-2\./);
  await assertSound(conversation);
});

test('agent-loop 38: a history that exceeds the model\'s context is condensed, and the run continues', async (t) => {
  fake.setScenario('narrow', ({ messages }) => (messages.length > 6 ? tooLong : { text: 'an answer' }));
  fake.setScenario('memory2', [{ text: 'they counted' }]);
  const conversation = await startCondensed(t, 'narrow', 'memory2');
  await talk(conversation, 1, 3);
  const before = (await conversation.events()).length;
  const from = fake.requests.length;
  await talk(conversation, 4, 4);
  assert.deepEqual(fake.requests.slice(from).map(({ body }) => body.model), ['narrow', 'memory2', 'narrow']);
  const added = (await conversation.events()).slice(before).map(({ kind, key }) => key ?? kind);
  assert.deepEqual(added.slice(added.indexOf('CondensationRequest')), ['CondensationRequest', 'stats', 'Condensation', 'stats', 'MessageEvent', 'execution_status']);
  assert.equal((await condensations(conversation))[0].summary, 'they counted');
  const [refused, , next] = fake.requests.slice(from).map(({ body }) => body.messages);
  assert.deepEqual(next.map(({ role }) => role), ['system', 'user']);
  assert.deepEqual(next[0], refused[0]);
  assert.deepEqual(next[1].content.map((part) => part.text), ['word-1.', 'they counted', 'word-4.']);
  await assertSound(conversation);
});

test('a run ends with an error if even the summary exceeds the model\'s context', async (t) => {
  fake.setScenario('tiny', ({ messages }) => (messages.length > 2 ? tooLong : { text: 'an answer' }));
  fake.setScenario('lost', [tooLong]);
  const conversation = await startCondensed(t, 'tiny', 'lost');
  await talk(conversation, 1, 1);
  assert.equal(await conversation.ask('word-2.'), 'error');
  const failure = await conversation.event(ofKind('ConversationErrorEvent'), 'the failure');
  assert.equal(failure.code, 'LLMContextWindowExceedError');
  fake.setScenario('none', [tooLong]);
  fake.setScenario('memory3', [{ text: 'all of it' }]);
  const another = await startCondensed(t, 'none', 'memory3');
  assert.equal(await another.ask('word-1.'), 'error');
  await waitUntil(async () => (await another.events()).some(({ code, detail }) => code === 'LLMContextWindowExceedError' && /summarised/.test(detail)), 'it says why');
  await assertSound(another);
});
