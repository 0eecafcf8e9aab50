// A WebSocket of deft that records frames and can wait for more.
import WebSocket from 'ws';
import { AGENT_URL, API_KEY, DEADLINE_MS } from './instance.mjs';
import { within } from './wait.mjs';

/** The error of a socket that was refused before the upgrade. */
export class Refused extends Error {
  constructor(status) {
    super(`refused with HTTP ${status}`);
    this.status = status;
  }
}

export class Socket {
  /**
   * options: key (null: none), auth 'query' | 'header' | 'frame', query, url (of the origin), path prefix, headers.
   * Resolves once the socket is open; rejects with Refused.
   */
  static async open(path, options = {}) {
    const socket = new Socket(path, options);
    await within(socket.opened, `the socket ${path} opens`);
    return socket;
  }

  constructor(path, { key = API_KEY, auth = 'query', query = {}, url = AGENT_URL, headers = {}, ...more } = {}) {
    const target = new URL(path, url.replace(/^http/, 'ws'));
    for (const [name, value] of Object.entries(query)) target.searchParams.set(name, String(value));
    if (key !== null && auth === 'query') target.searchParams.set('session_api_key', key);
    const own = key !== null && auth === 'header' ? { 'X-Session-API-Key': key } : {};
    this.frames = [];
    this.pongs = 0;
    this.waiting = new Set();
    this.ws = new WebSocket(target, { headers: { ...own, ...headers }, maxPayload: 64 << 20, ...more });
    this.opened = new Promise((resolve, reject) => {
      this.ws.once('open', () => {
        if (key !== null && auth === 'frame') this.send({ type: 'auth', session_api_key: key });
        resolve();
      });
      this.ws.once('unexpected-response', (request, response) => {
        response.resume();
        request.destroy();
        reject(new Refused(response.statusCode));
      });
      this.ws.once('error', reject);
    });
    this.opened.catch(() => {});
    this.closed = new Promise((resolve) => {
      this.ws.once('close', (code, reason) => resolve({ code, reason: reason.toString() }));
    });
    this.ws.on('error', () => {});
    this.ws.on('pong', () => {
      this.pongs += 1;
      this.#look();
    });
    this.ws.on('message', (data) => {
      this.frames.push(JSON.parse(data.toString()));
      this.#look();
    });
  }

  #look() {
    for (const look of this.waiting) look();
  }

  send(frame) {
    this.ws.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
  }

  /** Resolves with the result of check(frames) once that is truthy. */
  until(check, what, deadlineMs = DEADLINE_MS) {
    let look;
    const found = new Promise((resolve, reject) => {
      look = () => {
        const value = check(this.frames, this);
        if (value) resolve(value);
      };
      this.waiting.add(look);
      this.closed.then(({ code, reason }) => reject(new Error(`closed with ${code} ${reason} before: ${what}`)));
      look();
    });
    return within(found, what, deadlineMs).finally(() => this.waiting.delete(look));
  }

  /** The first frame at or after `from` that matches. */
  frame(matches, what, { from = 0, deadlineMs = DEADLINE_MS } = {}) {
    return this.until((frames) => frames.slice(from).find(matches), what, deadlineMs);
  }

  /** Resolves with {code, reason} once the other side has closed it. */
  end(what = 'the socket is closed') {
    return within(this.closed, what);
  }

  close() {
    this.ws.close();
    return within(this.closed, 'the socket closes');
  }

  /** Ends the connection without a close frame, as a broken network does. */
  cut() {
    this.ws.terminate();
    return within(this.closed, 'the socket is cut');
  }
}

export const isSnapshot = (event) => event.key === 'full_state';

/** A snapshot that says a run is over; frames before `from` do not count. */
export function restingSnapshot(statuses = ['finished', 'error', 'paused', 'stuck', 'idle']) {
  return (event) => isSnapshot(event) && statuses.includes(event.value.execution_status);
}
