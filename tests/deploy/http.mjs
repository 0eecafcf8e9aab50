// Requests written byte by byte: what a well-behaved client would never send.
import net from 'node:net';

/** Sends text to an origin and resolves with the bytes received until the server closed. */
export function sendRaw(origin, text) {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const chunks = [];
    const socket = net.connect({ host: hostname, port: Number(port) }, () => socket.write(text));
    socket.setTimeout(60_000, () => socket.destroy(new Error('no answer in 60 s')));
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      // A server that refuses a body may wait for it for a while; the test does not.
      if (isWhole(Buffer.concat(chunks).toString('latin1'))) socket.destroy();
    });
    // A server that refuses a body may reset the connection after its answer.
    socket.on('error', (error) => (chunks.length > 0 ? socket.destroy() : reject(error)));
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')));
  });
}

/** One request with the given lines; resolves with {status, headers, body}. */
export async function request(origin, method, path, lines = [], body = '') {
  const hasHost = lines.some((line) => /^host:/i.test(line));
  const head = [`${method} ${path} HTTP/1.1`, ...(hasHost ? [] : [`Host: ${new URL(origin).host}`]), ...lines, 'Connection: close'];
  return parse(await sendRaw(origin, `${head.join('\r\n')}\r\n\r\n${body}`));
}

function isWhole(text) {
  const length = /^content-length: (\d+)\r$/im.exec(text.slice(0, text.indexOf('\r\n\r\n') + 2));
  return length !== null && text.length >= text.indexOf('\r\n\r\n') + 4 + Number(length[1]);
}

/** An answer as {status, headers, names, body}; names: of all header lines. */
export function parse(text) {
  const end = text.indexOf('\r\n\r\n');
  const [first, ...lines] = text.slice(0, end).split('\r\n');
  const headers = new Map();
  for (const line of lines) {
    const colon = line.indexOf(':');
    headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
  }
  const names = lines.map((line) => line.slice(0, line.indexOf(':')).toLowerCase());
  return { status: Number(first.split(' ')[1]), headers, names, body: text.slice(end + 4) };
}

/** Resolves when check() is true; fails after the deadline. */
export async function waitUntil(check, deadlineMs) {
  const end = Date.now() + deadlineMs;
  while (!(await check())) {
    if (Date.now() > end) throw new Error(`not so after ${deadlineMs} ms: ${check}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
