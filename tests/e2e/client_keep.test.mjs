// The official TypeScript client: settings, profiles, catalogues, and clients of the sandbox.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { newWorkspace, part } from './support/client.mjs';
import { WORKING_DIR } from './support/instance.mjs';
import { newUser } from './support/users.mjs';

const PARENT = `/workspace/${randomUUID()}`;
const FOLDER = `${PARENT}/project`;
const LLM = { model: 'openai/text', api_key: 'sk-of-the-profile' };

let fake;
let key;
const mine = (name) => part(name, key);

before(async () => {
  fake = await startModel();
  ({ key } = await newUser());
});

after(() => fake.close());

test('settings are read, changed and described', async () => {
  const settings = mine('SettingsClient');
  await settings.updateSettings({ agent_settings_diff: { llm: { ...LLM, base_url: fake.url } }, conversation_settings_diff: { max_iterations: 7 } });
  const read = await settings.getSettings();
  assert.equal(read.agent_settings.llm.model, LLM.model);
  assert.equal(read.llm_api_key_is_set, true);
  assert.equal(read.conversation_settings.max_iterations, 7);
  assert.doesNotMatch(JSON.stringify(read), /sk-of-the-profile/);
  const [agent, conversation] = [await settings.getAgentSchema(), await settings.getConversationSchema()];
  const fieldsOf = (schema) => schema.sections.flatMap(({ fields }) => fields.map((field) => field.key));
  assert.ok(fieldsOf(agent).includes('llm.model'));
  assert.ok(fieldsOf(conversation).includes('max_iterations'));
});

test('secrets are stored, listed without values, and deleted', async () => {
  const settings = mine('SettingsClient');
  await settings.upsertSecret({ name: 'MINE', value: 'a value', description: 'of mine' });
  assert.deepEqual((await settings.listSecrets()).secrets, [{ name: 'MINE', description: 'of mine' }]);
  assert.equal(await settings.getSecret('MINE'), 'a value');
  await settings.deleteSecret('MINE');
  await assert.rejects(settings.getSecret('MINE'), { status: 404 });
});

test('MCP servers are added, changed and removed', async () => {
  const settings = mine('SettingsClient');
  const serversOf = (answer) => Object.keys(answer.agent_settings.mcp_config);
  assert.deepEqual(serversOf(await settings.createMcpServer('docs', { transport: 'http', url: 'https://mcp.example.test/mcp' })), ['docs']);
  await settings.patchMcpServer('docs', { url: 'https://mcp.example.test/other' });
  assert.equal((await settings.getSettings()).agent_settings.mcp_config.docs.url, 'https://mcp.example.test/other');
  assert.deepEqual(serversOf(await settings.deleteMcpServer('docs')), []);
});

test('LLM profiles are saved, renamed, activated and deleted', async () => {
  const profiles = mine('ProfilesClient');
  await profiles.saveProfile('fast', { llm: LLM, include_secrets: true });
  assert.deepEqual((await profiles.listProfiles()).profiles.map(({ name, api_key_set: isSet }) => [name, isSet]), [['fast', true]]);
  await profiles.renameProfile('fast', 'quick');
  await profiles.activateProfile('quick');
  assert.equal((await profiles.listProfiles()).active_profile, 'quick');
  assert.equal((await profiles.getProfile('quick')).config.model, LLM.model);
  await profiles.deleteProfile('quick');
  await assert.rejects(profiles.getProfile('quick'), { status: 404 });
});

test('agent profiles are saved, activated, verified and deleted', async () => {
  await mine('ProfilesClient').saveProfile('fast', { llm: LLM, include_secrets: true });
  const agents = mine('AgentProfilesClient');
  await agents.saveAgentProfile('reviewer', { agent_kind: 'openhands', llm_profile_ref: 'fast' });
  const { profile } = await agents.getAgentProfile('reviewer');
  assert.ok((await agents.listAgentProfiles()).profiles.some(({ id }) => id === profile.id));
  await agents.activateAgentProfile(profile.id);
  assert.equal((await agents.listAgentProfiles()).active_agent_profile_id, profile.id);
  assert.equal((await agents.materializeAgentProfile('reviewer')).valid, true);
  await agents.renameAgentProfile('reviewer', 'critic');
  assert.equal((await agents.getAgentProfile('critic')).profile.id, profile.id);
  await agents.deleteAgentProfile('critic');
  await assert.rejects(agents.getAgentProfile('critic'), { status: 404 });
});

test('workspaces are stored', async () => {
  const places = mine('WorkspacesClient');
  const item = { id: randomUUID(), name: 'One', path: `${WORKING_DIR}/one` };
  const listed = await places.addWorkspaces([item]);
  assert.ok(listed.workspaces.some(({ path }) => path === item.path));
  await places.deleteWorkspace(item.path);
  assert.deepEqual((await places.listWorkspaces()).workspaces, []);
});

test('models, providers and tools are listed', async () => {
  const catalogue = mine('LLMMetadataClient');
  assert.ok((await catalogue.getProviders()).includes('openai'));
  assert.ok((await catalogue.getModels('openai')).length > 0);
  assert.ok((await catalogue.getVerifiedModels()).openai.length > 0);
  assert.ok((await mine('ToolClient').listTools()).includes('terminal'));
});

test('skills, hooks, sub-agents and plugins of a project are listed', async () => {
  const project = { project_dir: WORKING_DIR };
  assert.ok(Array.isArray((await mine('SkillsClient').getSkills({ load_public: false, load_user: false, load_project: true, load_org: false, ...project })).skills));
  assert.equal((await mine('HooksClient').loadHooks(project)).hook_config, null);
});

test('the clients for commands, files and git work', async () => {
  const bash = part('BashClient');
  const output = await bash.executeCommand(`mkdir -p ${FOLDER} && cd ${FOLDER} && git init -q && echo out && echo err >&2 && exit 3`);
  assert.deepEqual([output.exit_code, output.stdout, output.stderr], [3, 'out\n', 'err\n']);
  const started = await bash.startCommand('echo later');
  const found = await bash.searchEvents({ command_id__eq: started.id });
  assert.ok(found.items.length > 0);
  for (const event of found.items) assert.equal(event.command_id ?? event.id, started.id);
  assert.deepEqual((await bash.getEvents([started.id, randomUUID().replaceAll('-', '')])).map((event) => event?.id ?? null), [started.id, null]);

  const files = part('FileClient');
  await files.uploadTextFile('one\n', `${FOLDER}/a.txt`);
  assert.equal(await files.downloadTextFile(`${FOLDER}/a.txt`), 'one\n');
  assert.deepEqual((await files.searchSubdirectories(PARENT)).items.map(({ path }) => path), [FOLDER]);
  assert.equal(`${(await files.getHome()).home.replace(/\/+$/, '')}/workspace/project`, WORKING_DIR, 'where clients put their default');

  const workspace = newWorkspace();
  assert.deepEqual(await workspace.gitChanges(FOLDER), [{ status: 'ADDED', path: 'a.txt' }]);
  assert.deepEqual(await workspace.gitDiff(`${FOLDER}/a.txt`), { original: '', modified: 'one' });
});
