// OpenHands' own page, used as by a person: the files of a conversation, and those attached to its messages.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { waitUntil } from '../e2e/support/wait.mjs';
import { at, begin, command, lastStep, LONG, open, page, reaches, say, shown, talked } from './canvas_person.mjs';

/** A picture of one pixel. */
const PNG = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==', 'base64');

test('agent-server 63: files, commits and usage', LONG, async () => {
  await open(`/conversations/${await talked()}`);
  await shown('Now I rest.');
  await at('right-panel-toggle').click();
  await at('files-tab-refresh').click();
  await at('file-tree-file-two.txt').waitFor();
  await at('file-tree-file-hello.txt').click();
  await at('file-content-viewer-plain').getByText('a greeting').waitFor();
  await at('conversation-tab-commits').click();
  await page.getByText('The first').first().waitFor();
  await at('conversation-tab-usage').click();
  await at('usage-panel').getByText('Token Usage').waitFor();
  const nothingUsed = /Total\s+0\b/;
  await waitUntil(async () => !nothingUsed.test(await at('usage-panel').innerText()), 'the usage is told');
});

test('agent-server 63: a picture and a file are attached to a message', LONG, async () => {
  const id = await begin('Wait for files', [{ text: 'Send them.' }]);
  await shown('Send them.');
  await reaches(id, 'finished');
  const asked = page.waitForEvent('filechooser');
  await at('interactive-chat-box').getByTestId('chat-plus-button').click();
  await at('add-files-and-images-button').click();
  await (await asked).setFiles([
    { name: 'dot.png', mimeType: 'image/png', buffer: PNG },
    { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('some notes\n') },
  ]);
  // The names are shown while the files are read, and a message sent then has no files. The picture itself is shown
  // when all of them were read.
  await at('interactive-chat-box').getByAltText('dot.png').waitFor();
  await at('interactive-chat-box').getByText('notes.txt').first().waitFor();
  await say('Look at these', [command('cat notes.txt'), { text: 'I have looked.' }]);
  await shown('I have looked.');
  const { messages } = lastStep();
  const said = messages.filter(({ role }) => role === 'user').at(-1).content;
  assert.equal(said.find(({ type }) => type === 'image_url').image_url.url, `data:image/png;base64,${PNG.toString('base64')}`);
  assert.match(said[0].text, /notes\.txt/);
  assert.match(JSON.stringify(messages.at(-1).content), /some notes/, 'the command finds the file where the agent works');
});
