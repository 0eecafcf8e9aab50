// The access of a sandbox's key, for each kind of sandbox: every path of the published description is called.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { after, before, describe, it } from 'node:test';
import { call, must } from './support/api.mjs';
import { Box } from './support/box.mjs';
import { Conversation, startRequest, text } from './support/conversation.mjs';
import { execute, query } from './support/database.mjs';
import { APP_URL, DEFT } from './support/instance.mjs';
import { Socket, isSnapshot } from './support/socket.mjs';
import { newUser } from './support/users.mjs';
import { waitUntil, within } from './support/wait.mjs';

const IMAGE = process.env.DEFT_SANDBOX_IMAGE ?? 'deft-sandbox:1';
const NOT_ALLOWED = "A sandbox's key may not do this";
const llm = { model: 'scripted/hello', usage_id: 'agent' };
const ONE = '/api/conversations/{}';

// The allowed calls, by method and path with {} for each parameter. Files, commands and git below /api and below a conversation are all allowed.
const PUBLIC = ['GET /', 'GET /alive', 'GET /health', 'GET /ready', 'GET /server_info', 'GET /openapi.json', 'GET /api/init', 'POST /api/init', 'DELETE /api/auth/workspace-session', 'GET /api/mcp/oauth/redirect'];
const ITSELF = ['GET /api/vscode/url', 'GET /api/vscode/status', 'POST /execute_action', 'POST /list_files', 'POST /upload_file', 'GET /download_files', 'GET /vscode/connection_token', 'POST /update_mcp_server'];
const READS = [
  'GET /api/conversations', 'GET /api/conversations/search', 'GET /api/conversations/count', `GET ${ONE}`, `GET ${ONE}/events`, `GET ${ONE}/events/search`, `GET ${ONE}/events/count`, `GET ${ONE}/events/{}`,
  `GET ${ONE}/agent_final_response`, `GET ${ONE}/runtime`, `GET ${ONE}/checkpoints`, `GET ${ONE}/checkpoints/at`, `GET ${ONE}/branches`, `GET ${ONE}/egress_refusals`, `GET ${ONE}/previews`, `GET ${ONE}/workspace`, `GET ${ONE}/workspace/{}`, `GET ${ONE}/vscode/url`, `GET ${ONE}/vscode/status`,
  'GET /api/file/download-trajectory/{}', `GET ${ONE}/file/download-trajectory/{}`, 'POST /api/auth/workspace-session',
];
const DRIVES = [
  'POST /api/conversations', `PATCH ${ONE}`, `DELETE ${ONE}`, `POST ${ONE}/events`, `POST ${ONE}/events/respond_to_confirmation`, `POST ${ONE}/run`, `POST ${ONE}/pause`, `POST ${ONE}/interrupt`, `POST ${ONE}/secrets`,
  `POST ${ONE}/confirmation_policy`, `POST ${ONE}/security_analyzer`, `POST ${ONE}/switch_llm`, `POST ${ONE}/load_plugin`, `POST ${ONE}/switch_acp_model`, `POST ${ONE}/ask_agent`, `POST ${ONE}/condense`,
  `POST ${ONE}/generate_title`, `POST ${ONE}/fork`, `POST ${ONE}/navigate`, `POST ${ONE}/children`, `POST ${ONE}/goal`, `POST ${ONE}/goal/stop`, `POST ${ONE}/goal/resume`,
  'GET /api/tools/', 'GET /api/tools/catalog', 'POST /api/skills', 'POST /api/hooks', 'GET /api/llm/providers', 'GET /api/llm/models', 'GET /api/llm/models/verified', 'GET /api/llm/subscription/{}/models',
  'GET /api/llm/subscription/openai/models', 'GET /api/settings/agent-schema', 'GET /api/settings/conversation-schema',
];
const isWorkspace = (path, prefix) => ['bash', 'file', 'git'].some((area) => path.startsWith(`${prefix}/${area}/`)) && !path.includes('download-trajectory') && !path.endsWith('/git/repository') && !path.endsWith('/git/credentials');

/** A listener on loopback that records connections. */
async function listen(t) {
  const asked = [];
  const server = http.createServer((request, response) => {
    asked.push(request.url);
    response.end('{}');
  });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  t.after(() => server.close());
  return { asked, url: `http://127.0.0.1:${server.address().port}` };
}

const opened = {};
let user;
let users; // a conversation that its user began in the shared sandbox
let tenant;

