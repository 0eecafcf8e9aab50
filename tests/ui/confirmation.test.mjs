// The user's decisions about waiting calls on the page, and which calls then run.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { start } from '../fakes/openai.mjs';
import { signIn } from '../e2e/support/session.mjs';
import { waitUntil } from '../e2e/support/wait.mjs';
import { APP, RUN_DEADLINE_MS, launchBrowser, openPage, waitForStatus } from './browser.mjs';

const TIMEOUT = { timeout: 2 * RUN_DEADLINE_MS };
const RESPOND = '/events/respond_to_confirmation';
const terminal = (command) => ({ name: 'terminal', arguments: { command, security_risk: 'HIGH', summary: 'tidy up' } });

let browser;
let model;
let session;
let number = 0;

before(async () => {
  browser = await launchBrowser();
  model = await start();
  const [name, value] = (await signIn()).split('=');
  session = { name, value, url: APP, httpOnly: true, sameSite: 'Lax' };
});

after(async () => {
  await browser?.close();
  await model?.close();
});

/** Calls the agent API with the page's session. */
const ask = (page, method, path, body) => page.evaluate(async ([method, path, body]) => {
  const reply = await fetch(`/agent/api/conversations${path}`, {
    method,
    headers: { 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: reply.status, json: await reply.json() };
}, [method, path, body]);

const eventsOf = async (page, id) => (await ask(page, 'GET', `/${id}/events/search?limit=100`)).json.items;

/**
 * A signed-in page on a conversation that waits for a decision about the scenario's first step. The page's requests
 * for the conversation are recorded in `sent`.
 */
async function waiting(t, steps, more = {}) {
  const scenario = `confirm-${process.pid}-${++number}`;
  model.setScenario(scenario, steps);
  const { context, page, faults } = await openPage(browser);
  await context.addCookies([session]);
  t.after(() => context.close());
  await page.goto(APP);
  await page.getByTestId('home-screen').waitFor();
  const { json: { id } } = await ask(page, 'POST', '', {
    conversation_runtime: 'docker',
    confirmation_policy: { kind: 'AlwaysConfirm' },
    agent: {
      kind: 'Agent',
      llm: { model: `openai/${scenario}`, api_key: 'sk-test', base_url: model.url, usage_id: 'agent' },
      tools: [{ name: 'terminal' }, { name: 'file_editor' }],
    },
    workspace: { kind: 'LocalWorkspace', working_dir: '/workspace/project' },
    autotitle: false,
    initial_message: { role: 'user', content: [{ type: 'text', text: 'Tidy up' }], run: true },
    ...more,
  });
  const sent = [];
  page.on('request', (request) => {
    if (request.method() === 'POST' && request.url().includes(id)) sent.push({ url: request.url(), body: request.postDataJSON() });
  });
  await page.goto(`${APP}/conversations/${id}`);
  await page.getByTestId('confirmation').waitFor({ timeout: RUN_DEADLINE_MS });
  t.after(() => assert.deepEqual(faults, []));
  return { page, id, sent, scenario };
}

const requestsOf = (scenario) => model.requests.filter(({ body }) => body.model === scenario);
const ranOf = async (page, id) => (await eventsOf(page, id)).filter(({ kind }) => kind === 'ObservationEvent');
const callsOf = async (page, id) => (await eventsOf(page, id)).filter(({ kind }) => kind === 'ActionEvent');

test('a message while a command waits for confirmation rejects it, and the model reads the message as the reason', TIMEOUT, async (t) => {
  const { page, id, sent, scenario } = await waiting(t, [{ calls: [terminal('rm -rf /workspace/project')] }, { text: 'I leave everything as it is.' }]);
  const [call] = await callsOf(page, id);
  await page.getByLabel('Message to the agent').fill('No, do not delete anything');
  await page.keyboard.press('Enter');
  await page.getByTestId('agent-message').filter({ hasText: 'I leave everything as it is.' }).waitFor({ timeout: RUN_DEADLINE_MS });
  await page.locator('.card').filter({ hasText: 'Rejected: No, do not delete anything' }).waitFor();
  assert.deepEqual(await ranOf(page, id), []);
  assert.deepEqual(sent, [{
    url: `${APP}/agent/api/conversations/${id}${RESPOND}`,
    body: { accept: false, action_ids: [call.id], reason: 'No, do not delete anything', run: true },
  }]);
  assert.match(JSON.stringify(requestsOf(scenario).at(-1).body.messages), /Action rejected: No, do not delete anything/);
  assert.equal(await page.getByLabel('Message to the agent').inputValue(), '');
});

test('Approve runs exactly the shown calls, once, even after a double click', TIMEOUT, async (t) => {
  const { page, id, sent } = await waiting(t, [{ calls: [terminal('echo first')] }, { calls: [terminal('echo second')] }, { text: 'done' }]);
  const [call] = await callsOf(page, id);
  await page.getByTestId('approve-button').dblclick();
  await page.locator('.card').filter({ hasText: 'echo first' }).filter({ hasText: 'exit 0' }).waitFor({ timeout: RUN_DEADLINE_MS });
  await page.getByTestId('waiting-action').filter({ hasText: 'echo second' }).waitFor({ timeout: RUN_DEADLINE_MS });
  assert.deepEqual(sent.map(({ body }) => body), [{ accept: true, action_ids: [call.id] }]);
  assert.equal((await ranOf(page, id)).length, 1);
  await page.getByTestId('reject-button').click();
  await page.locator('.card').filter({ hasText: 'echo second' }).filter({ hasText: 'rejected' }).waitFor();
  await waitForStatus(page, ['idle']);
  assert.equal((await ranOf(page, id)).length, 1);
});

/** Records whether a question can be answered when it first appears. */
function watchQuestion(words) {
  new MutationObserver(() => {
    const asked = document.querySelector('[data-testid="waiting-action"]')?.textContent.includes(words);
    if (asked) window.wasBlocked ??= document.querySelector('[data-testid="approve-button"]').disabled;
  }).observe(document, { childList: true, subtree: true });
}

test('the second click of a double click does not decide about the next question', TIMEOUT, async (t) => {
  const { page } = await waiting(t, [{ calls: [terminal('echo first')] }, { calls: [terminal('echo second')] }, { text: 'done' }]);
  await page.evaluate(watchQuestion, 'echo second');
  await page.clock.setFixedTime(Date.now()); // no time passes between the decision and the next question
  await page.getByTestId('approve-button').click();
  await page.getByTestId('waiting-action').filter({ hasText: 'echo second' }).waitFor({ timeout: RUN_DEADLINE_MS });
  assert.equal(await page.evaluate(() => window.wasBlocked), true);
  await page.locator('[data-testid="approve-button"]:enabled').waitFor();
});

test('every waiting action is shown completely, with invisible characters by name', TIMEOUT, async (t) => {
  const long = `${Array.from({ length: 300 }, (_, i) => `echo line ${i}`).join('\n')}\necho the last line`;
  const bent = 'echo safe \u202e#\u2066 fr- mr\u200b';
  const file = { name: 'file_editor', arguments: { command: 'create', path: '/etc/x', file_text: 'all of it', security_risk: 'HIGH', summary: 's' } };
  const { page } = await waiting(t, [{ calls: [terminal(long), terminal(bent), file] }, { text: 'done' }]);
  const shown = page.getByTestId('waiting-action');
  await shown.nth(2).waitFor();
  assert.equal(await shown.count(), 3);
  assert.ok((await shown.nth(0).textContent()).includes(long));
  assert.ok((await shown.nth(1).textContent()).includes('echo safe ⟨U+202E⟩#⟨U+2066⟩ fr- mr⟨U+200B⟩'));
  assert.match(await shown.nth(2).textContent(), /\/etc\/x.*all of it/s);
  await shown.nth(0).getByText('echo the last line').scrollIntoViewIfNeeded();
  for (const button of ['approve-button', 'reject-button']) assert.ok(await page.getByTestId(button).isVisible());
});

test('after a decision in another tab the question disappears', TIMEOUT, async (t) => {
  const { page, id } = await waiting(t, [{ calls: [terminal('echo never')] }, { text: 'done' }]);
  const [call] = await callsOf(page, id);
  const answers = await page.evaluate(async ([path, ids]) => {
    const send = async (body) => (await fetch(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) })).status;
    const first = await send({ accept: false, action_ids: ids });
    document.querySelector('[data-testid="approve-button"]')?.click();
    return [first, await send({ accept: true, action_ids: ids })];
  }, [`/agent/api/conversations/${id}${RESPOND}`, [call.id]]);
  assert.deepEqual(answers, [200, 409]);
  await page.getByTestId('confirmation').waitFor({ state: 'detached' });
  await waitUntil(async () => (await ask(page, 'GET', `/${id}`)).json.execution_status === 'idle', 'the conversation rests');
  assert.deepEqual(await ranOf(page, id), []);
});

