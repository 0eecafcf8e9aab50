// Editing a message on the page and sending it again: the view of all windows, the model's request, the files.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertSound } from '../e2e/support/database.mjs';
import { waitUntil } from '../e2e/support/wait.mjs';
import { waitForStatus } from './browser.mjs';
import { Bench, TIMEOUT, box, choice, edit, editor, nLines, sendButton, shows } from './edit_bench.mjs';

const bench = new Bench();

before(() => bench.open());
after(() => bench.close());

test('an edited message replaces its branch, in all windows, and the files are as it found them', TIMEOUT, async (t) => {
  const conversation = await bench.withTurns(t, ['one', 'two', 'three'], 'replaced');
  const page = await bench.page(t, conversation);
  const other = await bench.page(t, conversation);
  await edit(page, 'two');
  assert.equal(await box(page).inputValue(), 'two');
  assert.ok(await choice(page).isChecked(), 'files are restored by default');
  await box(page).fill('two, in other words');
  await sendButton(page).click();
  for (const window of [page, other]) await shows(window, ['one', 'two, in other words']);
  await editor(page).waitFor({ state: 'detached' });
  await page.getByLabel('Message to the agent').and(page.locator(':focus')).waitFor();
  await conversation.rest(['finished']);
  for (const window of [page, other]) {
    await waitForStatus(window, ['finished']);
    await waitUntil(async (saw) => saw(await window.getByTestId('agent-message').count()) === 2, 'each message has its answer');
  }
  assert.deepEqual(bench.saidTo('replaced'), ['one', 'two, in other words']);
  assert.equal(await nLines(conversation), 2);
  await page.reload();
  await shows(page, ['one', 'two, in other words']);
  assert.equal(await page.locator('.outgoing').count(), 0);
  await assertSound(conversation);
});

test('the first message is edited, and the files stay if the user chooses so', TIMEOUT, async (t) => {
  const conversation = await bench.withTurns(t, ['one', 'two'], 'kept');
  const page = await bench.page(t, conversation);
  await edit(page, 'one');
  await choice(page).uncheck();
  await box(page).fill('another one');
  await box(page).press('Enter');
  await shows(page, ['another one']);
  await waitForStatus(page, ['finished']);
  await conversation.rest(['finished']);
  assert.deepEqual(bench.saidTo('kept'), ['another one']);
  assert.equal(await nLines(conversation), 3);
});

test('cancel changes nothing, and what was typed is still there after a reload', TIMEOUT, async (t) => {
  const conversation = await bench.withTurns(t, ['one', 'two']);
  const before = await conversation.events();
  const page = await bench.page(t, conversation);
  const posts = [];
  page.on('request', (request) => request.method() === 'POST' && posts.push(request.url()));
  await edit(page, 'one');
  await box(page).fill('half a thought');
  await box(page).press('Escape');
  await editor(page).waitFor();
  await page.reload();
  await editor(page).waitFor();
  assert.equal(await box(page).inputValue(), 'half a thought');
  await editor(page).getByRole('button', { name: 'Cancel' }).click();
  await shows(page, ['one', 'two']);
  await page.getByLabel('Edit this message').and(page.locator(':focus')).waitFor();
  await page.reload();
  await shows(page, ['one', 'two']);
  assert.equal(await editor(page).count(), 0);
  assert.deepEqual(posts, []);
  assert.deepEqual(await conversation.events(), before);
});
