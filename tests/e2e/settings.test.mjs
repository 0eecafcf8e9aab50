// A user's stored objects: settings, secrets, profiles.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { query } from './support/database.mjs';
import { Keeper } from './support/keeper.mjs';

const MASK = '**********';
const TOKEN = /^gAAAA[\w-]+=*$/;
const NOBODY = '00000000-0000-4000-8000-000000000000';

let keeper;
let fake;

before(async () => {
  keeper = await Keeper.make();
  fake = await startModel({ key: 'sk-right' });
});

after(() => fake.close());

const refused = async (status, method, path, json) => {
  const { detail } = await keeper.must(status, method, path, json);
  assert.ok(detail, `${method} ${path} says why`);
  return detail;
};

test('agent-server 58: a secret is stored, listed without its value, read as text, and deleted', async () => {
  const mark = `hush-${randomUUID()}`;
  assert.deepEqual(await keeper.putSecret('DEPLOY_TOKEN', mark, 'for deploys'), { name: 'DEPLOY_TOKEN', description: 'for deploys' });
  const list = await keeper.call('GET', '/api/settings/secrets');
  assert.deepEqual(list.json, { secrets: [{ name: 'DEPLOY_TOKEN', description: 'for deploys' }] });
  const read = await keeper.call('GET', '/api/settings/secrets/DEPLOY_TOKEN');
  assert.equal(read.text, mark);
  assert.match(read.headers.get('content-type'), /^text\/plain/);
  const rows = await query("SELECT count(*) FROM documents WHERE documents::text LIKE '%' || :'mark' || '%'", { mark });
  assert.equal(Number(Object.values(rows[0])[0]), 0, 'the database holds it sealed');
  assert.deepEqual(await keeper.must(200, 'DELETE', '/api/settings/secrets/DEPLOY_TOKEN'), { deleted: true });
  assert.equal((await keeper.call('GET', '/api/settings/secrets/DEPLOY_TOKEN')).status, 404);
  assert.equal((await keeper.call('DELETE', '/api/settings/secrets/DEPLOY_TOKEN')).status, 404);
});

test('agent-server 58: a secret needs a valid name of a shell variable', async () => {
  for (const name of ['', '1A', 'A-B', '_A', 'A'.repeat(65), 7, null]) await refused(422, 'PUT', '/api/settings/secrets', { name, value: 'v' });
});

test('agent-server 59: a profile is listed with its key masked', async () => {
  const llm = { model: 'openai/text', api_key: 'sk-right', base_url: fake.url };
  assert.equal((await keeper.saveProfile('work', llm)).name, 'work');
  const { profiles } = await keeper.must(200, 'GET', '/api/profiles');
  const item = profiles.find(({ name }) => name === 'work');
  assert.deepEqual(item, {
    name: 'work', model: 'openai/text', base_url: fake.url, provider_connection_id: null, provider_connection_broken: false, api_key_set: true,
  });
  const hidden = await keeper.must(200, 'GET', '/api/profiles/work');
  assert.deepEqual([hidden.config.api_key, hidden.api_key_set], [MASK, true]);
  assert.match((await keeper.exposed('encrypted', '/api/profiles/work')).config.api_key, TOKEN);
  assert.match((await keeper.exposed('true', '/api/profiles/work')).config.api_key, TOKEN);
  assert.equal((await keeper.exposed('plaintext', '/api/profiles/work')).config.api_key, 'sk-right');
  assert.equal((await keeper.call('GET', '/api/profiles/work', { headers: { 'x-expose-secrets': 'loud' } })).status, 400);
  for (let i = 0; i < 2; i++) assert.equal((await keeper.must(200, 'DELETE', '/api/profiles/work')).name, 'work');
  await refused(404, 'GET', '/api/profiles/work');
});

