// Slow clients, and the calls of others that they may not delay.
import net from 'node:net';
import { must } from './api.mjs';
import { AGENT_URL, APP_URL } from './instance.mjs';

/** A connection that sends this text, and its answer. */
export class Slow {
  constructor(head, origin = AGENT_URL) {
    const { hostname, port } = new URL(origin);
    this.text = '';
    this.socket = net.connect(port, hostname);
    this.socket.on('error', () => {}).write(head);
    this.closed = new Promise((resolve) => { this.socket.on('close', resolve); });
  }

  read() {
    this.socket.on('data', (data) => { this.text += data.toString('latin1'); });
    return this;
  }
}

export const headOf = (method, path, key, lines = []) => [`${method} ${path} HTTP/1.1`, `Host: ${new URL(AGENT_URL).host}`, `X-Session-API-Key: ${key}`, ...lines, '', ''].join('\r\n');

/** Calls of other clients on both origins, which must be answered during the slow ones. */
export async function assertOthersServed() {
  for (const path of ['/alive', '/health', '/ready', '/server_info']) await must(200, 'GET', path, { key: null });
  for (const path of ['/alive', '/health', '/ready', '/agent/server_info']) await must(200, 'GET', path, { key: null, url: APP_URL });
  await Promise.all(Array.from({ length: 40 }, () => must(200, 'GET', '/api/conversations/count')));
  await must(200, 'GET', '/api/settings');
}
