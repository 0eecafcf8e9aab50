// Conversations with models of Google, called in their own format: runs, thoughts and their signatures, streams, images,
// costs and errors.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FOREIGN } from '../fakes/gemini-check.mjs';
import { Conversation, isAction, isResult, llmOf, ofKind, startRequest } from './support/conversation.mjs';
import { strictGemini, strictModel } from './support/model.mjs';
import { terminal } from './support/model_calls.mjs';
import { N_STEPS, PNG, PNG_URL, THOUGHTS, answersOf, askWithImages, assertCached, assertRan, errorsOf, manySteps, runSteps, testBrokenStreams } from './support/vendor_model.mjs';

const fake = await strictGemini();
const other = await strictModel();
/** Names of scenarios begin with a model's, since what a model takes follows from it. */
const named = (scenario, model = 'gemini-3-flash') => `${model}-${scenario}`;
const requestsOf = (model) => fake.requests.filter(({ path }) => path.includes(`/models/${model}:`));
const kindsOf = (content) => content.parts.map((part) => Object.keys(part).find((key) => key !== 'thoughtSignature'));
const callsOf = ({ body }) => body.contents.flatMap(({ parts }) => parts.filter(({ functionCall }) => functionCall));
const geminiOf = (model, more = {}) => ({ ...llmOf(fake, 'x'), model: `gemini/${model}`, ...more });

async function begin(t, scenario, steps, { llm = {}, model, ...more } = {}) {
  fake.setScenario(named(scenario, model), steps);
  const conversation = await Conversation.create(startRequest(geminiOf(named(scenario, model), llm), more));
  t.after(() => conversation.delete());
  return conversation;
}

/** A subtest per case, all at once. */
async function sideBySide(t, cases, nameOf, run) {
  await Promise.all([...cases].map((one) => t.test(nameOf(one), (inner) => run(inner, one))));
}

test('a run thinks, calls a tool, then two at once, and ends; signatures go back unchanged', async (t) => {
  const conversation = await begin(t, 'run', runSteps(), { autotitle: true });
  assert.equal(await conversation.ask('work'), 'finished');
  const events = await conversation.events();
  const [first, second, third] = events.filter(isAction('terminal'));
  assert.equal(first.reasoning_content, THOUGHTS);
  assert.match(first.tool_call_id, /^call_[0-9a-f]{24}__thought__[A-Za-z0-9+/=]+$/);
  assert.match(second.tool_call_id, /__thought__/);
  assert.match(third.tool_call_id, /^call_[0-9a-f]{24}$/);
  const results = events.filter(isResult('terminal'));
  assertRan(events);
  assert.deepEqual(results.map(({ tool_call_id: id }) => id), [first, second, third].map(({ tool_call_id: id }) => id));
  const last = requestsOf(named('run')).filter(({ body }) => body.tools !== undefined).at(-1);
  assert.deepEqual(last.body.contents.map(kindsOf), [
    ['text'], ['text', 'functionCall'], ['functionResponse'], ['functionCall', 'functionCall'], ['functionResponse', 'functionResponse'],
  ]);
  assert.deepEqual(callsOf(last).map(({ thoughtSignature }) => thoughtSignature), [first, second, third].map(({ tool_call_id: id }) => id.split('__thought__')[1]));
  assert.deepEqual(callsOf(last).map(({ functionCall: { id } }) => id), [first, second, third].map(({ tool_call_id: id }) => id.split('__thought__')[0]));
  assert.equal(last.headers['x-goog-api-key'], 'sk-test');
  assert.equal(last.headers.authorization, undefined);
  assert.equal(last.path, `/v1beta/models/${named('run')}:generateContent`);
  assert.equal(await conversation.ask('thanks'), 'finished');
  const again = requestsOf(named('run')).map(({ body }) => body.contents).find((contents) => contents.at(-1).parts.at(-1).text === 'thanks');
  assert.equal(again.at(-2).parts[0].text, 'It is done.');
  assert.ok(again.at(-2).parts[0].thoughtSignature, 'words are signed, too');
});

