// OpenHands' own page against the whole system, used as by a person, from its first start to a crash of deft.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, afterEach, before, test } from 'node:test';
import { call, must } from '../e2e/support/api.mjs';
import { AGENT_URL } from '../e2e/support/instance.mjs';
import { pidOf, signal } from '../e2e/support/processes.mjs';
import { newUser } from '../e2e/support/users.mjs';
import { waitUntil } from '../e2e/support/wait.mjs';
import { start as startMcp } from '../fakes/mcp.mjs';
import { start as startModel } from '../fakes/openai.mjs';
import { RUN_DEADLINE_MS } from './browser.mjs';
import { fetchCanvas, openCanvas, serveCanvas } from './canvas.mjs';

const ALL_BUT_THE_DATABASE = ['nginx', 'fcgi', 'gateway', 'worker', 'runtime'];
const MODEL = 'canvas';
const LONG = { timeout: 2 * RUN_DEADLINE_MS };
const SECRET = 'MY_TOKEN';
/** A picture of one pixel. */
const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==', 'base64');

let fake;
let site;
let canvas;
let page;
let key;

const command = (line, risk = 'LOW') => ({ calls: [{ name: 'terminal', arguments: { command: line, security_risk: risk, summary: 's' } }] });

before(async () => {
  const folder = await fetchCanvas();
  fake = await startModel();
  ({ key } = await newUser());
  site = await serveCanvas(folder, { agent: AGENT_URL, key });
  canvas = await openCanvas(site);
  page = canvas.page;
}, { timeout: RUN_DEADLINE_MS });

after(async () => {
  await canvas?.browser.close();
  await site?.close();
  await fake?.close();
});

/** No test may cause a fault, or an error message to the user. */
afterEach(async () => {
  const toasts = await page.evaluate(() => window.toasts.splice(0));
  assert.deepEqual(canvas.faults.splice(0), []);
  assert.deepEqual(toasts.filter((text) => /error|fail|wrong|unable/i.test(text)), []);
});

const at = (id) => page.getByTestId(id);
const shown = (text) => page.getByTestId('chat-interface').getByText(text).first().waitFor({ timeout: RUN_DEADLINE_MS });

/** Runs `make` once, for the first caller. */
function once(make) {
  let made;
  return () => (made ??= make());
}

/** The first start of the page, with its first message. */
const started = once(async () => {
  fake.setScenario(MODEL, [command('echo hello'), { text: 'Hello yourself.' }]);
  await page.goto(site.url);
  await at('confirm-telemetry-preferences').click();
  await at('onboarding-agent-next').click();
  await at('sdk-section-advanced-toggle').click();
  await at('llm-custom-model-input').fill(`openai/${MODEL}`);
  await at('base-url-input').fill(fake.url);
  await at('llm-api-key-input').fill('sk-test');
  await at('onboarding-llm-next').click();
  await at('onboarding-hello-input').fill('Say hello');
  await at('onboarding-step-say-hello').getByTestId('submit-button').click();
  await at('conversation-card').first().click();
  await shown('Hello yourself.');
});

async function open(path) {
  await started();
  await page.goto(site.url + path);
  await at('root-layout').waitFor();
}

/** Starts a conversation on the home screen; resolves with its id. */
async function begin(words, steps) {
  await open('/');
  fake.setScenario(MODEL, steps);
  await at('home-chat-launcher').getByTestId('chat-input').fill(words);
  await page.keyboard.press('Enter');
  await page.waitForURL('**/conversations/*');
  return /conversations\/([0-9a-f-]+)/.exec(page.url())[1];
}

async function say(words, steps) {
  fake.setScenario(MODEL, steps);
  await at('interactive-chat-box').getByTestId('chat-input').fill(words);
  await page.keyboard.press('Enter');
}

/** The id of a conversation that created files, committed one of them, and answered a further message. */
const talked = once(async () => {
  const id = await begin('Make files', [
    command('git config user.name n; git config user.email e@x.test; echo "a greeting" > hello.txt; git add .; git commit -qm "The first"; echo two > two.txt'),
    { text: 'The files are made.' },
  ]);
  await shown('The files are made.');
  await reaches(id, 'finished');
  canvas.sent.length = 0;
  await say('And now?', [{ text: 'Now I rest.' }]);
  await shown('Now I rest.');
  return id;
});

