// Skills and plugins from repositories: inspect, install, refresh, disable, remove; and
// the sources in a client's request for skills. The repositories are real, served by git.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { call, must } from './support/api.mjs';
import { Box } from './support/box.mjs';
import { startRequest } from './support/conversation.mjs';
import { part } from './support/client.mjs';
import { execute } from './support/database.mjs';
import { GitServer } from './support/git_server.mjs';
import { WORKING_DIR } from './support/instance.mjs';
import { killAndAwait } from './support/processes.mjs';
import { waitUntil } from './support/wait.mjs';

const box = new Box();
const NONE = { load_public: false, load_user: false, load_project: false, load_org: false };
const tag = randomUUID().slice(0, 8);
const post = (path, json, options) => call('POST', path, { json, ...options });
const skillText = (name, text) => `---\nname: ${name}\ndescription: What ${name} does\nversion: 1.2.0\n---\n${text}\n`;
const skillsOf = async (more) => (await post('/api/skills', { ...NONE, ...more })).json;
const named = (list, name) => list.find((one) => one.name === name);

let git;
before(async () => { git = await GitServer.start(box); });
after(() => git.stop());

describe('a skill', () => {
  const name = `counting-${tag}`;
  let source;
  let first;
  before(async () => {
    first = await git.commit(`skills-${tag}`, {
      [`one/${name}/SKILL.md`]: skillText(name, 'Count by hand.'),
      [`one/${name}/scripts/count.py`]: 'print(1)\n',
      'README.md': 'not a skill',
    });
    source = { source: `${git.url}/skills-${tag}.git`, repo_path: `one/${name}` };
  });

  test('is installed from a folder of a repository, and its source is shown', async () => {
    const { status, json, text } = await post('/api/skills/install', source);
    assert.equal(status, 200, text);
    const { installed_at: at, install_path: path, ...rest } = json;
    assert.deepEqual(rest, { name, version: '1.2.0', description: `What ${name} does`, enabled: true, source: source.source, resolved_ref: first, repo_path: source.repo_path });
    assert.ok(Math.abs(Date.parse(at) - Date.now()) < 600_000, at);
    assert.equal(await box.run(`cat ${path}/scripts/count.py`), 'print(1)\n');
    assert.deepEqual(await must(200, 'GET', `/api/skills/installed/${name}`), json);
    assert.deepEqual(named((await must(200, 'GET', '/api/skills/installed')).skills, name), json);
  });

  test('is listed with the user\'s own skills until it is disabled', async () => {
    const offered = named((await skillsOf({ load_user: true })).skills, name);
    assert.deepEqual([offered.type, offered.content, offered.is_agentskills_format], ['agentskills', 'Count by hand.\n', true]);
    assert.equal(named((await must(200, 'GET', '/api/skills/catalog')).skills, name).origin, 'user');
    assert.equal(named((await skillsOf({})).skills, name), undefined);
    assert.deepEqual(await must(200, 'PATCH', `/api/skills/installed/${name}`, { json: { enabled: false } }), { name, enabled: false });
    assert.equal(named((await skillsOf({ load_user: true })).skills, name), undefined);
    assert.equal((await must(200, 'GET', `/api/skills/installed/${name}`)).enabled, false);
    assert.equal((await call('PATCH', `/api/skills/installed/${name}`, { json: {} })).status, 422);
  });

  test('is refreshed to the newest commit, and stays enabled or disabled', async () => {
    const second = await git.commit(`skills-${tag}`, { [`one/${name}/SKILL.md`]: skillText(name, 'Count by machine.') });
    const { message, skill } = await must(200, 'POST', `/api/skills/installed/${name}/refresh`);
    assert.deepEqual([skill.resolved_ref, skill.enabled, typeof message], [second, false, 'string']);
    await must(200, 'PATCH', `/api/skills/installed/${name}`, { json: { enabled: true } });
    assert.equal(named((await skillsOf({ load_user: true })).skills, name).content, 'Count by machine.\n');
  });

  test('is not installed twice unless forced; a commit can be named', async () => {
    const again = await post('/api/skills/install', source);
    assert.deepEqual([again.status, again.json.detail], [409, `Skill '${name}' is already installed`]);
    const forced = await post('/api/skills/install', { ...source, ref: first, force: true });
    assert.deepEqual([forced.status, forced.json.resolved_ref], [200, first], forced.text);
  });

  test('is installed completely by several concurrent requests', async () => {
    const answers = await Promise.all(Array.from({ length: 4 }, () => post('/api/skills/install', { ...source, ref: first, force: true })));
    assert.deepEqual(answers.map(({ status, json }) => [status, json.resolved_ref]), Array(4).fill([200, first]));
    const { install_path: path } = await must(200, 'GET', `/api/skills/installed/${name}`);
    assert.equal(await box.run(`cat ${path}/scripts/count.py; ls -d ${path.split(`/one/`)[0]}.new-* 2>/dev/null || true`), 'print(1)\n');
  });

  test('outlives the sandbox into which it was fetched, until it is removed', async () => {
    await box.run('rm -rf /workspace/.openhands/fetched');
    assert.equal(named((await skillsOf({ load_user: true })).skills, name).content, 'Count by hand.\n');
    assert.equal(typeof (await must(200, 'DELETE', `/api/skills/installed/${name}`)).message, 'string');
    for (const [method, path, json] of [['GET', ''], ['PATCH', '', { enabled: true }], ['DELETE', ''], ['POST', '/refresh']]) {
      const answer = await call(method, `/api/skills/installed/${name}${path}`, { json });
      assert.deepEqual([answer.status, answer.json], [404, { detail: `Skill '${name}' is not installed` }]);
    }
  });
});

