// What a person does at OpenHands' own page against the whole system: the first start, conversations, messages. The page
// and its model serve all tests of a file; no test may cause a fault, or an error message to the user.
import assert from 'node:assert/strict';
import { after, afterEach, before } from 'node:test';
import { must } from '../e2e/support/api.mjs';
import { AGENT_URL } from '../e2e/support/instance.mjs';
import { newUser } from '../e2e/support/users.mjs';
import { waitUntil } from '../e2e/support/wait.mjs';
import { start as startModel } from '../fakes/openai.mjs';
import { RUN_DEADLINE_MS } from './browser.mjs';
import { fetchCanvas, openCanvas, serveCanvas } from './canvas.mjs';

export const MODEL = 'canvas';
export const LONG = { timeout: 2 * RUN_DEADLINE_MS };
export let fake;
export let site;
export let canvas;
export let page;
export let key;

export const command = (line, risk = 'LOW') => ({ calls: [{ name: 'terminal', arguments: { command: line, security_risk: risk, summary: 's' } }] });

before(async () => {
  const folder = await fetchCanvas();
  fake = await startModel();
  ({ key } = await newUser());
  site = await serveCanvas(folder, { agent: AGENT_URL, key });
  canvas = await openCanvas(site);
  page = canvas.page;
}, { timeout: RUN_DEADLINE_MS });

after(async () => {
  await canvas?.browser.close();
  await site?.close();
  await fake?.close();
});

let isForgiven = false;

/** The test takes processes away: its requests may fail, and the page may say so, at any time until its end. */
export const forgive = () => {
  isForgiven = true;
};

afterEach(async () => {
  const toasts = await page.evaluate(() => window.toasts.splice(0));
  const faults = canvas.faults.splice(0);
  if (isForgiven) return;
  assert.deepEqual(faults, []);
  assert.deepEqual(toasts.filter((text) => /error|fail|wrong|unable/i.test(text)), []);
});

export const at = (id) => page.getByTestId(id);
export const shown = (text) => page.getByTestId('chat-interface').getByText(text).first().waitFor({ timeout: RUN_DEADLINE_MS });

/** Runs `make` once, for the first caller. */
function once(make) {
  let made;
  return () => (made ??= make());
}

/** Whether the slide with that step is the shown one, and has stopped moving. */
function isSlideAtRest(step) {
  const slide = document.querySelector(`[data-testid="${step}"]`)?.closest('[data-active="true"]');
  return Boolean(slide) && slide.getAnimations().length === 0;
}

/** The slides of the form move: a click is lost if its button moves on between press and release. */
const slideRests = (step) => page.waitForFunction(isSlideAtRest, `onboarding-step-${step}`);

/** The first start of the page, with its first message. */
export const started = once(async () => {
  fake.setScenario(MODEL, [command('echo hello'), { text: 'Hello yourself.' }]);
  await page.goto(site.url);
  await at('confirm-telemetry-preferences').click();
  await slideRests('choose-agent');
  await at('onboarding-agent-next').click();
  await at('llm-settings-form-basic').waitFor();
  await slideRests('setup-llm');
  await at('sdk-section-advanced-toggle').click();
  await at('llm-custom-model-input').fill(`openai/${MODEL}`);
  await at('base-url-input').fill(fake.url);
  await at('llm-api-key-input').fill('sk-test');
  await at('onboarding-llm-next').click();
  await slideRests('say-hello');
  await at('onboarding-hello-input').fill('Say hello');
  await at('onboarding-step-say-hello').getByTestId('submit-button').click();
  await at('conversation-card').first().click();
  await shown('Hello yourself.');
});

export async function open(path) {
  await started();
  await page.goto(site.url + path);
  await at('root-layout').waitFor();
}

/** Starts a conversation on the home screen; resolves with its id. */
export async function begin(words, steps) {
  await open('/');
  fake.setScenario(MODEL, steps);
  await at('home-chat-launcher').getByTestId('chat-input').fill(words);
  await page.keyboard.press('Enter');
  await page.waitForURL('**/conversations/*');
  return /conversations\/([0-9a-f-]+)/.exec(page.url())[1];
}

export async function say(words, steps) {
  fake.setScenario(MODEL, steps);
  await at('interactive-chat-box').getByTestId('chat-input').fill(words);
  await page.keyboard.press('Enter');
}

/** The id of a conversation that created files, committed one of them, and answered a further message. */
export const talked = once(async () => {
  const id = await begin('Make files', [
    command('git config user.name n; git config user.email e@x.test; echo "a greeting" > hello.txt; git add .; git commit -qm "The first"; echo two > two.txt'),
    { text: 'The files are made.' },
  ]);
  await shown('The files are made.');
  await reaches(id, 'finished');
  canvas.sent.length = 0;
  await say('And now?', [{ text: 'Now I rest.' }]);
  await shown('Now I rest.');
  return id;
});

/** The conversation's line in the list at the left, and an entry of its menu. */
export const cardOf = (id) => page.locator(`[data-testid="conversation-card"]:has([data-testid="conversation-pin-toggle-${id}"])`);
export async function choose(id, entry) {
  await cardOf(id).hover();
  await cardOf(id).getByTestId('ellipsis-button').click();
  await at(entry).click();
}

/** The last request for a step; requests for titles have no tools, and come at any time. */
export const lastStep = () => fake.requests.filter(({ body }) => body?.tools !== undefined).at(-1).body;

export const settings = () => must(200, 'GET', '/api/settings', { key });
const statusOf = async (id) => (await must(200, 'GET', `/api/conversations/${id}`, { key })).execution_status;
export const reaches = (id, status) => waitUntil(async () => (await statusOf(id)) === status, `the conversation is ${status}`, RUN_DEADLINE_MS);
