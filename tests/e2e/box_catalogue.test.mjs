// The catalogue: tools, skills, hooks, sub-agents, plugins; and what deft does not serve.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import * as api from './support/api.mjs';
import { Box } from './support/box.mjs';
import { Conversation, startRequest } from './support/conversation.mjs';
import { WORKING_DIR } from './support/instance.mjs';
import { newUser } from './support/users.mjs';

/** The owner's shared sandbox may have what other files installed, so a new user asks. */
const user = {};
const shared = new Box('/api', user);
before(async () => Object.assign(user, { key: (await newUser()).key }));

const call = (method, path, options = {}) => api.call(method, path, { ...user, ...options });
const must = (status, method, path, options = {}) => api.must(status, method, path, { ...user, ...options });
const PROJECT = `${WORKING_DIR}/box-catalogue-${randomUUID().slice(0, 8)}`;
const NONE = { load_public: false, load_user: false, load_project: false, load_org: false };
const model = { model: 'scripted/hello', usage_id: 'agent' };
const post = (path, json) => call('POST', path, { json });

async function write(path, text) {
  assert.equal((await shared.upload(`${PROJECT}/${path}`, text)).status, 200);
}

describe('tools', () => {
  test('agent-server 56: the tools that agents can use are listed by name', async () => {
    const names = await must(200, 'GET', '/api/tools/');
    for (const name of ['terminal', 'file_editor', 'task_tracker', 'task_tool_set', 'task', 'delegate', 'start_child_conversation']) assert.ok(names.includes(name), name);
    assert.ok(!names.includes('finish'));
  });

  test('agent-server 101: the catalogue lists the options, and which of them work on this server', async () => {
    const { tools } = await must(200, 'GET', '/api/tools/catalog');
    const names = await must(200, 'GET', '/api/tools/');
    for (const name of ['terminal', 'file_editor', 'task_tracker']) {
      const { description, ...rest } = tools.find((tool) => tool.name === name);
      assert.deepEqual(rest, { name, user_selectable: true, usable: true, in_default_set: true });
      assert.ok(description.length > 0);
    }
    for (const tool of tools) {
      assert.equal(tool.usable, names.includes(tool.name), tool.name);
      if (!tool.user_selectable) assert.equal(tool.description, '');
    }
  });

  test('agent-server 101: the catalogue of skills is a list', async () => {
    assert.ok(Array.isArray((await must(200, 'GET', '/api/skills/catalog')).skills));
  });
});