describe('a plugin', () => {
  const name = `toolbox-${tag}`;
  let source;
  let commit;
  before(async () => {
    commit = await git.commit(`plugin-${tag}`, {
      '.claude-plugin/plugin.json': JSON.stringify({ name, version: '0.3.0', description: 'Tools', author: { name: 'A' } }),
      'skills/hammer/SKILL.md': `---\nname: hammer-${tag}\ndescription: Hits\ntriggers:\n  - nail${tag}\n---\nHit the nail.`,
      'commands/build.md': 'Build it.',
      'hooks/hooks.json': '{}',
    });
    source = `${git.url}/plugin-${tag}.git`;
  });

  test('is inspected without being installed', async () => {
    const { status, json, text } = await post('/api/plugins/fetch', { source });
    assert.equal(status, 200, text);
    assert.deepEqual({ ...json, path: undefined }, {
      path: undefined, resolved_ref: commit, source, repo_path: null,
      manifest: { name, version: '0.3.0', description: 'Tools', author: { name: 'A' } }, skills: [`hammer-${tag}`], commands: ['build'],
    });
    assert.equal(await box.run(`cat ${json.path}/commands/build.md`), 'Build it.');
    assert.equal(named((await must(200, 'GET', '/api/plugins/installed')).plugins, name), undefined);
  });

  test('is installed and listed with its skills', async () => {
    const { status, json, text } = await post('/api/plugins/install', { source, ref: 'main' });
    assert.equal(status, 200, text);
    assert.deepEqual([json.name, json.version, json.resolved_ref, json.skills], [name, '0.3.0', commit, [{ name: `hammer-${tag}`, description: 'Hits' }]]);
    assert.deepEqual(json.files, ['.claude-plugin/plugin.json', 'commands/build.md', 'hooks/hooks.json', 'skills/hammer/SKILL.md']);
    const listed = named((await post('/api/plugins', { load_user: true, load_project: false })).json.plugins, name);
    assert.deepEqual([listed.path, listed.skills], [json.install_path, json.skills]);
    assert.equal(named((await skillsOf({ load_user: true })).skills, `hammer-${tag}`).content, 'Hit the nail.');
  });

  test('adds its skills to new conversations while it is enabled', async (t) => {
    const skillsIn = async () => {
      const info = await must(201, 'POST', '/api/conversations', { json: startRequest({ model: 'scripted/hello', usage_id: 'agent' }) });
      t.after(() => call('DELETE', `/api/conversations/${info.id}`));
      const whole = await must(200, 'GET', `/api/conversations/${info.id}`, { query: { include_skills: true } });
      return whole.agent.agent_context?.skills ?? [];
    };
    assert.deepEqual(named(await skillsIn(), `hammer-${tag}`).trigger, { type: 'keyword', keywords: [`nail${tag}`] });
    await must(200, 'PATCH', `/api/plugins/installed/${name}`, { json: { enabled: false } });
    assert.equal(named(await skillsIn(), `hammer-${tag}`), undefined);
    assert.equal(named((await post('/api/plugins', { load_user: true, load_project: false })).json.plugins, name), undefined);
    await must(200, 'DELETE', `/api/plugins/installed/${name}`);
    assert.equal((await call('DELETE', `/api/plugins/installed/${name}`)).json.detail, `Plugin '${name}' is not installed`);
  });

  test("of a project is listed with its folder", async (t) => {
    const project = `${WORKING_DIR}/project-${tag}`;
    t.after(() => box.run(`rm -rf ${project}`));
    await box.upload(`${project}/.openhands/plugins/own/.plugin/plugin.json`, JSON.stringify({ name: `own-${tag}`, version: '1' }));
    await box.upload(`${project}/.openhands/plugins/own/skills/saw/SKILL.md`, skillText('saw', 'Saw.'));
    await box.upload(`${project}/.openhands/plugins/broken/.plugin/plugin.json`, '{');
    const { plugins } = (await post('/api/plugins', { load_user: false, project_dir: project })).json;
    assert.deepEqual(plugins, [{
      name: `own-${tag}`, version: '1', description: '', path: `${project}/.openhands/plugins/own`,
      skills: [{ name: 'saw', description: 'What saw does' }], files: ['.plugin/plugin.json', 'skills/saw/SKILL.md'],
    }]);
  });
});

