// Conversations with models of Amazon Bedrock, called by Converse: runs, signatures, thinking, streams, images, errors
// and secrets.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { AWS_CREDENTIALS, REGION, modelOf } from '../fakes/bedrock.mjs';
import { call, must } from './support/api.mjs';
import { Conversation, isAction, isResult, llmOf, ofKind, startRequest } from './support/conversation.mjs';
import { strictBedrock, strictModel } from './support/model.mjs';
import { terminal } from './support/model_calls.mjs';
import { Socket, restingSnapshot } from './support/socket.mjs';
import { N_STEPS, PNG, THOUGHTS, answersOf, askWithImages, assertCached, assertRan, errorsOf, manySteps, runSteps, testBrokenStreams } from './support/vendor_model.mjs';
import { waitUntil } from './support/wait.mjs';

/** A model of the table of prices, in dollars per million tokens. */
const PRICED = 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0';
const PRICES = { input: 3.3, output: 16.5, read: 0.33, write: 4.125 };
const { accessKeyId, secretAccessKey, sessionToken } = AWS_CREDENTIALS;
const SECRETS = { aws_access_key_id: accessKeyId, aws_secret_access_key: secretAccessKey, aws_session_token: sessionToken };

const fake = await strictBedrock();
const other = await strictModel();
/** Names of scenarios begin with a model's, since what a model takes follows from it. */
const named = (scenario) => `anthropic.claude-haiku-4-5-${scenario}:0`;
const requestsOf = (model) => fake.requests.filter((entry) => modelOf(entry) === model);
const typesOf = (message) => message.content.flatMap(Object.keys);

const bedrock = (model, more = {}) => ({
  ...llmOf(fake, 'x'), model: `bedrock/${model}`, api_key: null, aws_region_name: REGION, ...SECRETS, ...more,
});

async function beginWith(t, model, steps, { llm = {}, ...more } = {}) {
  fake.setScenario(model, steps);
  const conversation = await Conversation.create(startRequest(bedrock(model, llm), more));
  t.after(() => conversation.delete());
  return conversation;
}

const begin = (t, scenario, steps, more) => beginWith(t, named(scenario), steps, more);

test('a run thinks, calls a tool, then two at once, and ends; its thinking goes back unchanged', async (t) => {
  const conversation = await begin(t, 'run', runSteps({ redacted: true }), { autotitle: true });
  assert.equal(await conversation.ask('work'), 'finished');
  const events = await conversation.events();
  const [first] = events.filter(isAction('terminal'));
  assert.equal(first.reasoning_content, THOUGHTS);
  assert.deepEqual(first.thinking_blocks.map(({ type }) => type), ['thinking', 'redacted_thinking']);
  assertRan(events);
  const [, , last] = requestsOf(named('run')).filter(({ body }) => body.toolConfig !== undefined);
  assert.deepEqual(last.body.messages.map(typesOf), [
    ['text'], ['reasoningContent', 'reasoningContent', 'text', 'toolUse'], ['toolResult'],
    ['reasoningContent', 'toolUse', 'toolUse'], ['toolResult', 'toolResult', 'cachePoint'],
  ]);
  assert.match(last.headers.authorization, new RegExp(`^AWS4-HMAC-SHA256 Credential=${accessKeyId}/\\d{8}/${REGION}/bedrock/aws4_request, `));
  assert.equal(await conversation.ask('thanks'), 'finished');
  const again = requestsOf(named('run')).map(({ body }) => body.messages).find((messages) => messages.at(-1).content[0].text === 'thanks');
  assert.deepEqual(again.slice(-2).map(typesOf), [['reasoningContent', 'text'], ['text', 'cachePoint']]);
});

test('a key of Bedrock is sent as a bearer token, to the endpoint that is named', async (t) => {
  const conversation = await begin(t, 'key', [{ text: 'hello' }], {
    llm: { api_key: 'sk-test', aws_access_key_id: null, aws_secret_access_key: null, aws_session_token: null, base_url: null, aws_region_name: null, aws_bedrock_runtime_endpoint: fake.url },
  });
  assert.equal(await conversation.ask('hi'), 'finished');
  const [{ headers }] = requestsOf(named('key'));
  assert.equal(headers.authorization, 'Bearer sk-test');
  assert.equal(headers['x-amz-date'], undefined);
});

