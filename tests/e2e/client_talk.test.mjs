// The official TypeScript client: operations on a conversation besides messages, and crashes.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { newWorkspace, openConversation, part } from './support/client.mjs';
import { isAction, isResult, llmOf, observed, ofKind } from './support/conversation.mjs';
import { assertSound } from './support/database.mjs';
import { WORKING_DIR } from './support/instance.mjs';
import { strictModel } from './support/model.mjs';
import { killAndAwait, killEverything } from './support/processes.mjs';
import { restingSnapshot } from './support/socket.mjs';
import { waitUntil } from './support/wait.mjs';

const fake = await strictModel();
const client = part('ConversationClient');
const command = (line, more = {}) => ({ name: 'terminal', arguments: { command: line, security_risk: 'LOW', summary: 's', ...more } });

/** Sends a message and runs it; resolves with the snapshot at its end. */
async function ask({ conversation, heard, hears }, words, statuses = ['finished']) {
  const from = heard.length;
  await conversation.sendMessage(words);
  await conversation.run();
  return hears(restingSnapshot([...statuses, 'error']), `the end of '${words}'`, from);
}

const eventsOf = async ({ id }) => (await client.searchEvents(id, { limit: 100 })).items;
/** Generating a title may add to the statistics at any time. */
const isSaid = (event) => event.kind !== 'ConversationStateUpdateEvent';
const kindOf = (event) => event.kind;
const statusOf = async ({ id }) => (await client.getConversation(id)).execution_status;

test('with confirmation each step waits, and can be rejected or approved', async (t) => {
  const opened = await openConversation(t, fake, 'confirm');
  const { conversation, heard, hears } = opened;
  await conversation.setConfirmationPolicy({ kind: 'AlwaysConfirm' });
  const end = await ask(opened, 'Create hello.txt', ['waiting_for_confirmation']);
  assert.equal(end.value.execution_status, 'waiting_for_confirmation');
  await conversation.sendConfirmationResponse(false, 'not that file');
  assert.equal((await hears(ofKind('UserRejectObservation'), 'the rejection')).rejection_reason, 'not that file');
  assert.equal(await statusOf(conversation), 'idle');
  let from = heard.length;
  await conversation.run();
  await hears(restingSnapshot(['waiting_for_confirmation']), 'the next step waits', from);
  from = heard.length;
  await conversation.sendConfirmationResponse(true);
  await hears(restingSnapshot(['finished']), 'the end', from);
  await assertSound(conversation);
});

test('with the model\'s own risk assessment a risky step waits', async (t) => {
  fake.setScenario('risks', [{ calls: [command('true')] }, { calls: [command('true', { security_risk: 'HIGH' })] }, { text: 'done' }]);
  const opened = await openConversation(t, fake, 'risks');
  await opened.conversation.setSecurityAnalyzer({ kind: 'LLMSecurityAnalyzer' });
  await opened.conversation.setConfirmationPolicy({ kind: 'ConfirmRisky', threshold: 'HIGH' });
  await ask(opened, 'go', ['waiting_for_confirmation']);
  const events = await eventsOf(opened.conversation);
  assert.deepEqual(events.filter(ofKind('ActionEvent')).map((event) => event.security_risk), ['LOW', 'HIGH']);
  assert.equal(events.filter(ofKind('ObservationEvent')).length, 1);
});

test('secrets reach the shell and no event', async (t) => {
  fake.setScenario('secret', [{ calls: [command('echo $MY_TOKEN')] }, { text: 'done' }]);
  const opened = await openConversation(t, fake, 'secret');
  await opened.conversation.updateSecrets({ MY_TOKEN: 'value-of-mine' });
  await ask(opened, 'go');
  const stored = await eventsOf(opened.conversation);
  assert.match(observed(stored.find(isResult('terminal'))), /<secret-hidden>/);
  assert.doesNotMatch(JSON.stringify([stored, opened.heard, fake.requests]), /value-of-mine/);
});

