// The page's main path in a real browser, against the whole system.
//
//   DEFT_TEST_APP_URL  the app origin
//   DEFT_TEST_LINK     a fresh sign-in link
import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { APP, LINK, RUN_DEADLINE_MS, STEP_DEADLINE_MS, launchBrowser, openPage, timelineRows, waitForStatus } from './browser.mjs';
import { waitUntil } from '../e2e/support/wait.mjs';
import { startSlowModel } from './slow_model.mjs';

const RESTING = ['finished', 'paused', 'error', 'stuck', 'idle'];
const TASK = 'Say hello in a file, and show me the file';

let browser;
let model;
/** The session of the one sign-in that the link allows. */
let session;
/** The address of the conversation that the first test started. */
let conversation;

before(async () => {
  assert.ok(APP && LINK, 'DEFT_TEST_APP_URL and DEFT_TEST_LINK must be set');
  browser = await launchBrowser();
  model = await startSlowModel();
  const { context, page, faults } = await openPage(browser);
  await page.goto(LINK);
  await page.getByTestId('home-screen').waitFor();
  assert.equal(new URL(page.url()).pathname, '/');
  assert.equal(new URL(page.url()).hash, '', 'the token does not stay in the address');
  session = await context.storageState();
  assert.deepEqual(faults, []);
  await context.close();
});

after(async () => {
  await browser?.close();
  await model?.close();
});

/** Runs body on a signed-in page and checks that it has no faults. */
async function onPage(options, body) {
  const { context, page, faults } = await openPage(browser, { storageState: session, ...options });
  try {
    await page.goto(APP);
    await page.getByTestId('home-screen').waitFor();
    await body(page);
    assert.deepEqual(faults, []);
  } finally {
    await context.close();
  }
}

async function say(page, text) {
  await page.getByLabel('Message to the agent').fill(text);
  await page.keyboard.press('Enter');
}

/** The first row after the further message; the history is shown at once, so all of it is present then. */
const answerToOnceMore = (page) => page.locator('.row:has([data-testid="user-message"]:has-text("once more")) ~ .row:not(.knot-needle)').first();

/** The id of a conversation whose agent runs a long command. */
function startBusyConversation(page) {
  return page.evaluate(async (baseUrl) => {
    const reply = await fetch('/agent/api/conversations', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({
        conversation_runtime: 'docker',
        agent: {
          kind: 'Agent',
          llm: { model: 'openai/slow', api_key: 'sk-test', base_url: baseUrl, usage_id: 'agent' },
          tools: [{ name: 'terminal' }],
        },
        workspace: { kind: 'LocalWorkspace', working_dir: '/workspace/project' },
        initial_message: { role: 'user', content: [{ type: 'text', text: 'Take your time' }], run: true },
      }),
    });
    if (!reply.ok) throw new Error(`${reply.status} ${await reply.text()}`);
    return (await reply.json()).id;
  }, model.url);
}

test('a used sign-in link is refused, and the page says how to get a new one', async () => {
  const { context, page } = await openPage(browser);
  await page.goto(LINK);
  await page.getByRole('heading', { name: 'This sign-in link is not valid' }).waitFor();
  await page.getByText('./deft link').waitFor();
  await page.goto(APP);
  await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
  await context.close();
});

