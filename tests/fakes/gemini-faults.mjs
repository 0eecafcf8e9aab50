// Answers of Gemini that are broken on the wire. Each is written to the socket by hand; the rest of the connection is
// the fault's own business.
import { gzipSync } from 'node:zlib';

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n';
const USAGE = { promptTokenCount: 10, candidatesTokenCount: 2, totalTokenCount: 12 };
const event = (value) => `data: ${JSON.stringify(value)}\r\n\r\n`;
const piece = (parts, more = {}) => ({ candidates: [{ index: 0, content: { role: 'model', parts }, ...more }], responseId: 'fault' });
const text = (words, more) => event(piece([{ text: words }], more));
const STOP = event({ ...piece([], { finishReason: 'STOP' }), usageMetadata: USAGE });
const call = (name, args) => ({ functionCall: { name, ...(args === undefined ? {} : { args }) } });
const TRUE = { command: 'true', summary: 'nothing' };

const sse = (...parts) => (socket) => socket.end(`${HEAD}\r\n${parts.join('')}`);
const calls = (...parts) => sse(event(piece(parts)), STOP);
const json = (body, headers = '') => (socket) =>
  socket.end(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n${headers}\r\n${body}`);

function reset(socket, bytes) {
  socket.write(bytes, () => setImmediate(() => (socket.resetAndDestroy ?? socket.destroy).call(socket)));
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
  const bytes = Buffer.from(text('drip') + STOP);
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
  'fin-mid-line': sse(text('half'), 'data: {"candi'),
  'rst-mid-utf8': (socket) =>
    reset(socket, Buffer.concat([Buffer.from(`${HEAD}\r\ndata: {"candidates":[{"content":{"parts":[{"text":"`), Buffer.from([0xc3])])),
  'half-close': (socket) => socket.write(`${HEAD}\r\n${text('half')}`),
  'no-finish': sse(text('half')),
  'error-event': sse(text('half'), event({ error: { code: 503, message: 'The model is overloaded. Please try again later.', status: 'UNAVAILABLE' } })),
  'html-200': (socket) =>
    socket.end('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<!doctype html><p>hello'),
  'chunk-size-lie': (socket) => socket.end(`${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\n${text('lie')}\r\n0\r\n\r\n`),
  'gzip-bomb': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n');
    socket.end(gzipSync(Buffer.alloc(64 << 20)));
  },
  'huge-line': hugeLine,
  'mixed-line-ends': sse((text('good') + STOP).replace('\r\n\r\n', '\n\n').replace(/\r\n\r\n$/, '\r\r')),
  bom: sse(`\ufeff${text('good')}${STOP}`),
  'comments-only': sse(': one\n\n: two\n\n'),
  'same-call-twice': calls(call('terminal', TRUE), call('terminal', TRUE)),
  'no-args': calls(call('terminal')),
  'odd-args': calls(call('terminal', 'true'), call('terminal', [1])),
  'two-finish': sse(text('good', { finishReason: 'STOP' }), STOP),
  'no-usage': sse(text('good', { finishReason: 'STOP' })),
  nul: sse(`data: {"candidates":[{"content":{"parts":[{"text":"a\0b"}]},"finishReason":"STOP"}]}\n\n`),
  'lone-surrogate': sse(`data: {"candidates":[{"content":{"parts":[{"text":"a\\ud800b"}]},"finishReason":"STOP"}]}\n\n`),
  'unknown-parts': sse(event(piece([{ executableCode: { language: 'PYTHON', code: '1' } }, { whatIsNew: {} }, { text: 'good' }])), STOP),
  'unknown-tool': calls(call('nosuch', { x: 1 })),
  'many-tools': json(JSON.stringify(piece(Array.from({ length: 1000 }, () => call('terminal', TRUE)), { finishReason: 'STOP' }))),
  'id-reuse': calls(...[1, 2].map(() => ({ functionCall: { id: 'same', name: 'terminal', args: TRUE } }))),
  'short-length': json('{"candidates":[{"content":{"parts":[{"text":"short"}]}}]}', 'Content-Length: 20\r\n'),
  array: json(`[${JSON.stringify(piece([{ text: 'go' }]))},${JSON.stringify({ ...piece([{ text: 'od' }], { finishReason: 'STOP' }), usageMetadata: USAGE })}]`),
  empty: sse(STOP),
  'no-candidates': sse(event({ usageMetadata: { promptTokenCount: 10, totalTokenCount: 10 } })),
  drip,
};
