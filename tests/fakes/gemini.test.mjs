// The fake itself, held to the vendor's own client: it must send what that reads, and refuse what the vendor refuses.
import assert from 'node:assert/strict';
import test from 'node:test';
import { ApiError, GoogleGenAI } from '@google/genai';
import { FOREIGN, signatureOf } from './gemini-check.mjs';
import { start } from './gemini.mjs';

const MODEL = 'gemini-3-flash-preview';
const OLD = 'gemini-2.5-flash';
const CALLS = [{ name: 'terminal', arguments: { command: 'ls', n: [1, { a: 'ä' }] } }, { name: 'think', arguments: {} }];
const FULL = { reasoning: 'I think about it.', text: 'I look at ü.', calls: CALLS };
const THOUGHTS = { thinkingConfig: { thinkingLevel: 'LOW', includeThoughts: true } };
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const user = (...parts) => ({ role: 'user', parts: parts.map((part) => (typeof part === 'string' ? { text: part } : part)) });
const said = (text) => ({ role: 'model', parts: [{ text }] });
const using = (...ids) => ({
  role: 'model',
  parts: ids.map((id, i) => ({ functionCall: { id, name: 'terminal', args: {} }, ...(i === 0 ? { thoughtSignature: signatureOf(MODEL, 1) } : {}) })),
});
const result = (id, more = {}) => ({ functionResponse: { id, name: 'terminal', response: { output: 'ok' }, ...more } });
const results = (...ids) => user(...ids.map((id) => result(id)));
const unsigned = ({ role, parts }) => ({ role, parts: parts.map(({ thoughtSignature: _, ...part }) => part) });
const signedBy = (thoughtSignature) => ({ role: 'model', parts: [{ ...using('a').parts[0], thoughtSignature }] });
const tool = (parameters, more = {}) => [{ functionDeclarations: [{ name: 'a', description: 'b', parameters, ...more }] }];
const object = (properties, more = {}) => ({ type: 'OBJECT', properties, ...more });