test(`nine tenths of the prompts of ${N_STEPS} steps are read from the cache, and each is paid at its price`, async (t) => {
  const conversation = await beginWith(t, PRICED, manySteps());
  assert.equal(await conversation.ask('go'), 'finished');
  assert.equal(requestsOf(PRICED).length, N_STEPS + 1);
  const { usage, cost } = await assertCached(t, conversation);
  const fresh = usage.prompt_tokens - usage.cache_read_tokens - usage.cache_write_tokens;
  const expected = (fresh * PRICES.input + usage.completion_tokens * PRICES.output + usage.cache_read_tokens * PRICES.read + usage.cache_write_tokens * PRICES.write) / 1e6;
  assert.ok(Math.abs(cost - expected) < 1e-9, `${cost} is not ${expected}`);
});

test('agent-loop 46: only the static part of the prompt and the last message carry cache marks', async (t) => {
  const conversation = await begin(t, 'marks', [{ calls: [terminal('true')] }, { text: 'done' }], { secrets: { KEY: 'a-very-secret-value' } });
  for (const words of ['one', 'two']) assert.equal(await conversation.ask(words), 'finished');
  const { system_prompt: prompt } = (await conversation.events()).find(ofKind('SystemPromptEvent'));
  for (const { body } of requestsOf(named('marks'))) {
    assert.deepEqual(body.system.map((block) => Object.keys(block)[0]), ['text', 'cachePoint', 'text']);
    assert.equal(body.system[0].text, prompt.text);
    assert.ok(body.toolConfig.tools.every((tool) => tool.cachePoint === undefined));
    assert.deepEqual(body.messages.map((message) => typesOf(message).indexOf('cachePoint')),
      body.messages.map(({ content }, i) => (i === body.messages.length - 1 ? content.length - 1 : -1)));
  }
});

testBrokenStreams(fake, begin, { 'breaks off': { break_after: 9 }, 'ends with an exception': { error_after: 9, error: { type: 'modelStreamErrorException' } } });

test('thinking is dropped when the model is switched, words are kept apart from results, and the new model answers', async (t) => {
  const llama = 'meta.llama3-3-70b-instruct-v1:0';
  const finish = { name: 'finish', arguments: { message: 'the first', summary: 's' } };
  const conversation = await begin(t, 'before', [{ reasoning: THOUGHTS, calls: [terminal('true')] }, { calls: [finish] }]);
  assert.equal(await conversation.ask('one'), 'finished');
  fake.setScenario(llama, [{ calls: [terminal('true')] }, { text: 'the second' }]);
  await conversation.must(200, 'POST', '/switch_llm', { json: { llm: bedrock(llama) } });
  assert.equal(await conversation.ask('two'), 'finished');
  assert.deepEqual(requestsOf(llama).at(-1).body.messages.map(typesOf), [
    ['text'], ['toolUse'], ['toolResult'], ['toolUse'], ['toolResult'], ['text'], ['text'], ['toolUse'], ['toolResult'],
  ]);
  other.setScenario('chat', [{ text: 'the third' }]);
  await conversation.must(200, 'POST', '/switch_llm', { json: { llm: llmOf(other, 'chat') } });
  assert.equal(await conversation.ask('three'), 'finished');
  assert.ok(other.requests.at(-1).body.messages.every((message) => message.thinking_blocks === undefined));
});

test('a failed call has the status of one, for models that take it', async (t) => {
  const nova = 'amazon.nova-pro-v1:0';
  const llama = 'meta.llama4-scout-17b-instruct-v1:0';
  const steps = [{ calls: [{ name: 'nope', arguments: {} }] }, { calls: [terminal('true')] }, { text: 'done' }];
  for (const [model, expected] of [[named('failed'), 'error'], [nova, 'error'], [llama, undefined]]) {
    const conversation = await beginWith(t, model, steps);
    assert.equal(await conversation.ask('one'), 'finished');
    const results = requestsOf(model).at(-1).body.messages.flatMap(({ content }) => content).flatMap(({ toolResult }) => toolResult ?? []);
    assert.deepEqual(results.map(({ status }) => status), [expected, undefined], model);
  }
});

test('an image of the user is sent along', async (t) => {
  const conversation = await begin(t, 'image', [{ text: 'a pixel' }]);
  await askWithImages(conversation);
  const [, { image }] = requestsOf(named('image'))[0].body.messages[0].content;
  assert.deepEqual(image, { format: 'png', source: { bytes: PNG } });
});

