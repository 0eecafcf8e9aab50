// A fake of Anthropic's Messages for tests: plays scenarios, checks requests, counts what a cache of prompts would
// hold, and injects faults. See openai.mjs for how it is used and openai-scenarios.mjs for steps; further members:
//   { reasoning, redacted: true }   blocks of thinking, if the request asks for thinking
//   { stop_reason }                 instead of the one that follows from the calls
//   { error_after: n, error }       a stream with that error after n pieces
import { cacheableBlocks, refusalOf, signatureOf } from './anthropic-check.mjs';
import { inPieces, pause, sendJson, serveIfMain, startFake } from './model_server.mjs';
import { PromptCache } from './prompt_cache.mjs';

const TYPES = {
  400: 'invalid_request_error', 401: 'authentication_error', 403: 'permission_error', 404: 'not_found_error',
  413: 'request_too_large', 429: 'rate_limit_error', 529: 'overloaded_error',
};

function sendError(response, status, error, headers) {
  const body = { type: 'error', error: { type: TYPES[status] ?? 'api_error', message: 'no words', ...error }, request_id: 'req_1' };
  sendJson(response, status, body, headers);
}

const hasWords = ({ role, content }) =>
  role === 'user' && (typeof content === 'string' || content.some(({ type }) => type !== 'tool_result'));

// The number of the assistant's messages after the user's last.
function stepIndex(messages) {
  const last = messages.findLastIndex(hasWords);
  return messages.slice(last + 1).filter(({ role }) => role === 'assistant').length;
}

// --- the cache of prompts ---

const withoutMark = ({ cache_control: _, ...block }) => JSON.stringify(block);
const cache = new PromptCache();
const countOf = (body) =>
  cache.count(body.model, cacheableBlocks(body).map((block) => ({ text: withoutMark(block), isMarked: block.cache_control !== undefined })));

// --- answers ---

function thinkingOf(step, body) {
  if (body.thinking === undefined || body.thinking.type === 'disabled') return [];
  const blocks = [];
  if (step.reasoning)
    blocks.push({ type: 'thinking', thinking: step.reasoning, signature: signatureOf(body.model, step.reasoning, body, body.messages.length) });
  if (step.redacted) blocks.push({ type: 'redacted_thinking', data: 'c2VjcmV0' });
  return blocks;
}

function answer(step, body, n) {
  const calls = (step.calls ?? []).map((call, i) => ({
    type: 'tool_use', id: `toolu_${String(n * 100 + i).padStart(8, '0')}`, name: call.name, input: call.arguments ?? {},
  }));
  const counts = countOf(body);
  return {
    id: step.id ?? `msg_${String(n).padStart(12, '0')}`,
    type: 'message',
    role: 'assistant',
    model: body.model,
    content: [...thinkingOf(step, body), ...(step.text ? [{ type: 'text', text: step.text }] : []), ...calls],
    stop_reason: step.stop_reason ?? (calls.length > 0 ? 'tool_use' : 'end_turn'),
    stop_sequence: null,
    usage: {
      input_tokens: counts.fresh,
      cache_creation_input_tokens: counts.written,
      cache_read_input_tokens: counts.read,
      output_tokens: 20,
    },
  };
}

const deltasOf = {
  text: ({ text }) => inPieces(text).map((part) => ({ type: 'text_delta', text: part })),
  thinking: ({ thinking, signature }) => [
    ...inPieces(thinking).map((part) => ({ type: 'thinking_delta', thinking: part })),
    { type: 'signature_delta', signature },
  ],
  redacted_thinking: () => [],
  tool_use: ({ input }) => ['', ...inPieces(JSON.stringify(input))].map((part) => ({ type: 'input_json_delta', partial_json: part })),
};

const emptied = {
  text: (block) => ({ ...block, text: '' }),
  thinking: (block) => ({ ...block, thinking: '', signature: '' }),
  redacted_thinking: (block) => block,
  tool_use: (block) => ({ ...block, input: {} }),
};

function eventsOf(message) {
  const events = message.content.flatMap((block, index) => [
    { type: 'content_block_start', index, content_block: emptied[block.type](block) },
    ...deltasOf[block.type](block).map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]);
  const start = { ...message, content: [], stop_reason: null, usage: { ...message.usage, output_tokens: 1 } };
  return [{ type: 'message_start', message: start }, { type: 'ping' }, ...events];
}

async function sendStream(response, step, message, body, beforeEnd) {
  const send = (event) => response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  for (const [i, event] of eventsOf(message).entries()) {
    if (i === step.break_after) {
      response.socket.destroy();
      return;
    }
    if (i === step.error_after) {
      send({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded', ...step.error } });
      response.end();
      return;
    }
    send(event);
    if (step.drip_ms) await pause(step.drip_ms, response);
    if (response.destroyed) return;
  }
  await beforeEnd();
  send({
    type: 'message_delta',
    delta: { stop_reason: message.stop_reason, stop_sequence: null },
    usage: { output_tokens: message.usage.output_tokens },
  });
  send({ type: 'message_stop' });
  response.end();
}

// --- answers that are broken on the wire ---

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n';
const sse = (...events) => (socket) =>
  socket.end(HEAD + events.map((event) => (typeof event === 'string' ? event : `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)).join(''));
const BEGIN = { type: 'message_start', message: { id: 'msg_fault', type: 'message', role: 'assistant', content: [], usage: { input_tokens: 1, output_tokens: 1 } } };
const begun = (block) => ({ type: 'content_block_start', index: 0, content_block: block });
const piece = (delta) => ({ type: 'content_block_delta', index: 0, delta });
const HALF = [BEGIN, begun({ type: 'text', text: '' }), piece({ type: 'text_delta', text: 'half' })];
const END = [{ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } }, { type: 'message_stop' }];

const faults = {
  'fin-mid-line': sse(...HALF, 'event: content_block_delta\ndata: {"type":"conte'),
  'no-stop': sse(...HALF),
  'unknown-events': sse(BEGIN, { type: 'what_is_new', index: 0 }, ...HALF.slice(1), { type: 'ping' }, piece({ type: 'new_delta', x: 1 }), ...END),
  'invalid-input': sse(BEGIN, begun({ type: 'tool_use', id: 'toolu_bad', name: 'terminal', input: {} }),
    piece({ type: 'input_json_delta', partial_json: '{"command": ' }), ...END),
  'html-200': (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<!doctype html><p>hello'),
  empty: sse(BEGIN, ...END),
};

const api = {
  basePath: '',
  isCall: (path) => path === '/v1/messages',
  keyOf: ({ headers }) => headers['x-api-key'] ?? headers.authorization?.replace(/^Bearer /, ''),
  refusalOf,
  errors: {
    key: { message: 'invalid x-api-key' },
    refusal: (message) => ({ message }),
    model: (name) => ({ message: `model: ${name}` }),
    missing: (path) => ({ message: `no ${path}` }),
  },
  sendError,
  stepIndex,
  conversationOf: (body) => body.messages[0],
  answer,
  sendStream,
  faults,
};

// options: port (0: a free one), host, key (null: not required), scenarios, tls, http2.
export const start = (options = {}) => startFake(api, options);

await serveIfMain(import.meta.url, api);
