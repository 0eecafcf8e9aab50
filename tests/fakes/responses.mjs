// A fake of OpenAI's Responses for tests: plays scenarios, checks requests, and injects faults. See openai.mjs for
// how it is used and openai-scenarios.mjs for steps; further members:
//   { reasoning }                   the summary of an item of reasoning, if the model reasons
//   { incomplete: reason }          the answer was cut off
//   { failed: error }               a stream that ends so
//   { bare_end: true }              the last event of a stream has no items
import { encrypted, reasons, refusalOf } from './responses-check.mjs';
import { inPieces, pause, sendJson, serveIfMain, startFake } from './model_server.mjs';

const sendError = (response, status, error, headers) =>
  sendJson(response, status, { error: { type: null, param: null, code: null, ...error } }, headers);

const isUser = ({ role }) => role === 'user';
const isResult = ({ type }) => type === 'function_call_output';

// The number of the model's answers after the user's last message: each ends before the user's turn.
function stepIndex(input) {
  const rest = input.slice(input.findLastIndex(isUser) + 1);
  return rest.filter((item, i) => !isResult(item) && (i + 1 === rest.length || isResult(rest[i + 1]))).length;
}

function itemsOf(step, model, n) {
  const items = [];
  const number = (i) => String(n * 100 + i).padStart(8, '0');
  if (step.reasoning && reasons(model)) {
    const id = `rs_${number(0)}`;
    items.push({ type: 'reasoning', id, summary: [{ type: 'summary_text', text: step.reasoning }], encrypted_content: encrypted(model, id) });
  }
  if (step.text) items.push({ type: 'message', id: `msg_${number(1)}`, role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: step.text, annotations: [] }] });
  for (const [i, call] of (step.calls ?? []).entries()) {
    items.push({
      type: 'function_call', id: `fc_${number(i)}`, call_id: `call_${number(i)}`, status: 'completed', name: call.name,
      arguments: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments ?? {}),
    });
  }
  return items;
}

function answer(step, body, n) {
  const status = step.failed ? 'failed' : step.incomplete ? 'incomplete' : 'completed';
  return {
    id: step.id ?? `resp_${String(n).padStart(12, '0')}`,
    object: 'response',
    created_at: Math.floor(Date.now() / 1000),
    status,
    error: step.failed ?? null,
    incomplete_details: step.incomplete ? { reason: step.incomplete } : null,
    model: body.model,
    output: itemsOf(step, body.model, n),
    usage: {
      input_tokens: 1000 + n - 1,
      input_tokens_details: { cached_tokens: 100 },
      output_tokens: 20,
      output_tokens_details: { reasoning_tokens: 7 },
      total_tokens: 1020 + n - 1,
    },
  };
}

const piecesOf = {
  reasoning: (item, at) => [
    { type: 'response.reasoning_summary_part.added', ...at, summary_index: 0, part: { type: 'summary_text', text: '' } },
    ...inPieces(item.summary[0].text).map((delta) => ({ type: 'response.reasoning_summary_text.delta', ...at, summary_index: 0, delta })),
    { type: 'response.reasoning_summary_text.done', ...at, summary_index: 0, text: item.summary[0].text },
  ],
  message: (item, at) => [
    { type: 'response.content_part.added', ...at, content_index: 0, part: { type: 'output_text', text: '', annotations: [] } },
    ...inPieces(item.content[0].text).map((delta) => ({ type: 'response.output_text.delta', ...at, content_index: 0, delta })),
    { type: 'response.output_text.done', ...at, content_index: 0, text: item.content[0].text },
  ],
  function_call: (item, at) => [
    ...inPieces(item.arguments).map((delta) => ({ type: 'response.function_call_arguments.delta', ...at, delta })),
    { type: 'response.function_call_arguments.done', ...at, arguments: item.arguments },
  ],
};

const emptied = {
  reasoning: (item) => ({ ...item, summary: [], encrypted_content: '' }),
  message: (item) => ({ ...item, status: 'in_progress', content: [] }),
  function_call: (item) => ({ ...item, status: 'in_progress', arguments: '' }),
};

function eventsOf(whole) {
  const begun = { ...whole, status: 'in_progress', output: [], usage: null, error: null, incomplete_details: null };
  return [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...whole.output.flatMap((item, i) => [
      { type: 'response.output_item.added', output_index: i, item: emptied[item.type](item) },
      ...piecesOf[item.type](item, { item_id: item.id, output_index: i }),
      { type: 'response.output_item.done', output_index: i, item },
    ]),
  ];
}

async function sendStream(response, step, whole, body, beforeEnd) {
  let number = 0;
  const send = (event) => {
    response.write(`event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: number })}\n\n`);
    number += 1;
  };
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  for (const [i, event] of eventsOf(whole).entries()) {
    if (i === step.break_after) {
      response.socket.destroy();
      return;
    }
    if (i === step.error_after) {
      send({ type: 'error', code: 'server_error', message: 'The server had an error', param: null, ...step.error });
      response.end();
      return;
    }
    send(event);
    if (step.drip_ms) await pause(step.drip_ms, response);
    if (response.destroyed) return;
  }
  await beforeEnd();
  send({ type: `response.${whole.status}`, response: step.bare_end ? { ...whole, output: [] } : whole });
  response.end();
}

// --- answers that are broken on the wire ---

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n';
const sse = (...events) => (socket) =>
  socket.end(HEAD + events.map((event) => (typeof event === 'string' ? event : `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)).join(''));
const BEGIN = { type: 'response.created', response: { id: 'resp_fault', status: 'in_progress', output: [] } };
const HALF = [BEGIN, { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, content_index: 0, delta: 'half' }];
const END = { type: 'response.completed', response: { id: 'resp_fault', status: 'completed', output: [], usage: { input_tokens: 1, output_tokens: 1 } } };

const faults = {
  'fin-mid-line': sse(...HALF, 'event: response.output_text.delta\ndata: {"type":"respo'),
  'no-end': sse(...HALF),
  'unknown-events': sse(BEGIN, { type: 'response.what_is_new', delta: 'x' }, HALF[1], END),
  'html-200': (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<!doctype html><p>hello'),
  empty: sse(BEGIN, END),
};

export const responses = {
  basePath: '/v1',
  isCall: (path) => path === '/v1/responses',
  keyOf: ({ headers }) => headers.authorization?.replace(/^Bearer /, ''),
  refusalOf,
  errors: {
    key: { message: 'Incorrect API key provided', code: 'invalid_api_key' },
    refusal: (message) => ({ message, type: 'invalid_request_error' }),
    model: (name) => ({ message: `The model ${name} does not exist`, code: 'model_not_found' }),
    missing: (path) => ({ message: `no ${path}` }),
  },
  sendError,
  messagesOf: (body) => body.input,
  stepIndex,
  conversationOf: (body) => body.prompt_cache_key,
  answer,
  sendStream,
  faults,
};

// options: port (0: a free one), host, key (null: not required), scenarios, tls, http2.
export const start = (options = {}) => startFake(responses, options);

await serveIfMain(import.meta.url, responses);
