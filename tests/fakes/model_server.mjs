// The server that fake models have in common: it plays scenarios, checks requests, parks answers and
// injects faults. What requests and answers look like is told by an `api`:
//
//   isCall(path, url)                whether that is the endpoint; url: the path with its query
//   keyOf(request)                   the key that a request carries
//   isKnown(entry, key)              whether the request has that key or a signature, if not keyOf() tells it
//   askedOf(entry)                   { model, stream, … }, if that is not the body
//   refusalOf(entry)                 the reason to refuse a request, or null
//   errors                           { key or key(entry), refusal(message), model(name), missing(path) }: see send()
//   sendError(response, status, error, headers)
//   messagesOf(body)                 the list of messages, if it is not body.messages
//   stepIndex(messages, body)        the number of the assistant's messages after the user's last
//   conversationOf(body)             something that tells conversations of one model apart
//   answer(step, body, n)            the n-th answer, whole
//   headers()                        of a whole answer, if there are any
//   sendStream(response, step, answer, body, beforeEnd)
//   faults                           by name: what is written to the socket
//   basePath                         of the URL that clients are configured with
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { scenarioOf } from './openai-scenarios.mjs';

// Waits, but not longer than the client does.
export function pause(ms, response) {
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

export function sendJson(response, status, body, headers = {}) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

const PIECE_CHARS = 7;
export const inPieces = (text) => text.match(new RegExp(`[^]{1,${PIECE_CHARS}}`, 'gu')) ?? [];

class Fake {
  constructor(api, options) {
    this.api = api;
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
    const messages = this.api.messagesOf?.(body) ?? body.messages;
    const step = scenario[Math.min(this.api.stepIndex(messages, body), scenario.length - 1)];
    const seen = JSON.stringify([body.model, this.api.conversationOf(body), messages.length]);
    if (step.once === undefined || this.said_once.has(seen)) return step;
    this.said_once.add(seen);
    return step.once;
  }

  async say(step, body, response) {
    if (step.park) await this.park(response);
    if (step.delay_ms) await pause(step.delay_ms, response);
    if (response.destroyed || response.writableEnded) return;
    if (step.status) {
      this.api.sendError(response, step.status, step.error ?? {}, step.headers);
      return;
    }
    if (step.fault) {
      const fault = this.api.faults[step.fault];
      if (fault === undefined) this.api.sendError(response, 404, this.api.errors.missing(`fault ${step.fault}`));
      else fault(response.socket);
      return;
    }
    this.n_answers += 1;
    const answer = this.api.answer(step, body, this.n_answers);
    const beforeEnd = async () => step.hold && this.park(response);
    if (body.stream) await this.api.sendStream(response, step, answer, body, beforeEnd);
    else sendJson(response, 200, answer, { ...this.api.headers?.(), ...step.headers });
  }

  async complete(request, response) {
    const entry = { method: request.method, path: request.url, headers: { ...request.headers }, at: Date.now() };
    const text = await readBody(request);
    entry.text = text;
    try {
      entry.body = JSON.parse(text);
    } catch {
      entry.body = undefined;
    }
    // Not among the members that are shown.
    Object.defineProperty(entry, 'text', { value: text });
    this.requests.push(entry);
    if (this.key !== null && !(this.api.isKnown?.(entry, this.key) ?? this.api.keyOf(request) === this.key)) {
      const { key, keyStatus } = this.api.errors;
      this.api.sendError(response, keyStatus ?? 401, typeof key === 'function' ? key(entry) : key);
      return;
    }
    const refusal = this.api.refusalOf(entry);
    if (refusal !== null) {
      this.violations.push(refusal);
      this.api.sendError(response, 400, this.api.errors.refusal(refusal));
      return;
    }
    const asked = this.api.askedOf?.(entry) ?? entry.body;
    const scenario = scenarioOf(asked.model, this.own);
    if (scenario === undefined) {
      this.api.sendError(response, 404, this.api.errors.model(asked.model));
      return;
    }
    await this.say(this.pick(scenario, asked), asked, response);
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
      this.api.sendError(response, 404, this.api.errors.missing(path));
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
    else if (this.api.isCall(path, request.url)) await this.complete(request, response);
    else if (path.endsWith('/models')) sendJson(response, 200, { object: 'list', data: [] });
    else this.api.sendError(response, 404, this.api.errors.missing(path));
  }
}

// A self-signed certificate for localhost; clients trust the file `ca`.
export function makeCertificate() {
  const folder = mkdtempSync(join(tmpdir(), 'deft-fake-model-'));
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
export async function startFake(api, options = {}) {
  const fake = new Fake(api, options);
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
    url: `${certificate ? 'https' : 'http'}://${host}:${port}${api.basePath}`,
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

/** Serves until a signal, if `module` is the program that node runs. */
export async function serveIfMain(module, api) {
  if (process.argv[1] === undefined || module !== pathToFileURL(process.argv[1]).href) return;
  const args = process.argv.slice(2);
  const at = args.indexOf('--port');
  const fake = await startFake(api, {
    port: at >= 0 ? Number(args[at + 1]) : 0,
    tls: args.includes('--tls'),
    http2: args.includes('--http2'),
  });
  process.stdout.write(`${JSON.stringify({ url: fake.url, port: fake.port, ca: fake.ca })}\n`);
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => fake.close().then(() => process.exit(0)));
}