test('agent-server 59: a sealed key can be sent back unchanged, and is valid nowhere else', async () => {
  await keeper.saveProfile('sealed', { model: 'm', api_key: 'sk-1' });
  const { config } = await keeper.exposed('encrypted', '/api/profiles/sealed');
  await keeper.saveProfile('copy', config);
  assert.equal((await keeper.exposed('plaintext', '/api/profiles/copy')).config.api_key, 'sk-1');
  const broken = `${config.api_key.slice(0, 20)}AAAA${config.api_key.slice(24)}`;
  await refused(422, 'POST', '/api/profiles/broken', { llm: { model: 'm', api_key: broken } });
  await keeper.saveProfile('copy', { model: 'other', api_key: MASK });
  assert.equal((await keeper.exposed('plaintext', '/api/profiles/copy')).config.api_key, 'sk-1', 'a mask keeps what is there');
});

test('agent-server 59: a profile is tested by a call of its model', async () => {
  const verdict = (api_key) =>
    keeper.must(200, 'POST', '/api/profiles/tried/validate', { llm: { model: 'openai/text', api_key, base_url: fake.url } });
  assert.deepEqual(await verdict('sk-right'), { valid: true, error: null });
  const wrong = await verdict('sk-wrong');
  assert.deepEqual([wrong.valid, wrong.error.type], [false, 'LLMAuthenticationError']);
  await refused(404, 'GET', '/api/profiles/tried');
});

test('agent-server 59: profiles use the key of the connection that they name', async () => {
  const made = await keeper.must(201, 'POST', '/api/llm/provider-connections', { display_name: 'Team', provider: 'openai', api_key: 'sk-team' });
  await keeper.saveProfile('linked', { model: 'm', provider_connection_id: made.id });
  const [item] = (await keeper.must(200, 'GET', '/api/profiles')).profiles.filter(({ name }) => name === 'linked');
  assert.deepEqual([item.api_key_set, item.provider_connection_broken], [true, false]);
  assert.equal((await keeper.exposed('plaintext', '/api/profiles/linked')).config.api_key, 'sk-team');
  await keeper.must(200, 'PATCH', `/api/llm/provider-connections/${made.id}`, { api_key: 'sk-new' });
  assert.equal((await keeper.exposed('plaintext', '/api/profiles/linked')).config.api_key, 'sk-new');
  const list = await keeper.call('GET', '/api/llm/provider-connections');
  assert.doesNotMatch(list.text, /sk-/);
  assert.equal((await keeper.must(200, 'DELETE', `/api/llm/provider-connections/${made.id}`)).display_name, 'Team');
  const [broken] = (await keeper.must(200, 'GET', '/api/profiles')).profiles.filter(({ name }) => name === 'linked');
  assert.deepEqual([broken.api_key_set, broken.provider_connection_broken], [false, true]);
});

test('agent-server 96: settings have all members, and a change returns them like a read', async () => {
  const settings = await keeper.must(200, 'GET', '/api/settings');
  assert.equal(settings.agent_settings.schema_version, 9);
  assert.deepEqual(Object.keys(settings).sort(), [
    'active_agent_profile_id', 'active_meta_profile', 'active_profile', 'agent_settings', 'conversation_settings', 'llm_api_key_is_set', 'misc_settings',
  ]);
  for (const name of ['agent_kind', 'agent', 'llm', 'tools', 'mcp_config', 'persona', 'agent_context', 'condenser', 'verification', 'tool_concurrency_limit',
    'enable_classify_and_switch_llm_tool', 'active_meta_profile', 'meta_profile', 'meta_profile_llms']) assert.ok(name in settings.agent_settings, name);
  assert.deepEqual(settings.conversation_settings, {
    schema_version: 1, max_iterations: 500, confirmation_mode: false, security_analyzer: 'llm', default_runtime: 'local', worktree_base: 'default_branch',
    worktree_base_ref: null, worktree_branch_prefix: 'openhands/', container_memory: null, container_cpus: null, container_browser: true,
  });
  const changed = await keeper.must(200, 'PATCH', '/api/settings', {
    agent_settings_diff: { llm: { model: 'openai/x', api_key: 'sk-x' }, condenser: { max_size: 100 } },
    conversation_settings_diff: { max_iterations: 7 },
    misc_settings_diff: { app_preferences: { language: 'de', enabled_skills: ['a', 'b'] } },
  });
  assert.deepEqual([changed.llm_api_key_is_set, changed.agent_settings.llm.api_key, changed.agent_settings.condenser.max_size], [true, MASK, 100]);
  assert.deepEqual(await keeper.must(200, 'GET', '/api/settings'), changed);
  await keeper.must(200, 'PATCH', '/api/settings', { misc_settings_diff: { app_preferences: { language: null, enabled_skills: ['c'] } } });
  assert.deepEqual((await keeper.must(200, 'GET', '/api/settings')).misc_settings, { app_preferences: { enabled_skills: ['c'] } });
});

