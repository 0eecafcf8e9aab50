// The fake itself: it must refuse the same requests as a provider, and no others.
import assert from 'node:assert/strict';
import test from 'node:test';
import { start } from './openai.mjs';

const user = (text) => ({ role: 'user', content: [{ type: 'text', text }] });
const calling = (...ids) => ({
  role: 'assistant',
  tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'terminal', arguments: '{}' } })),
});
const result = (id) => ({ role: 'tool', tool_call_id: id, name: 'terminal', content: [{ type: 'text', text: 'ok' }] });

async function ask(fake, body, headers = {}) {
  const response = await fetch(`${fake.url}/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer sk-test', 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'text', messages: [user('hi')], ...body }),
  });
  return { status: response.status, body: await response.json() };
}

test('the fake server', async (t) => {
  const fake = await start();
  t.after(() => fake.close());

  await t.test('plays the recorded conversation', async () => {
    const messages = [user('Create hello.txt')];
    for (const n of [1, 2, 1, 1]) {
      const { status, body } = await ask(fake, { model: 'hello', messages });
      const { message } = body.choices[0];
      assert.equal(status, 200);
      assert.equal(message.tool_calls.length, n);
      messages.push({ role: 'assistant', tool_calls: message.tool_calls });
      if (message.content) messages.at(-1).content = [{ type: 'text', text: message.content }];
      messages.push(...message.tool_calls.map((call) => result(call.id)));
    }
    assert.deepEqual(fake.violations, []);
  });

  const bad = {
    'no key': [{}, { authorization: 'Bearer other' }, 401],
    'unknown member': [{ surprise: 1 }],
    'unknown member of a message': [{ messages: [{ ...user('x'), cache_control: {} }] }],
    'no result of a call': [{ messages: [user('x'), calling('a'), user('y')] }],
    'results in another order': [{ messages: [user('x'), calling('a', 'b'), result('b'), result('a')] }],
    'a result without a call': [{ messages: [user('x'), result('a')] }],
    'an id twice': [{ messages: [user('x'), calling('a'), result('a'), calling('a'), result('a')] }],
    'empty content': [{ messages: [{ role: 'user', content: [] }] }],
    'a blank part': [{ messages: [user(' ')] }],
    'a bad tool': [{ tools: [{ type: 'function', function: { name: 'a b', description: 'd', parameters: { type: 'object' } } }] }],
    'a bad schema': [{ tools: [{ type: 'function', function: { name: 'a', description: 'd', parameters: { type: 'object', required: ['x'] } } }] }],
    'stream options alone': [{ stream_options: { include_usage: true } }],
    'unknown model': [{ model: 'nobody' }, {}, 404],
  };
  for (const [name, [body, headers, status = 400]] of Object.entries(bad)) {
    await t.test(`refuses: ${name}`, async () => {
      assert.equal((await ask(fake, body, headers)).status, status);
    });
  }

  await t.test('refuses once if configured', async () => {
    const body = { model: 'retry-after-2', prompt_cache_key: 'c' };
    assert.equal((await ask(fake, body)).status, 429);
    assert.equal((await ask(fake, body)).status, 200);
  });

  await t.test('streams the answer that it would return at once', async () => {
    const response = await fetch(`${fake.url}/chat/completions`, {
      method: 'POST',
      headers: { authorization: 'Bearer sk-test', 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'slow', messages: [user('go')], stream: true, stream_options: { include_usage: true } }),
    });
    const pieces = (await response.text()).split('\n\n').filter((line) => line.startsWith('data: {'))
      .map((line) => JSON.parse(line.slice(6)));
    const args = pieces.map((piece) => piece.choices[0]?.delta.tool_calls?.[0].function.arguments ?? '').join('');
    assert.equal(JSON.parse(args).command, 'sleep 5; echo hi');
    assert.equal(pieces.at(-1).usage.completion_tokens, 20);
  });

  await t.test('waits until it is released', async () => {
    const asked = ask(fake, { model: 'park' });
    while (fake.n_parked === 0) await new Promise((resolve) => { setImmediate(resolve); });
    fake.release();
    assert.equal((await asked).status, 200);
  });
});