/** The conversation's line in the list at the left, and an entry of its menu. */
const cardOf = (id) => page.locator(`[data-testid="conversation-card"]:has([data-testid="conversation-pin-toggle-${id}"])`);
async function choose(id, entry) {
  await cardOf(id).hover();
  await cardOf(id).getByTestId('ellipsis-button').click();
  await at(entry).click();
}

/** The last request for a step; requests for titles have no tools, and come at any time. */
const lastStep = () => fake.requests.filter(({ body }) => body?.tools !== undefined).at(-1).body;

const settings = () => must(200, 'GET', '/api/settings', { key });
const statusOf = async (id) => (await must(200, 'GET', `/api/conversations/${id}`, { key })).execution_status;
const reaches = (id, status) => waitUntil(async () => (await statusOf(id)) === status, `the conversation is ${status}`, RUN_DEADLINE_MS);

test('agent-server 63: the first start: consent, agent, model, and a first message', LONG, async () => {
  await started();
  const settings = await must(200, 'GET', '/api/settings', { key });
  assert.equal(settings.agent_settings.llm.model, `openai/${MODEL}`);
  assert.equal(settings.llm_api_key_is_set, true);
});

test('agent-server 63: a further message goes by socket and is answered live', LONG, async () => {
  await talked();
  const frames = canvas.sent.map((frame) => JSON.parse(frame));
  assert.ok(frames.some((frame) => frame.role === 'user' && frame.run === true), 'the message went by socket');
  assert.equal(await at('user-message').count(), 2);
});

test('agent-server 63: after a reload the history is there, once', LONG, async () => {
  await open(`/conversations/${await talked()}`);
  await page.reload();
  await shown('Now I rest.');
  await shown('The files are made.');
  await at('user-message').nth(1).waitFor();
  assert.equal(await at('user-message').count(), 2);
  assert.equal(await page.getByText('The files are made.').count(), 1);
});

test('agent-server 63: files, commits and usage', LONG, async () => {
  await open(`/conversations/${await talked()}`);
  await shown('Now I rest.');
  await at('right-panel-toggle').click();
  await at('files-tab-refresh').click();
  await at('file-tree-file-two.txt').waitFor();
  await at('file-tree-file-hello.txt').click();
  await at('file-content-viewer-plain').getByText('a greeting').waitFor();
  await at('conversation-tab-commits').click();
  await page.getByText('The first').first().waitFor();
  await at('conversation-tab-usage').click();
  await at('usage-panel').getByText('Token Usage').waitFor();
  const nothingUsed = /Total\s+0\b/;
  await waitUntil(async () => !nothingUsed.test(await at('usage-panel').innerText()), 'the usage is told');
});

test('agent-server 63: stop ends a command at once', LONG, async () => {
  const id = await begin('Wait', [command('echo begun; sleep 300'), { text: 'Done waiting.' }]);
  await reaches(id, 'running');
  await at('stop-button').first().click();
  await reaches(id, 'paused');
  await say('Go on', [{ text: 'Here I am again.' }]);
  await shown('Here I am again.');
});

test('agent-server 63: a risky action waits for confirmation', LONG, async () => {
  await open('/settings/verification');
  await at('verification-settings-screen').getByText('Confirmation Mode').click();
  await at('save-button').click();
  await waitUntil(async () => (await must(200, 'GET', '/api/settings', { key })).conversation_settings.confirmation_mode, 'it is saved');
  const id = await begin('Risk it', [command('echo risky', 'HIGH'), { text: 'It went well.' }]);
  await at('action-confirm-button').click();
  await shown('It went well.');
  await reaches(id, 'finished');
  await say('Once more', [command('echo riskier', 'HIGH'), { text: 'It was not done.' }]);
  await at('action-reject-button').click();
  await reaches(id, 'idle');
});

