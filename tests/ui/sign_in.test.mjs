// A sign-in link opened in a browser with a signed-in user.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newLink, signIn } from '../e2e/support/session.mjs';
import { newUser } from '../e2e/support/users.mjs';
import { APP, launchBrowser, openPage } from './browser.mjs';

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
  await page.goto(APP);
  const refused = page.getByRole('heading', { name: 'Too many invalid sign-in links' });
  const send = (token) => page.evaluate((wrong) => fetch('/api/v1/sign-in', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ token: wrong }) }).then((answer) => answer.status), token);
  // The limit recovers one attempt in three seconds, which a slow machine may need to open the page.
  for (let tries = 0; tries < 20 && !(await refused.isVisible()); tries++) {
    for (let i = 0; await send(`wrong-${i}`) === 401; i++) assert.ok(i < 100, 'any number of wrong links is looked up');
    await page.goto('about:blank');
    await page.goto(`${APP}/sign-in#wrong`);
    await page.getByRole('heading', { name: /is not valid|Too many/ }).waitFor();
  }
  assert.match(await page.locator('main').innerText(), /Wait a minute and try again/);
  await page.getByRole('button', { name: 'Try again' }).waitFor();
  await page.goto('about:blank');
  await page.goto(`${APP}/sign-in#${await newLink()}`);
  await page.getByTestId('home-screen').waitFor();
  await context.close();
});