test('agent-server 96: twenty concurrent changes are all applied', async () => {
  const names = Array.from({ length: 20 }, (_, i) => `n${i}`);
  await Promise.all(names.map((name) => keeper.must(200, 'PATCH', '/api/settings', { misc_settings_diff: { at_once: { [name]: true } } })));
  const { misc_settings: misc } = await keeper.must(200, 'GET', '/api/settings');
  assert.deepEqual(Object.keys(misc.at_once).sort(), names.sort());
});

test('agent-server 97: settings that refer to missing objects are refused, and change nothing', async () => {
  const before = await keeper.must(200, 'GET', '/api/settings');
  const also = { misc_settings_diff: { half: 'written' } };
  await refused(404, 'PATCH', '/api/settings', { ...also, active_profile: 'nobody' });
  await refused(404, 'PATCH', '/api/settings', { ...also, active_agent_profile_id: NOBODY });
  await refused(404, 'PATCH', '/api/settings', { ...also, active_meta_profile: 'nobody' });
  await refused(400, 'PATCH', '/api/settings', {});
  for (const diff of [{ llm: { timeout: 'soon' } }, { llm: 7 }, { tools: 'all' }, { condenser: { max_size: 3 } }, { mcp_config: { a: { stranger: 1 } } }])
    assert.match(await refused(422, 'PATCH', '/api/settings', { ...also, agent_settings_diff: diff }), /^Settings validation failed/);
  await refused(422, 'PATCH', '/api/settings', { ...also, conversation_settings_diff: { worktree_base: 'ref' } });
  assert.deepEqual(await keeper.must(200, 'GET', '/api/settings'), before);
});

test('agent-server 97: retired settings are converted to their replacements', async () => {
  const on = await keeper.must(200, 'PATCH', '/api/settings', { agent_settings_diff: { enable_sub_agents: true } });
  assert.deepEqual(on.agent_settings.tools.map(({ name }) => name), ['terminal', 'file_editor', 'task_tracker', 'task_tool_set']);
  const off = await keeper.must(200, 'PATCH', '/api/settings', { agent_settings_diff: { tools: [{ name: 'switch_llm' }, { name: 'terminal' }], enable_switch_llm_tool: false } });
  assert.deepEqual(off.agent_settings.tools, [{ name: 'terminal', params: {} }]);
  await keeper.must(200, 'PATCH', '/api/settings', { agent_settings_diff: { enable_sub_agents: true } });
  const again = await keeper.must(200, 'PATCH', '/api/settings', { agent_settings_diff: { enable_sub_agents: false } });
  assert.deepEqual(again.agent_settings.tools, [{ name: 'terminal', params: {} }]);
  const none = await keeper.must(200, 'PATCH', '/api/settings', { agent_settings_diff: { tools: null } });
  assert.equal(none.agent_settings.tools, null);
});

test('agent-server 97: activating a profile sets its model', async () => {
  await keeper.saveProfile('fast', { model: 'openai/fast', api_key: 'sk-fast' });
  const active = await keeper.must(200, 'PATCH', '/api/settings', { active_profile: 'fast' });
  assert.deepEqual([active.active_profile, active.agent_settings.llm.model], ['fast', 'openai/fast']);
  const own = await keeper.must(200, 'PATCH', '/api/settings', { active_profile: 'fast', agent_settings_diff: { llm: { model: 'openai/own' } } });
  assert.equal(own.agent_settings.llm.model, 'openai/own');
  const none = await keeper.must(200, 'PATCH', '/api/settings', { active_profile: null });
  assert.equal(none.active_profile, null);
});