test('agent-server 63: a secret is stored and deleted, and its value is never shown', LONG, async () => {
  await open('/settings/secrets');
  await at('add-secret-button').click();
  await at('name-input').fill(SECRET);
  await at('value-input').fill('value-of-the-secret');
  await at('submit-button').last().click();
  await at('secret-item').getByText(SECRET).waitFor();
  assert.equal((await call('GET', `/api/settings/secrets/${SECRET}`, { key })).text, 'value-of-the-secret');
  assert.doesNotMatch(await page.content(), /value-of-the-secret/);
  await at('delete-secret-button').click();
  await at('confirm-button').click();
  await at('secrets-empty').waitFor();
});

const SETTINGS = {
  agents: 'agent-profile-row', llm: 'profile-row', condenser: 'condenser-settings-screen', 'agent-context': 'agent-context-settings-screen',
  verification: 'verification-settings-screen', app: 'app-settings-screen', secrets: 'secrets-settings-screen',
};

/** The requests of each extension page. */
const CUSTOMIZE = { mcp: '/api/settings', skills: '/api/skills', plugins: '/api/plugins/installed' };

test('agent-server 63: every page of settings opens', LONG, async () => {
  for (const [name, id] of Object.entries(SETTINGS)) {
    await open(`/settings/${name}`);
    await at(id).first().waitFor();
  }
  for (const [name, asks] of Object.entries(CUSTOMIZE)) {
    const answered = page.waitForResponse((answer) => new URL(answer.url()).pathname === asks);
    await open(`/${name}`);
    await answered;
    await at('extensions-navbar-desktop').waitFor();
  }
});

test('agent-server 63: a conversation is renamed and deleted', LONG, async () => {
  const id = await begin('Name me', [{ text: 'Named.' }]);
  await shown('Named.');
  await choose(id, 'edit-button');
  await page.locator('input:focus').waitFor();
  await page.keyboard.press('Control+a');
  await page.keyboard.type('By another name');
  await page.keyboard.press('Enter');
  await waitUntil(async () => (await must(200, 'GET', `/api/conversations/${id}`, { key })).title === 'By another name', 'the name is kept');
  await choose(id, 'delete-button');
  await page.getByRole('dialog').getByRole('button', { name: 'Confirm' }).click();
  await cardOf(id).waitFor({ state: 'detached' });
  await waitUntil(async () => (await call('GET', `/api/conversations/${id}`, { key })).status === 404, 'it is gone');
});

test('agent-server 63: a picture and a file are attached to a message', LONG, async () => {
  const id = await begin('Wait for files', [{ text: 'Send them.' }]);
  await shown('Send them.');
  await reaches(id, 'finished');
  const asked = page.waitForEvent('filechooser');
  await at('interactive-chat-box').getByTestId('chat-plus-button').click();
  await at('add-files-and-images-button').click();
  await (await asked).setFiles([
    { name: 'dot.png', mimeType: 'image/png', buffer: PNG },
    { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('some notes\n') },
  ]);
  await at('interactive-chat-box').getByText('notes.txt').first().waitFor();
  await say('Look at these', [command('cat notes.txt'), { text: 'I have looked.' }]);
  await shown('I have looked.');
  const { messages } = lastStep();
  const said = messages.filter(({ role }) => role === 'user').at(-1).content;
  assert.equal(said.find(({ type }) => type === 'image_url').image_url.url, `data:image/png;base64,${PNG.toString('base64')}`);
  assert.match(said[0].text, /notes\.txt/);
  assert.match(JSON.stringify(messages.at(-1).content), /some notes/, 'the command finds the file where the agent works');
});

test('agent-server 63: a conversation is downloaded, and exported as text', LONG, async () => {
  const id = await begin('Keep me', [{ text: 'Kept for ever.' }]);
  await shown('Kept for ever.');
  const download = async (click) => {
    const [file] = await Promise.all([page.waitForEvent('download'), click()]);
    return { name: file.suggestedFilename(), bytes: await readFile(await file.path()) };
  };
  const archive = await download(() => choose(id, 'download-trajectory-button'));
  assert.match(archive.name, /\.zip$/);
  assert.equal(archive.bytes.subarray(0, 2).toString(), 'PK');
  await page.locator('[data-testid=ellipsis-button]:not([data-testid=conversation-card] *)').first().click();
  await at('export-transcript-button').click();
  const text = await download(() => page.getByRole('dialog').getByRole('button', { name: 'Export Conversation' }).click());
  assert.match(text.name, /\.md$/);
  assert.match(text.bytes.toString(), /Keep me[^]*Kept for ever\./);
});

