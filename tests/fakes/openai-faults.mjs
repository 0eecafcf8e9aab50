// Answers that are broken on the wire. Each is written to the socket by hand; the rest of the
// connection is the fault's own business.
import { gzipSync } from 'node:zlib';

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n';
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

const sse = (body) => (socket) => socket.end(`${HEAD}\r\n${body}`);
const json = (body, headers = '') => (socket) =>
  socket.end(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n${headers}\r\n${body}`);

function reset(socket, bytes) {
  socket.write(bytes, () => setTimeout(() => (socket.resetAndDestroy ?? socket.destroy).call(socket), 20));
}

function hugeLine(socket) {
  const block = Buffer.alloc(1 << 20, 'x');
  let left = 100;
  socket.on('error', () => {});
  socket.write(`${HEAD}\r\ndata: `);
  const more = () => {
    while (left > 0 && !socket.destroyed) {
      left -= 1;
      if (!socket.write(block)) return socket.once('drain', more);
    }
    return socket.end();
  };
  more();
}

function drip(socket) {
  const bytes = Buffer.from(text('drip') + STOP + DONE);
  let at = 0;
  socket.write(`${HEAD}\r\n`);
  const timer = setInterval(() => {
    if (socket.destroyed || at === bytes.length) {
      clearInterval(timer);
      socket.end();
      return;
    }
    socket.write(bytes.subarray(at, at + 1));
    at += 1;
  }, 1000);
  socket.on('close', () => clearInterval(timer));
}

export const faults = {
  'fin-mid-line': sse(`${text('half')}data: {"choi`),
  'rst-mid-utf8': (socket) =>
    reset(socket, Buffer.concat([Buffer.from(`${HEAD}\r\ndata: {"choices":[{"delta":{"content":"`), Buffer.from([0xc3])])),
  'half-close': (socket) => socket.write(`${HEAD}\r\n${text('half')}`),
  'no-done': sse(text('half')),
  'error-event': sse(`${text('half')}data: {"error":{"message":"The server had an error","type":"server_error"}}\n\n`),
  'html-200': (socket) =>
    socket.end('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<!doctype html><p>hello'),
  'chunk-size-lie': (socket) => socket.end(`${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\n${text('lie')}\r\n0\r\n\r\n`),
  'gzip-bomb': (socket) => {
    const bomb = gzipSync(Buffer.alloc(64 << 20));
    socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n');
    socket.end(bomb);
  },
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
  drip,
};
