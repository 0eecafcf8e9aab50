// Conversations and results that are far larger than a screen: the page renders only the visible part.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Conversation, llmOf, startRequest } from '../e2e/support/conversation.mjs';
import { execute } from '../e2e/support/database.mjs';
import { signIn } from '../e2e/support/session.mjs';
import { waitUntil } from '../e2e/support/wait.mjs';
import { start } from '../fakes/openai.mjs';
import { APP, RUN_DEADLINE_MS, launchBrowser, openPage, waitForStatus } from './browser.mjs';

const TIMEOUT = { timeout: 2 * RUN_DEADLINE_MS };
const N_LINES = 60_000;
const N_EVENTS = 5000;
const PAGE_EVENTS = 100;

let browser;
let model;
let session;

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

/** A conversation that has played the steps, and a signed-in page. */
async function played(t, scenario, steps) {
  model.setScenario(scenario, steps);
  const conversation = await Conversation.create(startRequest(llmOf(model, scenario)));
  const { context, page, faults } = await openPage(browser);
  t.after(async () => {
    await context.close();
    await conversation.delete();
    assert.deepEqual(faults, []);
  });
  await context.addCookies([session]);
  assert.equal(await conversation.ask('go'), 'finished');
  return { conversation, page, address: `${APP}/conversations/${conversation.id}` };
}

test('a large diff is unfolded in steps, and folded again', TIMEOUT, async (t) => {
  const file = { name: 'file_editor', arguments: { command: 'create', path: `/workspace/project/large-${process.pid}.txt`, file_text: 'x\n'.repeat(N_LINES), security_risk: 'LOW', summary: 's' } };
  const { page, address } = await played(t, 'lines', [{ calls: [file] }, { text: 'done' }]);
  await page.goto(address);
  const rows = page.locator('.diff-row');
  await rows.nth(19).waitFor();
  assert.equal(await rows.count(), 20);
  for (const shown of [1020, 2020]) {
    await page.getByRole('button', { name: 'Show 1,000 more of 60,000 lines' }).click();
    await waitUntil(async () => (await rows.count()) === shown, `${shown} lines are shown`);
  }
  assert.equal(await rows.nth(2019).locator('.diff-number').innerText(), '2020');
  await page.getByRole('button', { name: 'Show less' }).click();
  await waitUntil(async () => (await rows.count()) === 20, 'it is folded');
});

test('the end of an output is shown first, earlier lines on request', TIMEOUT, async (t) => {
  const run = { name: 'terminal', arguments: { command: 'seq 1 1500', security_risk: 'LOW', summary: 's' } };
  const { page, address } = await played(t, 'output', [{ calls: [run] }, { text: 'done' }]);
  await page.goto(address);
  const lines = page.locator('.terminal-line');
  await lines.filter({ hasText: /^1500$/ }).waitFor();
  assert.equal(await lines.count(), 14);
  await page.getByRole('button', { name: /^Show 1,000 more of/ }).click();
  await lines.filter({ hasText: /^500$/ }).waitFor();
  await page.getByRole('button', { name: /^Show all/ }).click();
  await lines.filter({ hasText: /^1$/ }).waitFor();
  assert.equal(await lines.last().innerText(), '1500');
  assert.equal(await page.getByRole('button', { name: /^Show (all|1,000)/ }).count(), 0);
});

/** Counts the formatting of times, which is slow if it is repeated for each row. */
function countTimeTexts() {
  window.timeTexts = 0;
  for (const [owner, name] of [[Date.prototype, 'toLocaleString'], [Date.prototype, 'toLocaleTimeString'], [Date.prototype, 'toLocaleDateString']]) {
    const original = owner[name];
    owner[name] = function counted(...words) {
      window.timeTexts += 1;
      return original.apply(this, words);
    };
  }
}

test('a long conversation opens at its end; a page of older events renders only its own rows', TIMEOUT, async (t) => {
  const { page, conversation, address } = await played(t, 'long', [{ text: 'An answer' }]);
  await execute(`
    INSERT INTO events (conversation_id, seq, id, kind, source, timestamp, body)
    SELECT :'id'::uuid, last.seq + n, made.id, last.kind, last.source, last.timestamp, jsonb_set(last.body::jsonb, '{id}', to_jsonb(made.id))::text
    FROM generate_series(1, ${N_EVENTS}) AS n, LATERAL (SELECT gen_random_uuid() AS id, n AS place) AS made,
      (SELECT (SELECT max(seq) FROM events WHERE conversation_id = :'id'::uuid) AS seq, timestamp, kind, source, body
        FROM events WHERE conversation_id = :'id'::uuid AND kind = 'MessageEvent' AND source = 'agent') AS last`, { id: conversation.id });
  await page.addInitScript(countTimeTexts);
  await page.goto(address);
  await waitForStatus(page, ['finished']);
  const rows = page.getByTestId('agent-message');
  await rows.nth(PAGE_EVENTS - 1).waitFor();
  assert.ok((await rows.count()) <= 3 * PAGE_EVENTS, 'the rest is left where it is');
  const counted = (isUp) => page.evaluate((up) => {
    if (up) document.querySelector('.timeline-scroll').scrollTop = 0;
    return { texts: window.timeTexts, rows: document.querySelectorAll('[data-testid="agent-message"]').length };
  }, isUp);
  for (let i = 0; i < 5; i++) {
    const before_ = await counted(true);
    const after_ = await waitUntil(async () => {
      const now = await counted(false);
      return now.rows > before_.rows && now;
    }, 'older events come');
    const [made, brought] = [after_.texts - before_.texts, after_.rows - before_.rows];
    assert.ok(made <= 2 * brought + 100, `${made} times were written for ${brought} rows`);
  }
  await page.getByTestId('scroll-to-bottom').click();
  await page.getByTestId('scroll-to-bottom').waitFor({ state: 'detached' });
});
