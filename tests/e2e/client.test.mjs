// The official TypeScript client, as it comes from npm, through the life of a conversation.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConversationManager, newWorkspace, openConversation, part } from './support/client.mjs';
import { Conversation, isAction, isResult, llmOf, observed, startRequest } from './support/conversation.mjs';
import { assertSound, query } from './support/database.mjs';
import { AGENT_URL, API_KEY, WORKING_DIR } from './support/instance.mjs';
import { strictModel } from './support/model.mjs';
import { restingSnapshot } from './support/socket.mjs';
import { waitUntil } from './support/wait.mjs';

const fake = await strictModel();
const workspace = newWorkspace();
const client = part('ConversationClient');

const open = (t, scenario, initialMessage) => openConversation(t, fake, scenario, { initialMessage });

const command = (line) => ({ calls: [{ name: 'terminal', arguments: { command: line, security_risk: 'LOW', summary: 's' } }] });
const unique = (events) => new Set(events.map((event) => event.id)).size;

test('the client accepts the server', async () => {
  const info = await part('ServerClient').getServerInfo();
  assert.match(info.version, /^\d+\.\d+\.\d+$/);
  assert.ok(info.usable_tools.includes('terminal'));
});

test('a conversation is created, run, followed live, continued and deleted', async (t) => {
  const { conversation, heard, hears } = await open(t, 'hello');
  assert.equal(await conversation.state.getExecutionStatus(), 'idle');

  await conversation.sendMessage('Create hello.txt with a greeting');
  let from = heard.length;
  await conversation.run();
  await hears(restingSnapshot(['finished']), 'the end of the run', from);
  // Generating a title may add to the statistics at any time.
  const isSaid = (event) => event.kind !== 'ConversationStateUpdateEvent';
  const stored = (await client.searchEvents(conversation.id)).items.filter(isSaid);
  const live = heard.filter(isSaid);
  const behind = live.slice(live.findIndex((event) => event.kind === 'ActionEvent'));
  assert.ok(behind.length > 8);
  assert.equal(unique(live), live.length, 'each event came once');
  const place = stored.findIndex((event) => event.id === behind[0].id);
  assert.deepEqual(behind.map(({ id }) => id), stored.slice(place).map(({ id }) => id), 'what came live is what is stored');
  assert.equal(await conversation.getAgentFinalResponse(), 'Created hello.txt');

  from = heard.length;
  await conversation.sendMessage('And once more');
  await conversation.run();
  await hears(restingSnapshot(['finished']), 'the end of the second run', from);
  assert.ok(heard.slice(from).some(isAction('finish')));

  const stats = await conversation.conversationStats();
  const usage = stats.usage_to_metrics.agent;
  assert.equal(usage.model_name, 'openai/hello');
  assert.ok(usage.accumulated_token_usage.prompt_tokens >= 8000);
  await conversation.setTitle('  Greetings  ');
  assert.equal((await client.getConversation(conversation.id)).title, 'Greetings');

  await assertSound(conversation);
  await client.deleteConversation(conversation.id);
  await assert.rejects(client.getConversation(conversation.id), { status: 404 });
});

test('an initial message starts a run', async (t) => {
  const opened = await open(t, 'hello', 'Create hello.txt');
  await opened.hears(restingSnapshot(['finished']), 'the end of the run');
  assert.equal(await opened.conversation.getAgentFinalResponse(), 'Created hello.txt');
});

