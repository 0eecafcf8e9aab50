// MCP servers that a conversation's workspace names: the page shows each with its target, and a button lets the agent use it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Box } from '../e2e/support/box.mjs';
import { Conversation, llmOf, startRequest } from '../e2e/support/conversation.mjs';
import { WORKING_DIR } from '../e2e/support/instance.mjs';
import { signIn } from '../e2e/support/session.mjs';
import { waitUntil } from '../e2e/support/wait.mjs';
import { start as startModel } from '../fakes/openai.mjs';
import { APP, launchBrowser, openPage } from './browser.mjs';

const SERVERS = {
  '<img src=x onerror=alert(1)>': { command: 'no-such-program', args: ['--flag', 'two words'], env: { MODE: 'x' } },
  notes: { url: 'https://notes.example/mcp', headers: { 'X-Token': '${TOKEN}' } },
};

let fake;
let browser;
let conversation;

before(async () => {
  fake = await startModel();
  browser = await launchBrowser();
  fake.setScenario('servers', [{ text: 'done' }]);
  const request = startRequest(llmOf(fake, 'servers'), { conversation_runtime: 'docker' });
  request.agent.agent_context = { load_project_skills: true };
  conversation = await Conversation.create(request);
  await new Box(conversation.path).upload(`${WORKING_DIR}/.mcp.json`, JSON.stringify({ mcpServers: SERVERS }));
  assert.equal(await conversation.ask('go'), 'finished');
});

after(async () => {
  await browser?.close();
  await conversation?.delete();
  await fake?.close();
});

const consents = async () => Object.fromEntries((await conversation.must(200, 'GET', '/project_mcp_servers')).project_mcp_servers.map(({ name, is_consented: is }) => [name, is]));

test('a server of the workspace is shown with its target, and allowed by its button', async () => {
  const { context, page, faults } = await openPage(browser);
  const [name, value] = (await signIn()).split('=');
  await context.addCookies([{ name, value, url: APP, httpOnly: true, sameSite: 'Lax' }]);
  await page.goto(`${APP}/conversations/${conversation.id}`);
  const questions = page.getByTestId('workspace-server');
  await questions.first().waitFor();
  const texts = await questions.allInnerTexts();
  assert.equal(texts.length, 2);
  assert.match(texts[0], /^<img src=x onerror=alert\(1\)>\s[^]*no-such-program --flag "two words"\s+It gets values for MODE$/);
  assert.match(texts[1], /^notes\s[^]*https:\/\/notes\.example\/mcp\s+It gets values for X-Token\s+It gets your secrets TOKEN$/);
  await page.getByTestId('allow-server').nth(1).click();
  await waitUntil(async () => (await questions.count()) === 1, 'the question is gone');
  assert.deepEqual(await consents(), { '<img src=x onerror=alert(1)>': false, notes: true });
  assert.match(await questions.first().innerText(), /no-such-program/);
  await page.getByTestId('hide-servers').click();
  await waitUntil(async () => (await page.getByTestId('workspace-servers').count()) === 0, 'the question is hidden');
  assert.equal((await consents())['<img src=x onerror=alert(1)>'], false);
  assert.deepEqual(faults, []);
  await context.close();
});
