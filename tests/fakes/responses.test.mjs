// The fake itself, held to the vendor's own client: it must send what that reads, and refuse what the vendor refuses.
import assert from 'node:assert/strict';
import test from 'node:test';
import OpenAI from 'openai';
import { start } from './responses.mjs';

const MODEL = 'gpt-5.2';
const CALLS = [{ name: 'terminal', arguments: { command: 'ls', n: [1, { a: 'ä' }] } }, { name: 'think', arguments: {} }];
const FULL = { reasoning: 'I think about it.', text: 'I look at ü.', calls: CALLS };
const user = (text) => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] });
const result = ({ call_id }) => ({ type: 'function_call_output', call_id, output: 'ok' });
const ENCRYPTED = { include: ['reasoning.encrypted_content'], store: false };

test('the fake of Responses', async (t) => {
  const fake = await start({ scenarios: { [MODEL]: [FULL, { text: 'done' }], 'gpt-5-half': [{ ...FULL, break_after: 6 }], 'gpt-5-failed': [{ failed: { code: 'server_error', message: 'no' } }] } });
  const client = new OpenAI({ apiKey: 'sk-test', baseURL: fake.url, maxRetries: 0 });
  const ask = (more) => client.responses.create({ model: MODEL, input: [user('hi')], ...ENCRYPTED, ...more });
  t.after(() => fake.close());

  await t.test('answers its client at once and streamed alike', async () => {
    const whole = await ask({});
    const streamed = await client.responses.stream({ model: MODEL, input: [user('hi')], ...ENCRYPTED }).finalResponse();
    const plain = ({ id: _, call_id: __, encrypted_content: ___, ...item }) => ({ type: item.type, text: item.content?.[0].text, arguments: item.arguments, summary: item.summary });
    assert.deepEqual(whole.output.map(({ type }) => type), ['reasoning', 'message', 'function_call', 'function_call']);
    assert.deepEqual(streamed.output.map(plain), whole.output.map(plain));
    assert.equal(whole.output_text, FULL.text);
    assert.deepEqual(JSON.parse(whole.output[2].arguments), CALLS[0].arguments);
    assert.equal(streamed.usage.output_tokens_details.reasoning_tokens, 7);
    const calls = whole.output.filter(({ type }) => type === 'function_call');
    const next = await ask({ input: [user('hi'), ...whole.output, ...calls.map(result)] });
    assert.equal(next.output_text, 'done');
    assert.deepEqual(fake.violations, []);
  });

  await t.test('reasons only where the model does', async () => {
    fake.setScenario('gpt-4o', [FULL]);
    const plain = await client.responses.create({ model: 'gpt-4o', input: [user('hi')], temperature: 0.5 });
    assert.equal(plain.output[0].type, 'message');
  });

  await t.test('breaks off and fails', async () => {
    await assert.rejects(client.responses.stream({ model: 'gpt-5-half', input: [user('hi')] }).finalResponse());
    assert.equal((await client.responses.create({ model: 'gpt-5-failed', input: [user('hi')] })).status, 'failed');
  });

  const [reasoning, , call] = (await ask({})).output;
  const bad = {
    'an unknown member': { surprise: 1 },
    'no input': { input: [] },
    'a call without a result': { input: [user('x'), call] },
    'a result without a call': { input: [user('x'), result(call)] },
    'words between a call and its result': { input: [user('x'), call, user('y'), result(call)] },
    'an id of another form': { input: [user('x'), { ...call, id: 'call_1' }, result(call)] },
    'an id that is too long': { input: [user('x'), { ...call, id: undefined, call_id: 'c'.repeat(65) }] },
    'a call twice': { input: [user('x'), call, result(call), call, result(call)] },
    'reasoning of another model': { model: 'gpt-5.1', input: [user('x'), reasoning, call, result(call)] },
    'reasoning that is not stored': { input: [user('x'), { ...reasoning, encrypted_content: undefined }, call, result(call)] },
    'reasoning that led to nothing': { input: [user('x'), reasoning, user('y')] },
    'a temperature': { temperature: 0.5 },
    'an unknown effort': { reasoning: { effort: 'huge' } },
    'a tool of chats': { tools: [{ type: 'function', function: { name: 'a', parameters: { type: 'object' } } }] },
    'a tool twice': { tools: [1, 2].map(() => ({ type: 'function', name: 'a', strict: false, parameters: { type: 'object' } })) },
    'an empty list of parts': { input: [{ type: 'message', role: 'user', content: [] }] },
    'a text of chats': { input: [{ type: 'message', role: 'user', content: [{ type: 'text', text: 'x' }] }] },
    'an image without a type': { input: [{ type: 'message', role: 'user', content: [{ type: 'input_image', image_url: 'data:base64,AA' }] }] },
  };
  for (const [name, more] of Object.entries(bad)) {
    await t.test(`refuses ${name}`, async () => {
      const n = fake.violations.length;
      await assert.rejects(ask(more), ({ status }) => status === 400);
      assert.equal(fake.violations.length, n + 1);
    });
  }
  await t.test('refuses another key', async () => {
    await assert.rejects(new OpenAI({ apiKey: 'other', baseURL: fake.url, maxRetries: 0 }).responses.create({ model: MODEL, input: 'x' }), ({ status }) => status === 401);
  });
});
