// Answers of Gemini that are broken on the wire. Each is written to the socket by hand; the rest of the connection is
// the fault's own business.
import { drip, gzipBomb, HEAD, hugeLine, json, reset, sse, webPage } from './wire-faults.mjs';

const USAGE = { promptTokenCount: 10, candidatesTokenCount: 2, totalTokenCount: 12 };
const event = (value) => `data: ${JSON.stringify(value)}\r\n\r\n`;
const piece = (parts, more = {}) => ({ candidates: [{ index: 0, content: { role: 'model', parts }, ...more }], responseId: 'fault' });
const text = (words, more) => event(piece([{ text: words }], more));
const STOP = event({ ...piece([], { finishReason: 'STOP' }), usageMetadata: USAGE });
const call = (name, args) => ({ functionCall: { name, ...(args === undefined ? {} : { args }) } });
const TRUE = { command: 'true', summary: 'nothing' };

const calls = (...parts) => sse(event(piece(parts)), STOP);
export const faults = {
  'fin-mid-line': sse(text('half'), 'data: {"candi'),
  'rst-mid-utf8': (socket) =>
    reset(socket, Buffer.concat([Buffer.from(`${HEAD}\r\ndata: {"candidates":[{"content":{"parts":[{"text":"`), Buffer.from([0xc3])])),
  'half-close': (socket) => socket.write(`${HEAD}\r\n${text('half')}`),
  'no-finish': sse(text('half')),
  'error-event': sse(text('half'), event({ error: { code: 503, message: 'The model is overloaded. Please try again later.', status: 'UNAVAILABLE' } })),
  'html-200': webPage,
  'chunk-size-lie': (socket) => socket.end(`${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\n${text('lie')}\r\n0\r\n\r\n`),
  'gzip-bomb': gzipBomb,
  'huge-line': hugeLine,
  'mixed-line-ends': sse((text('good') + STOP).replace('\r\n\r\n', '\n\n').replace(/\r\n\r\n$/, '\r\r')),
  bom: sse(`\ufeff${text('good')}${STOP}`),
  'comments-only': sse(': one\n\n: two\n\n'),
  'same-call-twice': calls(call('terminal', TRUE), call('terminal', TRUE)),
  'no-args': calls(call('terminal')),
  'odd-args': calls(call('terminal', 'true'), call('terminal', [1])),
  'two-finish': sse(text('good', { finishReason: 'STOP' }), STOP),
  'late-parts': sse(event({ ...piece([{ text: 'go' }], { finishReason: 'STOP' }), usageMetadata: USAGE }), text('od')),
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
  drip: drip(text('drip') + STOP),
};