test('agent-server 63: a branch continues from an earlier message', LONG, async () => {
  const id = await begin('First', [{ text: 'First done.' }]);
  await shown('First done.');
  await reaches(id, 'finished');
  await say('Second', [{ text: 'Second done.' }]);
  await shown('Second done.');
  await reaches(id, 'finished');
  await at('user-message').last().hover();
  await at('user-message').last().getByLabel('Branch from here').click();
  await page.waitForURL((url) => url.pathname.startsWith('/conversations/') && !url.pathname.includes(id));
  // Until the branch is loaded the page shows the original conversation, and would send to it.
  await page.getByText('Second done.').first().waitFor({ state: 'detached' });
  await shown('First done.');
  await say('Third', [{ text: 'Third done.' }]);
  await shown('Third done.');
  const { items } = await must(200, 'GET', `/api/conversations/${id}/events/search?limit=100&kind=MessageEvent`, { key });
  assert.doesNotMatch(JSON.stringify(items.map(({ llm_message: message }) => message.content)), /Third/, 'the conversation itself stays as it was');
});

test('agent-server 63: after a switch of the profile its model answers', LONG, async () => {
  fake.setScenario('other', [{ text: 'The other speaks.' }]);
  const { llm } = (await must(200, 'GET', '/api/settings', { key, headers: { 'x-expose-secrets': 'encrypted' } })).agent_settings;
  await must(201, 'POST', '/api/profiles/other', { key, json: { llm: { ...llm, model: 'openai/other' }, include_secrets: true } });
  const id = await begin('Who is it?', [{ text: 'It is me.' }]);
  await shown('It is me.');
  await reaches(id, 'finished');
  await at('interactive-chat-box').getByTestId('chat-input-llm-profile').click();
  await at('chat-input-llm-profile-option-other').click();
  await shown('Switched to profile');
  await say('And now?', []);
  await shown('The other speaks.');
});

test('agent-server 63: an MCP server is tested, added, tested again and removed', LONG, async () => {
  const mcp = await startMcp();
  try {
    await open('/mcp');
    await at('mcp-add-custom-server').click();
    await at('server-name-input').fill('mine');
    await at('url-input').fill(`${mcp.url}/mcp`);
    await at('mcp-test-connection').click();
    await page.getByText('2 tool(s) available').waitFor();
    await at('submit-button').last().click();
    await at('mcp-health-label-mine').getByText('Reachable').waitFor();
    assert.equal((await settings()).agent_settings.mcp_config.mine.url, `${mcp.url}/mcp`);
    await at('mcp-server-item').first().getByText('mine').first().click();
    await at('mcp-custom-editor-delete').click();
    await page.getByRole('dialog').getByRole('button', { name: /confirm|delete|remove|uninstall/i }).last().click();
    await at('mcp-server-item').first().waitFor({ state: 'detached' });
    await waitUntil(async () => Object.keys((await settings()).agent_settings.mcp_config).length === 0, 'it is forgotten');
  } finally {
    await mcp.close();
  }
});

test('agent-server 63: a skill is enabled and disabled', LONG, async () => {
  const enabled = async () => (await settings()).misc_settings.app_preferences.enabled_skills;
  await open('/skills');
  await page.getByTestId('skill-toggle-uv').and(page.getByLabel('Enable skill')).click();
  await waitUntil(async () => (await enabled()).includes('uv'), 'it is on');
  await page.getByTestId('skill-toggle-uv').and(page.getByLabel('Disable skill')).click();
  await waitUntil(async () => !(await enabled()).includes('uv'), 'it is off');
});

