// A small server of the Model Context Protocol for tests, over both HTTP transports; it records the
// requests. Faults are paths: /silent never answers, /html is not an MCP server, /refuse expects other credentials.
import http from 'node:http';

const TOOLS = [{ name: 'add', inputSchema: { type: 'object' } }, { name: 'echo', inputSchema: { type: 'object' } }];
const PAGES = { undefined: { tools: [TOOLS[0]], nextCursor: 'second' }, second: { tools: [TOOLS[1]] } };

function resultOf(message) {
  const { method, params } = message;
  if (method === 'initialize') return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'fake', version: '1' } };
  if (method === 'tools/list') return PAGES[params.cursor];
  if (method === 'tools/call' && params.name === 'echo') return { content: [{ type: 'text', text: JSON.stringify(params.arguments) }] };
  return undefined;
}

const replyTo = (message) => {
  const result = resultOf(message);
  return { jsonrpc: '2.0', id: message.id, ...(result ? { result } : { error: { code: -32602, message: 'Unknown tool' } }) };
};

const frame = (name, data) => `event: ${name}\ndata: ${data}\n\n`;

/** {url, requests, close()}; requests: {method, path, headers, message}. */
export async function start() {
  const requests = [];
  let stream;
  const answers = {
    '/mcp': (message, response) => {
      response.setHeader('mcp-session-id', 'session-1');
      if (message.id === undefined) return response.writeHead(202).end();
      return response.setHeader('content-type', 'application/json').end(JSON.stringify(replyTo(message)));
    },
    '/streamed': (message, response) => {
      if (message.id === undefined) return response.writeHead(202).end();
      response.setHeader('content-type', 'text/event-stream');
      response.write(frame('message', JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: {} })));
      return response.end(frame('message', JSON.stringify(replyTo(message))));
    },
    '/messages': (message, response) => {
      response.writeHead(202).end();
      if (message.id !== undefined) stream.write(frame('message', JSON.stringify(replyTo(message))));
    },
    '/silent': () => {},
    '/html': (message, response) => response.setHeader('content-type', 'text/html').end('<html>'),
    '/refuse': (message, response) => response.writeHead(401).end(),
    '/redirect': (message, response) => response.writeHead(302, { location: '/mcp' }).end(),
  };
  const server = http.createServer(async (request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost');
    let text = '';
    for await (const chunk of request) text += chunk;
    const message = text ? JSON.parse(text) : undefined;
    requests.push({ method: request.method, path: pathname, headers: request.headers, message });
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      if (pathname === '/elsewhere') return response.write(frame('endpoint', 'http://192.0.2.1/messages'));
      stream = response;
      return response.write(frame('endpoint', '/messages?session=1'));
    }
    return (answers[pathname] ?? ((_, other) => other.writeHead(404).end()))(message, response);
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    requests,
    close: () => new Promise((closed) => {
      server.closeAllConnections?.();
      server.close(closed);
    }),
  };
}