test('the workspace and its conversations share files', async (t) => {
  const path = `${WORKING_DIR}/from-client.txt`;
  const words = 'übertragen\n';
  const uploaded = await workspace.uploadText(words, path);
  assert.equal(uploaded.success, true);
  assert.equal(uploaded.file_size, Buffer.byteLength(words));
  assert.equal(await workspace.downloadAsText(path), words);

  const result = await workspace.executeCommand('cat from-client.txt; echo problem >&2; exit 3', WORKING_DIR);
  assert.deepEqual([result.exit_code, result.stdout, result.stderr], [3, words, 'problem\n']);

  fake.setScenario('reader', [
    { calls: [{ name: 'terminal', arguments: { command: 'cat from-client.txt; echo written > from-agent.txt', summary: 's' } }] },
    { text: 'read' },
  ]);
  const opened = await open(t, 'reader', 'Read the file');
  await opened.hears(restingSnapshot(['finished']), 'the end of the run');
  // A socket that opens after the end is not told of it again.
  const { items: stored } = await client.searchEvents(opened.conversation.id);
  assert.match(observed(stored.find(isResult('terminal'))), /übertragen/);
  assert.equal(await workspace.downloadAsText(`${WORKING_DIR}/from-agent.txt`), 'written\n');
});

test('a pause waits for the command, and run() continues', async (t) => {
  fake.setScenario('patient', [command('until [ -e go-on ]; do sleep 0.1; done; rm go-on; echo hi'), { text: 'just text' }]);
  const { conversation, heard, hears } = await open(t, 'patient');
  await conversation.sendMessage('go');
  await conversation.run();
  await hears(isAction('terminal'), 'the command');
  const paused = conversation.pause();
  const wanted = () => query("SELECT stop_requested FROM conversations WHERE id = :'id'::uuid", { id: conversation.id });
  await waitUntil(async () => (await wanted())[0].stop_requested === 'pause', 'the pause is stored');
  await workspace.executeCommand('touch go-on', WORKING_DIR);
  await paused;
  assert.equal((await client.getConversation(conversation.id)).execution_status, 'paused');
  await hears((event) => event.kind === 'PauseEvent', 'the pause is told');
  assert.match(observed(heard.find(isResult('terminal'))), /hi/);

  const from = heard.length;
  await conversation.run();
  await hears(restingSnapshot(['finished']), 'the end of the run', from);
  assert.equal(await conversation.getAgentFinalResponse(), 'just text');
});

test('an interrupt ends the command, and run() continues', async (t) => {
  fake.setScenario('endless', [command('sleep 600'), { text: 'just text' }]);
  const { conversation, heard, hears } = await open(t, 'endless');
  await conversation.sendMessage('go');
  await conversation.run();
  await hears(isAction('terminal'), 'the command');
  await client.interruptConversation(conversation.id);
  await hears((event) => event.kind === 'InterruptEvent', 'the interrupt is told');
  assert.ok(heard.some((event) => event.kind === 'AgentErrorEvent'), 'the open call has its answer');
  assert.ok(!heard.some(isResult('terminal')), 'which is not that of a command that came to its end');

  const from = heard.length;
  await conversation.run();
  await hears(restingSnapshot(['finished']), 'the end of the run', from);
  await assertSound(conversation);
});

test('the manager lists, loads and renames conversations', async () => {
  const manager = new ConversationManager({ host: AGENT_URL, apiKey: API_KEY });
  const { agent } = startRequest(llmOf(fake, 'text'));
  const made = await manager.createConversation(agent, { initialMessage: 'hello', workingDir: WORKING_DIR });
  const found = await manager.getAllConversations();
  assert.ok(found.some(({ id }) => id === made.id));
  await manager.updateConversation(made.id, { title: 'Named' });
  const loaded = await manager.loadConversation(made.id, WORKING_DIR);
  assert.equal((await loaded.state.refresh()).title, 'Named');
  await manager.deleteConversation(made.id);
  await assert.rejects(manager.getConversation(made.id), { status: 404 });
});

test('a conversation in its own container is isolated from the others', async () => {
  const conversation = await Conversation.start(fake, 'hello', { conversation_runtime: 'docker' });
  assert.equal(await conversation.ask('Create hello.txt'), 'finished');
  const listed = await conversation.must(200, 'POST', '/bash/execute_bash_command', { json: { command: 'ls' } });
  assert.match(listed.stdout, /hello\.txt/);
  assert.doesNotMatch(listed.stdout, /from-client\.txt/);
  assert.equal(await conversation.delete(), 200);
});
