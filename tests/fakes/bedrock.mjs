// A fake of Bedrock's Converse and ConverseStream for tests: plays scenarios, checks requests and their signatures,
// counts what a cache of prompts would hold, and injects faults. See openai.mjs for how it is used and
// openai-scenarios.mjs for steps; further members:
//   { reasoning, redacted: true }   blocks of thinking, if the request asks for thinking
//   { stop_reason }                 instead of the one that follows from the calls
//   { error_after: n, error }       a stream with that exception, { type, message }, after n pieces
// A model's name is its id. A request has the fake's key as a bearer token, or is signed with AWS_CREDENTIALS.
import { signatureOf } from './anthropic-check.mjs';
import { signatureProblem } from './aws_signature.mjs';
import { cacheableBlocks, refusalOf, typeOf } from './bedrock-check.mjs';
import { eventFrame, exceptionFrame, prelude } from './event_frames.mjs';
import { inPieces, pause, sendJson, serveIfMain, startFake } from './model_server.mjs';
import { PromptCache } from './prompt_cache.mjs';

export const AWS_CREDENTIALS = {
  accessKeyId: 'AKIADEFTTESTEXAMPLE0',
  secretAccessKey: 'secret-access-key-of-the-fake-0123456789',
  sessionToken: 'session-token-of-the-fake-0123456789',
};
export const REGION = 'eu-central-1';
const OWNER = { ...AWS_CREDENTIALS, region: REGION, service: 'bedrock' };
const CALL = /^\/model\/([^/]+)\/converse(-stream)?$/;
const OUTPUT_TOKENS = 20;

const TYPES = {
  400: 'ValidationException', 401: 'UnrecognizedClientException', 403: 'AccessDeniedException', 404: 'ResourceNotFoundException',
  408: 'ModelTimeoutException', 424: 'ModelErrorException', 429: 'ThrottlingException', 500: 'InternalServerException', 503: 'ServiceUnavailableException',
};

let nRequests = 0;
function requestId() {
  nRequests += 1;
  return `00000000-0000-4000-8000-${String(nRequests).padStart(12, '0')}`;
}

function sendError(response, status, { type, message = 'no words' }, headers) {
  sendJson(response, status, { message }, { 'x-amzn-requestid': requestId(), 'x-amzn-errortype': `${type ?? TYPES[status] ?? 'InternalServerException'}:http://internal.amazon.com/`, ...headers });
}

/** The request with what its path tells. */
function askedOf({ path, body }) {
  const [, id, stream] = CALL.exec(path.split('?')[0]);
  return { ...body, model: decodeURIComponent(id), stream: stream !== undefined };
}

function isKnown(entry, key) {
  const { authorization = '' } = entry.headers;
  if (authorization.startsWith('Bearer ')) return authorization === `Bearer ${key}`;
  entry.problem = signatureProblem({ ...entry, text: entry.text }, OWNER);
  return entry.problem === null;
}

const hasWords = ({ role, content }) => role === 'user' && content.some((block) => !['toolResult', 'cachePoint'].includes(typeOf(block)));

// The number of the assistant's messages after the user's last.
function stepIndex(messages) {
  const last = messages.findLastIndex(hasWords);
  return messages.slice(last + 1).filter(({ role }) => role === 'assistant').length;
}

// --- answers ---

const cache = new PromptCache();

function thinkingOf(step, asked) {
  const { thinking, reasoningConfig } = asked.additionalModelRequestFields ?? {};
  const blocks = [];
  if ((thinking === undefined || thinking.type === 'disabled') && reasoningConfig === undefined) return blocks;
  if (step.reasoning) blocks.push({ reasoningContent: { reasoningText: { text: step.reasoning, signature: signatureOf(asked.model, step.reasoning) } } });
  if (step.redacted) blocks.push({ reasoningContent: { redactedContent: 'c2VjcmV0' } });
  return blocks;
}

