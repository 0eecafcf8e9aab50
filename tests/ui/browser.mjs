// A browser that is signed in to deft, with a list of the faults of its pages.
import { chromium } from 'playwright-core';
import { waitUntil } from '../e2e/support/wait.mjs';

export const APP = process.env.DEFT_TEST_APP_URL ?? process.env.DEFT_APP_URL;
export const LINK = process.env.DEFT_TEST_LINK ?? process.env.DEFT_SIGN_IN_LINK;

/** Deadline of a run with a cold sandbox on a busy machine. */
export const RUN_DEADLINE_MS = 180_000;
export const STEP_DEADLINE_MS = 60_000;

const FLAGS = [
  '--no-sandbox',
  '--headless=new',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-dev-shm-usage',
  // Allows pages that the test serves itself (carryRequests()) to open sockets to this machine.
  '--disable-features=LocalNetworkAccessChecks,LocalNetworkAccessChecksWebSockets',
  '--disable-sync',
  '--no-first-run',
];

export function launchBrowser() {
  return chromium.launch({ executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: FLAGS });
}

/**
 * Forwards the requests to one origin through the test. The browser's own fail with ERR_NETWORK_CHANGED whenever a network
 * interface of the machine appears or disappears, as those of sandboxes do; the test's do not. They keep
 * their connections; `more` are headers for an origin that closes idle ones, possibly during the next request.
 */
export async function carryRequests(context, origin, more = {}) {
  await context.route((url) => url.origin === origin, async (route) => {
    const headers = { ...route.request().headers(), ...more };
    const response = await route.fetch({ maxRedirects: 0, headers, timeout: RUN_DEADLINE_MS }).catch(() => undefined);
    await (response ? route.fulfill({ response }) : route.abort()).catch(() => {}); // the page may be gone
  });
}

/**
 * Opens an address whose requests are not carried; again if a change of the machine's network ended them. Resolves with the
 * failure, if there is another one.
 */
export async function visit(page, url) {
  for (;;) {
    const failed = await page.goto(url, { timeout: STEP_DEADLINE_MS }).then(() => undefined, (error) => error);
    if (!failed?.message.includes('ERR_NETWORK_CHANGED')) return failed;
  }
}

/**
 * Opens such a page by begin(), which resolves with the page, and waits for isThere(page); again if one of its later
 * requests was ended so. Sandboxes of other files' tests change the network at any time.
 */
export async function openUncarried(context, begin, isThere) {
  for (;;) {
    let wasCut = false;
    const note = (request) => { wasCut = wasCut || request.failure()?.errorText.includes('ERR_NETWORK_CHANGED'); };
    context.on('requestfailed', note);
    try {
      const page = await begin();
      await waitUntil(async () => wasCut || await isThere(page), 'the page is there', STEP_DEADLINE_MS);
      if (!wasCut) return page;
    } finally {
      context.off('requestfailed', note);
    }
  }
}

/** A page whose faults are recorded: exceptions, refused content, failures of the server. */
export async function openPage(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
  context.setDefaultTimeout(STEP_DEADLINE_MS);
  await carryRequests(context, new URL(APP).origin, { connection: 'close' });
  const page = await context.newPage();
  const faults = [];
  page.on('pageerror', (error) => faults.push(`exception: ${error.message}`));
  page.on('response', (reply) => reply.status() >= 500 && faults.push(`${reply.status()} ${reply.url()}`));
  page.on('console', (message) => {
    if (/content security policy/i.test(message.text())) faults.push(message.text());
  });
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    if (/^(https?|wss?):$/.test(protocol) && origin !== new URL(APP).origin) faults.push(`foreign host: ${request.url()}`);
  });
  return { context, page, faults };
}

/** The status line, once it shows one of the given states. */
export async function waitForStatus(page, states, deadlineMs = RUN_DEADLINE_MS) {
  const selector = states.map((state) => `[data-testid="status"][data-status="${state}"]`).join(', ');
  await page.locator(selector).waitFor({ timeout: deadlineMs });
}

/** The rows of the timeline, without the times in the margin. */
export function timelineRows(page) {
  return page.locator('.timeline > li .row-body').evaluateAll((rows) => rows.map((row) => row.innerText.trim()));
}