test('an agent profile keeps Agent Canvas\' setting for sub-agents', async () => {
  const saved = async (body) => {
    await keeper.must(201, 'POST', '/api/agent-profiles/leader', { agent_kind: 'openhands', llm_profile_ref: 'default', ...body });
    return (await keeper.must(200, 'GET', '/api/agent-profiles/leader')).profile;
  };
  const on = await saved({ enable_sub_agents: true, tool_concurrency_limit: 1 });
  assert.equal(on.enable_sub_agents, true);
  assert.equal(on.tools.at(-1).name, 'task_tool_set');
  const off = await saved({ ...on, enable_sub_agents: false });
  assert.equal(off.enable_sub_agents, false);
  assert.deepEqual(off.tools, on.tools.slice(0, -1));
});

test('agent-server 98: a secret is never stored blank or masked, and a profile filters the list', async () => {
  for (const value of ['', '   ', '\n', MASK])
    assert.equal(await refused(422, 'PUT', '/api/settings/secrets', { name: 'A', value }), 'Secret value must not be empty or redacted');
  await keeper.putSecret('A', '1');
  await keeper.putSecret('B', '2');
  await keeper.must(201, 'POST', '/api/agent-profiles/only-a', { llm_profile_ref: 'default', secret_refs: ['A'] });
  const { profile } = await keeper.must(200, 'GET', '/api/agent-profiles/only-a');
  const names = async (query) => (await keeper.must(200, 'GET', `/api/settings/secrets${query}`)).secrets.map(({ name }) => name);
  assert.deepEqual(await names(''), ['A', 'B']);
  assert.deepEqual(await names(`?agent_profile_id=${profile.id}`), ['A']);
  assert.equal(await refused(404, 'GET', `/api/settings/secrets?agent_profile_id=${NOBODY}`), 'Agent profile not found');
});

test('agent-server 100: a meta-profile is saved, activated in the settings, and deleted', async () => {
  const classes = [{ description: 'short', model: 'fast' }, { description: 'long', model: 'slow' }];
  await refused(422, 'POST', '/api/meta-profiles/by-task', { classifier_model: 'fast' });
  await refused(422, 'POST', '/api/meta-profiles/by-task', { classifier_model: 'fast', classes, prompt_template: '{{ instance_text }}' });
  await refused(422, 'POST', '/api/meta-profiles/by-task', { classifier_model: 'fast', prompt_template: 'which?' });
  await keeper.must(201, 'POST', '/api/meta-profiles/by-task', { classifier_model: 'fast', classes });
  assert.deepEqual((await keeper.must(200, 'GET', '/api/meta-profiles/by-task')).config, { classifier_model: 'fast', classes, prompt_template: null, model_table: null });
  assert.deepEqual((await keeper.must(200, 'GET', '/api/meta-profiles')).meta_profiles, [{ name: 'by-task', classifier_model: 'fast', num_classes: 2 }]);
  assert.equal((await keeper.must(200, 'POST', '/api/meta-profiles/by-task/activate')).applied, true);
  const followed = await keeper.must(200, 'GET', '/api/settings');
  assert.deepEqual([followed.active_meta_profile, followed.agent_settings.active_meta_profile, followed.agent_settings.enable_classify_and_switch_llm_tool], ['by-task', 'by-task', true]);
  for (let i = 0; i < 2; i++) await keeper.must(200, 'DELETE', '/api/meta-profiles/by-task');
  const cleared = await keeper.must(200, 'GET', '/api/settings');
  assert.deepEqual([cleared.active_meta_profile, cleared.agent_settings.active_meta_profile], [null, null]);
  assert.equal(await refused(404, 'GET', '/api/meta-profiles/by-task'), "Meta-profile 'by-task' not found");
});

test('users do not see each other\'s stored objects', async () => {
  const other = await Keeper.make();
  await keeper.putSecret('MINE', 'x');
  await keeper.saveProfile('mine', { model: 'm' });
  assert.equal((await other.call('GET', '/api/settings/secrets/MINE')).status, 404);
  assert.equal((await other.call('GET', '/api/profiles/mine')).status, 404);
  assert.deepEqual((await other.must(200, 'GET', '/api/settings')).misc_settings, {});
});
