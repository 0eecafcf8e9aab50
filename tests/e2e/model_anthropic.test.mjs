// Conversations with models of Anthropic, called in their own format: runs, thinking, streams, images and errors.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Conversation, isAction, llmOf, ofKind, startRequest } from './support/conversation.mjs';
import { strictAnthropic, strictModel } from './support/model.mjs';
import { terminal } from './support/model_calls.mjs';
import { N_STEPS, PNG, THOUGHTS, answersOf, askWithImages, assertCached, assertRan, errorsOf, manySteps, runSteps, testBrokenStreams } from './support/vendor_model.mjs';
import { waitUntil } from './support/wait.mjs';

const fake = await strictAnthropic();
const other = await strictModel();
/** Names of scenarios begin with a model's, since what a model takes follows from it. */
const named = (scenario) => `claude-haiku-4-5-${scenario}`;
const requestsOf = (scenario) => fake.requests.filter(({ body }) => body.model === named(scenario));
const typesOf = (message) => message.content.map(({ type }) => type);

async function begin(t, scenario, steps, { llm = {}, ...more } = {}) {
  fake.setScenario(named(scenario), steps);
  const model = { ...llmOf(fake, scenario), model: `anthropic/${named(scenario)}`, ...llm };
  const conversation = await Conversation.create(startRequest(model, more));
  t.after(() => conversation.delete());
  return conversation;
}

test('a run thinks, calls a tool, then two at once, and ends; its thinking goes back unchanged', async (t) => {
  const conversation = await begin(t, 'run', runSteps({ redacted: true }), { autotitle: true });
  assert.equal(await conversation.ask('work'), 'finished');
  const events = await conversation.events();
  const [first] = events.filter(isAction('terminal'));
  assert.equal(first.reasoning_content, THOUGHTS);
  assert.deepEqual(first.thinking_blocks.map(({ type }) => type), ['thinking', 'redacted_thinking']);
  assertRan(events);
  const [, , last] = requestsOf('run').filter(({ body }) => body.tools !== undefined);
  assert.deepEqual(last.body.messages.map(typesOf), [
    ['text'], ['thinking', 'redacted_thinking', 'text', 'tool_use'], ['tool_result'],
    ['thinking', 'tool_use', 'tool_use'], ['tool_result', 'tool_result'],
  ]);
  assert.equal(last.headers['x-api-key'], 'sk-test');
  assert.equal(last.headers['anthropic-version'], '2023-06-01');
  assert.equal(await conversation.ask('thanks'), 'finished');
  const again = requestsOf('run').map(({ body }) => body.messages).find((messages) => messages.at(-1).content.at(-1).text === 'thanks');
  assert.deepEqual(again.slice(-2).map(typesOf), [['thinking', 'text'], ['text']]);
});

test(`nine tenths of the prompts of ${N_STEPS} steps are read from the cache`, async (t) => {
  const conversation = await begin(t, 'steps', manySteps());
  assert.equal(await conversation.ask('go'), 'finished');
  assert.equal(requestsOf('steps').length, N_STEPS + 1);
  const { usage } = await assertCached(t, conversation);
  assert.ok(usage.cache_write_tokens > 0 && usage.prompt_tokens >= usage.cache_read_tokens + usage.cache_write_tokens);
});

/** The blocks with a cache mark, each by where it is. */
const marksOf = ({ system, messages, tools = [] }) => [
  ...system.flatMap((block, i) => (block.cache_control ? [`system ${i}`] : [])),
  ...tools.flatMap((tool, i) => (tool.cache_control ? [`tool ${i}`] : [])),
  ...messages.flatMap(({ content }, i) => content.flatMap((block, n) => (block.cache_control ? [`message ${i - messages.length} ${block.type} ${n - content.length}`] : []))),
];

test('agent-loop 46: only the static part of the prompt and the last message carry cache marks', async (t) => {
  const conversation = await begin(t, 'marks', [{ calls: [terminal('true')] }, { text: 'done' }], { secrets: { KEY: 'a-very-secret-value' } });
  for (const words of ['one', 'two', 'three']) assert.equal(await conversation.ask(words), 'finished');
  const { system_prompt: prompt } = (await conversation.events()).find(ofKind('SystemPromptEvent'));
  const bodies = requestsOf('marks').map(({ body }) => body);
  assert.ok(bodies.every(({ system }) => system.length === 2 && system[0].text === prompt.text), 'a static and a dynamic part');
  const turn = ['text', 'tool_result'].map((type) => ['system 0', `message -1 ${type} -1`]);
  assert.deepEqual(bodies.map(marksOf), [...turn, ...turn, ...turn]);
});

testBrokenStreams(fake, begin, { 'breaks off': { break_after: 9 }, 'ends with an error': { error_after: 9 } });

