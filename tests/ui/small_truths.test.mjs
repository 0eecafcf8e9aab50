// The page's display of a conversation's model, cost and title, and the return address after signing in.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { Conversation, llmOf, startRequest } from '../e2e/support/conversation.mjs';
import { DEFT } from '../e2e/support/instance.mjs';
import { signIn } from '../e2e/support/session.mjs';
import { waitUntil } from '../e2e/support/wait.mjs';
import { start } from '../fakes/openai.mjs';
import { APP, RUN_DEADLINE_MS, launchBrowser, openPage, waitForStatus } from './browser.mjs';

const TIMEOUT = { timeout: 2 * RUN_DEADLINE_MS };
const PRICES = { input_cost_per_token: 0.001, output_cost_per_token: 0.001 };

let browser;
let model;
let session;

before(async () => {
  browser = await launchBrowser();
  model = await start({ scenarios: { said: [{ text: 'done' }] } });
  const [name, value] = (await signIn()).split('=');
  session = { name, value, url: APP, httpOnly: true, sameSite: 'Lax' };
});

after(async () => {
  await browser?.close();
  await model?.close();
});

async function conversationWith(t, llm, more = {}) {
  const conversation = await Conversation.create(startRequest(llm, more));
  t.after(() => conversation.delete());
  return conversation;
}

async function open(t, { signedIn = true, ...options } = {}) {
  const { context, page, faults } = await openPage(browser, options);
  t.after(async () => {
    await context.close();
    assert.deepEqual(faults, []);
  });
  if (signedIn) await context.addCookies([session]);
  return page;
}

const newLink = () => execFileSync(DEFT, ['link'], { encoding: 'utf8' }).trim().split(/\s+/).pop();

test('the scripted model is mentioned only where it is used, and an unknown price is shown as unknown', TIMEOUT, async (t) => {
  const page = await open(t);
  const cases = [
    [llmOf(model, 'said'), 0, 'cost unknown'],
    [llmOf(model, 'said', PRICES), 0, /^\$\d/],
    [{ model: 'scripted/answer', usage_id: 'agent' }, 1, 'no cost'],
  ];
  for (const [llm, nLines, cost] of cases) {
    const conversation = await conversationWith(t, llm);
    await page.goto(`${APP}/conversations/${conversation.id}`);
    await waitForStatus(page, ['idle']);
    await conversation.say('go', true);
    await waitForStatus(page, ['finished']);
    await page.locator('.usage').filter({ hasText: cost }).waitFor();
    assert.equal(await page.locator('.scripted-line').count(), nLines, llm.model);
  }
});

test('a title contains no Markdown, and is cut between words', TIMEOUT, async (t) => {
  const conversation = await conversationWith(t, { model: 'scripted/answer', usage_id: 'agent' }, { autotitle: true });
  await conversation.say('## **Write** a `small` program that [prints](http://x.test) the first twenty primes', true);
  assert.equal(await conversation.rest(['finished']), 'finished');
  assert.equal((await conversation.info()).title, 'Write a small program that prints the first...');
});

test('the words shown instead of a missing title contain no Markdown', TIMEOUT, async (t) => {
  const conversation = await conversationWith(t, llmOf(model, 'said'), { autotitle: false });
  const page = await open(t);
  await conversation.say('## **Tidy** the `build` [folder](http://x.test)', false);
  await page.goto(`${APP}/conversations/${conversation.id}`);
  await page.getByRole('heading', { level: 1, name: /^Tidy the build folder\b/ }).waitFor();
  await waitUntil(async () => (await page.title()).startsWith('Tidy the build folder ·'), 'the tab is named');
});

/** By how many pixels the placeholder is wider than the box. */
const overflowOfPlaceholder = (box) => {
  const style = getComputedStyle(box);
  const pen = document.createElement('canvas').getContext('2d');
  pen.font = style.font;
  return pen.measureText(box.placeholder).width - (box.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight));
};

test('on a narrow screen the placeholder fits on one line, and buttons of cards are named after the card', TIMEOUT, async (t) => {
  const command = (line) => ({ name: 'terminal', arguments: { command: line, security_risk: 'LOW', summary: 's' } });
  model.setScenario('narrow', [{ calls: [command('echo one')] }, { calls: [command('echo two')] }, { text: 'done' }]);
  const conversation = await conversationWith(t, llmOf(model, 'narrow'), { confirmation_policy: { kind: 'AlwaysConfirm' } });
  const page = await open(t, { viewport: { width: 375, height: 700 }, isMobile: true, hasTouch: true });
  const fits = async (state) => {
    await waitForStatus(page, [state]);
    assert.ok((await page.getByLabel('Message to the agent').evaluate(overflowOfPlaceholder)) <= 0, state);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)) <= 0, state);
  };
  await page.goto(`${APP}/conversations/${conversation.id}`);
  await fits('idle');
  await conversation.say('go', true);
  await fits('waiting_for_confirmation');
  for (const line of ['echo one', 'echo two']) {
    await page.getByTestId('waiting-action').filter({ hasText: line }).waitFor({ timeout: RUN_DEADLINE_MS });
    await page.getByTestId('approve-button').tap();
    await page.getByRole('button', { name: new RegExp(`^Hide\\W+${line}$`) }).waitFor({ timeout: RUN_DEADLINE_MS });
  }
  await fits('finished');
  model.setScenario('narrow', [{ park: true, text: 'At last' }]);
  await conversation.say('again', true);
  await fits('running');
  model.release();
});

test('after signing in the user returns to the conversation that was opened signed out', TIMEOUT, async (t) => {
  const conversation = await conversationWith(t, llmOf(model, 'said'));
  const page = await open(t, { signedIn: false });
  await page.goto(`${APP}/conversations/${conversation.id}`);
  await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
  const tab = await page.context().newPage();
  await tab.goto(newLink());
  await waitForStatus(tab, ['idle']);
  assert.equal(new URL(tab.url()).pathname, `/conversations/${conversation.id}`);
  assert.equal(new URL(tab.url()).hash, '');
});

test('a stored return address of another site is ignored', TIMEOUT, async (t) => {
  const page = await open(t, { signedIn: false });
  for (const path of ['//evil.test/x', 'https://evil.test/', '/conversations/..%2f..%2fx', 'javascript:alert(1)', '/sign-in']) {
    await page.goto(APP);
    await page.evaluate((kept) => localStorage.setItem('deft.return', JSON.stringify({ path: kept, at: Date.now() })), path);
    await page.goto(newLink());
    await page.getByTestId('home-screen').waitFor();
    assert.equal(page.url(), `${APP}/`, path);
    await page.context().clearCookies();
  }
});
