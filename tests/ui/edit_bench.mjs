// What the tests of edited messages and of branches share: a conversation with turns, its page, and the parts of an editor.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Conversation } from '../e2e/support/conversation.mjs';
import { signIn } from '../e2e/support/session.mjs';
import { waitUntil } from '../e2e/support/wait.mjs';
import { start } from '../fakes/openai.mjs';
import { APP, RUN_DEADLINE_MS, launchBrowser, openPage } from './browser.mjs';

export const TIMEOUT = { timeout: 3 * RUN_DEADLINE_MS };
export const TURN = [{ calls: [{ name: 'terminal', arguments: { command: 'echo line >> log', summary: 's', security_risk: 'LOW' } }] }, { text: 'did it' }];

export class Bench {
  async open() {
    this.browser = await launchBrowser();
    this.model = await start({ scenarios: { turns: TURN } });
    const [name, value] = (await signIn()).split('=');
    this.session = { name, value, url: APP, httpOnly: true, sameSite: 'Lax' };
  }

  async close() {
    await this.browser?.close();
    assert.deepEqual(this.model?.violations, []);
    await this.model?.close();
  }

  /** A conversation whose turns each add a line to a file. */
  async withTurns(t, words, scenario = 'turns', steps = TURN) {
    const folder = `/workspace/${randomUUID()}`;
    if (scenario !== 'turns') this.model.setScenario(scenario, steps);
    const conversation = await Conversation.start(this.model, scenario, { workspace: { kind: 'LocalWorkspace', working_dir: folder } });
    conversation.folder = folder;
    t.after(() => conversation.delete());
    for (const message of words) assert.equal(await conversation.ask(message), 'finished');
    return conversation;
  }

  async page(t, conversation, options = {}) {
    const { context, page, faults } = await openPage(this.browser, options);
    t.after(async () => {
      await context.close();
      assert.deepEqual(faults, []);
    });
    await context.addCookies([this.session]);
    await page.goto(`${APP}/conversations/${conversation.id}`);
    await page.getByTestId('user-message').first().waitFor();
    await page.locator('[data-testid="status"][data-status]:not([data-status="connecting"])').waitFor();
    return page;
  }

  /** The texts of the user's messages in the newest request for a scenario. */
  saidTo(scenario) {
    const { messages } = this.model.requests.filter(({ body }) => body.model === scenario).at(-1).body;
    return messages.filter(({ role }) => role === 'user').map(({ content }) => [content].flat().map((part) => part.text ?? part).join(''));
  }
}

export async function nLines(conversation) {
  const json = { command: 'cat log 2>/dev/null | wc -l', cwd: conversation.folder };
  return Number((await conversation.must(200, 'POST', '/bash/execute_bash_command', { json })).stdout.trim());
}

export const rowOf = (page, words) => page.locator('.row', { has: page.getByTestId('user-message').filter({ hasText: new RegExp(`^You\\s*${words}$`) }) });
export const editor = (page) => page.getByTestId('message-editor');
export const box = (page) => page.getByLabel('Edited message');
export const choice = (page) => page.getByLabel('Restore the files of that time');
export const sendButton = (page) => editor(page).getByRole('button', { name: 'Send' });
export const alert = (page) => editor(page).getByRole('alert');
const shown = async (page) => (await page.getByTestId('user-message').allInnerTexts()).map((words) => words.replace(/^You\s*/, '').trim());

/** The editor of a message, which knows about its files. */
export async function edit(page, words, state = 'stored') {
  const row = rowOf(page, words);
  await row.hover();
  await row.getByRole('button', { name: 'Edit this message' }).click();
  await editor(page).locator(`[data-state="${state}"]`).waitFor();
}

export const shows = (page, words) => waitUntil(async (saw) => JSON.stringify(saw(await shown(page))) === JSON.stringify(words), `the page shows ${words}`, RUN_DEADLINE_MS);
