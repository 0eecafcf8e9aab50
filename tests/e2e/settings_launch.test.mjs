// Starting conversations with a user's stored objects: the page's request, profiles, secrets.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { Conversation, isResult, observed, text } from './support/conversation.mjs';
import { WORKING_DIR } from './support/instance.mjs';
import { Keeper } from './support/keeper.mjs';

const WORKSPACE = { kind: 'LocalWorkspace', working_dir: WORKING_DIR };
const KEY = `sk-${randomUUID()}`;

let keeper;
let fake;

const echo = (name) => [{ calls: [{ name: 'terminal', arguments: { command: `printf '%s' "$${name}" | wc -c; echo "$${name}"`, summary: 'x', security_risk: 'LOW' } }] }, { text: 'done' }];

before(async () => {
  keeper = await Keeper.make();
  fake = await startModel({ key: KEY, scenarios: { page: echo('PAGE_TOKEN'), renewed: echo('RENEWED') } });
});

after(() => fake.close());

async function started(t, request) {
  const info = await keeper.must(201, 'POST', '/api/conversations', { autotitle: false, workspace: WORKSPACE, ...request });
  const conversation = new Conversation(info.id, keeper.key);
  t.after(() => conversation.delete());
  return { info, conversation };
}

const lookup = (name) => ({
  kind: 'LookupSecret', url: `/api/settings/secrets/${name}`, headers: { 'X-Session-API-Key': keeper.key }, description: 'kept by the server',
});

/** The page's request: its settings as read, sealed, with complete skills and its own tools. */
async function pageRequest(id) {
  const { agent_settings: settings } = await keeper.exposed('encrypted', '/api/settings');
  const skills = Array.from({ length: 11 }, (_, i) => ({
    name: `skill-${i}`, content: `# Skill ${i}\n${'Do it well. '.repeat(1150)}`, trigger: { type: 'keyword', keywords: [`word${i}`] }, source: null, description: `Skill ${i}`,
    inputs: [], is_agentskills_format: false, version: '1.0.0',
  }));
  const tool = (name) => ({ name, description: 'Done by the page.', parameters: { type: 'object', properties: { what: { type: 'string' } }, required: ['what'] }, annotations: { title: name } });
  return {
    agent_settings: { ...settings, agent_context: { ...settings.agent_context, skills } },
    workspace: { kind: 'LocalWorkspace', working_dir: `/workspace/project/${id.replaceAll('-', '')}` },
    conversation_id: id,
    initial_message: { ...text('Print the token.'), run: true },
    client_tools: [tool('canvas_ui_control'), tool('launch_child_conversation')],
    confirmation_policy: { kind: 'NeverConfirm' },
    security_analyzer: { kind: 'LLMSecurityAnalyzer' },
    max_iterations: 500, stuck_detection: true, autotitle: false, title_llm_profile: null, worktree: false,
    tags: { clientsource: 'agentcanvas' },
    secrets_encrypted: true,
    secrets: { PAGE_TOKEN: lookup('PAGE_TOKEN') },
  };
}

test('agent-server 16: the page starts a conversation with sealed secrets, which are never returned in plain text', async (t) => {
  const token = `t-${randomUUID()}`;
  await keeper.putSecret('PAGE_TOKEN', token);
  await keeper.must(200, 'PATCH', '/api/settings', {
    agent_settings_diff: { llm: { model: 'openai/page', api_key: KEY, base_url: fake.url, num_retries: 1 }, mcp_config: { docs: { url: 'https://mcp.example.test/mcp', headers: { Authorization: `Bearer ${token}` }, enabled: false } } },
  });
  const id = randomUUID();
  const request = await pageRequest(id);
  assert.ok(JSON.stringify(request).length > 150_000, 'as large as the page makes it');
  assert.doesNotMatch(JSON.stringify(request.agent_settings), new RegExp(`${KEY}|${token}`));
  const { info, conversation } = await started(t, request);
  assert.equal(info.id, id);
  assert.equal(info.client_tools.length, 2);
  assert.equal(await conversation.rest(['finished', 'error']), 'finished', 'the model was called with the opened key');
  const events = await conversation.events();
  const printed = observed(events.find(isResult('terminal')));
  assert.match(printed, new RegExp(`^${token.length}\\b`), 'the command saw the stored value');
  assert.match(printed, /<secret-hidden>/);
  const seen = JSON.stringify([info, await conversation.info(), events, fake.requests.map(({ body }) => body)]);
  for (const secret of [KEY, token, keeper.key]) assert.ok(!seen.includes(secret), 'no answer, event or request to the model has it');
});