test('the fake of Gemini', async (t) => {
  const fake = await start({ scenarios: { [MODEL]: [FULL, { text: 'done' }], 'gemini-3-broken': [{ ...FULL, break_after: 2 }], 'gemini-3-busy': [{ ...FULL, error_after: 2 }] } });
  const clientOf = (apiKey) => new GoogleGenAI({ apiKey, httpOptions: { baseUrl: fake.url, retryOptions: { attempts: 1 } } });
  const client = clientOf('sk-test');
  const ask = ({ model = MODEL, contents = 'hi', ...config } = {}) => client.models.generateContent({ model, contents, config });
  /** All chunks of a stream. */
  const stream = async ({ model = MODEL, contents = 'hi', ...config } = {}) => {
    const chunks = [];
    for await (const chunk of await client.models.generateContentStream({ model, contents, config })) chunks.push(chunk);
    return chunks;
  };
  /** A body that the client would not send. */
  const post = async (body, { model = MODEL, method = 'generateContent' } = {}) => {
    const response = await fetch(`${fake.url}/v1beta/models/${model}:${method}`, {
      method: 'POST', headers: { 'x-goog-api-key': 'sk-test', 'content-type': 'application/json' }, body: JSON.stringify(body),
    });
    return { status: response.status, ...(await response.json()) };
  };
  t.after(() => fake.close());

  await t.test('answers its client at once and streamed alike', async () => {
    const whole = await ask(THOUGHTS);
    const chunks = await stream(THOUGHTS);
    const streamed = chunks.flatMap(({ candidates }) => candidates[0].content?.parts ?? []);
    const textOf = (parts, isThought) => parts.filter(({ thought = false, text }) => text !== undefined && thought === isThought).map(({ text }) => text).join('');
    for (const parts of [whole.candidates[0].content.parts, streamed]) {
      assert.equal(textOf(parts, true), FULL.reasoning);
      assert.equal(textOf(parts, false), FULL.text);
      assert.deepEqual(parts.filter(({ functionCall }) => functionCall).map(({ functionCall: { name, args } }) => [name, args]), CALLS.map(({ name, arguments: args }) => [name, args]));
    }
    assert.deepEqual(whole.functionCalls.map(({ name }) => name), ['terminal', 'think']);
    assert.equal(chunks.at(-1).candidates[0].finishReason, 'STOP');
    assert.equal(chunks.at(-1).usageMetadata.candidatesTokenCount, 20);
    assert.equal(whole.usageMetadata.thoughtsTokenCount, 5);
    const { content } = whole.candidates[0];
    const next = await ask({
      contents: [user('hi'), { role: 'model', parts: content.parts.filter(({ thought }) => !thought) },
        user(...whole.functionCalls.map(({ id, name }) => ({ functionResponse: { id, name, response: { output: 'ok' } } })))],
    });
    assert.equal(next.text, 'done');
    assert.deepEqual(fake.violations, []);
  });

  await t.test('thinks only when asked to', async () => {
    assert.ok((await ask()).candidates[0].content.parts.every(({ thought }) => !thought));
  });

  await t.test('signs words after them, and calls with the first', async () => {
    fake.setScenario('gemini-3-words', [{ text: 'words' }]);
    const parts = (await stream({ model: 'gemini-3-words' })).flatMap(({ candidates }) => candidates[0].content?.parts ?? []);
    assert.deepEqual(parts.map(({ text, thoughtSignature }) => [text, thoughtSignature !== undefined]), [['words', false], ['', true]]);
    const { parts: [, first, second] } = (await ask()).candidates[0].content;
    assert.ok(first.thoughtSignature && second.thoughtSignature === undefined);
  });

  await t.test('counts what a cache would hold', async () => {
    const systemInstruction = 'word '.repeat(400);
    const first = await ask({ systemInstruction, contents: [user('one')] });
    const second = await ask({ systemInstruction, contents: [user('one'), said('x'), user('two')] });
    assert.equal(first.usageMetadata.cachedContentTokenCount, undefined);
    assert.equal(second.usageMetadata.cachedContentTokenCount, first.usageMetadata.promptTokenCount);
  });

  await t.test('blocks a prompt, and ends an answer for other reasons', async () => {
    fake.setScenario('gemini-3-ends', [{ blocked: 'PROHIBITED_CONTENT' }]);
    assert.equal((await ask({ model: 'gemini-3-ends' })).promptFeedback.blockReason, 'PROHIBITED_CONTENT');
    fake.setScenario('gemini-3-ends', [{ finish: 'MALFORMED_FUNCTION_CALL', finish_message: 'print(x' }]);
    const [{ finishReason, finishMessage }] = (await post({ contents: [user('x')] }, { model: 'gemini-3-ends' })).candidates;
    assert.deepEqual([finishReason, finishMessage], ['MALFORMED_FUNCTION_CALL', 'print(x']);
  });

  await t.test('breaks off, and fails in the middle', async () => {
    await assert.rejects(stream({ model: 'gemini-3-broken' }));
    await assert.rejects(stream({ model: 'gemini-3-busy' }), /overloaded/);
  });

  const good = {
    'a dummy in place of a signature': { contents: [user('x'), signedBy(FOREIGN), results('a')] },
    'words of the user after results': { contents: [user('x'), using('a'), results('a'), user('y')] },
    'images': { contents: [user({ inlineData: { mimeType: 'image/png', data: PNG } }, { fileData: { fileUri: 'https://a/b.png' } })] },
    'an image in a result': { contents: [user('x'), using('a'), user(result('a', { parts: [{ inlineData: { mimeType: 'image/png', data: PNG } }] }))] },
    'a budget of 2.5': { model: OLD, thinkingConfig: { thinkingBudget: 0 } },
    'calls of 2.5 without a signature': { model: OLD, contents: [user('x'), unsigned(using('a')), results('a')] },
    'a schema': { tools: tool(object({ a: { type: 'STRING', enum: ['x'] }, b: { type: 'ARRAY', items: { anyOf: [{ type: 'STRING' }, { type: 'OBJECT' }] }, nullable: true } }, { required: ['a'] })) },
  };
  fake.setScenario(OLD, [{ text: 'ok' }]);
  for (const [name, request] of Object.entries(good)) {
    await t.test(`takes ${name}`, async () => {
      assert.ok(await ask(request));
    });
  }

  const bad = {
    'unknown members': [{ contents: [user('x')], model: MODEL }, /Unknown name "model" at 'body'/],
    'unknown members of a part': [{ contents: [user({ text: 'x', cache_control: {} })] }, /Unknown name "cache_control"/],
    'unknown members of the configuration': [{ contents: [user('x')], generationConfig: { max_tokens: 1 } }, /Unknown name "max_tokens"/],
    'no contents': [{ contents: [] }, /contents is not specified/],
    'a content without parts': [{ contents: [user()] }, /at least one parts field/],
    'an empty text': [{ contents: [user('')] }, /empty text parameter/],
    'a blank text': [{ contents: [user(' ')] }, /empty text parameter/],
    'two kinds in a part': [{ contents: [user({ text: 'x', inlineData: { mimeType: 'image/png', data: PNG } })] }, /oneof field/],
    'another role': [{ contents: [{ role: 'assistant', parts: [{ text: 'x' }] }] }, /valid role/],
    'the model first': [{ contents: [said('x'), user('y')] }, /immediately after a user turn/],
    'the model twice': [{ contents: [user('x'), said('y'), said('z'), user('a')] }, /immediately after a user turn/],
    'the model last': [{ contents: [user('x'), said('y')] }, /ending with a model turn/],
    'a call of the user': [{ contents: [user({ functionCall: { name: 'a' } })] }, /functionCall is not of the user/],
    'a call without a result': [{ contents: [user('x'), using('a', 'b'), results('a')] }, /number of function response parts/],
    'words in place of a result': [{ contents: [user('x'), using('a'), user('y')] }, /number of function response parts/],
    'a result without a call': [{ contents: [user('x'), results('a')] }, /function response turn comes immediately after/],
    'results in another order': [{ contents: [user('x'), using('a', 'b'), results('b', 'a')] }, /does not match/],
    'words beside results': [{ contents: [user('x'), using('a'), user(result('a'), 'y')] }, /ending with a model turn/],
    'a result that is no object': [{ contents: [user('x'), using('a'), user(result('a', { response: 'ok' }))] }, /Invalid value/],
    'arguments that are no object': [{ contents: [user('x'), { role: 'model', parts: [{ functionCall: { id: 'a', name: 'b', args: '{}' }, thoughtSignature: FOREIGN }] }, results('a')] }, /Invalid value/],
    'a call without a signature': [{ contents: [user('x'), unsigned(using('a')), results('a')] }, /missing a thought_signature/],
    'another model\'s signature': [{ contents: [user('x'), signedBy(signatureOf('gemini-3-pro', 1)), results('a')] }, /Corrupted thought signature/],
    'an odd signature': [{ contents: [user('x'), signedBy('a b'), results('a')] }, /TYPE_BYTES/],
    'an image of an odd type': [{ contents: [user({ inlineData: { mimeType: 'image/tiff', data: 'AAAA' } })] }, /Unsupported MIME type/],
    'an image without encryption': [{ contents: [user({ fileData: { fileUri: 'http://a/b.png' } })] }, /Invalid file URI/],
    'an image in a result of 2.5': [{ contents: [user('x'), unsigned(using('a')), user(result('a', { parts: [{ inlineData: { mimeType: 'image/png', data: PNG } }] }))] }, /not supported by this model/, { model: OLD }],
    'a budget of a newer model out of range': [{ contents: [user('x')], generationConfig: { thinkingConfig: { thinkingBudget: 1 } } }, /budget 1 is invalid/],
    'a budget out of range': [{ contents: [user('x')], generationConfig: { thinkingConfig: { thinkingBudget: 200000 } } }, /between 512 and 24576/, { model: OLD }],
    'a level of 2.5': [{ contents: [user('x')], generationConfig: { thinkingConfig: { thinkingLevel: 'LOW' } } }, /Thinking level is not supported/, { model: OLD }],
    'a level that a model has not': [{ contents: [user('x')], generationConfig: { thinkingConfig: { thinkingLevel: 'MINIMAL' } } }, /MINIMAL is not supported/, { model: 'gemini-4-argon' }],
    'thinking of 2.0': [{ contents: [user('x')], generationConfig: { thinkingConfig: { includeThoughts: true } } }, /Thinking is not enabled/, { model: 'gemini-2.0-flash' }],
    'a temperature out of range': [{ contents: [user('x')], generationConfig: { temperature: 3 } }, /temperature/],
    'a stream in the old form': [{ contents: [user('x')] }, /alt=sse/, { method: 'streamGenerateContent' }],
    'a tool in another format': [{ contents: [user('x')], tools: [{ type: 'function', function: { name: 'a' } }] }, /Unknown name "type"/],
    'tools of one name': [{ contents: [user('x')], tools: [{ functionDeclarations: [{ name: 'a' }, { name: 'a' }] }] }, /Duplicate function declaration/],
    'a tool with an odd name': [{ contents: [user('x')], tools: [{ functionDeclarations: [{ name: '1a' }] }] }, /Invalid function name/],
  };
  const badSchemas = {
    'additionalProperties': [object({ a: { type: 'STRING' } }, { additionalProperties: false }), /Unknown name "additionalProperties"/],
    'a reference': [object({ a: { $ref: '#/x' } }), /Unknown name "\$ref"/],
    'a list of types': [object({ a: { type: ['STRING', 'NULL'] } }), /type: must be specified/],
    'no type': [object({ a: { description: 'x' } }), /type: must be specified/],
    'no items': [object({ a: { type: 'ARRAY' } }), /items: missing field/],
    'numbers in an enum': [object({ a: { type: 'INTEGER', enum: [1] } }), /only allowed for STRING/],
    'an empty text in an enum': [object({ a: { type: 'STRING', enum: [''] } }), /cannot be empty/],
    'an unknown format': [object({ a: { type: 'STRING', format: 'uri' } }), /format: only/],
    'a required property that is none': [object({ a: { type: 'STRING' } }, { required: ['b'] }), /property is not defined/],
    'no properties': [{ type: 'OBJECT' }, /should be non-empty/],
    'a type beside alternatives': [object({ a: { type: 'STRING', anyOf: [{ type: 'STRING' }] } }), /only type/],
  };
  for (const [name, [schema, words]] of Object.entries(badSchemas)) bad[`a schema with ${name}`] = [{ contents: [user('x')], tools: tool(schema) }, words];
  for (const [name, [body, words, options]] of Object.entries(bad)) {
    await t.test(`refuses ${name}`, async () => {
      const { status, error } = await post(body, options);
      assert.equal(status, 400);
      assert.match(error.message, words);
      assert.equal(error.status, 'INVALID_ARGUMENT');
    });
  }

  await t.test('refuses another key, and an unknown model', async () => {
    const stranger = clientOf('other');
    await assert.rejects(stranger.models.generateContent({ model: MODEL, contents: 'hi' }), (error) => error instanceof ApiError && error.status === 400 && /API key not valid/.test(error.message));
    await assert.rejects(ask({ model: 'nobody' }), (error) => error instanceof ApiError && error.status === 404);
  });

  for (const [status, word] of [[403, 'PERMISSION_DENIED'], [429, 'RESOURCE_EXHAUSTED'], [500, 'INTERNAL'], [503, 'UNAVAILABLE']]) {
    await t.test(`plays ${status}`, async () => {
      fake.setScenario('gemini-3-refusing', [{ status, error: { message: 'no' } }]);
      await assert.rejects(ask({ model: 'gemini-3-refusing' }), (error) => error instanceof ApiError && error.status === status && error.message.includes(word));
    });
  }
});
