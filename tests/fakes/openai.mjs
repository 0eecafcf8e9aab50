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
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { refusalOf } from './openai-check.mjs';
import { faults } from './openai-faults.mjs';
import { scenarioOf } from './openai-scenarios.mjs';

const PIECE_CHARS = 7;

// Waits, but not longer than the client does.
function pause(ms, response) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      response.off('close', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    response.once('close', end);
  });
}

function readBody(request) {
  return new Promise((resolve, reject) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => resolve(Buffer.concat(chunks).toString()));
    request.on('error', reject);
  });
}

function sendJson(response, status, body, headers = {}) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

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
    choices: [{ index: 0, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop', message }],
    usage: {
      prompt_tokens: 1000 + n - 1,
      completion_tokens: 20,
      total_tokens: 1020 + n - 1,
      prompt_tokens_details: { cached_tokens: 100 },
    },
  };
}

const inPieces = (text) => text.match(new RegExp(`[^]{1,${PIECE_CHARS}}`, 'gu')) ?? [];

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

// `beforeEnd` is awaited when all pieces are sent.
async function sendStream(response, step, completion, withUsage, beforeEnd) {
  const { message, finish_reason: finish } = completion.choices[0];
  const chunk = (choices, more = {}) =>
    `data: ${JSON.stringify({ ...completion, object: 'chat.completion.chunk', usage: undefined, choices, ...more })}\n\n`;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
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
  response.write(chunk([{ index: 0, delta: {}, finish_reason: finish }]));
  if (withUsage) response.write(chunk([], { usage: completion.usage }));
  response.end('data: [DONE]\n\n');
}

class Fake {
  constructor(options) {
    this.key = options.key ?? 'sk-test';
    this.own = new Map(Object.entries(options.scenarios ?? {}));
    this.requests = [];
    this.violations = [];
    this.n_answers = 0;
    this.n_open = 0;
    this.max_open = 0;
    this.said_once = new Set();
    this.parked = new Set();
    this.sockets = new Set();
  }

  // steps, or a function that chooses the step for a request's body
  setScenario(model, steps) {
    this.own.set(model, steps);
  }

  release() {
    for (const go of this.parked) go();
    this.parked.clear();
  }

  park(response) {
    return new Promise((resolve) => {
      const end = () => {
        this.parked.delete(end);
        response.off('close', end);
        resolve();
      };
      this.parked.add(end);
      response.once('close', end);
    });
  }

  // `once` is for the first request with exactly these messages; its repetition gets the rest.
  pick(scenario, body) {
    if (typeof scenario === 'function') return scenario(body);
    const step = scenario[Math.min(stepIndex(body.messages), scenario.length - 1)];
    const seen = JSON.stringify([body.model, body.prompt_cache_key, body.messages.length]);
    if (step.once === undefined || this.said_once.has(seen)) return step;
    this.said_once.add(seen);
    return step.once;
  }

  async say(step, body, response) {
    if (step.park) await this.park(response);
    if (step.delay_ms) await pause(step.delay_ms, response);
    if (response.destroyed || response.writableEnded) return;
    if (step.status) {
      sendError(response, step.status, step.error ?? {}, step.headers);
      return;
    }
    if (step.fault) {
      const fault = faults[step.fault];
      if (fault === undefined) sendError(response, 404, { message: `no fault ${step.fault}` });
      else fault(response.socket);
      return;
    }
    this.n_answers += 1;
    const completion = completionOf(step, body.model, this.n_answers);
    const beforeEnd = async () => step.hold && this.park(response);
    if (body.stream) await sendStream(response, step, completion, body.stream_options?.include_usage, beforeEnd);
    else sendJson(response, 200, completion, step.headers);
  }

  async complete(request, response) {
    const entry = { method: request.method, path: request.url, headers: { ...request.headers }, at: Date.now() };
    const text = await readBody(request);
    try {
      entry.body = JSON.parse(text);
    } catch {
      entry.body = undefined;
    }
    this.requests.push(entry);
    if (this.key !== null && request.headers.authorization !== `Bearer ${this.key}`) {
      sendError(response, 401, { message: 'Incorrect API key provided', code: 'invalid_api_key' });
      return;
    }
    const refusal = refusalOf(entry);
    if (refusal !== null) {
      this.violations.push(refusal);
      sendError(response, 400, { message: refusal, type: 'invalid_request_error' });
      return;
    }
    const scenario = scenarioOf(entry.body.model, this.own);
    if (scenario === undefined) {
      sendError(response, 404, { message: `The model ${entry.body.model} does not exist`, code: 'model_not_found' });
      return;
    }
    await this.say(this.pick(scenario, entry.body), entry.body, response);
  }

