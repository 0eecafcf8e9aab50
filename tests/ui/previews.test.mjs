// An agent's web server, opened from deft's page in a real browser: on an origin of its own, with its own cookie.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { Box } from '../e2e/support/box.mjs';
import { Conversation, llmOf, startRequest } from '../e2e/support/conversation.mjs';
import { query } from '../e2e/support/database.mjs';
import { WORKING_DIR } from '../e2e/support/instance.mjs';
import { signIn } from '../e2e/support/session.mjs';
import { start as startModel } from '../fakes/openai.mjs';
import { APP, launchBrowser, openPage, openUncarried, visit } from './browser.mjs';

const PORT = 5173;

let fake;
let browser;
let conversation;

before(async () => {
  fake = await startModel();
  browser = await launchBrowser();
  conversation = await Conversation.create(startRequest(llmOf(fake, 'hello'), { conversation_runtime: 'docker' }));
  const box = new Box(conversation.path);
  await box.upload(`${WORKING_DIR}/site.py`, await readFile(new URL('../e2e/support/site.py', import.meta.url)));
  await box.run(`python3 site.py ${PORT}`);
});

after(async () => {
  await browser?.close();
  await conversation?.delete();
  await fake?.close();
});

/** Opens the address in the tab, and resolves with the tab. */
async function visitTab(tab, url) {
  assert.equal(await visit(tab, url), undefined);
  return tab;
}

test('a preview link opens the sandbox\'s web server in a new tab', async () => {
  const { context, page, faults } = await openPage(browser);
  const [name, value] = (await signIn()).split('=');
  await context.addCookies([{ name, value, url: APP, httpOnly: true, sameSite: 'Lax' }]);
  await page.goto(`${APP}/conversations/${conversation.id}`);
  const link = page.getByTestId(`preview-${PORT}`);
  await link.waitFor();
  assert.equal(await link.innerText(), `Port ${PORT}`);
  const url = await link.getAttribute('href');
  assert.match(url, /^http:\/\/5173-[a-z]{16}\.sandbox\.localhost:\d+$/);
  const tab = await openUncarried(context, async () => {
    const [opened] = await Promise.all([context.waitForEvent('page'), link.click()]);
    return opened;
  }, (opened) => opened.url() === `${url}/`);
  await tab.waitForLoadState();
  assert.match(await tab.locator('body').innerText(), /"path": "\/"/, 'signed in on the way, and let through');
  assert.equal(await tab.evaluate('window.opener'), null);

  await openUncarried(context, () => visitTab(tab, `${url}/page`), () => tab.getByText('POST echo []').isVisible());
  const cookies = await context.cookies(url);
  assert.deepEqual(cookies.filter((one) => one.name === 'deft_preview').map(({ domain, httpOnly, sameSite }) => ({ domain, httpOnly, sameSite })),
    [{ domain: new URL(url).hostname, httpOnly: true, sameSite: 'Lax' }]);
  assert.deepEqual(faults, []);
  await context.close();
});

test('a browser that is not signed in is asked to sign in', async () => {
  const context = await browser.newContext();
  const tab = await context.newPage();
  const [{ id }] = await query(`SELECT r.id FROM runtimes r JOIN conversations c ON c.runtime_session = r.session_id
    WHERE c.id = :'id'::uuid AND r.status = 'running'`, { id: conversation.id });
  const url = `http://${PORT}-${id}.sandbox.localhost:${new URL(APP).port}/page`;
  await openUncarried(context, () => visitTab(tab, url), () => tab.getByRole('heading', { name: 'Sign in first' }).isVisible());
  assert.equal(new URL(tab.url()).origin, new URL(APP).origin);
  await context.close();
});