function answer(step, asked, n) {
  const uses = (step.calls ?? []).map((call, i) => ({
    toolUse: { toolUseId: `tooluse_${String(n * 100 + i).padStart(8, '0')}`, name: call.name, input: call.arguments ?? {} },
  }));
  const counts = cache.count(asked.model, cacheableBlocks(asked));
  return {
    output: { message: { role: 'assistant', content: [...thinkingOf(step, asked), ...(step.text ? [{ text: step.text }] : []), ...uses] } },
    stopReason: step.stop_reason ?? (uses.length > 0 ? 'tool_use' : 'end_turn'),
    usage: {
      inputTokens: counts.fresh,
      outputTokens: OUTPUT_TOKENS,
      totalTokens: counts.fresh + counts.read + counts.written + OUTPUT_TOKENS,
      cacheReadInputTokens: counts.read,
      cacheWriteInputTokens: counts.written,
    },
    metrics: { latencyMs: 1 },
  };
}

const deltasOf = {
  text: ({ text }) => inPieces(text).map((part) => ({ text: part })),
  reasoningContent: ({ reasoningContent: { reasoningText: text, redactedContent } }) =>
    (redactedContent !== undefined
      ? [{ reasoningContent: { redactedContent } }]
      : [...inPieces(text.text).map((part) => ({ reasoningContent: { text: part } })), { reasoningContent: { signature: text.signature } }]),
  toolUse: ({ toolUse: { input } }) => ['', ...inPieces(JSON.stringify(input))].map((part) => ({ toolUse: { input: part } })),
};

/** Only a call has an event for its beginning. */
function eventsOf({ output: { message } }) {
  const events = message.content.flatMap((block, contentBlockIndex) => [
    ...(block.toolUse ? [['contentBlockStart', { contentBlockIndex, start: { toolUse: { toolUseId: block.toolUse.toolUseId, name: block.toolUse.name } } }]] : []),
    ...deltasOf[typeOf(block)](block).map((delta) => ['contentBlockDelta', { contentBlockIndex, delta }]),
    ['contentBlockStop', { contentBlockIndex }],
  ]);
  return [['messageStart', { role: 'assistant' }], ...events];
}

async function sendStream(response, step, whole, asked, beforeEnd) {
  // The padding hides the length of the pieces.
  const send = (type, payload) => response.write(eventFrame(type, { ...payload, p: 'abcdefgh' }));
  response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream', 'x-amzn-requestid': requestId() });
  for (const [i, [type, payload]] of eventsOf(whole).entries()) {
    if (i === step.break_after) {
      response.socket.destroy();
      return;
    }
    if (i === step.error_after) {
      const { type: exception = 'throttlingException', message = 'Too many requests' } = step.error ?? {};
      response.end(exceptionFrame(exception, { message }));
      return;
    }
    send(type, payload);
    if (step.drip_ms) await pause(step.drip_ms, response);
    if (response.destroyed) return;
  }
  await beforeEnd();
  send('messageStop', { stopReason: whole.stopReason });
  send('metadata', { usage: whole.usage, metrics: whole.metrics });
  response.end();
}

