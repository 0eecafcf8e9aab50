// Everything outside of conversations: health, keys, origins, prefixes, limits.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { call, must } from './support/api.mjs';
import { operationsOf } from './support/contract.mjs';
import { Conversation, llmOf, startRequest, text } from './support/conversation.mjs';
import { API_KEY, DEFT, WORKING_DIR } from './support/instance.mjs';
import { startPrefixProxy } from './support/prefix_proxy.mjs';
import { Socket } from './support/socket.mjs';

const PAGE = 'http://localhost:3000';
const UUID = '00000000-0000-4000-8000-000000000000';

let fake;
let conversation;

before(async () => {
  fake = await startModel();
  conversation = await Conversation.start(fake, 'hello');
  assert.equal(await conversation.ask('Create hello.txt'), 'finished');
});

after(async () => {
  await conversation?.delete();
  await fake.close();
});

test('agent-server 1: /health and /alive require no key', async () => {
  for (const path of ['/health', '/alive']) assert.equal((await call('GET', path, { key: null })).text, '{"status":"ok"}');
});

test('agent-server 2: /ready requires no key', async () => {
  assert.deepEqual(await must(200, 'GET', '/ready', { key: null }), { status: 'ready' });
});

test('agent-server 3: /server_info returns version, times and tools', async () => {
  for (const path of ['/server_info', '/']) {
    const info = await must(200, 'GET', path, { key: null });
    for (const name of ['version', 'sdk_version', 'tools_version', 'workspace_version']) assert.match(info[name], /^\d+\.\d+\.\d+$/);
    assert.equal(typeof info.uptime, 'number');
    assert.equal(typeof info.idle_time, 'number');
    assert.ok(info.usable_tools.includes('terminal'));
  }
});

test('agent-server 4: no key, a wrong key and a key in the query are refused', async () => {
  for (const options of [{ key: null }, { key: 'wrong' }, { key: `${API_KEY}x` }, { key: null, query: { session_api_key: API_KEY } }]) {
    const answer = await call('GET', '/api/conversations/search', options);
    assert.deepEqual([answer.status, answer.json], [401, { detail: 'Unauthorized' }], JSON.stringify(options));
  }
});

test('agent-server 5: two keys of one user both work', async () => {
  const second = execFileSync(DEFT, ['key', `second ${randomUUID()}`], { encoding: 'utf8' }).trim().split(/\s+/).pop();
  for (const key of [API_KEY, second]) assert.equal((await must(200, 'GET', conversation.path, { key })).id, conversation.id);
});

test('agent-server 6: unknown paths are a 404, other methods a 405', async () => {
  const unknown = await call('GET', '/api/nosuch');
  assert.deepEqual([unknown.status, unknown.json], [404, { detail: 'Not Found' }]);
  const other = await call('PUT', '/api/conversations');
  assert.deepEqual([other.status, other.json], [405, { detail: 'Method Not Allowed' }]);
  assert.deepEqual(other.headers.get('allow').split(', ').sort(), ['GET', 'POST']);
});

const preflight = (origin, more = {}) =>
  call('OPTIONS', '/api/conversations', {
    key: null,
    headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-session-api-key', ...more },
  });

test('agent-server 7: CORS preflights are answered for allowed origins only', async () => {
  for (const origin of [PAGE, 'https://localhost', 'http://127.0.0.1:5173']) {
    const { status, text: body, headers } = await preflight(origin);
    assert.deepEqual([status, body], [200, 'OK'], origin);
    assert.equal(headers.get('access-control-allow-origin'), origin);
    assert.equal(headers.get('access-control-allow-credentials'), 'true');
    assert.equal(headers.get('access-control-allow-headers'), 'x-session-api-key');
    assert.equal(headers.get('access-control-max-age'), '600');
    assert.equal(headers.get('vary'), 'Origin');
    for (const method of ['DELETE', 'GET', 'PATCH', 'POST', 'PUT']) assert.ok(headers.get('access-control-allow-methods').includes(method));
  }
  for (const origin of ['http://evil.test', 'http://localhost.evil.test', 'null', 'file://localhost']) {
    const { status, text: body, headers } = await preflight(origin);
    assert.deepEqual([status, body], [400, 'Disallowed CORS origin'], origin);
    assert.equal(headers.get('access-control-allow-origin'), null);
  }
  assert.equal((await preflight(PAGE, { 'access-control-request-private-network': 'true' })).status, 400);
});

test('agent-server 8: errors have CORS headers, too, for allowed origins only', async () => {
  const refusals = [
    [401, 'GET', '/api/conversations/search', { key: null }],
    [404, 'GET', `/api/conversations/${UUID}`, {}],
    [422, 'GET', '/api/conversations/xyz', {}],
    [200, 'GET', '/api/conversations/count', {}],
  ];
  for (const [status, method, path, options] of refusals) {
    const allowed = await call(method, path, { ...options, headers: { origin: PAGE } });
    assert.equal(allowed.status, status);
    assert.equal(allowed.headers.get('access-control-allow-origin'), PAGE);
    assert.equal(allowed.headers.get('access-control-allow-credentials'), 'true');
    assert.equal(allowed.headers.get('access-control-expose-headers'), 'X-OpenHands-ServerConversation-ID');
    const foreign = await call(method, path, { ...options, headers: { origin: 'http://evil.test' } });
    assert.equal(foreign.headers.get('access-control-allow-origin'), null);
  }
});

