// Branching off from a message on the page.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Conversation } from '../e2e/support/conversation.mjs';
import { assertSound } from '../e2e/support/database.mjs';
import { waitForStatus } from './browser.mjs';
import { Bench, TIMEOUT, TURN, choice, nLines, shows } from './edit_bench.mjs';

const bench = new Bench();

before(() => bench.open());
after(() => bench.close());

test('a branch opens as a conversation of its own, with the files of that time', TIMEOUT, async (t) => {
  const source = await bench.withTurns(t, ['one', 'two', 'three'], 'forked');
  await source.must(200, 'PATCH', '', { json: { title: 'Lines' } });
  const page = await bench.page(t, source);
  const answer = page.locator('.row', { has: page.getByTestId('agent-message') }).first();
  await answer.hover();
  assert.equal(await answer.getByRole('button', { name: 'Edit this message' }).count(), 0);
  await answer.getByRole('button', { name: 'Branch from here' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.locator('[data-state="stored"]').waitFor();
  await page.route('**/fork', (route) => route.abort());
  await page.getByTestId('confirm-button').click();
  await dialog.getByRole('alert').filter({ hasText: 'The branch was not created.' }).waitFor();
  await page.unroute('**/fork');
  await page.getByTestId('confirm-button').click();
  await page.waitForURL((url) => !url.href.includes(source.id));
  const copy = new Conversation(new URL(page.url()).pathname.split('/').pop());
  copy.folder = source.folder;
  t.after(() => copy.delete());
  await shows(page, ['one']);
  await page.getByRole('heading', { level: 1, name: 'Lines (branch)' }).waitFor();
  await page.getByTestId('conversation-card').filter({ hasText: 'Lines (branch)' }).waitFor();
  await page.getByLabel('Message to the agent').fill('another two');
  await page.keyboard.press('Enter');
  await shows(page, ['one', 'another two']);
  await waitForStatus(page, ['finished']);
  await copy.rest(['finished']);
  assert.deepEqual(bench.saidTo('forked'), ['one', 'another two']);
  assert.equal(await nLines(copy), 2);
  assert.equal(await nLines(source), 3);
  await assertSound(source, copy);
});

test('a branch from the end of a task includes it, and without files the sandbox is shared', TIMEOUT, async (t) => {
  const FINISH = [TURN[0], { calls: [{ name: 'finish', arguments: { message: 'All done', summary: 'report' } }] }];
  const source = await bench.withTurns(t, ['one', 'two'], 'ended', FINISH);
  const page = await bench.page(t, source);
  const end = page.locator('.row', { has: page.getByTestId('finish') }).first();
  await end.hover();
  await end.getByRole('button', { name: 'Branch from here' }).click();
  await page.getByRole('dialog').locator('[data-state="stored"]').waitFor();
  await choice(page).uncheck();
  await page.getByTestId('confirm-button').click();
  await page.waitForURL((url) => !url.href.includes(source.id));
  const copy = new Conversation(new URL(page.url()).pathname.split('/').pop());
  t.after(() => copy.delete());
  await shows(page, ['one']);
  await page.getByTestId('finish').waitFor();
  assert.equal(await copy.ask('go on'), 'finished');
  const { messages } = bench.model.requests.filter(({ body }) => body.model === 'ended').at(-2).body;
  const called = messages.flatMap(({ tool_calls: calls = [] }) => calls.map((call) => call.function.name));
  assert.deepEqual(called, ['terminal', 'finish'], 'the model is told that the task has ended');
  assert.equal(await nLines(source), 3);
});
