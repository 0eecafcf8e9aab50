// Answers that are broken on the wire. Each is written to the socket by hand; the rest of the
// connection is the fault's own business.
import { drip, gzipBomb, HEAD, hugeLine, json, reset, sse, webPage } from './wire-faults.mjs';

const piece = (delta, more = {}) =>
  `data: ${JSON.stringify({ id: 'chatcmpl-fault', choices: [{ index: 0, delta, finish_reason: null, ...more }] })}\n\n`;
const text = (content) => piece({ content });
const toolPiece = (entry) => piece({ tool_calls: [entry] });
const STOP = piece({}, { finish_reason: 'stop' });
const CALLS = piece({}, { finish_reason: 'tool_calls' });
const DONE = 'data: [DONE]\n\n';
const aCall = (index, id, args, name = 'terminal') =>
  toolPiece({ index, id, type: 'function', function: { name, arguments: args } });
const TRUE_ARGS = '{"command":"true","summary":"nothing"}';

export const faults = {
  'fin-mid-line': sse(`${text('half')}data: {"choi`),
  'rst-mid-utf8': (socket) =>
    reset(socket, Buffer.concat([Buffer.from(`${HEAD}\r\ndata: {"choices":[{"delta":{"content":"`), Buffer.from([0xc3])])),
  'half-close': (socket) => socket.write(`${HEAD}\r\n${text('half')}`),
  'no-done': sse(text('half')),
  'error-event': sse(`${text('half')}data: {"error":{"message":"The server had an error","type":"server_error"}}\n\n`),
  'html-200': webPage,
  'chunk-size-lie': (socket) => socket.end(`${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\n${text('lie')}\r\n0\r\n\r\n`),
  'gzip-bomb': gzipBomb,
  'huge-line': hugeLine,
  'mixed-line-ends': sse((text('good') + STOP + DONE).replace('\n\n', '\r\n\r\n').replace(/\n\n$/, '\r\r')),
  bom: sse(`\ufeff${text('good')}${STOP}${DONE}`),
  'comments-only': sse(': one\n\n: two\n\n'),
  'duplicate-tool-index': sse(aCall(0, 'dup_1', TRUE_ARGS) + aCall(0, 'dup_2', TRUE_ARGS) + CALLS + DONE),
  'args-split': sse(
    aCall(0, 'split_1', '{"command":"printf a\\') +
      toolPiece({ index: 0, function: { arguments: 'nb","summary":"\\u00' } }) +
      toolPiece({ index: 0, function: { arguments: 'e9"}' } }) + CALLS + DONE),
  'invalid-args': sse(aCall(0, 'bad_1', '{"command": ') + CALLS + DONE),
  'two-finish': sse(text('good') + STOP + CALLS + DONE),
  'no-usage': sse(text('good') + STOP + DONE),
  nul: sse(`data: {"choices":[{"delta":{"content":"a\0b"},"finish_reason":"stop"}]}\n\n${DONE}`),
  'lone-surrogate': sse(`data: {"choices":[{"delta":{"content":"a\\ud800b"},"finish_reason":"stop"}]}\n\n${DONE}`),
  'unknown-tool': sse(aCall(0, 'unknown_1', '{"x":1}', 'nosuch') + CALLS + DONE),
  'many-tools': json(JSON.stringify({
    choices: [{
      index: 0,
      finish_reason: 'tool_calls',
      message: {
        role: 'assistant',
        content: null,
        tool_calls: Array.from({ length: 1000 }, (_, i) => ({
          id: `many_${i}`, type: 'function', function: { name: 'terminal', arguments: TRUE_ARGS },
        })),
      },
    }],
  })),
  'id-reuse': sse(aCall(0, 'same', TRUE_ARGS) + aCall(1, 'same', TRUE_ARGS) + CALLS + DONE),
  'short-length': json('{"choices":[{"message":{"content":"short"}}]}', 'Content-Length: 20\r\n'),
  drip: drip(text('drip') + STOP + DONE),
};
