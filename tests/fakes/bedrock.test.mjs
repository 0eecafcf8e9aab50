// The fake itself, held to the vendor's own client: it must send what that reads, take its signatures, and refuse what
// the vendor refuses.
import assert from 'node:assert/strict';
import test from 'node:test';
import { BedrockRuntimeClient, ConverseCommand, ConverseStreamCommand } from '@aws-sdk/client-bedrock-runtime';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { signatureOf } from './anthropic-check.mjs';
import { AWS_CREDENTIALS, REGION, start } from './bedrock.mjs';

const MODEL = 'eu.anthropic.claude-haiku-4-5-20251001-v1:0';
const OTHER = 'meta.llama3-3-70b-instruct-v1:0';
const ARN = `arn:aws:bedrock:${REGION}:1:inference-profile/${MODEL}`;
const CALLS = [{ name: 'terminal', arguments: { command: 'ls', n: [1, { a: 'ä' }] } }, { name: 'think', arguments: {} }];
const FULL = { reasoning: 'I think about it.', redacted: true, text: 'I look at ü.', calls: CALLS };
const THINKING = { thinking: { type: 'enabled', budget_tokens: 1024 } };
const TOOLS = { tools: [{ toolSpec: { name: 'terminal', description: 'd', inputSchema: { json: { type: 'object' } } } }] };
const POINT = { cachePoint: { type: 'default' } };
const PIXEL = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
const IMAGE = { image: { format: 'png', source: { bytes: PIXEL } } };
const user = (...content) => ({ role: 'user', content: content.map((part) => (typeof part === 'string' ? { text: part } : part)) });
const using = (...ids) => ({ role: 'assistant', content: ids.map((toolUseId) => ({ toolUse: { toolUseId, name: 'terminal', input: {} } })) });
const result = (toolUseId) => ({ toolResult: { toolUseId, content: [{ text: 'ok' }] } });
const thought = (text, signature) => ({ role: 'assistant', content: [{ reasoningContent: { reasoningText: { text, signature } } }, ...using('a').content] });

function clientOf(fake, more = {}) {
  return new BedrockRuntimeClient({
    endpoint: fake.url, region: REGION, credentials: AWS_CREDENTIALS, maxAttempts: 1, authSchemePreference: ['sigv4'],
    // Its own speaks HTTP/2 only.
    requestHandler: new NodeHttpHandler(),
    ...more,
  });
}

/** The events of a stream, put together as the vendor's readers do. */
async function collect(stream) {
  const blocks = [];
  let end = {};
  for await (const { contentBlockStart: begun, contentBlockDelta: piece, messageStop, metadata } of stream) {
    if (begun) blocks[begun.contentBlockIndex] = { toolUse: { ...begun.start.toolUse, input: '' } };
    if (piece) {
      const { contentBlockIndex: i, delta } = piece;
      const { text, toolUse, reasoningContent: reasoning } = delta;
      if (text !== undefined) blocks[i] = { text: (blocks[i]?.text ?? '') + text };
      if (toolUse) blocks[i].toolUse.input += toolUse.input;
      if (reasoning?.redactedContent) blocks[i] = { reasoningContent: { redactedContent: reasoning.redactedContent } };
      else if (reasoning) {
        blocks[i] ??= { reasoningContent: { reasoningText: { text: '' } } };
        const { reasoningText } = blocks[i].reasoningContent;
        reasoningText.text += reasoning.text ?? '';
        if (reasoning.signature) reasoningText.signature = reasoning.signature;
      }
    }
    end = { ...end, ...messageStop, ...metadata };
  }
  for (const { toolUse } of blocks) if (toolUse) toolUse.input = JSON.parse(toolUse.input);
  return { content: blocks, ...end };
}

const plain = (content) => content.map((block) => (block.toolUse ? { ...block.toolUse, toolUseId: '' } : JSON.parse(JSON.stringify(block))));

