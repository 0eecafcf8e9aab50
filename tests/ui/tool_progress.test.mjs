// The page shows how far a running call of an MCP server is, until its result has come.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Conversation, llmOf, startRequest } from '../e2e/support/conversation.mjs';
import { signIn } from '../e2e/support/session.mjs';
import { waitUntil } from '../e2e/support/wait.mjs';
import { start as startServer } from '../fakes/mcp.mjs';
import { start as startModel } from '../fakes/openai.mjs';
import { APP, RUN_DEADLINE_MS, launchBrowser, openPage, waitForStatus } from './browser.mjs';

let browser;
let model;
let server;
let say;
let release;

before(async () => {
  model = await startModel();
  server = await startServer({ tools: [{ name: 'paint', inputSchema: { type: 'object' } }], call: () => ({ content: [{ type: 'text', text: 'painted' }] }) });
  server.offer.report = ({ params: { _meta: { progressToken } } }, send) => new Promise((go) => {
    say = (params) => send({ method: 'notifications/progress', params: { progressToken, ...params } });
    release = go;
  });
  browser = await launchBrowser();
});

after(async () => {
  await browser?.close();
  await model?.close();
  await server?.close();
});

test('the progress of a running call is shown live', { timeout: 2 * RUN_DEADLINE_MS }, async (t) => {
  model.setScenario('paint', [{ calls: [{ name: 'paint', arguments: {} }] }, { text: 'done' }]);
  const request = startRequest(llmOf(model, 'paint'));
  request.agent.mcp_config = { one: { url: `${server.url}/streamed` } };
  const conversation = await Conversation.create(request);
  const { context, page, faults } = await openPage(browser);
  t.after(async () => {
    await context.close();
    await conversation.delete();
    assert.deepEqual(faults, []);
  });
  const [name, value] = (await signIn()).split('=');
  await context.addCookies([{ name, value, url: APP, httpOnly: true, sameSite: 'Lax' }]);
  await page.goto(`${APP}/conversations/${conversation.id}`);
  await waitForStatus(page, ['idle']);
  await conversation.say('go', true);
  await waitUntil(() => say !== undefined, 'the server has the call');

  const shown = page.getByTestId('tool-progress');
  assert.equal(await shown.count(), 0);
  say({ progress: 1, total: 4, message: 'The sky <b>is</b> \u202eblue' });
  await shown.waitFor();
  assert.equal(await shown.getByRole('progressbar').getAttribute('value'), '0.25');
  const words = await shown.innerText();
  assert.match(words, /1 of 4/);
  assert.match(words, /The sky <b>is<\/b>/);
  assert.ok(!words.includes('\u202e'), 'characters that would not show are named');
  say({ progress: 7 });
  await page.getByText('7 so far').waitFor();
  assert.equal(await shown.getByRole('progressbar').count(), 0);
  release();
  await waitForStatus(page, ['finished']);
  assert.equal(await shown.count(), 0);
});
