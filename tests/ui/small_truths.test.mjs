// What the page says of a conversation's model, cost and title, and where it leads after signing in.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { Conversation, llmOf, startRequest } from '../e2e/support/conversation.mjs';
import { DEFT } from '../e2e/support/instance.mjs';
import { signIn } from '../e2e/support/session.mjs';
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

async function open(t, { signedIn = true } = {}) {
  const { context, page, faults } = await openPage(browser);
  t.after(async () => {
    await context.close();
    assert.deepEqual(faults, []);
  });
  if (signedIn) await context.addCookies([session]);
  return page;
}

const newLink = () => execFileSync(DEFT, ['link'], { encoding: 'utf8' }).trim().split(/\s+/).pop();

test('a scripted model is told of only where one plays, and an unknown price is no price', TIMEOUT, async (t) => {
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

test('a title has no Markdown, and no word in two', TIMEOUT, async (t) => {
  const conversation = await conversationWith(t, { model: 'scripted/answer', usage_id: 'agent' }, { autotitle: true });
  await conversation.say('## **Write** a `small` program that [prints](http://x.test) the first twenty primes', true);
  assert.equal(await conversation.rest(['finished']), 'finished');
  assert.equal((await conversation.info()).title, 'Write a small program that prints the first...');
});

test('who opens a conversation signed out is there after signing in', TIMEOUT, async (t) => {
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

test('a place that is none of this page is not gone to', TIMEOUT, async (t) => {
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
