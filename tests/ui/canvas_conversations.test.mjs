// OpenHands' own page, used as by a person: the conversations of the list: named, deleted, kept, branched.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { call, must } from '../e2e/support/api.mjs';
import { waitUntil } from '../e2e/support/wait.mjs';
import { at, begin, cardOf, choose, key, LONG, page, reaches, say, shown } from './canvas_person.mjs';

test('agent-server 63: a conversation is renamed and deleted', LONG, async () => {
  const id = await begin('Name me', [{ text: 'Named.' }]);
  await shown('Named.');
  await choose(id, 'edit-button');
  await page.locator('input:focus').waitFor();
  await page.keyboard.press('Control+a');
  await page.keyboard.type('By another name');
  await page.keyboard.press('Enter');
  await waitUntil(async () => (await must(200, 'GET', `/api/conversations/${id}`, { key })).title === 'By another name', 'the name is kept');
  await choose(id, 'delete-button');
  await page.getByRole('dialog').getByRole('button', { name: 'Confirm' }).click();
  await cardOf(id).waitFor({ state: 'detached' });
  await waitUntil(async () => (await call('GET', `/api/conversations/${id}`, { key })).status === 404, 'it is gone');
});

test('agent-server 63: a conversation is downloaded, and exported as text', LONG, async () => {
  const id = await begin('Keep me', [{ text: 'Kept for ever.' }]);
  await shown('Kept for ever.');
  const download = async (click) => {
    const [file] = await Promise.all([page.waitForEvent('download'), click()]);
    return { name: file.suggestedFilename(), bytes: await readFile(await file.path()) };
  };
  const archive = await download(() => choose(id, 'download-trajectory-button'));
  assert.match(archive.name, /\.zip$/);
  assert.equal(archive.bytes.subarray(0, 2).toString(), 'PK');
  await page.locator('[data-testid=ellipsis-button]:not([data-testid=conversation-card] *)').first().click();
  await at('export-transcript-button').click();
  const text = await download(() => page.getByRole('dialog').getByRole('button', { name: 'Export Conversation' }).click());
  assert.match(text.name, /\.md$/);
  assert.match(text.bytes.toString(), /Keep me[^]*Kept for ever\./);
});

test('agent-server 63: a branch continues from an earlier message', LONG, async () => {
  const id = await begin('First', [{ text: 'First done.' }]);
  await shown('First done.');
  await reaches(id, 'finished');
  await say('Second', [{ text: 'Second done.' }]);
  await shown('Second done.');
  await reaches(id, 'finished');
  await at('user-message').last().hover();
  await at('user-message').last().getByLabel('Branch from here').click();
  await page.waitForURL((url) => url.pathname.startsWith('/conversations/') && !url.pathname.includes(id));
  // Until the branch is loaded the page shows the original conversation, and would send to it.
  await page.getByText('Second done.').first().waitFor({ state: 'detached' });
  await shown('First done.');
  await say('Third', [{ text: 'Third done.' }]);
  await shown('Third done.');
  const { items } = await must(200, 'GET', `/api/conversations/${id}/events/search?limit=100&kind=MessageEvent`, { key });
  assert.doesNotMatch(JSON.stringify(items.map(({ llm_message: message }) => message.content)), /Third/, 'the conversation itself stays as it was');
});
