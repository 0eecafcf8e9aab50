// A fake OpenAI-compatible server for tests: plays scenarios, checks requests, and
// injects faults. No package is needed, node 18 or newer.
//
//   const fake = await start({ key: 'sk-test' });   // { url, port, requests, violations, … }
//   … LLM_BASE_URL=fake.url LLM_MODEL=openai/hello …
//   await fake.close();
//
// Also a program: node openai.mjs [--port N] [--tls] [--http2] prints {"url":…} and serves.
// Control, for tests in other languages: GET /_requests, DELETE /_requests, GET /_stats,
// PUT /_scenarios/{model} with a list of steps, POST /_release for parked calls.
import { refusalOf } from './openai-check.mjs';
import { faults } from './openai-faults.mjs';
import { inPieces, pause, sendJson, serveIfMain, startFake } from './model_server.mjs';

const sendError = (response, status, error, headers) =>
  sendJson(response, status, { error: { type: null, param: null, code: null, ...error } }, headers);

// The number of the assistant's messages after the user's last.
function stepIndex(messages) {
  const last = messages.findLastIndex((message) => message.role === 'user');
  return messages.slice(last + 1).filter((message) => message.role === 'assistant').length;
}

// JSON with a space after each comma and colon, as in the recordings.
function spaced(value) {
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{${Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}: ${spaced(member)}`).join(', ')}}`;
}

function toolCalls(step, n) {
  const id = (i) => `call_${String(n * 100 + i).padStart(8, '0')}`;
  return (step.calls ?? []).map((call, i) => ({
    id: id(i),
    type: 'function',
    function: {
      name: call.name,
      arguments: typeof call.arguments === 'string' ? call.arguments : spaced(call.arguments ?? {}),
    },
  }));
}

function completionOf(step, model, n) {
  const calls = toolCalls(step, n);
  const message = { role: 'assistant', content: step.text ?? null };
  if (step.reasoning) message.reasoning_content = step.reasoning;
  if (calls.length > 0) message.tool_calls = calls;
  return {
    id: step.id ?? `chatcmpl-${String(n).padStart(12, '0')}`,
    object: 'chat.completion',
    created: Math.floor(Date.now() / 1000),
    model,
    choices: [{ index: 0, finish_reason: step.finish ?? (calls.length > 0 ? 'tool_calls' : 'stop'), message }],
    usage: {
      prompt_tokens: 1000 + n - 1,
      completion_tokens: 20,
      total_tokens: 1020 + n - 1,
      prompt_tokens_details: { cached_tokens: 100 },
      ...step.usage,
    },
  };
}

function deltasOf(message) {
  const deltas = [{ role: 'assistant', content: '' }];
  for (const part of inPieces(message.reasoning_content ?? '')) deltas.push({ reasoning_content: part });
  for (const part of inPieces(message.content ?? '')) deltas.push({ content: part });
  for (const [index, call] of (message.tool_calls ?? []).entries()) {
    deltas.push({ tool_calls: [{ index, id: call.id, type: 'function', function: { name: call.function.name, arguments: '' } }] });
    for (const part of inPieces(call.function.arguments))
      deltas.push({ tool_calls: [{ index, function: { arguments: part } }] });
  }
  return deltas;
}

// `beforeEnd` is awaited when all pieces are sent. `more`: what a server adds: members of each choice, and chunks before
// and after the pieces.
async function sendStream(response, step, completion, body, beforeEnd, more = {}) {
  const withUsage = body.stream_options?.include_usage;
  const { message, finish_reason: finish } = completion.choices[0];
  const frame = (event) => `data: ${JSON.stringify(event)}\n\n`;
  const chunk = (choices, usage) => frame({
    ...completion, object: 'chat.completion.chunk', usage, choices: choices.map((choice) => ({ ...choice, ...more.choice })),
  });
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of more.before ?? []) response.write(frame(event));
  const deltas = step.chunks?.map((content) => ({ content })) ?? deltasOf(message);
  for (const [i, delta] of deltas.entries()) {
    if (i === step.break_after) {
      response.socket.destroy();
      return;
    }
    response.write(chunk([{ index: 0, delta, finish_reason: null }]));
    if (step.drip_ms) await pause(step.drip_ms, response);
    if (response.destroyed) return;
  }
  await beforeEnd();
  for (const event of more.after ?? []) response.write(frame(event));
  response.write(chunk([{ index: 0, delta: {}, finish_reason: finish }]));
  if (withUsage) response.write(chunk([], completion.usage));
  response.end('data: [DONE]\n\n');
}

export const chat = {
  basePath: '/v1',
  isCall: (path) => path.endsWith('/chat/completions'),
  keyOf: (request) => request.headers.authorization?.replace(/^Bearer /, ''),
  refusalOf,
  errors: {
    key: { message: 'Incorrect API key provided', code: 'invalid_api_key' },
    refusal: (message) => ({ message, type: 'invalid_request_error' }),
    model: (name) => ({ message: `The model ${name} does not exist`, code: 'model_not_found' }),
    missing: (path) => ({ message: `no ${path}` }),
  },
  sendError,
  stepIndex,
  conversationOf: (body) => body.prompt_cache_key,
  answer: (step, body, n) => completionOf(step, body.model, n),
  sendStream,
  faults,
};

// options: port (0: a free one), host, key (null: not required), scenarios, tls, http2.
export const start = (options = {}) => startFake(chat, options);

await serveIfMain(import.meta.url, chat);