  async control(request, response, path) {
    if (path === '/_requests' && request.method === 'DELETE') {
      this.requests.length = 0;
      this.violations.length = 0;
    } else if (path === '/_release') {
      this.release();
    } else if (path.startsWith('/_scenarios/') && request.method === 'PUT') {
      this.setScenario(decodeURIComponent(path.slice('/_scenarios/'.length)), JSON.parse(await readBody(request)));
    } else if (path !== '/_requests' && path !== '/_stats') {
      sendError(response, 404, { message: `no ${path}` });
      return;
    }
    const stats = {
      n_requests: this.requests.length,
      n_parked: this.parked.size,
      n_connections: this.sockets.size,
      n_open: this.n_open,
      max_open: this.max_open,
      violations: this.violations,
    };
    sendJson(response, 200, path === '/_requests' ? this.requests : stats);
  }

  async handle(request, response) {
    const path = request.url.split('?')[0];
    this.n_open += 1;
    this.max_open = Math.max(this.max_open, this.n_open);
    response.once('close', () => {
      this.n_open -= 1;
    });
    response.on('error', () => {});
    if (path.startsWith('/_')) await this.control(request, response, path);
    else if (path.endsWith('/chat/completions')) await this.complete(request, response);
    else if (path.endsWith('/models')) sendJson(response, 200, { object: 'list', data: [] });
    else sendError(response, 404, { message: `no ${path}` });
  }
}

// A self-signed certificate for localhost; clients trust the file `ca`.
function makeCertificate() {
  const folder = mkdtempSync(join(tmpdir(), 'deft-fake-openai-'));
  const key = join(folder, 'key.pem');
  const ca = join(folder, 'cert.pem');
  execFileSync('openssl', [
    'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2',
    '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-keyout', key, '-out', ca,
  ], { stdio: 'ignore' });
  return { folder, ca, key: readFileSync(key), cert: readFileSync(ca) };
}

function makeServer(options, certificate, handler) {
  if (options.http2) return http2.createSecureServer({ ...certificate, allowHTTP1: true }, handler);
  if (certificate) return https.createServer(certificate, handler);
  return http.createServer(handler);
}

// options: port (0: a free one), host, key (null: not required), scenarios, tls, http2.
export async function start(options = {}) {
  const fake = new Fake(options);
  const certificate = options.tls || options.http2 ? makeCertificate() : undefined;
  const handler = (request, response) => {
    fake.handle(request, response).catch((error) => {
      fake.violations.push(`fake: ${error.stack}`);
      response.destroy();
    });
  };
  const server = makeServer(options, certificate, handler);
  const host = options.host ?? '127.0.0.1';
  server.on(certificate ? 'secureConnection' : 'connection', (socket) => {
    fake.sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => fake.sockets.delete(socket));
  });
  server.on('tlsClientError', () => {});
  // HTTP/2 keeps its sockets to itself.
  server.on('session', (session) => {
    fake.sockets.add(session);
    session.on('error', () => {});
    session.once('close', () => fake.sockets.delete(session));
  });
  server.keepAliveTimeout = 60000;
  await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port: options.port ?? 0, host, backlog: 1024 }, resolve);
  });
  const { port } = server.address();
  return {
    url: `${certificate ? 'https' : 'http'}://${host}:${port}/v1`,
    port,
    ca: certificate?.ca,
    requests: fake.requests,
    violations: fake.violations,
    setScenario: (model, steps) => fake.setScenario(model, steps),
    nParked: () => fake.parked.size,
    release: () => fake.release(),
    get n_parked() {
      return fake.parked.size;
    },
    close: async () => {
      for (const socket of fake.sockets) socket.destroy();
      server.closeAllConnections?.();
      await new Promise((resolve) => {
        server.close(resolve);
      });
      if (certificate) rmSync(certificate.folder, { recursive: true, force: true });
    },
  };
}

async function main(args) {
  const at = args.indexOf('--port');
  const fake = await start({
    port: at >= 0 ? Number(args[at + 1]) : 0,
    tls: args.includes('--tls'),
    http2: args.includes('--http2'),
  });
  process.stdout.write(`${JSON.stringify({ url: fake.url, port: fake.port, ca: fake.ca })}\n`);
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => fake.close().then(() => process.exit(0)));
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  await main(process.argv.slice(2));
