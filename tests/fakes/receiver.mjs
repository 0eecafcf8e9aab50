// A receiver of webhooks for tests: it records calls, and those that violate the contract.
import http from 'node:http';

const EVENTS = /^\/hook\/events\/([0-9a-f]{32})$/;
const INFO = '/hook/conversations';

const dashed = (hex) => hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

function faultsOf(post, validate) {
  const faults = [];
  if (post.method !== 'POST') faults.push(`${post.method} is no POST`);
  if (post.headers['content-type'] !== 'application/json') faults.push(`a ${post.headers['content-type']}`);
  if (post.kind === undefined) return [...faults, `nothing is at ${post.path}`];
  if (post.kind === 'events' && (!Array.isArray(post.body) || post.body.length === 0)) return [...faults, 'no list of events'];
  return [...faults, ...validate(post)];
}

function read(request, text) {
  const { pathname } = new URL(request.url, 'http://localhost');
  const events = EVENTS.exec(pathname);
  const post = { method: request.method, path: pathname, headers: request.headers, bytes: Buffer.byteLength(text), body: JSON.parse(text), at: Date.now() };
  if (events) return { ...post, kind: 'events', id: dashed(events[1]) };
  return pathname === INFO ? { ...post, kind: 'info', id: post.body.id } : post;
}

export class Receiver {
  /** validate(post): a message if its body is invalid. */
  constructor(validate = () => []) {
    this.posts = []; // all that came, in order, whatever was answered
    this.violations = [];
    this.validate = validate;
    this.answer = Receiver.take;
    this.port = 0;
  }

  static take(post, response) {
    post.taken = true;
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"success":true}');
  }

  /** Listens, on the same port as before. */
  async open() {
    this.server = http.createServer(async (request, response) => {
      const chunks = [];
      for await (const chunk of request) chunks.push(chunk);
      const post = read(request, Buffer.concat(chunks).toString());
      this.posts.push(post);
      for (const fault of faultsOf(post, this.validate)) this.violations.push(`${post.path}: ${fault}`);
      this.answer(post, response);
    });
    await new Promise((listening, failed) => {
      this.server.once('error', failed);
      this.server.listen(this.port, '127.0.0.1', listening);
    });
    this.port = this.server.address().port;
    this.url = `http://127.0.0.1:${this.port}/hook`;
    return this;
  }

  /** The calls for one conversation: 'info' or 'events'. */
  of(kind, id) {
    return this.posts.filter((post) => post.kind === kind && post.id === id);
  }

  statuses(id) {
    return this.of('info', id).filter(({ taken }) => taken).map(({ body }) => body.execution_status);
  }

  /** The accepted events, one by one, repetitions included. */
  events(id) {
    return this.of('events', id).filter(({ taken }) => taken).flatMap(({ body }) => body);
  }

  close() {
    return new Promise((closed) => {
      // A connection that comes between the two would be waited for.
      this.server.on('connection', (socket) => socket.destroy());
      this.server.close(closed);
      this.server.closeAllConnections?.();
    });
  }
}