test('a model of 2.5 needs no signature, and is asked to think within a budget', async (t) => {
  const conversation = await begin(t, 'old', [{ reasoning: THOUGHTS, calls: [terminal('true')] }, { text: 'done' }],
    { model: 'gemini-2.5-flash', llm: { reasoning_effort: 'low' } });
  assert.equal(await conversation.ask('work'), 'finished');
  const [action] = (await conversation.events()).filter(isAction('terminal'));
  assert.equal(action.reasoning_content, THOUGHTS);
  assert.match(action.tool_call_id, /^call_[0-9a-f]{24}$/);
  const last = requestsOf(named('old', 'gemini-2.5-flash')).at(-1);
  assert.deepEqual(last.body.generationConfig.thinkingConfig, { thinkingBudget: 1024, includeThoughts: true });
  assert.equal(callsOf(last)[0].thoughtSignature, undefined);
});

test('all tools have schemas that the vendor takes', async (t) => {
  const tools = ['terminal', 'file_editor', 'task_tracker', 'glob', 'grep', 'apply_patch', 'read_file', 'write_file', 'edit', 'list_directory', 'task_tool_set'];
  const conversation = await begin(t, 'tools', [{ text: 'done' }], { tools });
  assert.equal(await conversation.ask('go'), 'finished');
  const [{ functionDeclarations }] = requestsOf(named('tools'))[0].body.tools;
  assert.ok(functionDeclarations.length >= tools.length, String(functionDeclarations.length));
  assert.ok(functionDeclarations.every(({ parameters }) => parameters === undefined || parameters.type === 'OBJECT'));
});

test(`nine tenths of the prompts of ${N_STEPS} steps are read from the cache, and cost less`, async (t) => {
  const model = 'gemini-3-flash-preview';
  fake.setScenario(model, manySteps());
  const conversation = await Conversation.create(startRequest(geminiOf(model)));
  t.after(() => conversation.delete());
  assert.equal(await conversation.ask('go'), 'finished');
  assert.equal(requestsOf(model).length, N_STEPS + 1);
  const { usage, cost } = await assertCached(t, conversation);
  assert.equal(usage.completion_tokens, (N_STEPS + 1) * 25);
  assert.equal(usage.reasoning_tokens, (N_STEPS + 1) * 5);
  const expected = ((usage.prompt_tokens - usage.cache_read_tokens) * 0.5 + usage.cache_read_tokens * 0.05 + usage.completion_tokens * 3) / 1e6;
  assert.ok(Math.abs(cost - expected) < 1e-6, `${cost} is not ${expected}`);
});

testBrokenStreams(fake, begin, { 'breaks off': { break_after: 4 }, 'ends with an error': { error_after: 4 } });

test('signatures stay with their model when it is switched', async (t) => {
  const conversation = await begin(t, 'before', [{ reasoning: THOUGHTS, calls: [terminal('true')] }, { text: 'the first' }]);
  assert.equal(await conversation.ask('one'), 'finished');
  fake.setScenario(named('after'), [{ calls: [terminal('true')] }, { text: 'the second' }]);
  await conversation.must(200, 'POST', '/switch_llm', { json: { llm: geminiOf(named('after')) } });
  assert.equal(await conversation.ask('two'), 'finished');
  const signatures = callsOf(requestsOf(named('after')).at(-1)).map(({ thoughtSignature }) => thoughtSignature);
  assert.equal(signatures[0], FOREIGN);
  assert.ok(signatures[1] !== FOREIGN && signatures[1] !== undefined);
  other.setScenario('chat', [{ calls: [terminal('true')] }, { text: 'the third' }]);
  await conversation.must(200, 'POST', '/switch_llm', { json: { llm: llmOf(other, 'chat') } });
  assert.equal(await conversation.ask('three'), 'finished');
  assert.doesNotMatch(JSON.stringify(other.requests.at(-1).body), /__thought__|thought_signature/);
  fake.setScenario(named('again'), [{ text: 'the fourth' }]);
  await conversation.must(200, 'POST', '/switch_llm', { json: { llm: geminiOf(named('again')) } });
  assert.equal(await conversation.ask('four'), 'finished');
  assert.deepEqual(callsOf(requestsOf(named('again')).at(-1)).map(({ thoughtSignature }) => thoughtSignature), [FOREIGN, FOREIGN, FOREIGN]);
});