const ERRORS = [
  [400, { message: 'Malformed input request' }, 'LLMBadRequestError'],
  [400, { message: 'Input is too long for requested model.' }, 'LLMContextWindowExceedError'],
  [400, { message: 'Expected toolResult blocks at messages.2.content for the following Ids: x' }, 'LLMMalformedConversationHistoryError'],
  [403, { message: 'You do not have access to the model' }, 'LLMAuthenticationError'],
  [403, { type: 'ExpiredTokenException', message: 'The security token is expired' }, 'LLMAuthenticationError'],
  [404, { message: 'The provided model identifier is invalid.' }, 'NotFoundError'],
  [408, { message: 'The model took too long' }, 'LLMTimeoutError'],
  [424, { message: 'The model failed' }, 'LLMServiceUnavailableError'],
  [429, { message: 'Too many requests' }, 'LLMRateLimitError'],
  [500, { message: 'Internal server error' }, 'LLMServiceUnavailableError'],
  [503, { message: 'Bedrock is unable to process your request.' }, 'LLMServiceUnavailableError'],
];
test('each refusal ends the run with the code of its class', async (t) => {
  await Promise.all(ERRORS.map(async ([status, error, code], i) => {
    const conversation = await begin(t, `refusal-${i}`, [{ status, error }]);
    assert.equal(await conversation.ask('go'), 'error');
    assert.deepEqual((await errorsOf(conversation)).map((event) => event.code), [code], error.message);
  }));
});

test('a throttled call is made again, under a signature of its own', async (t) => {
  const conversation = await begin(t, 'busy', [{ text: 'at last', once: { status: 429, error: { message: 'Too many requests' } } }],
    { llm: { num_retries: 3, retry_multiplier: 0 } });
  assert.equal(await conversation.ask('go'), 'finished');
  assert.equal(requestsOf(named('busy')).length, 2);
});

const RETRIED = ['fin-mid-frame', 'fin-mid-prelude', 'rst-mid-frame', 'no-stop', 'wrong-sum', 'exception'];
const TAKEN = { 'unknown-events': 'half', 'two-stops': 'half', 'no-metadata': 'half', 'odd-payload': 'half', 'lone-surrogate': 'a\ufffdb' };
test('broken answers are asked for again, taken as they are, or end the run in words', async (t) => {
  const llm = { stream: true, num_retries: 2, retry_multiplier: 0 };
  await Promise.all([...RETRIED, ...Object.keys(TAKEN)].map(async (fault) => {
    const conversation = await begin(t, `fault-${fault}`, [{ text: 'good', once: { fault } }], { llm });
    assert.equal(await conversation.ask('go'), 'finished', fault);
    assert.deepEqual(answersOf(await conversation.events()), [TAKEN[fault] ?? 'good'], fault);
    assert.equal(requestsOf(named(`fault-${fault}`)).length, RETRIED.includes(fault) ? 2 : 1, fault);
  }));
  await Promise.all(['html-200', 'endless-frame', 'many-tools'].map(async (fault) => {
    const conversation = await begin(t, `fault-${fault}`, [{ fault }], { llm });
    assert.equal(await conversation.ask('go'), 'error', fault);
    assert.equal((await errorsOf(conversation)).length, 1, fault);
  }));
});

test('a connection that falls silent in the middle of a stream is given up', async (t) => {
  const conversation = await begin(t, 'silent', [{ text: 'good', once: { fault: 'half-close' } }],
    { llm: { stream: true, num_retries: 2, retry_multiplier: 0, stream_idle_timeout: 1 } });
  assert.equal(await conversation.ask('go'), 'finished');
  assert.deepEqual(answersOf(await conversation.events()), ['good']);
});

test('odd calls are the model\'s to mend, or made as they are', async (t) => {
  const llm = { stream: true };
  for (const fault of ['invalid-input', 'unknown-tool']) {
    const conversation = await begin(t, `odd-${fault}`, [{ fault }, { text: 'mended' }], { llm });
    assert.equal(await conversation.ask('go'), 'finished', fault);
    await waitUntil(async () => (await conversation.events()).some(ofKind('AgentErrorEvent')), 'the model is told');
  }
  for (const [fault, n] of [['split-input', 1], ['id-reuse', 2]]) {
    const conversation = await begin(t, `odd-${fault}`, [{ fault }, { text: 'done' }], { llm });
    assert.equal(await conversation.ask('go'), 'finished', fault);
    const results = (await conversation.events()).filter(isResult('terminal'));
    assert.equal(results.length, n, fault);
    assert.equal(new Set(results.map((event) => event.tool_call_id)).size, n, fault);
  }
});