test('a rejection that could not be sent is kept, and can be sent again after a reload', TIMEOUT, async (t) => {
  const { page, id, sent } = await waiting(t, [{ calls: [terminal('echo never')] }, { text: 'Then not.' }]);
  const refuse = (route) => route.abort();
  await page.route(`**${RESPOND}`, refuse);
  await page.getByLabel('Message to the agent').fill('No');
  await page.keyboard.press('Enter');
  await page.getByText('Not sent.').waitFor();
  await page.getByTestId('confirmation').waitFor();
  await page.reload();
  await page.getByTestId('confirmation').waitFor();
  await page.unroute(`**${RESPOND}`, refuse);
  await page.getByRole('button', { name: 'Send as rejection' }).click();
  await page.getByTestId('agent-message').filter({ hasText: 'Then not.' }).waitFor({ timeout: RUN_DEADLINE_MS });
  assert.deepEqual(await ranOf(page, id), []);
  assert.equal(sent.at(-1).body.reason, 'No');
});

test('what a guard says of the calls is shown with them, and its risk instead of the agent\'s', TIMEOUT, async (t) => {
  model.setScenario('ui-guard', [{ text: 'It deletes the project.\nRISK: HIGH' }]);
  const calm = { name: 'terminal', arguments: { command: 'rm -r project', security_risk: 'LOW', summary: 'tidy up' } };
  const { page } = await waiting(t, [{ calls: [calm] }, { text: 'done' }], {
    security_analyzer: { kind: 'ToolShieldLLMSecurityAnalyzer', llm: { model: 'openai/ui-guard', api_key: 'sk-test', base_url: model.url } },
  });
  await page.getByTestId('guard').getByText('It deletes the project.').waitFor();
  assert.equal(await page.getByTestId('waiting-action').getByText('high risk').count(), 1);
});
