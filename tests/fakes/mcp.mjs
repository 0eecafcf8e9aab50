// A small server of the Model Context Protocol for tests, over both HTTP transports; it records the
// requests. Faults are paths: /silent never answers, /html is not an MCP server, /refuse expects other credentials.
import http from 'node:http';

const TOOLS = [{ name: 'add', inputSchema: { type: 'object' } }, { name: 'echo', inputSchema: { type: 'object' } }];

const echo = (params) => (params.name === 'echo' ? { content: [{ type: 'text', text: JSON.stringify(params.arguments) }] } : undefined);

/** The page of a list of tools that a cursor names: one tool each. */
function pageOf(tools, cursor = '0') {
  const at = Number(cursor);
  return { tools: tools.slice(at, at + 1), ...(at + 1 < tools.length ? { nextCursor: String(at + 1) } : {}) };
}

async function resultOf(message, { tools, call }, session) {
  const { method, params } = message;
  if (method === 'initialize') return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'fake', version: '1' } };
  if (method === 'tools/list') return tools && pageOf(tools, params.cursor);
  // A token is one request's own.
  if (method === 'tools/call' && params._meta?.progressToken !== message.id) throw new Error(`a call with the token ${JSON.stringify(params._meta)}`);
  if (method === 'tools/call') return call(params, message.id, session);
  return undefined;
}

async function replyTo(message, offer, session) {
  const result = await resultOf(message, offer, session);
  return { jsonrpc: '2.0', id: message.id, ...(result ? { result } : { error: { code: -32602, message: 'Unknown tool' } }) };
}

const frame = (name, data) => `event: ${name}\ndata: ${data}\n\n`;

/**
 * {url, requests, offer, dropStreams(), close()}; requests: {method, path, headers, message}. The offer may be changed:
 * its `tools`, the results of `call(params, id, session)` (undefined: an error; it may be a promise), the `session` that
 * is known, and what /streamed sends before a reply: messages `before` all, and of a call what `report(message, say)` says. Sessions of HTTP+SSE have numbers.
 */
export async function start(changes = {}) {
  const offer = { tools: TOOLS, call: echo, session: 'session-1', before: [], report: () => {}, ...changes };
  const requests = [];
  const streams = new Map();
  let nStreams = 0;
  const answers = {
    '/mcp': async (message, response, headers) => {
      const known = headers['mcp-session-id'];
      if (known !== undefined && known !== offer.session) return response.writeHead(404).end();
      response.setHeader('mcp-session-id', offer.session);
      if (message.id === undefined || message.method === undefined) return response.writeHead(202).end();
      return response.setHeader('content-type', 'application/json').end(JSON.stringify(await replyTo(message, offer)));
    },
    '/streamed': async (message, response) => {
      if (message.id === undefined || message.method === undefined) return response.writeHead(202).end();
      response.setHeader('content-type', 'text/event-stream');
      response.write(frame('message', JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: {} })));
      const say = (other) => response.write(frame('message', JSON.stringify({ jsonrpc: '2.0', ...other })));
      offer.before.forEach(say);
      if (message.method === 'tools/call') await offer.report(message, say);
      return response.end(frame('message', JSON.stringify(await replyTo(message, offer))));
    },
    '/messages': async (message, response, headers, session) => {
      const stream = streams.get(session);
      if (stream === undefined) return response.writeHead(404).end();
      response.writeHead(202).end();
      if (message.id !== undefined && message.method !== undefined) stream.write(frame('message', JSON.stringify(await replyTo(message, offer, session))));
    },
    '/silent': () => {},
    '/html': (message, response) => response.setHeader('content-type', 'text/html').end('<html>'),
    '/refuse': (message, response) => response.writeHead(401).end(),
    '/redirect': (message, response) => response.writeHead(302, { location: '/mcp' }).end(),
  };
  const server = http.createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url, 'http://localhost');
    let text = '';
    for await (const chunk of request) text += chunk;
    const message = text ? JSON.parse(text) : undefined;
    requests.push({ method: request.method, path: pathname, headers: request.headers, message });
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      if (pathname === '/elsewhere') return response.write(frame('endpoint', 'http://192.0.2.1/messages'));
      const session = String(++nStreams);
      streams.set(session, response);
      response.on('close', () => streams.delete(session));
      return response.write(frame('endpoint', `/messages?session=${session}`));
    }
    if (request.method === 'DELETE') return response.writeHead(request.headers['mcp-session-id'] === offer.session ? 200 : 404).end();
    return (answers[pathname] ?? ((_, other) => other.writeHead(404).end()))(message, response, request.headers, searchParams.get('session'));
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    requests,
    offer,
    dropStreams: () => {
      for (const stream of streams.values()) stream.end();
      streams.clear();
    },
    close: () => new Promise((closed) => {
      server.closeAllConnections?.();
      server.close(closed);
    }),
  };
}
