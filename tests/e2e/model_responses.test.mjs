// Conversations with models that are called by OpenAI's Responses: runs, reasoning, streams, images and errors.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Conversation, isAction, llmOf, ofKind, startRequest } from './support/conversation.mjs';
import { strictModel, strictResponses } from './support/model.mjs';
import { terminal } from './support/model_calls.mjs';
import { PNG, PNG_URL, THOUGHTS, assertRan, errorsOf, runSteps, testBrokenStreams } from './support/vendor_model.mjs';

const fake = await strictResponses();
const other = await strictModel();
/** Names of scenarios begin with a model's, since what a model takes follows from it. */
const named = (scenario) => `gpt-5.2-${scenario}`;
const requestsOf = (scenario) => fake.requests.filter(({ body }) => body.model === named(scenario));
const typesOf = ({ body }) => body.input.map(({ type, role }) => role ?? type);

async function begin(t, scenario, steps, { llm = {}, ...more } = {}) {
  fake.setScenario(named(scenario), steps);
  const model = { ...llmOf(fake, scenario), model: `openai/${named(scenario)}`, ...llm };
  const conversation = await Conversation.create(startRequest(model, more));
  t.after(() => conversation.delete());
  return conversation;
}

test('a run reasons, calls a tool, then two at once, and ends; its reasoning and ids go back unchanged', async (t) => {
  const conversation = await begin(t, 'run', runSteps());
  assert.equal(await conversation.ask('work'), 'finished');
  const events = await conversation.events();
  const [first] = events.filter(isAction('terminal'));
  assert.equal(first.reasoning_content, THOUGHTS);
  assert.deepEqual(first.responses_reasoning_item.summary, [THOUGHTS]);
  assert.match(first.llm_response_id, /^resp_/);
  assert.equal(first.tool_call.origin, 'responses');
  assert.match(first.tool_call.responses_item_id, /^fc_/);
  assertRan(events);
  const requests = requestsOf('run');
  assert.deepEqual(typesOf(requests[2]), [
    'user', 'reasoning', 'assistant', 'function_call', 'function_call_output',
    'reasoning', 'function_call', 'function_call', 'function_call_output', 'function_call_output',
  ]);
  const sent = requests[2].body.input;
  assert.equal(sent[3].id, first.tool_call.responses_item_id);
  assert.equal(sent[3].call_id, first.tool_call_id);
  assert.equal(sent[3].arguments, first.tool_call.arguments);
  const { system_prompt: prompt } = events.find(ofKind('SystemPromptEvent'));
  assert.ok(requests[2].body.instructions.startsWith(prompt.text));
  assert.equal(requests[2].body.store, false);
  assert.equal(requests[2].body.prompt_cache_key, conversation.id);
  assert.ok(requests[2].body.tools.some(({ name }) => name === 'terminal'));
  assert.equal(requests[2].headers['x-litellm-session-id'], conversation.id);
  assert.equal(await conversation.ask('thanks'), 'finished');
  const again = requestsOf('run').find(({ body }) => body.input.at(-1).content?.[0].text === 'thanks');
  assert.deepEqual(typesOf(again).slice(-3), ['reasoning', 'assistant', 'user']);
  const { stats } = await conversation.info();
  const usage = stats.usage_to_metrics.agent.accumulated_token_usage;
  const n = requestsOf('run').length;
  assert.deepEqual([usage.cache_read_tokens, usage.reasoning_tokens], [100 * n, 7 * n]);
});

testBrokenStreams(fake, begin, { 'breaks off': { break_after: 9 }, 'ends with an error': { error_after: 9 } });

test('reasoning is dropped when the model is switched, in both directions between the formats', async (t) => {
  const conversation = await begin(t, 'before', [{ reasoning: THOUGHTS, calls: [terminal('true')] }, { reasoning: 'So.', text: 'the first' }]);
  assert.equal(await conversation.ask('one'), 'finished');
  fake.setScenario(named('after'), [{ reasoning: 'Mine.', calls: [terminal('true')] }, { text: 'the second' }]);
  await conversation.must(200, 'POST', '/switch_llm', { json: { llm: { ...llmOf(fake, 'x'), model: `openai/${named('after')}` } } });
  assert.equal(await conversation.ask('two'), 'finished');
  assert.deepEqual(typesOf(requestsOf('after').at(-1)),
    ['user', 'function_call', 'function_call_output', 'assistant', 'user', 'reasoning', 'function_call', 'function_call_output']);
  other.setScenario('chat', [{ calls: [terminal('echo ch""at')] }, { text: 'the third' }]);
  await conversation.must(200, 'POST', '/switch_llm', { json: { llm: llmOf(other, 'chat') } });
  assert.equal(await conversation.ask('three'), 'finished');
  await conversation.must(200, 'POST', '/switch_llm', { json: { llm: { ...llmOf(fake, 'x'), model: `openai/${named('after')}` } } });
  assert.equal(await conversation.ask('four'), 'finished');
  const back = typesOf(requestsOf('after').at(-1));
  assert.equal(back.filter((type) => type === 'reasoning').length, 2, 'its own, of both turns');
  assert.equal(back.filter((type) => type === 'function_call').length, 4);
});

test('reasoning that holds a secret is not stored, and its words are masked', async (t) => {
  const conversation = await begin(t, 'secret', [{ reasoning: 'It is a-very-secret-value.', calls: [terminal('true')] }, { text: 'done' }],
    { secrets: { KEY: 'a-very-secret-value' } });
  assert.equal(await conversation.ask('go'), 'finished');
  const [call] = (await conversation.events()).filter(isAction('terminal'));
  assert.equal(call.reasoning_content, 'It is <secret-hidden>.');
  assert.equal(call.responses_reasoning_item ?? null, null);
  assert.deepEqual(typesOf(requestsOf('secret').at(-1)), ['user', 'function_call', 'function_call_output']);
});

test('an image of the user is sent, and one of a tool beside its words', async (t) => {
  const conversation = await begin(t, 'image', [
    { calls: [{ name: 'terminal', arguments: { command: `echo ${PNG} | base64 -d > /workspace/dot.png` } }] },
    { calls: [{ name: 'file_editor', arguments: { command: 'view', path: '/workspace/dot.png' } }] }, { text: 'a dot' },
  ]);
  await conversation.must(200, 'POST', '/events', {
    json: { role: 'user', run: true, content: [{ type: 'text', text: 'look' }, { type: 'image', image_urls: [PNG_URL] }] },
  });
  assert.equal(await conversation.rest(), 'finished');
  const { input } = requestsOf('image').at(-1).body;
  assert.deepEqual(input[0].content.map(({ type }) => type), ['input_text', 'input_image']);
  assert.deepEqual(input.at(-1).output.map(({ type }) => type), ['input_text', 'input_image']);
});

for (const [fault, status] of [['fin-mid-line', 'error'], ['no-end', 'error'], ['html-200', 'error'], ['unknown-events', 'finished']]) {
  test(`an answer with the fault ${fault} ends as ${status}`, async (t) => {
    const conversation = await begin(t, fault, [{ fault }], { llm: { stream: true } });
    assert.equal(await conversation.ask('go'), status);
    assert.equal((await errorsOf(conversation)).length, status === 'error' ? 1 : 0);
  });
}