test('the official client installs, lists, enables, disables, refreshes and removes skills', async () => {
  const name = `client-${tag}`;
  await git.commit(`client-${tag}`, { 'SKILL.md': skillText(name, 'x'), '.plugin/plugin.json': JSON.stringify({ name }) });
  const source = { source: `${git.url}/client-${tag}.git` };
  const [skills, plugins] = [part('SkillsClient'), part('PluginsClient')];
  assert.equal((await skills.installSkill(source)).name, name);
  assert.ok(named((await skills.listInstalledSkills()).skills, name));
  assert.equal((await skills.toggleSkill(name, false)).enabled, false);
  assert.equal((await skills.refreshSkill(name)).skill.name, name);
  assert.equal((await skills.getInstalledSkill(name)).enabled, false);
  assert.equal(typeof (await skills.uninstallSkill(name)).message, 'string');
  assert.equal((await plugins.installPlugin(source)).name, name);
  assert.ok(named((await plugins.listInstalledPlugins()).plugins, name));
  assert.equal((await plugins.setPluginEnabled(name, false)).enabled, false);
  assert.equal((await plugins.refreshPlugin(name)).plugin.name, name);
  assert.equal(typeof (await plugins.uninstallPlugin(name)).message, 'string');
  for (const client of [skills, plugins]) client.close();
});

describe('a private repository', () => {
  const name = `hidden-${tag}`;
  let address;
  before(async () => {
    await git.commit(`private/${tag}`, { 'SKILL.md': skillText(name, 'Psst.'), '.plugin/plugin.json': JSON.stringify({ name }) });
    address = `${git.url}/private/${tag}.git`;
  });
  const [user, password] = 'someone:a secret/with:signs'.split(/:(.*)/);
  const within = (credentials) => address.replace('http://', `http://${credentials}@`);

  test('is fetched with credentials in the address, which are never returned', async () => {
    const source = within(`${user}:${encodeURIComponent(password)}`);
    const { status, json, text } = await post('/api/skills/install', { source });
    assert.deepEqual([status, json.source], [200, address], text);
    assert.ok(!text.includes('secret'));
    const dump = await execute("SELECT body, sealed FROM documents WHERE collection = 'installed_skills'");
    assert.ok(dump.includes(name) && !dump.includes(encodeURIComponent(password)) && !dump.includes(password));
    await must(200, 'POST', `/api/skills/installed/${name}/refresh`);
    await must(200, 'DELETE', `/api/skills/installed/${name}`);
    assert.equal((await box.run(`grep -rl -e 'a secret' -e 'a%20secret' /workspace/.openhands 2>/dev/null || true`)).trim(), '');
  });

  test('is fetched with secrets that the request names', async (t) => {
    const secret = `GIT_${tag}`;
    await must(200, 'PUT', '/api/settings/secrets', { json: { name: secret, value: password } });
    t.after(() => call('DELETE', `/api/settings/secrets/${secret}`));
    const source = within('someone:${PASS}');
    for (const given of [{ kind: 'StaticSecret', value: password }, { kind: 'LookupSecret', url: `/api/settings/secrets/${secret}` }]) {
      const { status, text, json } = await post('/api/plugins/fetch', { source, secrets: { PASS: given } });
      assert.deepEqual([status, json.source], [200, address], text);
    }
    const missing = await post('/api/plugins/fetch', { source });
    assert.deepEqual([missing.status, missing.json.detail.code], [422, 'invalid_plugin']);
  });

  test('is not accessible without credentials', async () => {
    for (const source of [address, within('someone:wrong')]) {
      const { status, json } = await post('/api/plugins/fetch', { source });
      assert.deepEqual([status, json.detail.code], [502, 'fetch_failed']);
      assert.equal((await post('/api/skills/install', { source })).status, 400);
    }
  });
});