test('credentials are hidden, even if the server repeats them', async (t) => {
  const message = `The canonical string was x-amz-security-token:${sessionToken} ${secretAccessKey} ${accessKeyId}`;
  const conversation = await begin(t, 'secret', [{ text: 'hello' }], { autotitle: true });
  assert.equal(await conversation.ask('hi'), 'finished');
  fake.setScenario(named('secret'), [{ status: 400, error: { message } }]);
  const session = await Socket.open(`/sockets/session/${conversation.id}`);
  t.after(() => session.close());
  assert.equal(await conversation.ask('again'), 'error');
  const [{ detail }] = await errorsOf(conversation);
  assert.match(detail, /x-amz-security-token:<secret-hidden> <secret-hidden> <secret-hidden> \(error code: 400, ValidationException\)/);
  const info = await conversation.info();
  for (const name of Object.keys(SECRETS)) assert.equal(info.agent.llm[name], null, name);
  assert.equal(info.agent.llm.aws_region_name, REGION);
  const seen = JSON.stringify([info, await conversation.events(), session.frames]);
  for (const secret of Object.values(SECRETS)) assert.ok(!seen.includes(secret));
});

test('a profile keeps its credentials, hidden; it can be tried, and replaces a model that is down', async (t) => {
  const path = `/api/profiles/bedrock-${randomUUID()}`;
  const model = named('profile');
  fake.setScenario(model, [{ text: 'from the profile' }]);
  await must(201, 'POST', path, { json: { llm: bedrock(model), include_secrets: true } });
  t.after(() => call('DELETE', path));
  const { config } = await must(200, 'GET', path);
  for (const [name, secret] of Object.entries(SECRETS)) assert.notEqual(config[name], secret, name);
  assert.deepEqual(await must(200, 'POST', `${path}/validate`, { json: { llm: { ...config } } }), { valid: true, error: null });
  const wrong = await must(200, 'POST', `${path}/validate`, { json: { llm: bedrock(model, { aws_secret_access_key: 'another-secret-of-the-test' }) } });
  assert.equal(wrong.valid, false);
  assert.equal(wrong.error.type, 'LLMAuthenticationError');
  other.setScenario('down', [{ status: 503, error: { message: 'overloaded' } }]);
  const llm = llmOf(other, 'down', { fallback_strategy: { fallback_llms: [path.split('/').at(-1)] } });
  const conversation = await Conversation.create(startRequest(llm));
  t.after(() => conversation.delete());
  assert.equal(await conversation.ask('go'), 'finished');
  assert.deepEqual(answersOf(await conversation.events()), ['from the profile']);
});

const REFUSED = [
  [{ aws_profile_name: 'mine' }, /deft does not support aws_profile_name/],
  [{ aws_role_name: 'arn:aws:iam::1:role/x' }, /deft does not support aws_role_name/],
  [{ api_key: 'sk-test' }, /an API key or AWS credentials, not both/],
  [{ aws_secret_access_key: null }, /aws_access_key_id and aws_secret_access_key, both/],
  [{ aws_access_key_id: null, aws_secret_access_key: null, aws_session_token: null }, /Bedrock needs credentials/],
  [{ aws_region_name: 'nowhere' }, /no region of AWS/],
  [{ base_url: null, aws_region_name: null }, /need aws_region_name/],
  [{ base_url: fake.url.replace('://', '://me:word@') }, /must not have a name or password/],
];
test('what cannot be called is refused in words', async (t) => {
  await Promise.all(REFUSED.map(async ([llm, words], i) => {
    const conversation = await begin(t, `refused-${i}`, [{ text: 'no' }], { llm });
    assert.equal(await conversation.ask('go'), 'error');
    const [{ detail }] = await errorsOf(conversation);
    assert.match(detail, words);
    assert.equal(requestsOf(named(`refused-${i}`)).length, 0);
  }));
});
