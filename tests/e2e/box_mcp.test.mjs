// Tests of MCP servers: over HTTP from deft, over standard input and output in the sandbox.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { start } from '../fakes/mcp.mjs';
import { call } from './support/api.mjs';
import { Box } from './support/box.mjs';
import { WORKING_DIR } from './support/instance.mjs';
import { waitUntil } from './support/wait.mjs';

const probe = async (server, more = {}) => {
  const answer = await call('POST', '/api/mcp/test', { json: { name: 'try', server, ...more } });
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
};

describe('an MCP server at a URL', () => {
  let fake;
  before(async () => { fake = await start(); });
  after(() => fake.close());

  test('lists its tools over each transport, page by page', async () => {
    for (const [type, path] of [['http', '/mcp'], ['shttp', '/mcp'], ['streamable-http', '/streamed'], ['sse', '/sse']]) {
      assert.deepEqual(await probe({ type, url: fake.url + path }), { ok: true, tools: ['add', 'echo'], tool_result: null }, type);
    }
  });

  test('can be called, and a tool\'s error is returned as a message', async () => {
    const server = { type: 'http', url: `${fake.url}/mcp` };
    assert.deepEqual((await probe(server, { tool_call: { name: 'echo', arguments: { a: 1 } } })).tool_result, { is_error: false, text: '{"a":1}' });
    assert.deepEqual(await probe(server, { tool_call: { name: 'none' } }), { ok: false, error: 'The server says: Unknown tool', error_kind: 'unknown' });
  });

  test('receives headers and credentials, and the session is kept', async () => {
    for (const [auth, name, value] of [
      [{ strategy: 'bearer', value: 'b' }, 'authorization', 'Bearer b'],
      [{ strategy: 'basic', username: 'u', password: 'p' }, 'authorization', `Basic ${Buffer.from('u:p').toString('base64')}`],
      [{ strategy: 'api_key', value: 'k', header_name: 'X-Key' }, 'x-key', 'k'],
      [{ strategy: 'header', headers: { 'X-Own': 'o' } }, 'x-own', 'o'],
    ]) {
      fake.requests.length = 0;
      await probe({ type: 'http', url: `${fake.url}/mcp`, headers: { 'X-More': 'm' }, auth });
      assert.ok(fake.requests.every(({ headers }) => headers[name] === value && headers['x-more'] === 'm'), auth.strategy);
      assert.deepEqual(fake.requests.map(({ headers }) => headers['mcp-session-id']), [undefined, 'session-1', 'session-1', 'session-1']);
    }
    assert.equal((await probe({ type: 'http', url: `${fake.url}/mcp`, auth: { strategy: 'oauth2' } })).ok, false);
  });

  test('failures are reported with their kind', async () => {
    const silent = `${fake.url}/silent`;
    for (const [server, kind, words] of [
      [{ type: 'http', url: 'http://127.0.0.1:1/mcp' }, 'connection'],
      [{ type: 'http', url: 'http://no-such-host.invalid/' }, 'connection'],
      [{ type: 'http', url: 'ftp://127.0.0.1/' }],
      [{ type: 'http', url: silent }, 'timeout'],
      [{ type: 'http', url: `${fake.url}/html` }, 'unknown', /not JSON/],
      [{ type: 'http', url: `${fake.url}/refuse` }, 'unknown', /401/],
      [{ type: 'http', url: `${fake.url}/redirect` }, 'unknown', /another address/],
      [{ type: 'sse', url: `${fake.url}/elsewhere` }, 'unknown', /another origin/],
    ]) {
      const { ok, error, error_kind: is } = await probe(server, { timeout: server.url === silent ? 2 : 30 });
      assert.equal(ok, false, server.url);
      if (kind) assert.equal(is, kind, `${server.url}: ${error}`);
      assert.match(error, words ?? /./);
    }
  });
});

describe('an MCP server as a program in the sandbox', () => {
  const script = `${WORKING_DIR}/box-mcp-${randomUUID().slice(0, 8)}.py`;
  const shared = new Box();
  before(() => shared.upload(script, `import json, os, sys
print("a banner")
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m: continue
    cursor = m.get("params", {}).get("cursor")
    page = {"tools": [{"name": os.environ.get("TOOL", "none")}], "nextCursor": "2"} if cursor is None else {"tools": [{"name": "page" + cursor}]}
    if cursor == "2": page["nextCursor"] = "3"
    r = {"initialize": {"protocolVersion": "2025-06-18", "capabilities": {}}, "tools/list": page}.get(m["method"])
    if m["method"] == "tools/call": r = {"content": [{"type": "text", "text": sys.argv[1]}], "isError": True}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
`));
  after(() => shared.run(`rm -f ${script}`));

  test('is started, queried and ended', async () => {
    const server = { type: 'stdio', command: 'python3', args: [script, 'argument'], env: { TOOL: 'hammer' } };
    assert.deepEqual(await probe(server, { tool_call: { name: 'hammer' } }), { ok: true, tools: ['hammer', 'page2', 'page3'], tool_result: { is_error: true, text: 'argument' } });
    await waitUntil(async () => (await shared.run(`pgrep -f '[b]ox-mcp-' || echo none`)) === 'none\n', 'it has ended');
  });

  test('failures are reported with a message', async () => {
    assert.match((await probe({ command: 'no-such-program' })).error, /no program no-such-program/);
    assert.match((await probe({ command: 'sh', args: ['-c', 'echo because >&2; exit 3'] })).error, /because/);
    const slow = await probe({ command: 'sleep', args: ['60'] }, { timeout: 1 });
    assert.deepEqual([slow.ok, slow.error_kind], [false, 'timeout']);
  });
});

test('an invalid request is refused', async () => {
  for (const json of [{}, { server: {} }, { server: { type: 'http' } }, { server: { type: 'smoke', url: 'x' } }, { server: { command: 'x' }, timeout: 121 }, { server: { command: 'x' }, timeout: 0 }]) {
    assert.equal((await call('POST', '/api/mcp/test', { json })).status, 422, JSON.stringify(json));
  }
});