describe('skills', () => {
  before(async () => {
    await shared.run(`mkdir -p ${PROJECT}/deep && git init -q ${PROJECT}`, { cwd: '/workspace' });
    await write('AGENTS.md', 'Be brief.');
    await write('.agents/skills/reader/SKILL.md', '---\nname: reader\ndescription: >\n  Reads\n  things\ndisable-model-invocation: true\n---\n\nOpen it.');
    await write('.agents/skills/reader/references/more.md', 'not a skill');
    await write('.openhands/skills/git.md', '---\ntriggers:\n  - git\n  - "pull request"\n---\nUse git.');
    await write('.openhands/microagents/git.md', 'older, hidden by the newer');
    await write('.openhands/microagents/house.md', 'House rules.');
  });

  test('agent-server 56: a request for nothing returns nothing', async () => {
    const { json } = await post('/api/skills', NONE);
    assert.deepEqual(json, { skills: [], sources: { sandbox: 0, registered_marketplaces: 0, sdk_base: 0, org: 0, project: 0 } });
  });

  test("a project's skills are found in their folders, also from a subfolder of the project", async () => {
    for (const dir of [PROJECT, `${PROJECT}/deep`]) {
      const { json, status } = await post('/api/skills', { ...NONE, load_project: true, project_dir: dir });
      assert.equal(status, 200);
      const byName = Object.fromEntries(json.skills.map((skill) => [skill.name, skill]));
      assert.deepEqual(Object.keys(byName).sort(), ['agents', 'git', 'house', 'reader']);
      assert.deepEqual(byName.reader, {
        name: 'reader', type: 'agentskills', content: 'Open it.', triggers: [], source: `${PROJECT}/.agents/skills/reader/SKILL.md`,
        description: 'Reads things', is_agentskills_format: true, disable_model_invocation: true,
      });
      assert.deepEqual([byName.git.type, byName.git.triggers, byName.git.content], ['knowledge', ['git', 'pull request'], 'Use git.']);
      assert.deepEqual([byName.agents.type, byName.agents.content], ['repo', 'Be brief.']);
      assert.equal(byName.house.type, 'repo');
      assert.equal(json.sources.project, 4);
    }
  });

  test("a user's skills are read from the sandbox's home folder", async (t) => {
    const home = (await shared.run('printf %s "$HOME"'));
    const name = `mine-${randomUUID().slice(0, 8)}`;
    const folder = `${home}/.openhands/skills/${name}`;
    t.after(() => shared.run(`rm -rf ${folder}`));
    assert.equal((await shared.upload(`${folder}/SKILL.md`, '---\ndescription: Mine\n---\nDo it.')).status, 200);
    const { skills, sources } = (await post('/api/skills', { ...NONE, load_user: true })).json;
    assert.equal(skills.find((skill) => skill.name === name).content, 'Do it.');
    assert.equal(sources.sdk_base, skills.length);
    const catalog = await must(200, 'GET', '/api/skills/catalog');
    assert.equal(catalog.skills.find((skill) => skill.name === name).origin, 'user');
  });

  test('without installed skills the list is empty, and names are validated', async () => {
    assert.deepEqual(await must(200, 'GET', '/api/skills/installed'), { skills: [] });
    assert.deepEqual(await must(200, 'GET', '/api/skills/marketplace'), { skills: [] });
    assert.equal((await must(200, 'POST', '/api/skills/sync')).status, 'success');
    for (const [method, path, json] of [['GET', ''], ['PATCH', '', { enabled: false }], ['DELETE', ''], ['POST', '/refresh', {}]]) {
      const answer = await call(method, `/api/skills/installed/none${path}`, { json });
      assert.deepEqual([answer.status, answer.json], [404, { detail: "Skill 'none' is not installed" }]);
    }
    assert.equal((await call('GET', '/api/skills/installed/Not_A_Name')).status, 422);
    assert.equal((await post('/api/skills', { load_user: 'perhaps' })).status, 422);
  });
});

