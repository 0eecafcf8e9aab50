// Answers that are broken on the wire whatever their format is. Each is a function that writes to a socket by hand.
import { gzipSync } from 'node:zlib';

export const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n';
const PAGE_HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n';
const JSON_HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n';

export const sse = (...parts) => (socket) => socket.end(`${HEAD}\r\n${parts.join('')}`);
export const json = (body, headers = '') => (socket) => socket.end(`${JSON_HEAD}${headers}\r\n${body}`);
export const webPage = (socket) => socket.end(`${PAGE_HEAD}\r\n<!doctype html><p>hello`);

export function reset(socket, bytes) {
  socket.write(bytes, () => setImmediate(() => (socket.resetAndDestroy ?? socket.destroy).call(socket)));
}

export function gzipBomb(socket) {
  socket.write(`${JSON_HEAD}Content-Encoding: gzip\r\n\r\n`);
  socket.end(gzipSync(Buffer.alloc(64 << 20)));
}

export function hugeLine(socket) {
  const block = Buffer.alloc(1 << 20, 'x');
  let left = 100;
  socket.on('error', () => {});
  socket.write(`${HEAD}\r\ndata: `);
  const more = () => {
    while (left > 0 && !socket.destroyed) {
      left -= 1;
      if (!socket.write(block)) return socket.once('drain', more);
    }
    return socket.end();
  };
  more();
}

// One byte per second.
export const drip = (events) => (socket) => {
  const bytes = Buffer.from(events);
  let at = 0;
  socket.write(`${HEAD}\r\n`);
  const timer = setInterval(() => {
    if (socket.destroyed || at === bytes.length) {
      clearInterval(timer);
      socket.end();
      return;
    }
    socket.write(bytes.subarray(at, at + 1));
    at += 1;
  }, 1000);
  socket.on('close', () => clearInterval(timer));
};
