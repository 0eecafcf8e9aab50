// The protocol's own reference server, as an agent's MCP server over both HTTP transports.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { isResult } from './support/conversation.mjs';
import { play, requestsOf } from './support/loop.mjs';
import { waitUntil } from './support/wait.mjs';

// The server needs it; Node 18 has it behind a flag.
const FLAGS = globalThis.crypto === undefined ? ['--experimental-global-webcrypto'] : [];
const PROGRAM = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js');

async function freePort() {
  const server = createServer();
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address();
  await new Promise((closed) => server.close(closed));
  return port;
}

/** The server's origin. */
async function startServer(t, transport) {
  const port = await freePort();
  const server = spawn(process.execPath, [...FLAGS, PROGRAM, transport], { env: { ...process.env, PORT: String(port) }, stdio: 'ignore' });
  t.after(() => server.kill());
  const origin = `http://127.0.0.1:${port}`;
  await waitUntil(() => fetch(origin).then(() => true, () => false), 'the server listens');
  return origin;
}

for (const [transport, path] of [['streamableHttp', '/mcp'], ['sse', '/sse']]) {
  test(`the reference server is used by ${transport}`, async (t) => {
    const origin = await startServer(t, transport);
    const calls = [
      { name: 'echo', arguments: { message: 'through deft' } },
      { name: 'get-sum', arguments: { a: 2, b: 40 } },
      { name: 'get-tiny-image', arguments: {} },
      { name: 'get-structured-content', arguments: { location: 'Chicago' } },
      { name: 'get-resource-links', arguments: { count: 2 } },
      { name: 'trigger-long-running-operation', arguments: { duration: 1, steps: 2 } },
      { name: 'get-sum', arguments: { a: 'two' } },
    ];
    const conversation = await play(t, [{ calls }, { text: 'done' }], { agent: { mcp_config: { everything: { url: origin + path } } } });
    assert.equal(await conversation.ask('go'), 'finished');
    const events = await conversation.events();
    const partsOf = (name) => events.filter(isResult(name)).map(({ observation }) => observation.content.slice(1));
    assert.match(partsOf('echo')[0][0].text, /through deft/);
    assert.match(partsOf('get-sum')[0][0].text, /42/);
    assert.ok(partsOf('get-tiny-image')[0].some(({ image_urls: urls }) => /^data:image\/png;base64,./.test(urls?.[0])));
    assert.match(partsOf('get-structured-content')[0][0].text, /temperature/);
    assert.ok(partsOf('get-resource-links')[0].some(({ text }) => /^\[A link to a resource: /.test(text)));
    assert.match(partsOf('trigger-long-running-operation')[0][0].text, /completed/);
    const wrong = events.filter(({ tool_name: name, kind }) => name === 'get-sum' && kind !== 'ActionEvent')[1];
    assert.ok(wrong.error ?? wrong.observation.is_error, JSON.stringify(wrong));
    const { parameters } = requestsOf(conversation)[0].tools.map(({ function: tool }) => tool).find(({ name }) => name === 'get-sum');
    assert.deepEqual(parameters.required, ['a', 'b']);
  });
}