const asUser = (method, path, options = {}) => must(200, method, path, { key: null, url: APP_URL, headers: { authorization: `Bearer ${user.key}` }, ...options });
const asTenant = (method, path, json) => call(method, `/runtime-api${path}`, { url: APP_URL, key: null, json, headers: { 'x-api-key': tenant.key } });

/** The sandbox of a single conversation. */
async function ofConversation() {
  const conversation = await Conversation.create(startRequest(llm, { conversation_runtime: 'docker' }), { key: user.key });
  const { session_api_key: key } = await conversation.must(200, 'POST', '/runtime/credentials', { json: {} });
  return { key, own: conversation, drop: () => conversation.delete() };
}

/** A sandbox that its user created with the app API. */
async function requested() {
  const { id } = await asUser('POST', '/api/v1/sandboxes');
  const info = await waitUntil(async () => {
    const [seen] = await asUser('GET', '/api/v1/sandboxes', { query: { id } });
    return seen.status === 'RUNNING' && seen;
  }, 'the sandbox runs');
  return { key: info.session_api_key, id, drop: () => asUser('DELETE', `/api/v1/sandboxes/${id}`) };
}

/** A sandbox of a Runtime API tenant. */
async function ofTenant() {
  const name = `test-${randomUUID()}`;
  tenant = { name, key: execFileSync(DEFT, ['key', '--runtime', name]).toString().trim() };
  const { status, json, text: words } = await asTenant('POST', '/start', { image: IMAGE, command: 'unused', working_dir: '/', environment: {}, session_id: randomUUID(), wait_ms: 100000 });
  assert.equal(status, 200, words);
  return { key: json.session_api_key, drop: async () => {
    await asTenant('POST', '/stop', { runtime_id: json.runtime_id });
    execFileSync(DEFT, ['key', '--revoke', name]);
  } };
}

/** The sandbox that a user's conversations share: its user gets its key from the list of sandboxes. */
async function shared() {
  await new Box('/api', { key: user.key }).run('true');
  const session = `u-${user.id.replaceAll('-', '')}`;
  const [{ id }] = await query("SELECT id FROM runtimes WHERE session_id = :'session' AND status = 'running'", { session });
  const [info] = await asUser('GET', '/api/v1/sandboxes', { query: { id } });
  return { key: info.session_api_key, drop: async () => {} };
}

before(async () => {
  user = await newUser();
  users = await Conversation.create(startRequest(llm), { key: user.key });
  Object.assign(opened, { shared: await shared(), conversation: await ofConversation(), tenant: await ofTenant(), requested: await requested() });
});

after(async () => {
  for (const { drop } of Object.values(opened)) await drop();
  await users?.delete();
});

const OPEN = { shared: [], conversation: READS, tenant: [...READS, ...DRIVES], requested: [...READS, ...DRIVES] };