test('agent-server 63: an agent profile is made, edited and deleted', LONG, async () => {
  const row = at('agent-profile-row').filter({ hasText: 'helper' });
  const toolsOf = async () => (await must(200, 'GET', '/api/agent-profiles/helper', { key })).profile.tools.map(({ name }) => name);
  await open('/settings/agents');
  await at('add-agent-profile').click();
  await at('agent-profile-name-input').fill('helper');
  await page.getByText('Enable sub-agents').click();
  await at('save-agent-profile-btn').click();
  await row.waitFor();
  assert.ok((await toolsOf()).includes('task_tool_set'));
  await row.getByTestId('agent-profile-menu-trigger').click();
  await at('agent-profile-edit').click();
  await page.getByText('Enable sub-agents').click();
  await at('save-agent-profile-btn').click();
  await waitUntil(async () => !(await toolsOf()).includes('task_tool_set'), 'the change is kept');
  await row.getByTestId('agent-profile-menu-trigger').click();
  await at('agent-profile-delete').click();
  await page.getByRole('dialog').getByRole('button', { name: /delete|confirm/i }).last().click();
  await row.waitFor({ state: 'detached' });
});

/** Adds the folder that is found below home; resolves with its path. */
async function addWorkspace(folders) {
  const before_ = (await must(200, 'GET', '/api/workspaces', { key })).workspaces;
  await open('/');
  await at('conversation-panel-new-thread-picker').click();
  await at('add-workspaces-button').click();
  await at('folder-browser-entry-workspace').waitFor();
  for (const folder of folders) await at(`folder-browser-entry-${folder}`).click();
  await at('folder-browser-use').click();
  return waitUntil(async () => {
    const { workspaces } = await must(200, 'GET', '/api/workspaces', { key });
    return workspaces.find(({ path }) => !before_.some((held) => held.path === path))?.path;
  }, 'it is kept');
}

/** Starts a conversation in the workspace of that name; resolves with the output of `pwd` there. */
async function askWhere(name) {
  await open('/');
  await at('open-workspace-button').click();
  await at('workspace-dropdown').click();
  await page.getByRole('option', { name, exact: true }).click();
  await at('workspace-launch-button').click();
  fake.setScenario(MODEL, [command('pwd'), { text: `Here I work: ${name}` }]);
  await at('home-chat-launcher').getByTestId('chat-input').fill('Where?');
  await page.keyboard.press('Enter');
  await shown(`Here I work: ${name}`);
  return lastStep().messages.at(-1).content[0].text.split('\n')[0];
}

test('agent-server 63: a workspace is added, and a conversation started in it', LONG, async () => {
  assert.equal(await addWorkspace(['workspace', 'project']), '/workspace/project');
  assert.equal(await askWhere('project'), '/workspace/project');
});

// Canvas removes a trailing slash from paths, and so sends none if the user chose "/".
test('agent-server 63: a conversation starts in the root workspace', LONG, async () => {
  assert.equal(await addWorkspace([]), '/');
  assert.equal(await askWhere('/'), '/workspace');
});

test('agent-server 63: the condenser is configured', LONG, async () => {
  await open('/settings/condenser');
  await at('sdk-section-all-toggle').click();
  await at('sdk-settings-condenser.max_size').fill('90');
  await at('save-button').click();
  await waitUntil(async () => (await settings()).agent_settings.condenser.max_size === 90, 'it is kept');
});

test('agent-server 63: all processes but the database are killed during a command, and the page continues', LONG, async () => {
  await begin('Survive', [command('sleep 8; echo survived'), { text: 'Still here.' }]);
  await page.getByTestId('user-message').waitFor();
  await waitUntil(() => fake.requests.some(({ body }) => JSON.stringify(body?.messages ?? '').includes('Survive')), 'the model is asked');
  const old = ALL_BUT_THE_DATABASE.map((name) => [name, signal(name, 'SIGKILL')]);
  await waitUntil(() => old.every(([name, pid]) => pidOf(name) !== null && pidOf(name) !== pid), 'everything is started again');
  await shown('Still here.');
  await say('Are you there?', [{ text: 'All of me.' }]);
  await shown('All of me.');
  canvas.faults.splice(0); // requests that failed while the server was down
});