test('a changed secret applies from the next command on', async (t) => {
  await keeper.putSecret('RENEWED', 'four');
  const llm = { model: 'openai/renewed', api_key: KEY, base_url: fake.url, num_retries: 1 };
  const { conversation } = await started(t, { agent_settings: { llm }, secrets: { RENEWED: lookup('RENEWED') } });
  assert.equal(await conversation.ask('first'), 'finished');
  await keeper.putSecret('RENEWED', 'seven77');
  assert.equal(await conversation.ask('second'), 'finished');
  const printed = (await conversation.events()).filter(isResult('terminal')).map(observed);
  assert.match(printed[0], /^4\b/);
  assert.match(printed[1], /^7\b/);
});

test('a secret with a URL is looked up when a command names it, with its headers', async (t) => {
  const asked = [];
  const vault = http.createServer((request, response) => {
    asked.push(request.headers['x-vault-key']);
    response.end(`value-${asked.length}`);
  });
  await new Promise((resolve) => { vault.listen(0, '127.0.0.1', resolve); });
  t.after(() => vault.close());
  fake.setScenario('remote', echo('REMOTE'));
  const llm = { model: 'openai/remote', api_key: KEY, base_url: fake.url, num_retries: 1 };
  const REMOTE = { kind: 'LookupSecret', url: `http://127.0.0.1:${vault.address().port}/token`, headers: { 'X-Vault-Key': 'vault-hush' } };
  const { info, conversation } = await started(t, { agent_settings: { llm }, secrets: { REMOTE, UNUSED: { ...REMOTE, url: 'http://127.0.0.1:1/' } } });
  assert.equal(await conversation.ask('first'), 'finished');
  const events = await conversation.events();
  assert.match(observed(events.find(isResult('terminal'))), /^7\b[^]*<secret-hidden>/);
  assert.deepEqual(asked, ['vault-hush']);
  assert.doesNotMatch(JSON.stringify([info, events]), /vault-hush|value-1/);
});

test('agent-server 99: a start by profile gets only the secrets that the profile allows', async (t) => {
  await keeper.saveProfile('fast', { model: 'openai/text', api_key: KEY, base_url: fake.url, num_retries: 1 });
  await keeper.must(201, 'POST', '/api/agent-profiles/only-a', { llm_profile_ref: 'fast', secret_refs: ['A'], system_message_suffix: 'Be brief.' });
  const { profile } = await keeper.must(200, 'GET', '/api/agent-profiles/only-a');
  const secrets = { A: { kind: 'StaticSecret', value: 'aa' }, B: { kind: 'StaticSecret', value: 'bb' } };
  const additions = { system_message_suffix_append: 'And kind.', skills: [{ name: 'extra', content: 'Extra.', trigger: null }] };
  const { info, conversation } = await started(t, { agent_profile_id: profile.id, secrets, agent_launch_additions: additions });
  assert.deepEqual(info.launched_agent_profile, { agent_profile_id: profile.id, revision: 1, secret_refs: ['A'], llm_profile_ref: 'fast' });
  assert.deepEqual(Object.keys(info.secret_registry.secret_sources), ['A']);
  assert.equal(info.agent.llm.model, 'openai/text');
  assert.deepEqual(info.agent.tools.map(({ name }) => name), ['terminal', 'file_editor', 'task_tracker']);
  assert.equal(info.agent.agent_context.system_message_suffix, 'Be brief.\n\nAnd kind.');
  const withSkills = await conversation.must(200, 'GET', '?include_skills=true');
  assert.deepEqual(withSkills.agent.agent_context.skills.map(({ name }) => name), ['extra']);
  await conversation.must(200, 'POST', '/secrets', { json: { secrets: { B: 'later', A: 'newer' } } });
  assert.deepEqual(Object.keys((await conversation.info()).secret_registry.secret_sources), ['A']);
  assert.equal(await conversation.ask('hi'), 'finished', 'the profile has a model that answers');
});

test('agent-server 99: a start may replace a profile\'s LLM profile', async (t) => {
  await keeper.saveProfile('other', { model: 'openai/other', api_key: KEY, base_url: fake.url });
  await keeper.must(201, 'POST', '/api/agent-profiles/plain', { llm_profile_ref: 'gone' });
  const { profile } = await keeper.must(200, 'GET', '/api/agent-profiles/plain');
  const refusal = await keeper.must(422, 'POST', '/api/conversations', { workspace: WORKSPACE, agent_profile_id: profile.id });
  assert.equal(refusal.detail, "LLM profile 'gone' not found");
  const { info } = await started(t, { agent_profile_id: profile.id, agent_launch_additions: { llm_profile_ref: 'other' } });
  assert.deepEqual([info.agent.llm.model, info.launched_agent_profile.llm_profile_ref], ['openai/other', 'other']);
  const alone = { workspace: WORKSPACE, agent_settings: {}, agent_launch_additions: { llm_profile_ref: 'other' } };
  assert.match(JSON.stringify((await keeper.must(422, 'POST', '/api/conversations', alone)).detail), /needs an agent_profile_id/);
});

