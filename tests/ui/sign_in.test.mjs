// A sign-in link opened in a browser with a signed-in user.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newLink, signIn } from '../e2e/support/session.mjs';
import { newUser } from '../e2e/support/users.mjs';
import { APP, launchBrowser, openPage, STEP_DEADLINE_MS } from './browser.mjs';

/** More wrong links than are looked up without a pause. */
const LOOKED_UP_MAX = 100;

let browser;

before(async () => { browser = await launchBrowser(); });
after(() => browser?.close());

/** A page of a browser in which the owner is signed in. */
async function openSignedIn() {
  const opened = await openPage(browser);
  const [name, value] = (await signIn()).split('=');
  await opened.context.addCookies([{ name, value, url: APP, httpOnly: true, sameSite: 'Lax' }]);
  return opened;
}

const whoIs = (page) => page.evaluate(() => fetch('/api/v1/me').then((answer) => answer.json()).then(({ email }) => email));

test('a link for another user asks for confirmation, and stays valid if the user declines', async () => {
  const { context, page } = await openSignedIn();
  const { id } = await newUser();
  const link = `${APP}/sign-in#${await newLink(id)}`;
  const question = page.getByRole('heading', { name: 'Another user is signed in' });
  await page.goto(link);
  await question.waitFor();
  assert.match(await page.locator('main').innerText(), /signed in as owner@localhost, and the link is for \S+@example\.test/);
  await page.getByRole('button', { name: 'Stay signed in as owner@localhost' }).click();
  await page.getByTestId('home-screen').waitFor();
  assert.equal(await whoIs(page), 'owner@localhost');

  await page.goto('about:blank');
  await page.goto(link);
  await question.waitFor();
  await page.getByRole('button', { name: `Sign in as ${id}@example.test` }).click();
  await page.getByTestId('home-screen').waitFor();
  assert.equal(await whoIs(page), `${id}@example.test`);
  await context.close();
});

test('a link for the same user signs in without a question', async () => {
  const { context, page } = await openSignedIn();
  await page.goto(`${APP}/sign-in#${await newLink()}`);
  await page.getByTestId('home-screen').waitFor();
  assert.equal(await whoIs(page), 'owner@localhost');
  await context.close();
});

test('too many invalid links are reported as such, and a valid link still works', async () => {
  const { context, page } = await openPage(browser);
  // The limit recovers one attempt in three seconds, which a slow machine may need to open the page. So the page's own
  // request is repeated until the limit is reached, and the page gets the last answer.
  await page.route('**/api/v1/sign-in', async (route) => {
    const headers = { ...route.request().headers(), connection: 'close' };
    let response;
    for (let i = 0; i === 0 || (response.status() === 401 && i < LOOKED_UP_MAX); i++) response = await route.fetch({ headers, timeout: STEP_DEADLINE_MS });
    await route.fulfill({ response });
  });
  await page.goto(`${APP}/sign-in#wrong`);
  await page.getByRole('heading', { name: 'Too many invalid sign-in links' }).waitFor();
  await page.unroute('**/api/v1/sign-in');
  assert.match(await page.locator('main').innerText(), /Wait a minute and try again/);
  await page.getByRole('button', { name: 'Try again' }).waitFor();
  await page.goto('about:blank');
  await page.goto(`${APP}/sign-in#${await newLink()}`);
  await page.getByTestId('home-screen').waitFor();
  await context.close();
});
