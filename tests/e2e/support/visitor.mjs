// A minimal browser: it keeps cookies per host, and follows redirects on request. (Node asks the system
// for names below localhost, which may not know them; a browser uses loopback.)
import http from 'node:http';
import { APP_URL, DEADLINE_MS } from './instance.mjs';

const { port: APP_PORT } = new URL(APP_URL);

/** The web origin of a port of a sandbox. */
export const originOf = (sandbox, port) => `http://${port}-${sandbox}.sandbox.localhost:${APP_PORT}`;

const NAVIGATION = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document', 'sec-fetch-site': 'none' };

export class Visitor {
  constructor() {
    this.jar = new Map();
  }

  /** Keeps "name=value" for the host of a URL. */
  keep(url, cookie) {
    const { hostname } = new URL(url);
    const cookies = this.jar.get(hostname) ?? new Map();
    const [name] = cookie.split('=', 1);
    this.jar.set(hostname, cookies.set(name, cookie.slice(name.length + 1)));
  }

  cookies(url) {
    return [...this.jar.get(new URL(url).hostname) ?? []].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  /** Sends a request; resolves with the node response, whose body is not read yet, and the request. */
  send(url, { method = 'GET', headers = {}, body } = {}) {
    const { host, pathname, search } = new URL(url);
    const cookie = this.cookies(url);
    return new Promise((resolve, reject) => {
      const request = http.request({ host: '127.0.0.1', port: APP_PORT, path: pathname + search, method, agent: false,
        headers: { host, ...(cookie ? { cookie } : {}), ...headers } });
      request.setTimeout(DEADLINE_MS, () => request.destroy(new Error(`${method} ${url}: silence`)));
      request.on('response', (response) => {
        for (const line of response.headers['set-cookie'] ?? []) this.keep(url, line.split(';', 1)[0]);
        resolve(response);
      });
      request.on('upgrade', (response, socket) => resolve(Object.assign(response, { socket })));
      request.on('error', reject);
      request.end(body);
    });
  }

  /** One request and its whole answer: {status, headers, text}. */
  async get(url, options = {}) {
    const response = await this.send(url, options);
    const chunks = [];
    for await (const chunk of response) chunks.push(chunk);
    return { status: response.statusCode, headers: response.headers, text: Buffer.concat(chunks).toString(), json() { return JSON.parse(this.text); } };
  }

  /** A page in a tab: follows redirects; resolves with the last answer and all addresses. */
  async open(url) {
    const way = [];
    for (let at = url; way.length < 10;) {
      const answer = await this.get(at, { headers: NAVIGATION });
      way.push(at);
      if (![301, 302, 303, 307].includes(answer.status)) return { ...answer, way, url: at };
      at = new URL(answer.headers.location, at).href;
    }
    throw new Error(`too many redirects: ${way.join(' ')}`);
  }
}
