// The page's messages about a model that refuses, is retried, or is silent.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Conversation, llmOf, startRequest } from '../e2e/support/conversation.mjs';
import { execute } from '../e2e/support/database.mjs';
import { signIn } from '../e2e/support/session.mjs';
import { waitUntil } from '../e2e/support/wait.mjs';
import { start } from '../fakes/openai.mjs';
import { APP, RUN_DEADLINE_MS, launchBrowser, openPage, waitForStatus } from './browser.mjs';

const TIMEOUT = { timeout: 2 * RUN_DEADLINE_MS };
const refusal = (status, error, headers) => ({ status, error: { message: 'no', ...error }, headers });

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

/** A signed-in page on a new conversation with that model, which has not been called yet. */
async function opened(t, scenario, llm = {}) {
  const conversation = await Conversation.create(startRequest(llmOf(model, scenario, llm)));
  const { context, page, faults } = await openPage(browser);
  t.after(async () => {
    await context.close();
    await conversation.delete();
    assert.deepEqual(faults, []);
  });
  await context.addCookies([session]);
  await page.clock.install();
  await page.goto(`${APP}/conversations/${conversation.id}`);
  await waitForStatus(page, ['idle']);
  return { page, conversation };
}

test('the advice matches the cause, and each error is shown once', TIMEOUT, async (t) => {
  const causes = [
    ['key', refusal(401, {}), 'The model\'s provider rejected the API key', /uses its own model/],
    ['quota', refusal(429, { code: 'insufficient_quota' }), 'The account at the model\'s provider has no credit left', /Waiting does not help/],
    ['unknown', refusal(404, { message: 'The model does not exist' }), 'The provider does not know this model', /Check its name/],
  ];
  for (const [scenario, step, title, advice] of causes) {
    model.setScenario(scenario, [step]);
    const { page, conversation } = await opened(t, scenario);
    await conversation.say('go', true);
    await page.getByRole('heading', { name: title }).waitFor();
    await waitForStatus(page, ['error']);
    const words = await page.locator('.trouble').innerText();
    assert.match(words, advice);
    assert.doesNotMatch(words, /LLM_MODEL|LLM_API_KEY|settings/, 'the request chose this model');
    assert.equal(await page.locator('.trouble').count(), 1);
  }
});

test('a failed attempt is shown with its reason and the time of the next one', TIMEOUT, async (t) => {
  model.setScenario('busy', [{ text: 'Good morning', once: refusal(503, { message: 'too busy' }, { 'retry-after': '15' }) }]);
  const { page, conversation } = await opened(t, 'busy', { num_retries: 3 });
  await conversation.say('go', true);
  const note = page.getByTestId('model-retry');
  await note.waitFor();
  assert.match(await note.innerText(), /Next attempt at \d\d:\d\d:\d\d \(2 of 3\)[^]*too busy/);
  await page.getByTestId('agent-message').filter({ hasText: 'Good morning' }).waitFor({ timeout: RUN_DEADLINE_MS });
  await note.waitFor({ state: 'detached' });
});

test('a page opened between two attempts, or while the model is silent, says so at once', TIMEOUT, async (t) => {
  model.setScenario('later', [{ text: 'Good evening', once: refusal(503, { message: 'too busy' }, { 'retry-after': '60' }) }]);
  const { page, conversation } = await opened(t, 'later', { num_retries: 3 });
  await conversation.say('go', true);
  const note = page.getByTestId('model-retry');
  await note.waitFor();
  await page.reload();
  await note.waitFor();
  assert.match(await note.innerText(), /Next attempt at \d\d:\d\d:\d\d \(2 of 3\)[^]*too busy/);
  model.setScenario('quiet', [{ park: true, text: 'At last' }]);
  const second = await opened(t, 'quiet');
  await second.conversation.say('go', true);
  await waitUntil(() => model.nParked() === 1, 'the model is asked');
  await execute("UPDATE events SET timestamp = to_char(timestamp::timestamp - interval '30 seconds', 'YYYY-MM-DD\"T\"HH24:MI:SS.US') WHERE conversation_id = :'id'", { id: second.conversation.id });
  await second.page.reload();
  await second.page.getByTestId('model-silent').waitFor();
  model.release();
  await second.page.getByTestId('agent-message').filter({ hasText: 'At last' }).waitFor({ timeout: RUN_DEADLINE_MS });
});

test('a model without output for twenty seconds is reported as silent, until it answers', TIMEOUT, async (t) => {
  model.setScenario('silent', [{ park: true, text: 'At last' }]);
  const { page, conversation } = await opened(t, 'silent');
  await conversation.say('go', true);
  await waitUntil(() => model.nParked() === 1, 'the model is asked');
  await waitForStatus(page, ['running']);
  assert.equal(await page.getByTestId('model-silent').count(), 0);
  await page.clock.fastForward(21_000);
  await page.getByTestId('model-silent').filter({ hasText: '20 seconds' }).waitFor();
  model.release();
  await page.getByTestId('agent-message').filter({ hasText: 'At last' }).waitFor({ timeout: RUN_DEADLINE_MS });
  await page.getByTestId('model-silent').waitFor({ state: 'detached' });
});