test('thoughts that hold a secret are masked, and their signature is not sent back', async (t) => {
  const conversation = await begin(t, 'secret', [{ reasoning: 'It is a-very-secret-value.', calls: [terminal('true')] }, { text: 'done' }],
    { secrets: { KEY: 'a-very-secret-value' } });
  assert.equal(await conversation.ask('go'), 'finished');
  const events = await conversation.events();
  assert.doesNotMatch(JSON.stringify(events), /a-very-secret-value/);
  assert.deepEqual(events.find(isAction('terminal')).thinking_blocks, []);
  assert.equal(callsOf(requestsOf(named('secret')).at(-1))[0].thoughtSignature, FOREIGN);
});

test('an image of the user is a part of its own', async (t) => {
  const conversation = await begin(t, 'image', [{ text: 'a pixel' }]);
  await askWithImages(conversation, [PNG_URL, 'https://example.com/a.png']);
  const [, embedded, linked] = requestsOf(named('image'))[0].body.contents[0].parts;
  assert.deepEqual(embedded, { inlineData: { mimeType: 'image/png', data: PNG } });
  assert.deepEqual(linked, { fileData: { mimeType: 'image/png', fileUri: 'https://example.com/a.png' } });
});

const ERRORS = [
  [400, 'Output is odd', 'LLMBadRequestError'],
  [400, 'API key not valid. Please pass a valid API key.', 'LLMAuthenticationError'],
  [400, 'The input token count (9) exceeds the maximum number of tokens allowed (8).', 'LLMContextWindowExceedError'],
  [400, 'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.', 'LLMMalformedConversationHistoryError'],
  [403, 'not for you', 'LLMAuthenticationError'],
  [404, 'models/x is not found', 'NotFoundError'],
  [429, 'You exceeded your current quota', 'LLMRateLimitError'],
  [500, 'An internal error has occurred', 'LLMServiceUnavailableError'],
  [503, 'The model is overloaded. Please try again later.', 'LLMServiceUnavailableError'],
  [504, 'Deadline expired', 'LLMTimeoutError'],
];
test('refusals end the run, each with its class', { concurrency: true }, (t) => sideBySide(t, ERRORS.entries(),
  ([, [status, message]]) => `${status}: ${message.slice(0, 24)}`, async (one, [i, [status, message, code]]) => {
    const conversation = await begin(one, `refusal-${i}`, [{ status, error: { message } }]);
    assert.equal(await conversation.ask('go'), 'error');
    assert.deepEqual((await errorsOf(conversation)).map((event) => event.code), [code]);
  }));

test('a wrong key is reported as one', async (t) => {
  const conversation = await begin(t, 'key', [{ text: 'never' }], { llm: { api_key: 'sk-wrong-key' } });
  assert.equal(await conversation.ask('go'), 'error');
  const { code } = (await conversation.events()).find(ofKind('ConversationErrorEvent'));
  assert.equal(code, 'LLMAuthenticationError');
});

test('a blocked prompt is told to the model\'s user, and a blocked answer, too', async (t) => {
  for (const [scenario, step] of [['blocked', { blocked: 'PROHIBITED_CONTENT' }], ['safety', { finish: 'SAFETY' }]]) {
    const conversation = await begin(t, scenario, [{ text: 'rephrased', once: step }]);
    await conversation.ask('go');
    const events = await conversation.events();
    assert.ok(events.some((event) => event.code === 'LLMContentPolicyViolationError' || (event.kind === 'MessageEvent' && event.source === 'user' && event.llm_message.content[0].text !== 'go')), scenario);
  }
});