test('a side question, a condensation and a title work', async (t) => {
  const condenser = { kind: 'LLMSummarizingCondenser', llm: { ...llmOf(fake, 'text'), usage_id: 'condenser' }, max_size: 80, keep_first: 2 };
  const opened = await openConversation(t, fake, 'text', { agent: { condenser } });
  const { conversation, hears } = opened;
  for (const words of ['one', 'two', 'three']) await ask(opened, words);
  const before = (await eventsOf(conversation)).filter(ofKind('MessageEvent')).length;
  assert.equal(await conversation.askAgent('What is this?'), 'just text');
  assert.equal((await eventsOf(conversation)).filter(ofKind('MessageEvent')).length, before);
  await conversation.condense();
  await ask(opened, 'four');
  assert.equal((await hears(ofKind('Condensation'), 'the condensation')).summary, 'just text');
  await conversation.setTitle(' Named ');
  assert.equal((await client.getConversation(conversation.id)).title, 'Named');
});

test('after a switch the new model answers', async (t) => {
  const opened = await openConversation(t, fake, 'text');
  await ask(opened, 'one');
  fake.setScenario('other', [{ text: 'another voice' }]);
  await opened.conversation.switchLlm(llmOf(fake, 'other'));
  await ask(opened, 'two');
  assert.equal(await opened.conversation.getAgentFinalResponse(), 'another voice');
});

test('a fork is independent, and navigation goes back', async (t) => {
  const opened = await openConversation(t, fake, 'hello');
  const { conversation } = opened;
  await ask(opened, 'Create hello.txt');
  const events = (await eventsOf(conversation)).filter(isSaid);
  const fork = await conversation.fork({ title: 'The fork' });
  t.after(() => client.deleteConversation(fork.id));
  assert.equal((await client.getConversation(fork.id)).title, 'The fork');
  assert.deepEqual((await eventsOf(fork)).filter(isSaid).map(kindOf), events.map(kindOf));
  await fork.sendMessage('And another way');
  await fork.run();
  await waitUntil(async () => (await statusOf(fork)) === 'finished', 'the fork is finished');
  assert.deepEqual((await eventsOf(conversation)).filter(isSaid), events, 'the first one is as it was');

  const message = events.find(ofKind('MessageEvent'));
  await conversation.navigateTo(message.id);
  assert.equal((await client.getConversation(conversation.id)).leaf_event_id, message.id);
});

/** A command that ends when the client's socket is open again, and what lets it end: events of before are not sent anew. */
function commandUntilReconnected(words) {
  const file = `/tmp/reconnected-${randomUUID()}`;
  const reconnected = async ({ hears }, from) => {
    await hears((event) => event.key === 'full_state', 'the snapshot of the new socket', from);
    await newWorkspace().executeCommand(`touch ${file}`, WORKING_DIR);
  };
  return { line: `until [ -e ${file} ]; do sleep 0.1; done; echo ${words}`, reconnected };
}

test('sockets that break during a run miss no event', async (t) => {
  const { line, reconnected } = commandUntilReconnected('over');
  fake.setScenario('broken', [{ calls: [command(line)] }, { text: 'done' }]);
  const opened = await openConversation(t, fake, 'broken');
  const { conversation, heard, hears } = opened;
  await conversation.sendMessage('go');
  await conversation.run();
  await hears(isAction('terminal'), 'the command');
  const from = heard.length;
  await killAndAwait('gateway');
  await reconnected(opened, from);
  await waitUntil(async () => (await statusOf(conversation)) === 'finished', 'the end of the run');
  const action = heard.find(isAction('terminal'));
  const stored = await eventsOf(conversation);
  const later = stored.slice(stored.findIndex(({ id }) => id === action.id) + 1).filter(isSaid);
  assert.equal(later.length, 2);
  for (const event of later) await hears(({ id }) => id === event.id, `${event.kind} is heard`);
  await hears(restingSnapshot(['finished']), 'the end of the run');
});

test('all processes but the database are killed during a command, and the run continues', async (t) => {
  const { line, reconnected } = commandUntilReconnected('survived');
  fake.setScenario('survivor', [{ calls: [command(line)] }, { text: 'still here' }]);
  const opened = await openConversation(t, fake, 'survivor');
  const { conversation, heard, hears } = opened;
  await conversation.sendMessage('go');
  await conversation.run();
  await hears(isAction('terminal'), 'the command');
  const from = heard.length;
  await killEverything();
  await reconnected(opened, from);
  assert.equal(observed(await hears(isResult('terminal'), 'the result')), 'survived');
  await hears(restingSnapshot(['finished']), 'the end of the run');
  await ask(opened, 'Are you there?');
  assert.equal(await conversation.getAgentFinalResponse(), 'still here');
  await assertSound(conversation);
});