describe('what cannot be installed', () => {
  test('sources that are not repositories are refused, and run nothing', async () => {
    const mark = `${WORKING_DIR}/ran-${tag}`;
    const wrong = [`ext::sh -c "touch ${mark}"`, `--upload-pack=touch ${mark}`, `-u touch ${mark}`, 'fd::3', 'ftp://127.0.0.1/x', '../x', 'x', 'github:only', 'github:../../x', 'http://', 'https:///x', '~/x', 'a b', `ssh://-oProxyCommand=touch${mark}/x`, `-x@host:path`, `u@-oProxyCommand=touch:x`, 'file:///no/such', '/no/such', 'x\u0000y'];
    for (const source of wrong) {
      const installed = await post('/api/skills/install', { source });
      assert.ok([400, 422].includes(installed.status), `${source}: ${installed.text}`);
      assert.equal(typeof installed.json.detail === 'string' || Array.isArray(installed.json.detail), true);
      assert.ok([422, 502].includes((await post('/api/plugins/fetch', { source, timeout: 20 })).status), source);
    }
    assert.equal(await box.run(`ls ${mark} 2>/dev/null || echo none`), 'none\n');
  });

  test('refs and paths that lead outside are refused', async () => {
    const source = `${git.url}/links-${tag}.git`;
    await git.commit(`links-${tag}`, { 'SKILL.md': skillText(`links-${tag}`, 'x'), '.plugin/plugin.json': JSON.stringify({ name: `links-${tag}` }) }, { 'skills/leak/SKILL.md': '/etc/passwd', out: '/etc', 'skills/self': '..' });
    for (const ref of ['--upload-pack=x', '-x', 'a:b', '+main', 'main..x', 'a b', 'no-such-ref', 'x'.repeat(300)]) {
      assert.ok([400, 422].includes((await post('/api/skills/install', { source, ref })).status), ref);
    }
    for (const path of ['../..', '/etc', 'skills/../../..', './x', 'a//b', 'out', 'no/such', 'SKILL.md', 'a\\b']) {
      assert.ok([400, 422].includes((await post('/api/skills/install', { source, repo_path: path })).status), path);
    }
    const { status, json, text } = await post('/api/plugins/install', { source });
    assert.equal(status, 200, text);
    assert.ok(!(await post('/api/skills', { ...NONE, load_user: true })).text.includes('root:x:0'), 'a link is not followed');
    assert.equal(await box.run(`[ -L ${json.install_path}/out ] && echo link || echo file`), 'file\n');
    await must(200, 'DELETE', `/api/plugins/installed/links-${tag}`);
  });

  test('repositories without a skill or plugin are refused with a message', async () => {
    await git.commit(`bad-${tag}`, {
      'none/README.md': 'x', 'name/SKILL.md': skillText('Not_A_Name', 'x'), 'manifest/.plugin/plugin.json': '{"name": 7', 'huge/SKILL.md': skillText('huge', 'x'.repeat(500_000)), 'huge/.plugin/plugin.json': '{"name":"huge"}', 'huge/skills/a.md': 'y'.repeat(500_000), 'huge/skills/b.md': 'z'.repeat(500_000), 'odd/.plugin/plugin.json': '{"name":"../up"}', 'list/.plugin/plugin.json': '[]',
    });
    const source = `${git.url}/bad-${tag}.git`;
    for (const path of ['none', 'name']) assert.equal((await post('/api/skills/install', { source, repo_path: path })).status, 422, path);
    assert.equal((await post('/api/plugins/install', { source, repo_path: 'huge' })).status, 422, 'too large');
    for (const path of ['none', 'manifest', 'odd', 'list']) {
      assert.equal((await post('/api/plugins/install', { source, repo_path: path })).status, 422, path);
      assert.deepEqual((await post('/api/plugins/fetch', { source, repo_path: path })).json.detail.code, 'invalid_plugin');
    }
  });

  test('invalid requests are refused', async () => {
    for (const json of [{}, { source: '' }, { source: 7 }, { source: null }, { source: 'x', force: 'perhaps' }, { source: 'x', ref: [] }, []]) {
      assert.ok([400, 422].includes((await post('/api/skills/install', json)).status), JSON.stringify(json));
      assert.ok([400, 422].includes((await post('/api/plugins/install', json)).status), JSON.stringify(json));
    }
    for (const timeout of [0, 601, -1, 'soon', 1.5]) assert.equal((await post('/api/plugins/fetch', { source: 'github:a/b', timeout })).status, 422, String(timeout));
    assert.equal((await call('POST', '/api/skills/install', { json: { source: 'github:a/b' }, key: null })).status, 401);
  });

  test("a metadata address is refused, and a server that does not answer is reported", async () => {
    const metadata = await post('/api/plugins/fetch', { source: 'http://169.254.169.254/x.git', timeout: 3 });
    assert.ok([502, 504].includes(metadata.status), metadata.text);
    const stalled = await post('/api/plugins/fetch', { source: `${git.url}/stalled/x.git`, timeout: 2 });
    assert.deepEqual([stalled.status, stalled.json.detail.code], [504, 'timeout']);
  });
});

