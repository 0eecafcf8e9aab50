// A sign-in link opened in a browser in which somebody is signed in already.
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

test('a link of another user asks first, and is still good when the answer was no', async () => {
  const { context, page } = await openSignedIn();
  const { id } = await newUser();
  const link = `${APP}/sign-in#${await newLink(id)}`;
  const question = page.getByRole('heading', { name: 'Another user is signed in' });
  await page.goto(link);
  await question.waitFor();
  assert.match(await page.locator('main').innerText(), /signed in as owner@localhost, and the link is for \S+@example\.test/);
  await page.getByRole('button', { name: 'Stay owner@localhost' }).click();
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

test('a link of the same user goes on at once', async () => {
  const { context, page } = await openSignedIn();
  await page.goto(`${APP}/sign-in#${await newLink()}`);
  await page.getByTestId('home-screen').waitFor();
  assert.equal(await whoIs(page), 'owner@localhost');
  await context.close();
});

test('too many wrong links are told as that, and a right one is taken', async () => {
  const { context, page } = await openPage(browser);
  await page.goto(APP);
  const refused = page.getByRole('heading', { name: 'Too many wrong sign-in links' });
  const send = (token) => page.evaluate((wrong) => fetch('/api/v1/sign-in', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ token: wrong }) }).then((answer) => answer.status), token);
  // One is forgotten in three seconds, which a slow machine may take to open the page.
  for (let tries = 0; tries < 20 && !(await refused.isVisible()); tries++) {
    for (let i = 0; await send(`wrong-${i}`) === 401; i++) assert.ok(i < 100, 'any number of wrong links is looked up');
    await page.goto('about:blank');
    await page.goto(`${APP}/sign-in#wrong`);
    await page.getByRole('heading', { name: /no longer works|Too many/ }).waitFor();
  }
  assert.match(await page.locator('main').innerText(), /Wait a minute and try again/);
  await page.getByRole('button', { name: 'Try again' }).waitFor();
  await page.goto('about:blank');
  await page.goto(`${APP}/sign-in#${await newLink()}`);
  await page.getByTestId('home-screen').waitFor();
  await context.close();
});
