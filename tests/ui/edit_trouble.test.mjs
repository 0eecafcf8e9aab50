// Edited messages that cannot be sent, or whose files cannot be restored: the page says why, and keeps the text.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { execute } from '../e2e/support/database.mjs';
import { waitForStatus } from './browser.mjs';
import { Bench, TIMEOUT, TURN, alert, box, choice, edit, editor, nLines, sendButton, shows } from './edit_bench.mjs';

const PARKED = [{ park: true, text: 'at last' }];

const bench = new Bench();

before(() => bench.open());
after(() => bench.close());

test('the text stays where sending it failed: in the editor before the step back, below the log after it', TIMEOUT, async (t) => {
  const conversation = await bench.withTurns(t, ['one', 'two']);
  const page = await bench.page(t, conversation);
  const refuse = (status) => (route) => (route.request().method() === 'POST' ? route.fulfill({ status, json: { detail: 'no, thank you' } }) : route.fallback());
  await page.route('**/navigate', refuse(409));
  await edit(page, 'two');
  await box(page).fill('precious words');
  await sendButton(page).click();
  await alert(page).filter({ hasText: 'Not sent. no, thank you' }).waitFor();
  assert.equal(await box(page).inputValue(), 'precious words');
  await box(page).and(page.locator(':focus')).waitFor();
  assert.equal(await page.locator('.outgoing').count(), 0);
  await page.unroute('**/navigate');
  await page.route('**/events', refuse(409));
  await sendButton(page).click();
  const unsent = page.locator('.outgoing-failed').filter({ hasText: 'precious words' });
  await unsent.filter({ hasText: 'Not sent. no, thank you' }).waitFor();
  await shows(page, ['one', 'precious words'].slice(0, 1));
  await page.unroute('**/events');
  await page.reload();
  await unsent.waitFor();
  await page.getByRole('button', { name: 'Send again' }).click();
  await shows(page, ['one', 'precious words']);
  await waitForStatus(page, ['finished']);
  await conversation.rest(['finished']);
  assert.equal(await nLines(conversation), 2);
});

test('files without a checkpoint are not restored, which is explained', TIMEOUT, async (t) => {
  const conversation = await bench.withTurns(t, ['one', 'two']);
  await execute("UPDATE checkpoints SET tree = NULL, details = '{\"reason\": \"the disk was full\"}' WHERE conversation_id = :'id'", { id: conversation.id });
  const page = await bench.page(t, conversation);
  await edit(page, 'two', 'missing');
  assert.ok(await choice(page).isDisabled());
  assert.ok(!(await choice(page).isChecked()));
  await editor(page).getByText('The files of that time cannot be restored: the disk was full.').waitFor();
  await box(page).fill('go on');
  await sendButton(page).click();
  await shows(page, ['one', 'go on']);
  await waitForStatus(page, ['finished']);
  await conversation.rest(['finished']);
  assert.equal(await nLines(conversation), 3);
});

test('a run is stopped from the editor, and a message of another client is not left out unseen', TIMEOUT, async (t) => {
  const conversation = await bench.withTurns(t, ['one'], 'stopped');
  const page = await bench.page(t, conversation);
  bench.model.setScenario('stopped', PARKED);
  await edit(page, 'one');
  await box(page).fill('something else');
  await conversation.say('from elsewhere', true);
  await waitForStatus(page, ['running']);
  await editor(page).getByText('The agent is working. Stop it to send this.').waitFor();
  assert.ok(await sendButton(page).isDisabled());
  await box(page).press('Enter');
  await editor(page).getByRole('button', { name: 'Stop' }).click();
  await waitForStatus(page, ['paused']);
  bench.model.release();
  bench.model.setScenario('stopped', TURN);
  await sendButton(page).click();
  await alert(page).filter({ hasText: 'Another message arrived' }).waitFor();
  await shows(page, ['from elsewhere']);
  assert.equal(await box(page).inputValue(), 'something else');
  await sendButton(page).click();
  await shows(page, ['something else']);
  await waitForStatus(page, ['finished']);
  assert.deepEqual(bench.saidTo('stopped'), ['something else']);
});

test('a message that was sent during a command is edited after a stop: the text is not the reason to reject that command', TIMEOUT, async (t) => {
  const conversation = await bench.withTurns(t, ['one'], 'during');
  const page = await bench.page(t, conversation);
  bench.model.setScenario('during', [{ calls: [{ name: 'terminal', arguments: { command: 'sleep 600', summary: 's', security_risk: 'LOW' } }] }]);
  await conversation.say('go', true);
  await page.locator('.knot-live').waitFor();
  await conversation.say('more', true);
  await edit(page, 'more', 'unchanged');
  await box(page).fill('something else');
  await editor(page).getByRole('button', { name: 'Stop' }).click();
  await waitForStatus(page, ['paused']);
  bench.model.setScenario('during', TURN);
  await sendButton(page).click();
  await shows(page, ['one', 'go', 'something else']);
  await waitForStatus(page, ['finished']);
  await conversation.rest(['finished']);
  assert.equal(await page.locator('.outgoing-failed').count(), 0);
  assert.deepEqual(bench.saidTo('during'), ['one', 'gosomething else'], 'the command in between was never made');
  const events = await conversation.events();
  const asked = events.findIndex(({ kind, source, llm_message: said }) => kind === 'MessageEvent' && source === 'user' && said.content[0].text === 'more');
  assert.equal(events[asked - 1].kind, 'ActionEvent', 'the log was continued at a call whose result came later');
});

test('if another window leaves the branch, an open edit becomes a message that was not sent', TIMEOUT, async (t) => {
  const conversation = await bench.withTurns(t, ['one', 'two']);
  const page = await bench.page(t, conversation);
  await edit(page, 'two');
  await box(page).fill('not to be lost');
  const [answer] = (await conversation.events()).filter(({ kind, source }) => kind === 'MessageEvent' && source === 'agent');
  await conversation.must(200, 'POST', '/navigate', { json: { event_id: answer.id } });
  await page.locator('.outgoing-failed').filter({ hasText: 'not to be lost' }).filter({ hasText: 'no longer part of the conversation' }).waitFor();
  await shows(page, ['one']);
  assert.equal(await editor(page).count(), 0);
});
