// The page's list of stored secrets, and the log of sandboxes that read them with their own keys.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { call, must } from '../e2e/support/api.mjs';
import { APP_URL } from '../e2e/support/instance.mjs';
import { newLink, signIn } from '../e2e/support/session.mjs';
import { newUser } from '../e2e/support/users.mjs';
import { waitUntil } from '../e2e/support/wait.mjs';
import { APP, RUN_DEADLINE_MS, launchBrowser, openPage } from './browser.mjs';

const TIMEOUT = { timeout: 2 * RUN_DEADLINE_MS };

let browser;

before(async () => { browser = await launchBrowser(); });
after(() => browser?.close());

/** A page with a new signed-in user, {user, page, context}. */
async function opened(t, options) {
  const user = await newUser();
  const { context, page, faults } = await openPage(browser, options);
  t.after(async () => {
    await context.close();
    assert.deepEqual(faults, []);
  });
  const [name, value] = (await signIn(user.id)).split('=');
  await context.addCookies([{ name, value, url: APP, httpOnly: true, sameSite: 'Lax' }]);
  return { user, page, context };
}

const keep = (user, name, description) => must(200, 'PUT', '/api/settings/secrets', { key: user.key, json: { name, value: `value-of-${name}`, description } });
const asUser = (user, method, path, options = {}) => must(200, method, path, { key: null, url: APP_URL, headers: { authorization: `Bearer ${user.key}` }, ...options });

/** A sandbox of the user: {id, read(name)}, with its own key. */
async function sandboxOf(t, user) {
  const { id } = await asUser(user, 'POST', '/api/v1/sandboxes');
  const remove = () => asUser(user, 'DELETE', `/api/v1/sandboxes/${id}`);
  t.after(() => remove().catch(() => {}));
  const { session_api_key: key } = await waitUntil(async () => {
    const [seen] = await asUser(user, 'GET', '/api/v1/sandboxes', { query: { id } });
    return seen.status === 'RUNNING' && seen;
  }, 'the sandbox runs');
  return {
    id,
    remove,
    read: async (name) => assert.equal((await call('GET', `/api/v1/sandboxes/${id}/settings/secrets/${name}`, { key, url: APP_URL })).text, `value-of-${name}`),
  };
}

const rowsOf = (page, id) => page.getByTestId(id).evaluateAll((rows) => rows.map(({ innerText }) => innerText.replaceAll(/\s+/g, ' ')));

test('without secrets and reads the page says so, and how to store a secret', TIMEOUT, async (t) => {
  const { user, page } = await opened(t);
  await page.goto(APP);
  await page.getByRole('link', { name: 'Secrets' }).click();
  await page.getByRole('heading', { name: 'Secrets' }).waitFor();
  await page.getByText('No secrets are stored.').waitFor();
  await page.getByText('No sandbox has read a secret.').waitFor();
  assert.equal(new URL(page.url()).pathname, '/secrets');
  assert.match(await page.title(), /^Secrets/);
  await keep(user, 'UNREAD', 'for later');
  await page.reload();
  await page.getByTestId('secret').waitFor();
  assert.deepEqual(await rowsOf(page, 'secret'), ['UNREAD for later Never read by a sandbox']);
});

test('each read by a sandbox is shown with its time, at the secret and in the access log, also after both were deleted', TIMEOUT, async (t) => {
  const { user, page } = await opened(t);
  const other = await newUser();
  await keep(user, 'DEPLOY_KEY', null);
  await keep(user, 'UNREAD', null);
  const sandbox = await sandboxOf(t, user);
  const begun = Date.now();
  await sandbox.read('DEPLOY_KEY');
  await page.goto(`${APP}/secrets`);
  await page.getByTestId('secret-read').waitFor();
  const [first, second] = await rowsOf(page, 'secret');
  assert.ok(first.startsWith(`DEPLOY_KEY Last read by sandbox ${sandbox.id}, `), first);
  assert.equal(second, 'UNREAD Never read by a sandbox');
  for (const place of ['secret', 'secret-read']) {
    const read = Date.parse(await page.getByTestId(place).first().locator('time').getAttribute('datetime'));
    assert.ok(Math.abs(read - begun) < RUN_DEADLINE_MS, place);
  }
  assert.doesNotMatch(await page.content(), /value-of-/);
  const strangers = { key: null, url: APP_URL, headers: { authorization: `Bearer ${other.key}` } };
  assert.deepEqual((await must(200, 'GET', '/api/v1/secret-reads/search', strangers)).items, []);
  assert.deepEqual((await must(200, 'GET', '/api/v1/secret-reads/latest', strangers)).items, []);

  await must(200, 'DELETE', '/api/settings/secrets/DEPLOY_KEY', { key: user.key });
  await sandbox.remove();
  await page.reload();
  await page.getByTestId('secret-read').waitFor();
  assert.ok((await rowsOf(page, 'secret-read'))[0].startsWith(`DEPLOY_KEY by sandbox ${sandbox.id}, `));
  assert.equal(await page.getByTestId('secret').count(), 1);
});

test('a long access log is shown page by page, each read once, newest first', TIMEOUT, async (t) => {
  const { user, page } = await opened(t);
  const names = Array.from({ length: 23 }, (_, i) => `KEY_${i}`);
  const sandbox = await sandboxOf(t, user);
  for (const name of names) {
    await keep(user, name, null);
    await sandbox.read(name);
  }
  await page.goto(`${APP}/secrets`);
  await page.getByRole('button', { name: 'Show older' }).click();
  await page.getByTestId('secret-read').nth(names.length - 1).waitFor();
  await page.getByRole('button', { name: 'Show older' }).waitFor({ state: 'detached' });
  assert.deepEqual((await rowsOf(page, 'secret-read')).map((row) => row.split(' ')[0]), [...names].reverse());
});

test('an access log that cannot be loaded is shown as an error with a retry, not as empty', TIMEOUT, async (t) => {
  const { page } = await opened(t);
  const refuse = (route) => route.fulfill({ status: 429, json: {} });
  await page.route('**/secret-reads/latest', refuse);
  await page.goto(`${APP}/secrets`);
  await page.getByText('The access log could not be loaded.').waitFor();
  assert.equal(await page.getByText('No sandbox has read a secret.').count(), 0);
  await page.unroute('**/secret-reads/latest', refuse);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('No sandbox has read a secret.').waitFor();
});

test('the secrets fit on a phone; after signing in by a link the user returns to them', TIMEOUT, async (t) => {
  const { user, page, context } = await opened(t, { viewport: { width: 375, height: 812 }, isMobile: true, hasTouch: true });
  await keep(user, `LONG_${'X'.repeat(50)}`, 'a description that is longer than a phone is wide, so that it has to go on below');
  await page.goto(APP);
  await page.getByRole('link', { name: 'Secrets' }).tap();
  await page.getByTestId('secret').waitFor();
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth) <= 0);
  await page.getByRole('button', { name: 'Back to all conversations' }).tap();
  await page.getByTestId('home-screen').waitFor();
  await context.clearCookies();
  await page.goto(`${APP}/secrets`);
  await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
  await page.goto(`${APP}/sign-in#${await newLink(user.id)}`);
  await page.getByTestId('secrets-screen').waitFor();
});