test('a process killed during a fetch leaves nothing partially installed', async () => {
  await box.run(`rm -f ${git.root}/stalled`);
  const installing = post('/api/skills/install', { source: `${git.url}/stalled/y.git` }).catch(() => undefined);
  await waitUntil(async () => (await box.run(`ls ${git.root}/stalled 2>/dev/null || true`)).length > 0, 'git asks the server');
  await killAndAwait('fcgi');
  await installing;
  const installed = await waitUntil(async () => {
    const answer = await call('GET', '/api/skills/installed');
    return answer.status === 200 && answer.json;
  }, 'the new process answers');
  assert.ok(installed.skills.every(({ source }) => !source.includes('stalled')));
  const name = `after-${tag}`;
  await git.commit(`after-${tag}`, { 'SKILL.md': skillText(name, 'x') });
  assert.equal((await post('/api/skills/install', { source: `${git.url}/after-${tag}.git` })).status, 200);
  await must(200, 'DELETE', `/api/skills/installed/${name}`);
});

describe('the sources of POST /api/skills', () => {
  test('the addresses of a sandbox become a skill', async () => {
    const { skills, sources } = await skillsOf({ sandbox_config: { exposed_urls: [{ name: 'WORKER_1', url: 'https://one.example/', port: 8011 }] } });
    assert.equal(sources.sandbox, 1);
    assert.ok(skills[0].content.includes('https://one.example/') && skills[0].content.includes('8011'));
    assert.equal((await post('/api/skills', { ...NONE, sandbox_config: { exposed_urls: [{}] } })).status, 422);
    assert.deepEqual((await skillsOf({ sandbox_config: { exposed_urls: [] } })).sources.sandbox, 0);
  });

  test("an organization's skills are read from its repository; an unreachable one is left out", async () => {
    await git.commit(`org-${tag}`, { 'skills/house.md': 'House rules.', 'microagents/old.md': '---\ntriggers: [old]\n---\nOld.' });
    const config = { repository: 'o/r', provider: 'github', org_repo_url: `${git.url}/org-${tag}.git`, org_name: 'o' };
    const { skills, sources } = await skillsOf({ load_org: true, org_configs: [config, { ...config, org_repo_url: `${git.url}/none.git` }] });
    assert.deepEqual([skills.map(({ name }) => name).sort(), sources.org], [['house', 'old'], 2]);
    assert.deepEqual((await skillsOf({ org_configs: [config] })).sources.org, 0);
    assert.equal((await post('/api/skills', { ...NONE, org_configs: [{}] })).status, 422);
  });

  test('a marketplace\'s skills are loaded on request', async () => {
    await git.commit(`offer-${tag}`, { 'skills/far/SKILL.md': skillText('far', 'Far away.') });
    await git.commit(`market-${tag}`, {
      '.claude-plugin/marketplace.json': JSON.stringify({ name: 'm', plugins: [{ name: 'near', source: './plugins/near' }, { name: 'far', source: { source: 'url', url: `${git.url}/offer-${tag}.git` } }, { name: 'up', source: '../..' }] }),
      'plugins/near/skills/near/SKILL.md': skillText('near', 'Near by.'),
    });
    const market = { name: 'm', source: `${git.url}/market-${tag}.git` };
    const loaded = async (more) => {
      const { skills, sources } = await skillsOf({ registered_marketplaces: [{ ...market, ...more }] });
      assert.equal(sources.registered_marketplaces, skills.length);
      return skills.map(({ name }) => name).sort();
    };
    assert.deepEqual(await loaded({}), []);
    assert.deepEqual(await loaded({ auto_load: true }), ['far', 'near']);
    assert.deepEqual(await loaded({ auto_load: ['near'] }), ['near']);
    assert.deepEqual(await loaded({ auto_load: true, ref: 'none' }), []);
    assert.equal((await post('/api/skills', { ...NONE, registered_marketplaces: [{ name: 'm' }] })).status, 422);
  });
});