describe('the key of a sandbox', () => {
  for (const kind of Object.keys(OPEN)) {
    it(`gives access to its own routes, and 403 on every other path: ${kind}`, async () => {
      const { paths } = await must(200, 'GET', '/openapi.json', { key: null });
      const open = new Set([...PUBLIC, ...ITSELF, ...OPEN[kind]]);
      const wrong = [];
      let n = 0;
      for (const [pattern, methods] of Object.entries(paths)) {
        for (const method of Object.keys(methods).map((name) => name.toUpperCase())) {
          const shape = pattern.replaceAll(/\{[^}]*\}/g, '{}');
          const isOpen = open.has(`${method} ${shape}`) || isWorkspace(shape, '/api') || (kind !== 'shared' && isWorkspace(shape, ONE));
          if (isOpen && method !== 'GET') continue; // what is allowed is not tried on running sandboxes: other tests do
          const path = pattern.replaceAll(/\{[^}]*\}/g, randomUUID());
          const answer = await call(method, path, { key: opened[kind].key, ...(method === 'GET' ? {} : { json: {} }) });
          const isRefused = answer.status === 403 && answer.text.includes(NOT_ALLOWED);
          if (isRefused === isOpen) wrong.push(`${method} ${pattern}: ${answer.status}`);
          n += 1;
        }
      }
      assert.deepEqual(wrong, []);
      assert.ok(n > 100, `${n} paths were asked`);
    });
  }

  it('cannot send to or change its user\'s conversations', async () => {
    for (const [kind, { key, own }] of Object.entries(opened)) {
      for (const conversation of [users, ...(own ? [own] : [])]) {
        const before_ = await conversation.events();
        for (const [method, path, json] of [
          ['POST', '/events', { ...text('do as I say'), run: true }], ['POST', '/run', undefined], ['POST', '/confirmation_policy', { policy: { kind: 'NeverConfirm' } }],
          ['POST', '/events/respond_to_confirmation', { accept: true }], ['POST', '/secrets', { secrets: { A: 'b' } }], ['DELETE', '', undefined],
        ]) {
          const { status } = await conversation.call(method, path, { key, json });
          assert.ok(status === 403 || (status === 404 && conversation === users), `${kind} ${method} ${path}: ${status}`);
        }
        assert.deepEqual(await conversation.events(), before_, kind);
      }
    }
  });

  it('drives a conversation that was started with it', async () => {
    for (const kind of ['tenant', 'requested']) {
      const { key } = opened[kind];
      const conversation = await Conversation.create(startRequest(llm), { key });
      assert.equal(await conversation.ask('hello'), 'finished', kind);
      assert.equal((await conversation.call('POST', '/confirmation_policy', { json: { policy: { kind: 'NeverConfirm' } } })).status, 403);
      await conversation.must(200, 'POST', '/confirmation_policy', { json: { policy: { kind: 'AlwaysConfirm' } } });
      await conversation.delete();
    }
  });

  it('may open sockets of what it may read, and send where it may', async (t) => {
    const open = async (conversation, key) => {
      const socket = await Socket.open(`/sockets/events/${conversation.id}`, { key });
      t.after(() => socket.cut());
      return socket;
    };
    for (const [kind, { key, own }] of Object.entries(opened)) {
      assert.equal((await within((await open(users, key)).closed, 'the socket closes')).code, 4004, kind);
      if (!own) continue;
      const socket = await open(own, key);
      await socket.frame(isSnapshot, 'the first snapshot');
      const before_ = await own.events();
      socket.send(text('do as I say'));
      await socket.until((frames) => frames.some((frame) => JSON.stringify(frame).includes(NOT_ALLOWED)), 'the refusal');
      assert.deepEqual(await own.events(), before_);
    }
    const conversation = await Conversation.create(startRequest(llm), { key: opened.tenant.key });
    const socket = await open(conversation, opened.tenant.key);
    await socket.frame(isSnapshot, 'the first snapshot');
    socket.send(text('hello'));
    await socket.frame(({ kind, source }) => kind === 'MessageEvent' && source === 'user', 'the message');
  });

  it('cannot make deft call a private address', async (t) => {
    const { asked, url } = await listen(t);
    for (const kind of ['tenant', 'requested']) {
      const { key } = opened[kind];
      const lookup = { kind: 'LookupSecret', url: `${url}/secret` };
      assert.equal((await call('POST', '/api/conversations', { key, json: startRequest(llm, { secrets: { X: lookup } }) })).status, 403);
      const conversation = await Conversation.create(startRequest({ model: 'openai/x', api_key: 'k', base_url: url, usage_id: 'agent', num_retries: 0 }), { key });
      assert.equal((await conversation.call('POST', '/secrets', { json: { secrets: { X: lookup } } })).status, 403);
      assert.equal(await conversation.ask('hello'), 'error');
      assert.match(JSON.stringify(await conversation.events()), /private or link-local, which is not allowed/);
      await conversation.must(200, 'POST', '/switch_llm', { json: { llm: { model: 'openai/y', api_key: 'k', base_url: `${url}/v1`, usage_id: 'agent', num_retries: 0 } } });
      assert.equal(await conversation.ask('again'), 'error');
      await conversation.delete();
    }
    assert.deepEqual(asked, []);
  });

  it('reads its user\'s secrets only in sandboxes that the user created, and each read is shown to the user', async () => {
    await must(200, 'PUT', '/api/settings/secrets', { key: user.key, json: { name: 'SHOWN', value: 'the-value' } });
    const path = (id) => `/api/v1/sandboxes/${id}/settings/secrets/SHOWN`;
    for (const [kind, { key }] of Object.entries(opened)) {
      const answer = await call('GET', path(opened.requested.id), { key, url: APP_URL });
      assert.deepEqual([answer.status, answer.text.includes('the-value')], kind === 'requested' ? [200, true] : [403, false], kind);
      assert.equal((await call('GET', '/api/settings/secrets/SHOWN', { key })).status, 403, kind);
    }
    const { items } = await asUser('GET', `/api/v1/sandboxes/${opened.requested.id}/secret-reads`);
    assert.deepEqual(items.map(({ name }) => name), ['SHOWN']);
    assert.ok(Math.abs(Date.parse(items[0].read_at) - Date.now()) < 600_000);
    await assert.rejects(execute("UPDATE secret_reads SET name = 'x' WHERE id = :'id'", { id: items[0].id }), /rows are added only/);
  });
});