test('a call that the server withholds is the model\'s to mend', async (t) => {
  const conversation = await begin(t, 'malformed', ({ contents }) =>
    (contents.at(-1).parts.length > 1 ? { text: 'mended' } : { finish: 'MALFORMED_FUNCTION_CALL', finish_message: 'print(default_api' }));
  assert.equal(await conversation.ask('go'), 'finished');
  const told = (await conversation.events()).filter((event) => event.kind === 'MessageEvent' && event.source === 'user').at(-1);
  assert.match(told.llm_message.content[0].text, /MALFORMED_FUNCTION_CALL: print\(default_api/);
});

test('a busy server is asked again after the delay in its answer', async (t) => {
  const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '0.2s' }];
  const conversation = await begin(t, 'busy', [{ text: 'at last', once: { status: 429, error: { message: 'quota', details } } }],
    { llm: { num_retries: 3, retry_multiplier: 60, retry_min_wait: 60, retry_max_wait: 60 } });
  assert.equal(await conversation.ask('go'), 'finished');
  const [first, second] = requestsOf(named('busy'));
  assert.ok(second.at - first.at >= 200, `${second.at - first.at} ms`);
});

/** What becomes of a broken answer: the next one is taken ("good"), it is taken itself, or the run fails. */
const FAULTS = {
  'fin-mid-line': 'good', 'rst-mid-utf8': 'good', 'no-finish': 'good', 'error-event': 'good', 'html-200': null, 'chunk-size-lie': 'good',
  'comments-only': 'good', 'mixed-line-ends': 'good', bom: 'good', 'two-finish': 'good', 'late-parts': 'good', 'no-usage': 'good', 'unknown-parts': 'good',
  'lone-surrogate': 'a\ufffdb', array: 'good', 'no-candidates': 'good', 'short-length': 'good', 'many-tools': null, 'huge-line': null, 'gzip-bomb': 'good',
};
test('broken answers are asked for again, read, or a clean error', { concurrency: true }, (t) => sideBySide(t, Object.entries(FAULTS),
  ([fault]) => fault, async (one, [fault, text]) => {
    const conversation = await begin(one, `fault-${fault}`, [{ text: 'good', once: { fault } }], { llm: { stream: true, num_retries: 2, retry_multiplier: 0 } });
    assert.equal(await conversation.ask('go'), text === null ? 'error' : 'finished');
    const events = await conversation.events();
    assert.deepEqual(answersOf(events), text === null ? [] : [text]);
    assert.equal(events.filter(ofKind('ConversationErrorEvent')).length, text === null ? 1 : 0);
  }));

const ODD_CALLS = [['same-call-twice', 2], ['id-reuse', 2], ['no-args', 1], ['odd-args', 2], ['unknown-tool', 1]];
test('odd calls are run, or told to the model', { concurrency: true }, (t) => sideBySide(t, ODD_CALLS, ([fault]) => fault, async (one, [fault, n]) => {
  const conversation = await begin(one, `fault-${fault}`, [{ fault }, { text: 'done' }], { llm: { stream: true } });
  assert.equal(await conversation.ask('go'), 'finished');
  const events = await conversation.events();
  const actions = events.filter(ofKind('ActionEvent'));
  assert.equal(new Set(actions.map(({ tool_call_id: id }) => id)).size, n);
  const results = events.filter(({ kind }) => ['ObservationEvent', 'AgentErrorEvent'].includes(kind));
  assert.equal(results.length, n);
}));

test('a compatible base URL is called by Chat Completions', async (t) => {
  other.setScenario('gemini-compat', [{ text: 'hello' }]);
  const conversation = await Conversation.create(startRequest({ ...llmOf(other, 'x'), model: 'gemini/gemini-compat' }));
  t.after(() => conversation.delete());
  assert.equal(await conversation.ask('go'), 'finished');
  const request = other.requests.find(({ body }) => body.model === 'gemini-compat');
  assert.match(request.path, /\/chat\/completions$/);
  assert.equal(request.headers.authorization, 'Bearer sk-test');
});

test('OpenAI\'s Responses are refused in words', async (t) => {
  const conversation = await begin(t, 'responses', [{ text: 'never' }], { llm: { api_mode: 'responses' } });
  assert.equal(await conversation.ask('go'), 'error');
  const { code, detail } = (await conversation.events()).find(ofKind('ConversationErrorEvent'));
  assert.equal(code, 'LLMBadRequestError');
  assert.match(detail, /api_mode/);
});