// --- answers that are broken on the wire ---

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/vnd.amazon.eventstream\r\nConnection: close\r\n';
const framed = (...frames) => (socket) => socket.end(Buffer.concat([Buffer.from(`${HEAD}\r\n`), ...frames]));
const json = (body, headers = '') => (socket) =>
  socket.end(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n${headers}\r\n${body}`);
const BEGIN = eventFrame('messageStart', { role: 'assistant' });
const piece = (delta, contentBlockIndex = 0) => eventFrame('contentBlockDelta', { contentBlockIndex, delta });
const use = (toolUseId, contentBlockIndex = 0, name = 'terminal') => eventFrame('contentBlockStart', { contentBlockIndex, start: { toolUse: { toolUseId, name } } });
const input = (text, contentBlockIndex = 0) => piece({ toolUse: { input: text } }, contentBlockIndex);
const stop = (stopReason) => eventFrame('messageStop', { stopReason });
const METADATA = eventFrame('metadata', { usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 }, metrics: { latencyMs: 1 } });
const HALF = [BEGIN, piece({ text: 'half' })];
const END = [stop('end_turn'), METADATA];
const CALLED = [stop('tool_use'), METADATA];
const TRUE = '{"command":"true","summary":"nothing"}';

function damaged(frame) {
  const copy = Buffer.from(frame);
  copy[copy.length - 5] ^= 1;
  return copy;
}

function reset(socket, bytes) {
  socket.write(bytes, () => setTimeout(() => socket.resetAndDestroy(), 20));
}

/** A message of gigabytes, of which bytes come until the client leaves. */
function endless(socket) {
  const block = Buffer.alloc(1 << 20, 'x');
  let left = 100;
  socket.on('error', () => {});
  socket.write(Buffer.concat([Buffer.from(`${HEAD}\r\n`), prelude(0xfffffff0, 0)]));
  const more = () => {
    while (left > 0 && !socket.destroyed) {
      left -= 1;
      if (!socket.write(block)) return socket.once('drain', more);
    }
    return socket.end();
  };
  more();
}

const faults = {
  'fin-mid-frame': framed(...HALF, piece({ text: 'torn' }).subarray(0, 40)),
  'fin-mid-prelude': framed(...HALF, piece({ text: 'torn' }).subarray(0, 7)),
  'rst-mid-frame': (socket) => reset(socket, Buffer.concat([Buffer.from(`${HEAD}\r\n`), ...HALF, piece({ text: 'ü' }).subarray(0, 60)])),
  'half-close': (socket) => socket.write(Buffer.concat([Buffer.from(`${HEAD}\r\n`), ...HALF])),
  'no-stop': framed(...HALF),
  'no-metadata': framed(...HALF, stop('end_turn')),
  'wrong-sum': framed(...HALF, damaged(piece({ text: ' and wrong' })), ...END),
  'endless-frame': endless,
  'odd-payload': framed(...HALF, eventFrame('contentBlockDelta', 5), eventFrame('contentBlockDelta', {}), ...END),
  exception: framed(...HALF, exceptionFrame('modelStreamErrorException', { message: 'The model broke off', originalStatusCode: 500 })),
  'unknown-events': framed(BEGIN, eventFrame('whatIsNew', { x: 1 }), ...HALF.slice(1), piece({ newDelta: { x: 1 } }, 1), ...END),
  'two-stops': framed(...HALF, stop('end_turn'), stop('tool_use'), METADATA),
  'invalid-input': framed(BEGIN, use('tooluse_bad'), input('{"command": '), ...CALLED),
  'split-input': framed(BEGIN, use('tooluse_split'), input('{"command":"printf a\\'), input('nb","summary":"\\u00'), input('e9"}'), ...CALLED),
  'id-reuse': framed(BEGIN, use('same'), input(TRUE), use('same', 1), input(TRUE, 1), ...CALLED),
  'unknown-tool': framed(BEGIN, use('tooluse_odd', 0, 'nosuch'), input('{"x":1}'), ...CALLED),
  'many-tools': json(JSON.stringify({
    output: { message: { role: 'assistant', content: Array.from({ length: 1000 }, (_, i) => ({ toolUse: { toolUseId: `many_${i}`, name: 'terminal', input: {} } })) } },
    stopReason: 'tool_use',
  })),
  'html-200': (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<!doctype html><p>hello'),
  'short-length': json('{"output":{"message":{"content":[{"text":"short"}]}}}', 'Content-Length: 20\r\n'),
  'lone-surrogate': json('{"output":{"message":{"content":[{"text":"a\\ud800b"}]}},"stopReason":"end_turn"}'),
  empty: framed(BEGIN, ...END),
};

const api = {
  basePath: '',
  isCall: (path) => CALL.test(path),
  isKnown,
  askedOf,
  refusalOf: (entry) => refusalOf(entry, askedOf(entry).model),
  errors: {
    key: { message: 'The security token included in the request is invalid.', type: 'UnrecognizedClientException' },
    keyStatus: 403,
    refusal: (message) => ({ message }),
    model: () => ({ message: 'The provided model identifier is invalid.' }),
    missing: (path) => ({ message: `no ${path}` }),
  },
  sendError,
  stepIndex,
  conversationOf: ({ messages }) => messages[0],
  answer,
  headers: () => ({ 'x-amzn-requestid': requestId() }),
  sendStream,
  faults,
};

/** The id of the model that a request, as fake.requests has it, is for. */
export const modelOf = (entry) => askedOf(entry).model;

// options: port (0: a free one), host, key (null: not required), scenarios, tls, http2.
export const start = (options = {}) => startFake(api, options);

await serveIfMain(import.meta.url, api);