test('thinking is dropped when the model is switched, and the new model answers', async (t) => {
  const conversation = await begin(t, 'before', [{ reasoning: THOUGHTS, calls: [terminal('true')] }, { reasoning: 'So.', text: 'the first' }]);
  assert.equal(await conversation.ask('one'), 'finished');
  const steps = [{ reasoning: 'Mine.', calls: [terminal('true')] }, { text: 'the second' }];
  fake.setScenario(named('after'), steps);
  await conversation.must(200, 'POST', '/switch_llm', { json: { llm: { ...llmOf(fake, 'x'), model: `anthropic/${named('after')}` } } });
  assert.equal(await conversation.ask('two'), 'finished');
  const sent = requestsOf('after').at(-1).body.messages.map(typesOf);
  assert.deepEqual(sent, [['text'], ['tool_use'], ['tool_result'], ['text'], ['text'], ['thinking', 'tool_use'], ['tool_result']]);
  other.setScenario('chat', [{ text: 'the third' }]);
  await conversation.must(200, 'POST', '/switch_llm', { json: { llm: llmOf(other, 'chat') } });
  assert.equal(await conversation.ask('three'), 'finished');
  assert.ok(other.requests.at(-1).body.messages.every((message) => message.thinking_blocks === undefined));
});

test('thinking is dropped where a condensation changed what stood before it', async (t) => {
  const model = 'claude-opus-5-5-long';
  let n = 0;
  fake.setScenario(model, () => {
    n += 1;
    return n > N_STEPS ? { text: 'done' } : { reasoning: `Thought ${n}.`, calls: [terminal(`echo ${n}`)] };
  });
  fake.setScenario(named('memory'), [{ text: 'they count' }]);
  const llm = (name) => ({ ...llmOf(fake, 'x'), model: `anthropic/${name}` });
  const request = startRequest(llm(model));
  request.agent.condenser = { kind: 'LLMSummarizingCondenser', llm: { ...llm(named('memory')), usage_id: 'condenser' }, max_size: 20, keep_first: 2 };
  const conversation = await Conversation.create(request);
  t.after(() => conversation.delete());
  assert.equal(await conversation.ask('count'), 'finished');
  assert.ok((await conversation.events()).some(ofKind('Condensation')));
  const dropped = fake.requests.filter(({ body }) => body.model === model).map((entry) => entry.n_dropped);
  assert.ok(dropped[0] === 0 && dropped.some((count) => count > 0), String(dropped));
});

test('thinking that holds a secret is not stored, and its words are masked', async (t) => {
  const conversation = await begin(t, 'secret', [{ reasoning: 'It is a-very-secret-value.', calls: [terminal('true')] }, { text: 'done' }],
    { secrets: { KEY: 'a-very-secret-value' } });
  assert.equal(await conversation.ask('go'), 'finished');
  const events = await conversation.events();
  assert.doesNotMatch(JSON.stringify(events), /a-very-secret-value/);
  assert.deepEqual(events.find(isAction('terminal')).thinking_blocks, []);
});

test('an image of the user is a block of its own', async (t) => {
  const conversation = await begin(t, 'image', [{ text: 'a pixel' }]);
  await askWithImages(conversation);
  const [, image] = requestsOf('image')[0].body.messages[0].content;
  assert.deepEqual(image.source, { type: 'base64', media_type: 'image/png', data: PNG });
});

const ERRORS = [
  [400, 'Output is odd', 'LLMBadRequestError'],
  [400, 'prompt is too long: 200001 tokens > 200000 maximum', 'LLMContextWindowExceedError'],
  [400, 'messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: x', 'LLMMalformedConversationHistoryError'],
  [400, 'Output blocked by content filtering policy', 'LLMContentPolicyViolationError'],
  [401, 'invalid x-api-key', 'LLMAuthenticationError'],
  [403, 'not for you', 'LLMAuthenticationError'],
  [404, 'model: x', 'NotFoundError'],
  [413, 'too large', 'LLMBadRequestError'],
  [429, 'slow down', 'LLMRateLimitError'],
  [500, 'Internal server error', 'LLMServiceUnavailableError'],
  [529, 'Overloaded', 'LLMServiceUnavailableError'],
];
for (const [i, [status, message, code]] of ERRORS.entries()) {
  test(`a refusal with ${status} and "${message.slice(0, 24)}" ends the run with ${code}`, async (t) => {
    const conversation = await begin(t, `refusal-${i}`, [{ status, error: { message } }]);
    assert.equal(await conversation.ask('go'), 'error');
    assert.deepEqual((await errorsOf(conversation)).map((event) => event.code), [code]);
  });
}

test('an overloaded server is asked again', async (t) => {
  const conversation = await begin(t, 'busy', [{ text: 'at last', once: { status: 529, error: { message: 'Overloaded' } } }],
    { llm: { num_retries: 3, retry_multiplier: 0 } });
  assert.equal(await conversation.ask('go'), 'finished');
  assert.equal(requestsOf('busy').length, 2);
});

test('broken answers are asked for again, or are the model\'s to mend', async (t) => {
  for (const [fault, end] of [['fin-mid-line', 'finished'], ['no-stop', 'finished'], ['unknown-events', 'finished'], ['html-200', 'error']]) {
    const conversation = await begin(t, `fault-${fault}`, [{ text: 'good', once: { fault } }], { llm: { stream: true, num_retries: 2, retry_multiplier: 0 } });
    assert.equal(await conversation.ask('go'), end, fault);
    assert.deepEqual(answersOf(await conversation.events()),
      end === 'error' ? [] : [fault === 'unknown-events' ? 'half' : 'good'], fault);
  }
  const conversation = await begin(t, 'fault-input', [{ fault: 'invalid-input' }, { text: 'mended' }], { llm: { stream: true } });
  assert.equal(await conversation.ask('go'), 'finished');
  await waitUntil(async () => (await conversation.events()).some(ofKind('AgentErrorEvent')), 'the model is told');
});
