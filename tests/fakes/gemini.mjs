// A fake of Gemini's native API for tests: plays scenarios, checks requests, counts what a cache of prompts would hold,
// and injects faults. See openai.mjs for how it is used and openai-scenarios.mjs for steps; further members:
//   { reasoning }                   thoughts, if the request asks for them
//   { finish, finish_message }      instead of STOP
//   { blocked: reason }             the prompt is blocked: no answer
//   { error_after: n, error }       a stream with that error after n pieces
import { createHash } from 'node:crypto';
import { methodOf, refusalOf, signatureOf, signs, thinks } from './gemini-check.mjs';
import { faults } from './gemini-faults.mjs';
import { inPieces, pause, sendJson, serveIfMain, startFake } from './model_server.mjs';

const BYTES_PER_TOKEN = 4;

const STATUSES = {
  400: 'INVALID_ARGUMENT', 401: 'UNAUTHENTICATED', 403: 'PERMISSION_DENIED', 404: 'NOT_FOUND', 429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL', 503: 'UNAVAILABLE', 504: 'DEADLINE_EXCEEDED',
};

// A wrong key is an invalid argument, too.
function sendError(response, status, { http, ...error }, headers) {
  const code = http ?? status;
  sendJson(response, code, { error: { code, message: 'no words', status: STATUSES[code] ?? 'UNKNOWN', ...error } }, headers);
}

const isResult = ({ functionResponse }) => functionResponse !== undefined;
const hasWords = ({ role, parts }) => role === 'user' && !parts.some(isResult);

// The number of the model's answers after the user's last words.
function stepIndex(contents) {
  const last = contents.findLastIndex(hasWords);
  return contents.slice(last + 1).filter(({ role }) => role === 'model').length;
}

// --- the implicit cache of prompts ---

class PromptCache {
  constructor() {
    this.known = new Set();
  }

  /** The tokens of a request, and of its longest beginning that an earlier one had. */
  count({ model, tools, systemInstruction, contents }) {
    const hash = createHash('sha256').update(model);
    let bytes = 0;
    let cached = 0;
    for (const item of [tools, systemInstruction, ...contents].filter((value) => value !== undefined)) {
      const text = JSON.stringify(item);
      bytes += text.length;
      const sum = hash.update(text).copy().digest('hex');
      if (this.known.has(sum)) cached = Math.ceil(bytes / BYTES_PER_TOKEN);
      this.known.add(sum);
    }
    return { cached, all: Math.ceil(bytes / BYTES_PER_TOKEN) };
  }
}

const cache = new PromptCache();

// --- answers ---

const argsOf = ({ arguments: args = {} }) => (typeof args === 'string' ? JSON.parse(args) : args);

/** Only the first of several calls is signed, or the last of the words. */
function partsOf(step, body, n) {
  const wantsThoughts = body.generationConfig?.thinkingConfig?.includeThoughts === true;
  const signature = signs(body.model) ? { thoughtSignature: signatureOf(body.model, n) } : {};
  const calls = (step.calls ?? []).map((call, i) => ({
    functionCall: { id: `fc${n}-${i}`, name: call.name, args: argsOf(call) }, ...(i === 0 ? signature : {}),
  }));
  return [
    ...(step.reasoning && wantsThoughts ? [{ text: step.reasoning, thought: true }] : []),
    ...(step.text ? [{ text: step.text, ...(calls.length === 0 ? signature : {}) }] : []),
    ...calls,
  ];
}

function answer(step, body, n) {
  const { cached, all } = cache.count(body);
  const thoughts = thinks(body.model) ? 5 : 0;
  const usageMetadata = {
    promptTokenCount: all, candidatesTokenCount: 20, totalTokenCount: all + 20 + thoughts,
    ...(cached > 0 ? { cachedContentTokenCount: cached } : {}), ...(thoughts > 0 ? { thoughtsTokenCount: thoughts } : {}),
  };
  const common = { usageMetadata, modelVersion: body.model, responseId: step.id ?? `resp${String(n).padStart(8, '0')}` };
  if (step.blocked) return { promptFeedback: { blockReason: step.blocked }, ...common };
  return {
    candidates: [{
      content: { role: 'model', parts: partsOf(step, body, n) },
      finishReason: step.finish ?? 'STOP',
      ...(step.finish_message ? { finishMessage: step.finish_message } : {}),
      index: 0,
    }],
    ...common,
  };
}

/** Words come in pieces, a signature after them; a call comes as a whole. */
function piecesOf({ text, thoughtSignature, ...part }) {
  if (text === undefined) return [{ ...part, ...(thoughtSignature ? { thoughtSignature } : {}) }];
  const pieces = inPieces(text).map((piece) => ({ ...part, text: piece }));
  return thoughtSignature ? [...pieces, { text: '', thoughtSignature }] : pieces;
}

async function sendStream(response, step, whole, body, beforeEnd) {
  const send = (event) => response.write(`data: ${JSON.stringify(event)}\r\n\r\n`);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const { candidates: [candidate] = [{ content: { parts: [] } }], usageMetadata, ...rest } = whole;
  for (const [i, part] of candidate.content.parts.flatMap(piecesOf).entries()) {
    if (i === step.break_after) {
      response.socket.destroy();
      return;
    }
    if (i === step.error_after) {
      send({ error: { code: 503, message: 'The model is overloaded. Please try again later.', status: 'UNAVAILABLE', ...step.error } });
      response.end();
      return;
    }
    send({ candidates: [{ content: { role: 'model', parts: [part] }, index: 0 }], usageMetadata: { promptTokenCount: usageMetadata.promptTokenCount }, ...rest });
    if (step.drip_ms) await pause(step.drip_ms, response);
    if (response.destroyed) return;
  }
  await beforeEnd();
  const { content: _, ...end } = candidate;
  send(whole.candidates ? { candidates: [{ content: { role: 'model', parts: [] }, ...end }], usageMetadata, ...rest } : whole);
  response.end();
}

const api = {
  basePath: '',
  isCall: (path) => methodOf(path) !== null,
  keyOf: ({ headers }) => headers['x-goog-api-key'],
  refusalOf,
  askedOf: ({ path, body }) => {
    const { model, isStream } = methodOf(path);
    return { ...body, model, stream: isStream };
  },
  errors: {
    key: {
      http: 400,
      message: 'API key not valid. Please pass a valid API key.',
      details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID', domain: 'googleapis.com' }],
    },
    refusal: (message) => ({ message }),
    model: (name) => ({ message: `models/${name} is not found for API version v1beta, or is not supported for generateContent.` }),
    missing: (path) => ({ message: `no ${path}` }),
  },
  sendError,
  messagesOf: ({ contents }) => contents,
  stepIndex,
  conversationOf: ({ contents }) => contents[0],
  answer,
  sendStream,
  faults,
};

// options: port (0: a free one), host, key (null: not required), scenarios, tls, http2.
export const start = (options = {}) => startFake(api, options);

await serveIfMain(import.meta.url, api);
