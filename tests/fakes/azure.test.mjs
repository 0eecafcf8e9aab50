// The fake itself, held to the vendor's own client: it must send what that reads, and refuse what Azure refuses.
import assert from 'node:assert/strict';
import test from 'node:test';
import OpenAI, { AzureOpenAI } from 'openai';
import { ENTRA_TOKEN, RESPONSES_SINCE, filtered, start, throttled } from './azure.mjs';

const CALLS = [{ name: 'terminal', arguments: { command: 'ls', n: [1, { a: 'ä' }] } }, { name: 'think', arguments: {} }];
const FULL = { text: 'I look at ü.', calls: CALLS };
const VERSION = '2024-12-01-preview';
const WAIT_MS = 40;
const user = { role: 'user', content: 'hi' };
const item = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] };

test('the fake of Azure', async (t) => {
  const fake = await start({ scenarios: {
    'my gpt': [FULL, { text: 'done' }], 'gpt-5-mine': [FULL], filtered: [filtered], blocked: [{ finish: 'content_filter' }],
    busy: [{ once: throttled(WAIT_MS), text: 'at last' }],
  } });
  t.after(() => fake.close());
  const clientOf = (more = {}) => new AzureOpenAI({ endpoint: fake.url, apiKey: 'sk-test', apiVersion: VERSION, maxRetries: 0, ...more });
  const v1Of = (more = {}) => new OpenAI({ baseURL: `${fake.url}/openai/v1`, apiKey: 'sk-test', maxRetries: 0, ...more });
  const ask = (body = {}, client = clientOf()) => client.chat.completions.create({ model: 'my gpt', messages: [user], ...body });
  const refused = (asked, status, code, words) => assert.rejects(asked, (error) => {
    assert.deepEqual([error.status, error.code], [status, code]);
    assert.match(error.message, words);
    return true;
  });

  await t.test('answers its client at once and streamed alike', async () => {
    const whole = await ask();
    const stream = clientOf().chat.completions.stream({ model: 'my gpt', messages: [user], stream_options: { include_usage: true } });
    const streamed = await stream.finalChatCompletion();
    const plain = ({ message }) => [message.content, message.tool_calls.map((call) => [call.function.name, call.function.arguments])];
    assert.deepEqual(plain(streamed.choices[0]), plain(whole.choices[0]));
    assert.equal(whole.choices[0].message.tool_calls.length, 2);
    assert.equal(streamed.usage.completion_tokens, 20);
    assert.equal(whole.prompt_filter_results[0].content_filter_results.hate.severity, 'safe');
    assert.equal(fake.requests.at(-1).path, `/openai/deployments/my%20gpt/chat/completions?api-version=${VERSION}`);
    assert.equal(fake.requests.at(-1).headers['api-key'], 'sk-test');
    assert.deepEqual(fake.violations, []);
  });

  await t.test('streams what its filter found before the first piece, without a choice', async () => {
    const chunks = [];
    for await (const chunk of await ask({ stream: true })) chunks.push(chunk);
    assert.deepEqual([chunks[0].id, chunks[0].choices], ['', []]);
    assert.equal(chunks[0].prompt_filter_results.length, 1);
    assert.ok(chunks.some(({ choices: [choice] }) => choice && choice.delta === undefined && choice.content_filter_offsets));
    assert.deepEqual(chunks.at(-1).choices[0].content_filter_results, {});
  });

  await t.test('knows the second message of a turn', async () => {
    const { choices: [{ message }] } = await ask();
    const results = message.tool_calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'ok' }));
    const next = await ask({ messages: [user, { role: 'assistant', content: message.content, tool_calls: message.tool_calls }, ...results] });
    assert.equal(next.choices[0].message.content, 'done');
  });

  await t.test('has Responses and chats under /openai/v1, for keys in either header', async () => {
    for (const client of [v1Of(), v1Of({ apiKey: 'unused', defaultHeaders: { 'api-key': 'sk-test', authorization: null } })]) {
      const whole = await client.responses.create({ model: 'gpt-5-mine', input: [item] });
      assert.equal(whole.output_text, FULL.text);
      const streamed = await client.responses.stream({ model: 'gpt-5-mine', input: [item] }).finalResponse();
      assert.equal(streamed.output.length, whole.output.length);
      assert.equal((await ask({}, client)).choices[0].message.content, FULL.text);
    }
  });

  await t.test('has Responses in versions since that which has them', async () => {
    const asked = (apiVersion) => clientOf({ apiVersion }).responses.create({ model: 'gpt-5-mine', input: [item] });
    assert.equal((await asked(RESPONSES_SINCE)).output_text, FULL.text);
    await refused(asked(VERSION), 400, null, /enabled only for api-version 2025-03-01-preview and later/);
  });

  await t.test('takes tokens of Entra as bearer tokens, and keys only in their header', async () => {
    const byToken = (token) => clientOf({ apiKey: undefined, azureADTokenProvider: async () => token });
    assert.equal((await ask({}, byToken(ENTRA_TOKEN))).choices[0].message.content, FULL.text);
    await refused(ask({}, byToken('sk-test')), 401, 'Unauthorized', /Access token is missing/);
    await refused(ask({}, clientOf({ apiKey: 'other' })), 401, '401', /invalid subscription key/);
    await refused(ask({}, v1Of({ apiKey: 'other' })), 401, 'Unauthorized', /Access token/);
  });

  for (const [name, client] of Object.entries({
    'an unknown version': clientOf({ apiVersion: '2024-13-01' }),
    'a dated version of v1': v1Of({ defaultQuery: { 'api-version': VERSION } }),
    'no version': new OpenAI({ baseURL: `${fake.url}/openai/deployments/my%20gpt`, apiKey: 'x', defaultHeaders: { 'api-key': 'sk-test' }, maxRetries: 0 }),
    'another path': clientOf({ endpoint: undefined, baseURL: `${fake.url}/v1` }),
  })) {
    await t.test(`does not find ${name}`, () => refused(ask({}, client), 404, '404', /Resource not found/));
  }
  await t.test('does not find a deployment that there is not', () => refused(ask({ model: 'nobody' }), 404, 'DeploymentNotFound', /deployment for this resource does not exist/));

  const bad = {
    'an unknown member': { top_k: 4 },
    'a key of OpenAI\'s cache': { prompt_cache_key: 'c' },
    'a deadline of OpenAI\'s cache': { prompt_cache_retention: '24h' },
    'a model that reasons with max_tokens': { model: 'gpt-5-mine', max_tokens: 9 },
    'no messages': { messages: [] },
  };
  for (const [name, body] of Object.entries(bad)) {
    await t.test(`refuses ${name}`, async () => {
      const n = fake.violations.length;
      await refused(ask(body), 400, null, /./);
      assert.equal(fake.violations.length, n + 1);
    });
  }

  await t.test('filters prompts and answers', async () => {
    await assert.rejects(ask({ model: 'filtered' }), ({ status, code, error }) => {
      assert.deepEqual([status, code, error.innererror.code], [400, 'content_filter', 'ResponsibleAIPolicyViolation']);
      assert.equal(error.innererror.content_filter_result.violence.filtered, true);
      return true;
    });
    assert.equal((await ask({ model: 'blocked' })).choices[0].finish_reason, 'content_filter');
  });

  await t.test('tells its client how long to wait, which does so', async () => {
    await assert.rejects(ask({ model: 'busy' }), ({ status, headers }) => status === 429 && headers.get('retry-after-ms') === String(WAIT_MS) && headers.get('retry-after') === '1');
    fake.setScenario('busy-again', [{ once: throttled(WAIT_MS), text: 'at last' }]);
    const asked = await ask({ model: 'busy-again' }, clientOf({ maxRetries: 1 }));
    assert.equal(asked.choices[0].message.content, 'at last');
    const [first, second] = fake.requests.slice(-2);
    assert.ok(second.at - first.at >= WAIT_MS - 1, `${second.at - first.at}`);
  });
});
