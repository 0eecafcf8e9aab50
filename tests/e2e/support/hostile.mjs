// A server of a test instead of a user's shared sandbox: it sends any bytes that the test wants.
import { once } from 'node:events';
import net from 'node:net';
import { call } from './api.mjs';
import { Box } from './box.mjs';
import { startRequest } from './conversation.mjs';
import { execute } from './database.mjs';
import { newUser } from './users.mjs';

/** An answer with a status of any number, header lines and a body. */
export const answerOf = (status, headers, body) => [`HTTP/1.1 ${String(status).padStart(3, '0')} Words`, ...headers, `Content-Length: ${Buffer.byteLength(body)}`, 'Connection: close', '', body].join('\r\n');

/** The user of this sandbox; `answer` is its next answer, `routes` are those that return it. */
export class Hostile {
  answer = '';
  /** Answers for single paths. */
  answers = new Map();
  /** The requested targets. */
  heard = [];
  /** Its open connections. */
  sockets = new Set();

  static async start() {
    const hostile = new Hostile();
    hostile.server = net.createServer((socket) => hostile.serve(socket));
    hostile.server.listen(0, '127.0.0.1');
    await once(hostile.server, 'listening');
    hostile.user = await newUser();
    const { key } = hostile.user;
    const made = await call('POST', '/api/conversations', { key, json: startRequest({ model: 'scripted/hello', api_key: 'x' }) });
    if (made.status !== 201) throw new Error(made.text);
    hostile.conversation = `/api/conversations/${made.json.id}`;
    await new Box('/api', { key }).run('true');
    // It sends no proof: the row says that it is a server from before there were proofs.
    await execute("UPDATE runtimes SET url = :'url', proves = false WHERE owner_id = :'id' AND status = 'running'", { id: hostile.user.id, url: hostile.url });
    return hostile;
  }

  /** Every request except /alive gets the answer; a function is called with the socket. */
  serve(socket) {
    let head = '';
    this.sockets.add(socket);
    socket.on('close', () => this.sockets.delete(socket));
    socket.on('error', () => {});
    socket.on('data', (data) => {
      if (head === undefined) return;
      head += data;
      if (!head.includes('\r\n\r\n')) return;
      const target = head.split(' ')[1];
      const answer = this.answers.get(target.split('?')[0]) ?? this.answer;
      this.heard.push(target);
      head = undefined;
      if (target === '/alive') socket.end(answerOf(200, ['Content-Type: application/json'], '{"status": "ok"}'));
      else if (typeof answer === 'function') answer(socket);
      else socket.end(answer);
    });
  }

  get url() {
    return `http://127.0.0.1:${this.server.address().port}`;
  }

  get routes() {
    return [
      '/api/file/download?path=/x', '/api/file/archive?path=/x', '/api/file/home', '/api/file/search_subdirs?path=/x', '/api/file/download/x',
      '/api/bash/bash_events/search', '/api/bash/bash_events/0123', '/api/git/changes?path=/x', '/api/git/diff?path=/x', '/api/git/commits?path=/x',
      ...['/file/download?path=/workspace/project/x', '/bash/bash_events/search', '/git/diff?path=/workspace/project', '/workspace/x.html'].map((rest) => this.conversation + rest),
    ];
  }

  async close() {
    await call('DELETE', this.conversation, { key: this.user.key });
    this.server.close();
    // Clients keep theirs until a limit ends; the test's process would wait for that.
    for (const socket of this.sockets) socket.destroy();
  }
}