test('agent-server 99: a start with missing references is refused', async () => {
  const start = (status, request) => keeper.must(status, 'POST', '/api/conversations', { workspace: WORKSPACE, ...request });
  await start(404, { agent_profile_id: randomUUID() });
  await start(422, { agent_profile_id: 'default' });
  await start(422, { agent_profile_id: randomUUID(), agent_settings: {} });
  await start(422, { agent_settings: { llm: { model: 'm', provider_connection_id: 'gone' } } });
  await start(422, { agent_settings: { llm: { model: 'm', api_key: 'gAAAAABnothing' } }, secrets_encrypted: true });
  await keeper.must(201, 'POST', '/api/agent-profiles/servers', { llm_profile_ref: 'default', mcp_server_refs: ['nowhere'] });
  const { profile } = await keeper.must(200, 'GET', '/api/agent-profiles/servers');
  const { detail } = await start(422, { agent_profile_id: profile.id });
  assert.deepEqual(detail.dangling_mcp_server_refs, ['nowhere']);
});

test('agent-server 87: a switch accepts the user\'s own sealed keys and connections', async (t) => {
  const { conversation } = await started(t, { agent_settings: { llm: { model: 'openai/gone', api_key: 'sk-wrong', base_url: fake.url } } });
  await keeper.saveProfile('sealed', { model: 'openai/text', api_key: KEY, base_url: fake.url, num_retries: 1 });
  const { config } = await keeper.exposed('encrypted', '/api/profiles/sealed');
  const refused = await conversation.call('POST', '/switch_llm', { json: { llm: { ...config, api_key: 'gAAAAABnothing' } } });
  assert.equal(refused.status, 422);
  await conversation.must(200, 'POST', '/switch_llm', { json: { llm: config } });
  assert.equal(await conversation.ask('hi'), 'finished', 'the model was called with the opened key');
  const made = await keeper.must(201, 'POST', '/api/llm/provider-connections', { display_name: 'Team', api_key: KEY, base_url: fake.url });
  await conversation.must(200, 'POST', '/switch_llm', { json: { llm: { model: 'openai/true', provider_connection_id: made.id } } });
  assert.equal(await conversation.ask('again'), 'finished', 'with the connection\'s key and address');
  assert.doesNotMatch(JSON.stringify([await conversation.info(), await conversation.events()]), new RegExp(KEY));
});

test('a sandbox\'s key gives no access to its user\'s stored objects', async (t) => {
  const { conversation } = await started(t, { agent_settings: {}, conversation_runtime: 'docker' });
  const { session_api_key: key } = await conversation.must(200, 'POST', '/runtime/credentials');
  const asked = (method, path, json) => keeper.call(method, path, { key, json });
  for (const path of ['/api/settings', '/api/settings/secrets', '/api/settings/secrets/PAGE_TOKEN', '/api/profiles', '/api/agent-profiles', '/api/llm/provider-connections'])
    assert.equal((await asked('GET', path)).status, 403, path);
  const sealed = await keeper.exposed('encrypted', '/api/profiles/fast');
  const starts = [
    { agent_settings: {}, secrets: { X: lookup('PAGE_TOKEN') } },
    { agent_settings: { llm: sealed.config }, secrets_encrypted: true },
    { agent_settings: { llm: { model: 'm', provider_connection_id: 'any' } } },
    { agent_profile_id: (await keeper.must(200, 'GET', '/api/agent-profiles/only-a')).profile.id },
  ];
  for (const start of starts) assert.equal((await asked('POST', '/api/conversations', { workspace: WORKSPACE, ...start })).status, 403, JSON.stringify(start).slice(0, 80));
  const path = `/api/conversations/${conversation.id}`;
  assert.equal((await asked('POST', `${path}/switch_profile`, { profile_name: 'fast' })).status, 403);
  assert.equal((await asked('POST', `${path}/switch_llm`, { llm: { model: 'm', provider_connection_id: 'any' } })).status, 403);
  assert.equal((await asked('POST', `${path}/secrets`, { secrets: { X: lookup('PAGE_TOKEN') } })).status, 403);
});

test('workspace links use a cookie that is valid for nothing else', async () => {
  const opened = await keeper.call('POST', '/api/auth/workspace-session');
  const cookie = opened.headers.get('set-cookie');
  assert.equal(opened.status, 204);
  for (const part of ['oh_workspace_session_key=', 'HttpOnly', 'Max-Age=315360000', 'Path=/api/conversations', 'SameSite=none', 'Secure', 'Partitioned']) assert.ok(cookie.includes(part), part);
  const pair = cookie.split(';')[0];
  assert.equal((await keeper.call('GET', '/api/settings', { key: null, headers: { cookie: pair } })).status, 401);
  const closed = await keeper.call('DELETE', '/api/auth/workspace-session', { key: null });
  assert.equal(closed.status, 204);
  assert.match(closed.headers.get('set-cookie'), /oh_workspace_session_key=;.*Max-Age=0/);
  assert.equal((await keeper.call('POST', '/api/auth/workspace-session', { key: null })).status, 401);
});