/** Reads without side effects. */
async function readPaths() {
  const fills = { conversation_id: conversation.id, event_id: (await conversation.events())[0].id };
  const document = await must(200, 'GET', '/openapi.json', { key: null });
  return operationsOf(document)
    .filter(({ method, operation }) => method === 'GET' && !('501' in operation.responses))
    .map(({ path }) => path)
    .filter((path) => !path.includes('runtime_conversation_id'))
    .map((path) => path.replaceAll(/\{(\w+)\}/g, (_, name) => fills[name] ?? 'none'));
}

test('agent-server 9: every path works below a prefix that a proxy strips', async (t) => {
  const proxy = await startPrefixProxy('/some/prefix');
  t.after(() => proxy.close());
  for (const path of await readPaths()) {
    const [direct, below] = [await call('GET', path), await call('GET', `/some/prefix${path}`, { url: proxy.url })];
    assert.equal(below.status, direct.status, path);
    if (direct.status === 200 && direct.headers.get('content-type') === 'application/json') assert.deepEqual(Object.keys(below.json), Object.keys(direct.json), path);
  }
  const options = { url: proxy.url };
  const info = await must(201, 'POST', '/some/prefix/api/conversations', { ...options, json: startRequest(llmOf(fake, 'text')) });
  t.after(() => call('DELETE', `/api/conversations/${info.id}`));
  await must(200, 'POST', `/some/prefix/api/conversations/${info.id}/events`, { ...options, json: text('hi') });
  const redirected = await call('GET', '/some/prefix/api/tools?x=1', options);
  assert.equal(redirected.status, 307);
  assert.equal(new URL(redirected.headers.get('location'), `${proxy.url}/some/prefix/api/tools`).href, `${proxy.url}/some/prefix/api/tools/?x=1`);
  const socket = await Socket.open(`/some/prefix/sockets/events/${info.id}`, options);
  t.after(() => socket.close());
  await socket.frame((event) => event.key === 'full_state', 'the first snapshot');
});

test('agent-server 64: capabilities, runtimes and version are reported, and conversations of a shared sandbox share files', async () => {
  const info = await must(200, 'GET', '/server_info', { key: null });
  for (const name of ['conversation_runtime_routes_v1', 'idempotent_conversation_create_v1']) assert.ok(info.capabilities.includes(name));
  assert.equal(info.conversation_runtime, 'local');
  assert.deepEqual(info.available_conversation_runtimes, ['local', 'docker']);
  assert.equal(info.version, '1.58.0');
  const file = await call('GET', '/api/file/download', { query: { path: `${WORKING_DIR}/hello.txt` } });
  assert.deepEqual([file.status, file.text], [200, 'Hello, world!\n'], 'made by the conversation');
});

test('agent-server 65: an empty key is no key', async (t) => {
  const answer = await call('GET', '/api/conversations/search', { key: '' });
  assert.deepEqual([answer.status, answer.json], [401, { detail: 'Unauthorized' }]);
  for (const kind of ['events', 'session']) {
    const socket = await Socket.open(`/sockets/${kind}/${conversation.id}`, { key: '', auth: 'frame' });
    t.after(() => socket.close());
    assert.equal((await socket.end()).code, 4001, kind);
    assert.deepEqual(socket.frames, []);
  }
});

test('agent-server 66: pages have at most 100 items, lists of ids at most 99', async () => {
  const searches = ['/api/conversations/search', `${conversation.path}/events/search`, '/api/bash/bash_events/search', `${conversation.path}/bash/bash_events/search`];
  for (const path of searches) {
    assert.equal((await call('GET', path, { query: { limit: 100 } })).status, 200, path);
    for (const [limit, type, ctx] of [[101, 'less_than_equal', { le: 100 }], [0, 'greater_than', { gt: 0 }], [-1, 'greater_than', { gt: 0 }]]) {
      const answer = await call('GET', path, { query: { limit } });
      assert.equal(answer.status, 422, `${path} ${limit}`);
      const [problem] = answer.json.detail;
      assert.deepEqual([problem.type, problem.loc, problem.ctx], [type, ['query', 'limit'], ctx], `${path} ${limit}`);
    }
  }
  const ids = (n) => ({ query: { ids: Array.from({ length: n }, () => UUID) } });
  assert.equal((await must(200, 'GET', '/api/conversations', ids(99))).length, 99);
  const many = await call('GET', '/api/conversations', ids(100));
  assert.deepEqual([many.status, many.json.detail[0].type], [422, 'too_long']);
});
