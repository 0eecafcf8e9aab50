// A proxy that serves the agent origin below a path, as path-routed runtimes do: requests and sockets.
import http from 'node:http';
import net from 'node:net';
import { AGENT_URL } from './instance.mjs';

/** {url, close()}; what does not begin with the prefix is a 404. */
export async function startPrefixProxy(prefix) {
  const target = new URL(AGENT_URL);
  const sockets = new Set();
  const strip = (path) => (path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : null);

  const server = http.createServer((request, response) => {
    const path = strip(request.url);
    if (path === null) {
      response.writeHead(404).end();
      return;
    }
    const headers = { ...request.headers, host: target.host };
    const onward = http.request({ host: target.hostname, port: target.port, path, method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    request.pipe(onward);
  });

  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });

  server.on('upgrade', (request, socket, head) => {
    const onward = net.connect(Number(target.port), target.hostname, () => {
      const lines = Object.entries({ ...request.headers, host: target.host }).map(([name, value]) => `${name}: ${value}`);
      onward.write(`GET ${strip(request.url) ?? '/'} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
      onward.write(head);
      socket.pipe(onward).pipe(socket);
    });
    for (const [one, other] of [[socket, onward], [onward, socket]]) one.on('error', () => other.destroy());
  });

  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close: () => new Promise((resolve) => {
      server.close(resolve);
      for (const socket of sockets) socket.destroy();
    }),
  };
}