test('a task starts a conversation, and its cards appear live', { timeout: 2 * RUN_DEADLINE_MS }, async () => {
  await onPage({}, async (page) => {
    await page.getByLabel('Task for the agent').fill(TASK);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/conversations/*');
    conversation = page.url();
    await page.getByTestId('user-message').filter({ hasText: TASK }).waitFor();
    await page.locator('.card').first().waitFor({ timeout: RUN_DEADLINE_MS });
    await page.locator('.card').filter({ hasText: 'exit 0' }).first().waitFor({ timeout: RUN_DEADLINE_MS });
    await waitForStatus(page, ['finished']);
    assert.equal(await page.getByTestId('user-message').count(), 1);
    const first = async () => new URL(await page.getByTestId('conversation-card').first().getAttribute('href'), APP).href;
    await waitUntil(async (saw) => saw(await first()) === conversation, 'it is the first of the list');
  });
});

test('a further message is answered', { timeout: 2 * RUN_DEADLINE_MS }, async () => {
  await onPage({}, async (page) => {
    await page.goto(conversation);
    await waitForStatus(page, ['finished']);
    await say(page, 'And once more, please');
    await page.getByTestId('user-message').filter({ hasText: 'And once more, please' }).waitFor();
    await answerToOnceMore(page).waitFor({ timeout: RUN_DEADLINE_MS });
    await waitForStatus(page, RESTING);
    assert.equal(await page.getByLabel('Message to the agent').inputValue(), '');
  });
});

test('after a reload every event is shown once', async () => {
  await onPage({}, async (page) => {
    await page.goto(conversation);
    await waitForStatus(page, RESTING);
    await answerToOnceMore(page).waitFor();
    const rows = await timelineRows(page);
    assert.ok(rows.length >= 4, `${rows.length} rows`);
    await page.reload();
    await waitForStatus(page, RESTING);
    await answerToOnceMore(page).waitFor();
    assert.deepEqual(await timelineRows(page), rows);
  });
});

test('stop ends a running command at once and says who stopped it', { timeout: 2 * RUN_DEADLINE_MS }, async () => {
  await onPage({}, async (page) => {
    await page.goto(`${APP}/conversations/${await startBusyConversation(page)}`);
    await page.locator('.card').filter({ hasText: 'sleep 120' }).waitFor({ timeout: RUN_DEADLINE_MS });
    await waitForStatus(page, ['running']);
    await page.getByTestId('stop-button').click();
    await waitForStatus(page, ['paused'], STEP_DEADLINE_MS);
    await page.locator('.note').filter({ hasText: 'Stopped by you' }).waitFor();
    assert.equal(await page.locator('.trouble').count(), 0);
    await page.getByTestId('run-button').waitFor();
    await page.getByTestId('delete-button').click();
    await page.getByTestId('confirm-button').click();
    await page.getByTestId('home-screen').waitFor();
  });
});

test('a message that cannot be sent is kept and can be sent again', { timeout: 2 * RUN_DEADLINE_MS }, async () => {
  const text = 'Words that must not be lost';
  const { context, page } = await openPage(browser, { storageState: session });
  const refuse = (route) => (route.request().method() === 'POST' ? route.abort() : route.fallback());
  await page.goto(conversation);
  await waitForStatus(page, RESTING);
  await page.route('**/events', refuse);
  await say(page, text);
  await page.getByText('Not sent.').waitFor();
  await page.reload();
  await page.locator('.outgoing-failed').filter({ hasText: text }).waitFor();
  await page.unroute('**/events', refuse);
  await page.getByRole('button', { name: 'Send again' }).click();
  await page.getByTestId('user-message').filter({ hasText: text }).waitFor();
  await page.locator('.outgoing').waitFor({ state: 'detached' });
  await context.close();
});

test('the page can be used with the keyboard alone', async () => {
  await onPage({}, async (page) => {
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent);
    const tabTo = async (name) => {
      for (let i = 0; i < 60; i++) {
        if ((await focused())?.includes(name)) return;
        await page.keyboard.press('Tab');
      }
      assert.fail(`the focus never reaches ${name}; it is on ${await focused()}`);
    };

    const focusComesTo = (label) => page.getByLabel(label).and(page.locator(':focus')).waitFor();

    await focusComesTo('Task for the agent');
    await page.goto(conversation);
    await waitForStatus(page, RESTING);
    await focusComesTo('Message to the agent');

    await tabTo('Delete this conversation?');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await waitUntil(async () => (await focused()) === 'Cancel', 'the focus is on Cancel');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await waitUntil(async () => (await focused()) === 'Delete this conversation?', 'the focus is back');

    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    await page.keyboard.type('Named by keyboard');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Named by keyboard' }).waitFor();
    await page.getByTestId('conversation-card').filter({ hasText: 'Named by keyboard' }).waitFor();

    await page.keyboard.press('Control+k');
    await page.getByTestId('home-screen').waitFor();
    await focusComesTo('Task for the agent');
    await page.keyboard.type('first');
    await page.keyboard.press('Shift+Enter');
    await page.keyboard.type('second');
    assert.equal(await page.getByLabel('Task for the agent').inputValue(), 'first\nsecond');
    await page.reload();
    await page.getByTestId('home-screen').waitFor();
    assert.equal(await page.getByLabel('Task for the agent').inputValue(), 'first\nsecond', 'the draft outlives a reload');
  });
});

for (const scheme of ['light', 'dark']) {
  test(`the page is ${scheme} if the system is, until the user chooses a theme`, async () => {
    await onPage({ colorScheme: scheme }, async (page) => {
      const becomes = (wanted) => page.waitForFunction((dark) => {
        const [r, g, b] = getComputedStyle(document.documentElement).backgroundColor.match(/\d+/g).map(Number);
        return (r + g + b) / 3 < 128 === dark;
      }, wanted === 'dark');
      await page.goto(conversation);
      await waitForStatus(page, RESTING);
      await page.screenshot({ path: join(tmpdir(), `deft-page-${scheme}.png`) });
      await becomes(scheme);
      await page.getByRole('button', { name: 'Theme: system' }).click();
      await becomes('light');
      await page.getByRole('button', { name: 'Theme: light' }).click();
      await becomes('dark');
      await page.reload();
      await waitForStatus(page, RESTING);
      await becomes('dark');
    });
  });
}

test('on a phone nothing is cut off', async () => {
  await onPage({ viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }, async (page) => {
    const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    await page.getByTestId('conversation-card').first().waitFor();
    assert.ok((await overflow()) <= 0);
    await page.getByTestId('conversation-card').first().tap();
    await waitForStatus(page, RESTING);
    await page.getByTestId('user-message').first().waitFor();
    assert.ok((await overflow()) <= 0);
    await page.screenshot({ path: join(tmpdir(), 'deft-page-phone.png') });
    await page.getByRole('button', { name: 'Back to all conversations' }).tap();
    await page.getByTestId('home-screen').waitFor();
  });
});

test('a sign-in link without a token opens the start page for signed-in users, and tells others how to get a link', async () => {
  await onPage({}, async (page) => {
    await page.goto(`${APP}/sign-in`);
    await page.getByTestId('home-screen').waitFor();
  });
  const { context, page } = await openPage(browser);
  await page.goto(`${APP}/sign-in`);
  await page.getByText('You are signed out').waitFor();
  await page.getByText('./deft link').waitFor();
  await context.close();
});

/* The last one: it ends the session that the others use. */
test('signing out ends the session', async () => {
  await onPage({}, async (page) => {
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
  });
});
