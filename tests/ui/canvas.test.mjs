// OpenHands' own page against the whole system, as a user would try it: from its first start to a crash of deft.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { call, must } from '../e2e/support/api.mjs';
import { AGENT_URL } from '../e2e/support/instance.mjs';
import { pidOf, signal } from '../e2e/support/processes.mjs';
import { newUser } from '../e2e/support/users.mjs';
import { waitUntil } from '../e2e/support/wait.mjs';
import { start as startModel } from '../fakes/openai.mjs';
import { RUN_DEADLINE_MS } from './browser.mjs';
import { fetchCanvas, openCanvas, serveCanvas } from './canvas.mjs';

const ALL_BUT_THE_DATABASE = ['nginx', 'fcgi', 'gateway', 'worker', 'runtime'];
const MODEL = 'canvas';
const LONG = { timeout: 2 * RUN_DEADLINE_MS };
const SECRET = 'MY_TOKEN';

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

/** Whatever a test did, nothing went wrong on the way, and the user was told of no error. */
afterEach(async () => {
  const toasts = await page.evaluate(() => window.toasts.splice(0));
  assert.deepEqual(canvas.faults.splice(0), []);
  assert.deepEqual(toasts.filter((text) => /error|fail|wrong|unable/i.test(text)), []);
});

const at = (id) => page.getByTestId(id);
const shown = (text) => page.getByTestId('chat-interface').getByText(text).first().waitFor({ timeout: RUN_DEADLINE_MS });

async function open(path) {
  await page.goto(site.url + path);
  await at('root-layout').waitFor();
}

/** Begins a conversation on the home screen; resolves with its id. */
async function begin(words, steps) {
  fake.setScenario(MODEL, steps);
  await open('/');
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

const statusOf = async (id) => (await must(200, 'GET', `/api/conversations/${id}`, { key })).execution_status;
const reaches = (id, status) => waitUntil(async () => (await statusOf(id)) === status, `the conversation is ${status}`, RUN_DEADLINE_MS);

test('agent-server 63: the first start: consent, agent, model, and a first message', LONG, async () => {
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
  const settings = await must(200, 'GET', '/api/settings', { key });
  assert.equal(settings.agent_settings.llm.model, `openai/${MODEL}`);
  assert.equal(settings.llm_api_key_is_set, true);
});

test('agent-server 63: a further message goes by socket and is answered live', LONG, async () => {
  const id = await begin('Make files', [
    command('git config user.name n; git config user.email e@x.test; echo "a greeting" > hello.txt; git add .; git commit -qm "The first"; echo two > two.txt'),
    { text: 'The files are made.' },
  ]);
  await shown('The files are made.');
  await reaches(id, 'finished');
  canvas.sent.length = 0;
  await say('And now?', [{ text: 'Now I rest.' }]);
  await shown('Now I rest.');
  const frames = canvas.sent.map((frame) => JSON.parse(frame));
  assert.ok(frames.some((frame) => frame.role === 'user' && frame.run === true), 'the message went by socket');
  assert.equal(await at('user-message').count(), 2);
});

test('agent-server 63: after a reload the history is there, once', LONG, async () => {
  await page.reload();
  await shown('Now I rest.');
  assert.equal(await at('user-message').count(), 2);
  assert.equal(await page.getByText('The files are made.').count(), 1);
});

test('agent-server 63: files, commits and usage', LONG, async () => {
  await at('right-panel-toggle').click();
  await at('files-tab-refresh').click();
  await at('file-tree-file-two.txt').waitFor();
  await at('file-tree-file-hello.txt').click();
  await at('file-content-viewer-plain').getByText('a greeting').waitFor();
  await at('conversation-tab-commits').click();
  await page.getByText('The first').first().waitFor();
  await at('conversation-tab-usage').click();
  await at('usage-panel').getByText('Token Usage').waitFor();
  assert.doesNotMatch(await at('usage-panel').innerText(), /Total\s+0\b/);
});

test('agent-server 63: stop ends a command at once', LONG, async () => {
  const id = await begin('Wait', [command('echo begun; sleep 300'), { text: 'Done waiting.' }]);
  await reaches(id, 'running');
  await at('stop-button').first().click();
  await reaches(id, 'paused');
  await say('Go on', [{ text: 'Here I am again.' }]);
  await shown('Here I am again.');
});

test('agent-server 63: a risky step waits for a yes', LONG, async () => {
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

test('agent-server 63: a secret is kept and forgotten, and never shown', LONG, async () => {
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

/** What each page of extensions asks the server. */
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
  const card = page.locator(`[data-testid="conversation-card"]:has([data-testid="conversation-pin-toggle-${id}"])`);
  const choose = async (entry) => {
    await card.hover();
    await card.getByTestId('ellipsis-button').click();
    await at(entry).click();
  };
  await choose('edit-button');
  await page.keyboard.press('Control+a');
  await page.keyboard.type('By another name');
  await page.keyboard.press('Enter');
  await waitUntil(async () => (await must(200, 'GET', `/api/conversations/${id}`, { key })).title === 'By another name', 'the name is kept');
  await choose('delete-button');
  await page.getByRole('dialog').getByRole('button', { name: 'Confirm' }).click();
  await card.waitFor({ state: 'detached' });
  assert.equal((await call('GET', `/api/conversations/${id}`, { key })).status, 404);
});

test('agent-server 63: everything but the database is killed during a command, and the page goes on', LONG, async () => {
  await begin('Survive', [command('sleep 8; echo survived'), { text: 'Still here.' }]);
  await page.getByTestId('user-message').waitFor();
  await waitUntil(() => fake.requests.some(({ body }) => JSON.stringify(body?.messages ?? '').includes('Survive')), 'the model is asked');
  const old = ALL_BUT_THE_DATABASE.map((name) => [name, signal(name, 'SIGKILL')]);
  await waitUntil(() => old.every(([name, pid]) => pidOf(name) !== null && pidOf(name) !== pid), 'everything is started again');
  await shown('Still here.');
  await say('Are you there?', [{ text: 'All of me.' }]);
  await shown('All of me.');
  canvas.faults.splice(0); // what the page asked while nobody was there
});