describe('hooks, sub-agents, plugins', () => {
  test('agent-server 56: without a file there are no hooks', async () => {
    assert.deepEqual((await post('/api/hooks', { project_dir: '/no/such' })).json, { hook_config: null });
    assert.deepEqual((await post('/api/hooks', {})).json, { hook_config: null });
  });

  test("a project's hooks are read in both spellings, and an invalid one is named", async () => {
    await write('.openhands/hooks.json', JSON.stringify({ hooks: { PreToolUse: [{ matcher: 'terminal', hooks: [{ type: 'command', command: 'true' }] }] } }));
    const { hook_config: config } = (await post('/api/hooks', { project_dir: PROJECT })).json;
    assert.deepEqual(config.pre_tool_use[0].hooks[0], {
      type: 'command', name: null, command: 'true', prompt: null, system_prompt: null, tools: [], timeout: 60, max_iterations: 3, async: false,
    });
    assert.deepEqual([config.pre_tool_use[0].matcher, config.stop], ['terminal', []]);
    for (const wrong of ['{', '[]', '{"hooks":5}', '{"never":[]}', '{"stop":{}}', '{"stop":[{"hooks":[{"timeout":0}]}]}']) {
      await write('.openhands/hooks.json', wrong);
      const answer = await post('/api/hooks', { project_dir: PROJECT });
      assert.deepEqual([answer.status, answer.json.detail.startsWith(`${PROJECT}/.openhands/hooks.json`)], [422, true], wrong);
    }
  });

  test("a project's sub-agents are listed", async () => {
    await write('.agents/agents/tester.md', '---\nname: tester\ndescription: Runs tests\ntools: [terminal]\nmodel: inherit\n---\nYou test.');
    const { agents } = (await post('/api/sub-agents', { load_user: false, load_builtin: false, project_dir: PROJECT })).json;
    assert.deepEqual(agents, [{
      name: 'tester', description: 'Runs tests', model: 'inherit', tools: ['terminal'], skills: [], system_prompt: 'You test.',
      source: `${PROJECT}/.agents/agents/tester.md`, level: 'project', is_builtin: false,
    }]);
  });

  test('built-in sub-agents are listed', async () => {
    const { agents } = (await post('/api/sub-agents', { load_user: false })).json;
    assert.ok(agents.every(({ level, is_builtin: isBuiltin, model: llm }) => level === 'builtin' && isBuiltin && llm === 'inherit'));
    const tools = Object.fromEntries(agents.map((agent) => [agent.name, agent.tools]));
    assert.deepEqual(tools['general-purpose'], ['terminal', 'file_editor', 'task_tracker']);
    assert.deepEqual([tools['code-explorer'], tools['bash-runner']], [['terminal'], ['terminal']]);
  });

  test('without plugins the list is empty', async () => {
    assert.deepEqual((await post('/api/plugins', { load_user: true })).json, { plugins: [] });
    assert.deepEqual(await must(200, 'GET', '/api/plugins/installed'), { plugins: [] });
    assert.deepEqual(await must(200, 'GET', '/api/plugins/marketplace'), { plugins: [] });
    assert.equal((await call('DELETE', '/api/plugins/installed/none')).json.detail, "Plugin 'none' is not installed");
  });
});

test('agent-server 104: canvas extensions are answered with 501', async () => {
  assert.deepEqual(await must(200, 'GET', '/api/canvas-extensions/installed'), { canvas_extensions: [] });
  const one = '/api/canvas-extensions/installed/some';
  const others = [
    ['POST', '/api/canvas-extensions/install'], ['GET', one], ['PATCH', one], ['DELETE', one], ['GET', `${one}/bundle`], ['GET', `${one}/icon`],
    ['GET', `${one}/backend`], ['POST', `${one}/backend/prepare`], ['POST', `${one}/backend/start`], ['POST', `${one}/backend/stop`],
    ['GET', `${one}/backend/logs`], ['DELETE', `${one}/backend/data`], ['POST', '/app-backends/some/session'], ['DELETE', '/app-backends/some/session'],
  ];
  for (const [method, path] of others) {
    const answer = await call(method, path, ['POST', 'PATCH'].includes(method) ? { json: {} } : {});
    assert.deepEqual([answer.status, answer.json], [501, { detail: 'Canvas extensions are not supported by this server' }], `${method} ${path}`);
  }
});

test('agent-server 57: without an editor the URL route answers 503 with a message', async (t) => {
  const one = await Conversation.create(startRequest(model), user);
  t.after(() => one.delete());
  for (const prefix of ['/api', one.path]) {
    assert.equal((await call('GET', `${prefix}/vscode/url`)).status, 503);
    const status = await must(200, 'GET', `${prefix}/vscode/status`);
    assert.deepEqual([status.running, status.enabled], [false, false]);
  }
  assert.equal((await call('GET', `/api/conversations/${randomUUID()}/vscode/url`)).status, 404);
  assert.equal((await call('GET', `${one.path}/vscode/url`, { query: { workspace_dir: '/etc' } })).status, 422);
  assert.equal((await call('GET', `${one.path}/vscode/url`, { query: { workspace_dir: `${WORKING_DIR}/sub` } })).status, 503);
});

test('the page gets an empty list of automations', async () => {
  await must(200, 'GET', '/api/automation/health');
  await must(200, 'GET', '/api/automation/sdk-version');
  assert.deepEqual((await must(200, 'GET', '/api/automation/v1?limit=50&offset=0')).automations, []);
  await must(200, 'POST', '/api/automation/v1/telemetry/consent', { json: { consent: false } });
});
