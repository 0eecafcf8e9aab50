// The fake itself, held to the vendor's own client: it must send what that reads, and refuse what the vendor refuses.
import assert from 'node:assert/strict';
import test from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { signatureOf } from './anthropic-check.mjs';
import { start } from './anthropic.mjs';

const MODEL = 'claude-haiku-4-5';
const CALLS = [{ name: 'terminal', arguments: { command: 'ls', n: [1, { a: 'ä' }] } }, { name: 'think', arguments: {} }];
const FULL = { reasoning: 'I think about it.', redacted: true, text: 'I look at ü.', calls: CALLS };
const THINKING = { type: 'enabled', budget_tokens: 1024 };
const user = (text) => ({ role: 'user', content: [{ type: 'text', text }] });
const using = (...ids) => ({ role: 'assistant', content: ids.map((id) => ({ type: 'tool_use', id, name: 'terminal', input: {} })) });
const results = (...ids) => ({ role: 'user', content: ids.map((id) => ({ type: 'tool_result', tool_use_id: id, content: [{ type: 'text', text: 'ok' }] })) });
const marked = (text) => ({ type: 'text', text, cache_control: { type: 'ephemeral' } });

test('the fake of Anthropic', async (t) => {
  const fake = await start({ scenarios: { [MODEL]: [FULL, { text: 'done' }], broken: [{ ...FULL, break_after: 4 }], busy: [{ ...FULL, error_after: 4 }] } });
  const client = new Anthropic({ apiKey: 'sk-test', baseURL: fake.url, maxRetries: 0 });
  const ask = (more, headers = {}) => client.messages.create({ model: MODEL, max_tokens: 4096, messages: [user('hi')], ...more }, { headers });
  const OLD = { 'anthropic-version': '2023-06-01' };
  t.after(() => fake.close());

  await t.test('answers its client at once and streamed alike', async () => {
    const whole = await ask({ thinking: THINKING });
    const streamed = await client.messages.stream({ model: MODEL, max_tokens: 4096, messages: [user('hi')], thinking: THINKING }).finalMessage();
    assert.deepEqual(whole.content.map(({ type }) => type), ['thinking', 'redacted_thinking', 'text', 'tool_use', 'tool_use']);
    const plain = (content) => content.map(({ id: _, ...block }) => ({ ...block }));
    assert.deepEqual(plain(streamed.content), plain(whole.content));
    assert.equal(whole.content[2].text, FULL.text);
    assert.deepEqual(whole.content[3].input, CALLS[0].arguments);
    assert.equal(streamed.stop_reason, 'tool_use');
    assert.equal(streamed.usage.output_tokens, 20);
    const next = await ask({
      thinking: THINKING,
      messages: [user('hi'), { role: 'assistant', content: whole.content }, results(...whole.content.filter(({ type }) => type === 'tool_use').map(({ id }) => id))],
    });
    assert.equal(next.content[0].text, 'done');
    assert.deepEqual(fake.violations, []);
  });

  await t.test('takes what an older version has', async () => {
    assert.equal((await ask({ temperature: 0.5 }, OLD)).stop_reason, 'tool_use');
    const response = await fetch(`${fake.url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': 'sk-test', 'content-type': 'application/json', ...OLD },
      body: JSON.stringify({ model: MODEL, max_tokens: 9, messages: [user('hi')] }),
    });
    assert.equal(response.status, 200);
  });

  await t.test('thinks only when asked to', async () => {
    assert.equal((await ask({})).content[0].type, 'text');
  });

  await t.test('binds the thinking of newer models to what stood before it', async () => {
    const model = 'claude-opus-5-5';
    const adaptive = { type: 'adaptive' };
    const dropping = { ...adaptive, block_binding: { prefix_mismatch_behavior: 'drop_block' } };
    const beta = { 'anthropic-beta': 'thinking-binding-controls-2026-08-01' };
    fake.setScenario(model, [FULL, { text: 'done' }]);
    const { content } = await ask({ model, thinking: adaptive });
    const rest = [{ role: 'assistant', content }, results(...content.filter(({ type }) => type === 'tool_use').map(({ id }) => id))];
    await ask({ model, thinking: adaptive, messages: [{ role: 'user', content: [marked('hi')] }, ...rest] });
    await assert.rejects(ask({ model, thinking: adaptive, messages: [user('a summary'), ...rest] }), /bound to a different conversation/);
    await ask({ model, thinking: dropping, messages: [user('a summary'), ...rest] }, beta);
    assert.equal(fake.requests.at(-1).n_dropped, 1);
  });

  await t.test('counts what a cache would hold', async () => {
    const long = 'word '.repeat(400);
    const first = await ask({ system: [marked(long)], messages: [{ role: 'user', content: [marked('one')] }] });
    const second = await ask({ system: [marked(long)], messages: [{ role: 'user', content: [{ type: 'text', text: 'one' }, marked('two')] }] });
    assert.equal(first.usage.cache_read_input_tokens, 0);
    assert.ok(first.usage.cache_creation_input_tokens > 500);
    assert.equal(second.usage.cache_read_input_tokens, first.usage.cache_creation_input_tokens);
    const other = await ask({ system: [marked(`x${long}`)] });
    assert.equal(other.usage.cache_read_input_tokens, 0);
  });

  await t.test('breaks off, and fails in the middle', async () => {
    await assert.rejects(client.messages.stream({ model: 'broken', max_tokens: 9, messages: [user('hi')] }).finalMessage());
    await assert.rejects(client.messages.stream({ model: 'busy', max_tokens: 9, messages: [user('hi')] }).finalMessage(), /Overloaded/);
  });

  const thought = (text, signature) => ({ role: 'assistant', content: [{ type: 'thinking', thinking: text, signature }, ...using('a').content] });
  const bad = {
    'no max_tokens': [{ max_tokens: undefined }, /max_tokens: Field required/],
    'no max_tokens above 0': [{ max_tokens: 0 }, /max_tokens/],
    'unknown member': [{ seed: 1 }, /seed: Extra inputs are not permitted/],
    'unknown member of a message': [{ messages: [{ ...user('x'), name: 'y' }] }, /Extra inputs/],
    'unknown member of a block': [{ messages: [{ role: 'user', content: [{ type: 'text', text: 'x', model: 'y' }] }] }, /Extra inputs/],
    'the assistant first': [{ messages: [using('a'), results('a')] }, /alternate/],
    'the assistant last': [{ messages: [user('x'), { role: 'assistant', content: 'y' }] }, /must end with a user message/],
    'the user twice': [{ messages: [user('x'), user('y')] }, /alternate/],
    'a call without a result': [{ messages: [user('x'), using('a', 'b'), results('a')] }, /`tool_use` ids were found without `tool_result` blocks immediately after: b/],
    'a result without a call': [{ messages: [user('x'), using('a'), results('a', 'b')] }, /unexpected `tool_use_id`/],
    'a result after words': [{ messages: [user('x'), using('a'), { role: 'user', content: [...user('y').content, ...results('a').content] }] }, /come first/],
    'an odd id': [{ messages: [user('x'), using('a:1'), results('a:1')] }, /pattern/],
    'a blank text': [{ messages: [user(' ')] }, /non-whitespace/],
    'no content': [{ messages: [{ role: 'user', content: [] }] }, /non-empty/],
    'five marks': [{ messages: [{ role: 'user', content: ['1', '2', '3', '4', '5'].map(marked) }] }, /A maximum of 4 blocks with cache_control may be provided\. Found 5/],
    'a mark on thinking': [{ messages: [user('x'), { role: 'assistant', content: [{ type: 'thinking', thinking: 't', signature: signatureOf(MODEL, 't'), cache_control: { type: 'ephemeral' } }] }, user('y')] }, /Extra inputs/],
    'a forged signature': [{ messages: [user('x'), thought('t', 'forged'), results('a')] }, /Invalid `signature`/],
    'another model\'s thinking': [{ messages: [user('x'), thought('t', signatureOf('other', 't')), results('a')] }, /Invalid `signature`/],
    'no thinking before the last calls': [{ thinking: THINKING, messages: [user('x'), using('a'), results('a')] }, /Expected `thinking`/],
    'a budget over max_tokens': [{ thinking: { type: 'enabled', budget_tokens: 4096 } }, /greater than `thinking.budget_tokens`/],
    'a small budget': [{ thinking: { type: 'enabled', budget_tokens: 16 } }, /1024/],
    'a temperature while thinking': [{ thinking: THINKING, temperature: 0 }, /temperature/, OLD],
    'temperature and top_p': [{ temperature: 1, top_p: 1 }, /only one/, OLD],
    'a temperature, which newer versions have not': [{ temperature: 1 }, /temperature/],
    'an unknown version': [{}, /anthropic-version/, { 'anthropic-version': '2020-01-01' }],
    'the control of a beta alone': [{ thinking: { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'drop_block' } } }, /Extra inputs/],
    'a tool without a schema': [{ tools: [{ name: 'a', description: 'b' }] }, /input_schema/],
    'a tool in another format': [{ tools: [{ type: 'function', function: { name: 'a' } }] }, /Extra inputs/],
    'an image of an odd type': [{ messages: [{ role: 'user', content: [{ type: 'image', source: { type: 'base64', media_type: 'image/tiff', data: 'AAAA' } }] }] }, /media_type/],
  };
  for (const [name, [body, words, headers]] of Object.entries(bad)) {
    await t.test(`refuses: ${name}`, async () => {
      await assert.rejects(ask(body, headers), (error) => {
        assert.ok(error instanceof Anthropic.BadRequestError, String(error));
        assert.match(error.message, words);
        assert.equal(error.error.error.type, 'invalid_request_error');
        return true;
      });
    });
  }

  await t.test('refuses another key, and an unknown model', async () => {
    const stranger = new Anthropic({ apiKey: 'other', baseURL: fake.url, maxRetries: 0 });
    const body = { model: MODEL, max_tokens: 9, messages: [user('hi')] };
    await assert.rejects(stranger.messages.create(body), Anthropic.AuthenticationError);
    await assert.rejects(ask({ model: 'nobody' }), Anthropic.NotFoundError);
  });

  for (const [status, kind] of [[403, 'PermissionDeniedError'], [429, 'RateLimitError'], [500, 'InternalServerError'], [529, 'InternalServerError']]) {
    await t.test(`plays ${status}`, async () => {
      fake.setScenario('refusing', [{ status, error: { message: 'no' } }]);
      await assert.rejects(ask({ model: 'refusing' }), Anthropic[kind]);
    });
  }
});