test('the fake of Bedrock', async (t) => {
  const fake = await start({ scenarios: { [MODEL]: [FULL, { text: 'done' }], [OTHER]: [FULL], [ARN]: [{ text: 'by its ARN' }], broken: [{ ...FULL, break_after: 4 }], busy: [{ ...FULL, error_after: 4 }] } });
  const client = clientOf(fake);
  const ask = (more, by = client) => by.send(new ConverseCommand({ modelId: MODEL, inferenceConfig: { maxTokens: 4096 }, messages: [user('hi')], ...more }));
  const stream = async (more, by = client) => collect((await by.send(new ConverseStreamCommand({ modelId: MODEL, inferenceConfig: { maxTokens: 4096 }, messages: [user('hi')], ...more }))).stream);
  t.after(() => {
    client.destroy();
    return fake.close();
  });

  await t.test('answers its client at once and streamed alike', async () => {
    const thinking = { additionalModelRequestFields: THINKING };
    const whole = await ask(thinking);
    const streamed = await stream(thinking);
    const { content } = whole.output.message;
    assert.deepEqual(content.flatMap(Object.keys), ['reasoningContent', 'reasoningContent', 'text', 'toolUse', 'toolUse']);
    assert.deepEqual(plain(streamed.content), plain(content));
    assert.equal(content[2].text, FULL.text);
    assert.deepEqual(content[3].toolUse.input, CALLS[0].arguments);
    assert.equal(streamed.stopReason, 'tool_use');
    assert.equal(streamed.usage.outputTokens, 20);
    assert.match(whole.$metadata.requestId, /^00000000-/);
    const results = content.flatMap(({ toolUse }) => (toolUse ? [result(toolUse.toolUseId)] : []));
    const next = await ask({ ...thinking, toolConfig: TOOLS, messages: [user('hi'), { role: 'assistant', content }, user(...results)] });
    assert.equal(next.output.message.content[0].text, 'done');
    assert.equal((await ask({ modelId: ARN })).output.message.content[0].text, 'by its ARN');
    assert.equal((await ask({ messages: [user({ image: { format: 'png', source: { bytes: PIXEL } } })] })).stopReason, 'tool_use');
    assert.deepEqual(fake.violations, []);
  });

  await t.test('thinks only when asked to', async () => {
    assert.equal((await ask({})).output.message.content[0].text, FULL.text);
  });

  await t.test('takes signatures and keys of its own, and no others', async () => {
    const unnamed = { name: 'UnrecognizedClientException' };
    const { sessionToken: _, ...lasting } = AWS_CREDENTIALS;
    for (const credentials of [lasting, { ...AWS_CREDENTIALS, secretAccessKey: 'other' }, { ...AWS_CREDENTIALS, accessKeyId: 'OTHER' }, { ...AWS_CREDENTIALS, sessionToken: 'other' }])
      await assert.rejects(ask({}, clientOf(fake, { credentials })), unnamed);
    await assert.rejects(ask({}, clientOf(fake, { region: 'us-east-1' })), unnamed);
    await assert.rejects(ask({}, clientOf(fake, { systemClockOffset: -600000 })), unnamed);
    const byKey = (token) => clientOf(fake, { token: { token }, authSchemePreference: ['httpBearerAuth'] });
    assert.equal((await ask({}, byKey('sk-test'))).stopReason, 'tool_use');
    await assert.rejects(ask({}, byKey('other')), unnamed);
  });

  await t.test('notices a body or a header that was changed after it was signed', async () => {
    const changed = clientOf(fake);
    changed.middlewareStack.add((next) => (args) => {
      args.request.body = new TextDecoder().decode(args.request.body).replace('hi', 'ho');
      return next(args);
    }, { step: 'deserialize', priority: 'low' });
    await assert.rejects(ask({}, changed), { name: 'UnrecognizedClientException' });
    const added = clientOf(fake);
    added.middlewareStack.add((next) => (args) => {
      args.request.headers['x-amz-late'] = '1';
      return next(args);
    }, { step: 'deserialize', priority: 'low' });
    await assert.rejects(ask({}, added), { name: 'UnrecognizedClientException' });
  });

  await t.test('counts what a cache would hold', async () => {
    const long = 'word '.repeat(400);
    const first = await ask({ system: [{ text: long }, POINT], messages: [user('one', POINT)] });
    const second = await ask({ system: [{ text: long }, POINT], messages: [user('one', 'two', POINT)] });
    assert.equal(first.usage.cacheReadInputTokens, 0);
    assert.ok(first.usage.cacheWriteInputTokens > 500);
    assert.equal(second.usage.cacheReadInputTokens, first.usage.cacheWriteInputTokens);
    assert.equal((await ask({ system: [{ text: `x${long}` }, POINT] })).usage.cacheReadInputTokens, 0);
  });

  await t.test('breaks off, and fails in the middle', async () => {
    await assert.rejects(stream({ modelId: 'broken' }));
    await assert.rejects(stream({ modelId: 'busy' }), { name: 'ThrottlingException', message: /Too many requests/ });
  });

  for (const fault of ['wrong-sum', 'fin-mid-frame', 'exception']) {
    await t.test(`its client notices: ${fault}`, async () => {
      fake.setScenario('faulty', [{ fault }]);
      await assert.rejects(stream({ modelId: 'faulty' }));
    });
  }

  const bad = {
    'no messages': [{ messages: [] }, /at least one message/],
    'the assistant first': [{ messages: [using('a'), user(result('a'))], toolConfig: TOOLS }, /must start with a user message/],
    'the assistant last': [{ messages: [user('x'), { role: 'assistant', content: [{ text: 'y' }] }] }, /must end with a user message/],
    'the user twice': [{ messages: [user('x'), user('y')] }, /must alternate/],
    'a call without a result': [{ messages: [user('x'), using('a', 'b'), user(result('a'))], toolConfig: TOOLS }, /Expected toolResult blocks at messages.2.content for the following Ids: b/],
    'a result without a call': [{ messages: [user('x'), using('a'), user(result('a'), result('b'))], toolConfig: TOOLS }, /exceeds the number of toolUse blocks of previous turn/],
    'a result of another call': [{ messages: [user('x'), using('a'), user(result('b'))], toolConfig: TOOLS }, /unknown ones: b/],
    'a result after words': [{ messages: [user('x'), using('a'), user('y', result('a'))], toolConfig: TOOLS }, /come first/],
    'words and results in one message, for another model': [{ modelId: OTHER, messages: [user('x'), using('a'), user(result('a'), 'y')], toolConfig: TOOLS }, /cannot be provided in the same turn/],
    'calls without tools': [{ messages: [user('x'), using('a'), user(result('a'))] }, /toolConfig field must be defined/],
    'an odd id': [{ messages: [user('x'), using('a:1'), user(result('a:1'))], toolConfig: TOOLS }, /failed to satisfy constraint/],
    'a long id': [{ messages: [user('x'), using('a'.repeat(65)), user(result('a'.repeat(65)))], toolConfig: TOOLS }, /failed to satisfy constraint/],
    'an id that was used': [{ messages: [user('x'), using('a'), user(result('a')), using('a'), user(result('a'))], toolConfig: TOOLS }, /must be unique/],
    'an odd name of a tool': [{ toolConfig: { tools: [{ toolSpec: { name: 'a.b', inputSchema: { json: { type: 'object' } } } }] } }, /failed to satisfy constraint/],
    'a name for two tools': [{ toolConfig: { tools: [...TOOLS.tools, ...TOOLS.tools] } }, /already defined/],
    'an empty description': [{ toolConfig: { tools: [{ toolSpec: { ...TOOLS.tools[0].toolSpec, description: '' } }] } }, /valid min length/],
    'no tools in the list': [{ toolConfig: { tools: [] } }, /minimum item count/],
    'a blank text': [{ messages: [user(' ')] }, /is blank/],
    'no content': [{ messages: [user()] }, /is empty/],
    'a failed result without words': [{ messages: [user('x'), using('a'), user({ toolResult: { toolUseId: 'a', content: [], status: 'error' } })], toolConfig: TOOLS }, /cannot be empty when status value is error/],
    'a failed result with an image': [{ messages: [user('x'), using('a'), user({ toolResult: { toolUseId: 'a', content: [IMAGE], status: 'error' } })], toolConfig: TOOLS }, /all content must be type/],
    'a status for another model': [{ modelId: OTHER, messages: [user('x'), using('a'), user({ toolResult: { toolUseId: 'a', content: [{ text: 'no' }], status: 'error' } })], toolConfig: TOOLS }, /doesn't support the status field/],
    'an image in a result for another model': [{ modelId: OTHER, messages: [user('x'), using('a'), user({ toolResult: { toolUseId: 'a', content: [IMAGE] } })], toolConfig: TOOLS }, /doesn't support the image field/],
    'too many images': [{ messages: [user('x', ...Array(21).fill(IMAGE))] }, /too many images/],
    'an image that is too large': [{ messages: [user({ image: { format: 'png', source: { bytes: Buffer.alloc(4_000_000) } } })] }, /exceeds 3.75 MB/],
    'an image of an odd format': [{ messages: [user({ image: { format: 'tiff', source: { bytes: PIXEL } } })] }, /Could not process image/],
    'a cache point first': [{ messages: [user(POINT, 'x')] }, /something before it/],
    'five cache points': [{ messages: [user('1', POINT, '2', POINT, '3', POINT, '4', POINT, '5', POINT)] }, /A maximum of 4 blocks/],
    'a cache point for another model': [{ modelId: OTHER, messages: [user('x', POINT)] }, /did not allow prompt caching/],
    'a forged signature': [{ messages: [user('x'), thought('t', 'forged'), user(result('a'))], toolConfig: TOOLS }, /Invalid `signature`/],
    'another model\'s thinking': [{ messages: [user('x'), thought('t', signatureOf('other', 't')), user(result('a'))], toolConfig: TOOLS }, /Invalid `signature`/],
    'no thinking before the last calls': [{ additionalModelRequestFields: THINKING, messages: [user('x'), using('a'), user(result('a'))], toolConfig: TOOLS }, /Expected `thinking`/],
    'a budget over maxTokens': [{ additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 4096 } } }, /greater than `thinking.budget_tokens`/],
    'a small budget': [{ additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 16 } } }, /1024/],
    'a temperature while thinking': [{ additionalModelRequestFields: THINKING, inferenceConfig: { maxTokens: 4096, temperature: 0 } }, /temperature/],
    'temperature and topP': [{ inferenceConfig: { temperature: 1, topP: 1 } }, /only one/],
    'a temperature out of range': [{ inferenceConfig: { temperature: 2 } }, /valid range/],
    'no tokens': [{ inferenceConfig: { maxTokens: 0 } }, /valid min value/],
    'a field of another maker': [{ additionalModelRequestFields: { reasoning_effort: 'low' } }, /extraneous key \[reasoning_effort\]/],
    'a control without its beta': [{ additionalModelRequestFields: { thinking: { type: 'adaptive', block_binding: {} } } }, /extraneous key \[block_binding\]/],
    'limits at a high effort': [{ modelId: 'amazon.nova-2-lite-v1:0', additionalModelRequestFields: { reasoningConfig: { type: 'enabled', maxReasoningEffort: 'high' } } }, /must be unset/],
  };
  for (const [name, [body, words]] of Object.entries(bad)) {
    await t.test(`refuses: ${name}`, () => assert.rejects(ask(body), { name: 'ValidationException', message: words }));
  }

  await t.test('refuses members that it does not know', async () => {
    const send = (body) => fetch(`${fake.url}/model/${encodeURIComponent(MODEL)}/converse`, {
      method: 'POST', headers: { authorization: 'Bearer sk-test', 'content-type': 'application/json' }, body: JSON.stringify(body),
    });
    assert.equal((await send({ messages: [user('x')] })).status, 200);
    for (const body of [{ messages: [user('x')], model: 'm' }, { messages: [{ ...user('x'), name: 'y' }] }, { messages: [user({ text: 'x', type: 'text' })] }, { messages: [user('x')], system: [] }]) {
      const response = await send(body);
      assert.equal(response.status, 400);
      assert.match(response.headers.get('x-amzn-errortype'), /^ValidationException:/);
    }
  });

  for (const [status, name] of [[403, 'AccessDeniedException'], [404, 'ResourceNotFoundException'], [408, 'ModelTimeoutException'], [424, 'ModelErrorException'], [429, 'ThrottlingException'], [500, 'InternalServerException'], [503, 'ServiceUnavailableException']]) {
    await t.test(`plays ${status}`, async () => {
      fake.setScenario('refusing', [{ status, error: { message: 'no' } }]);
      await assert.rejects(ask({ modelId: 'refusing' }), { name, message: 'no' });
    });
  }
});
