// What goes wrong around a conversation is told in it, in words, and it can go on afterwards.
import assert from 'node:assert/strict';
import net from 'node:net';
import { after, before, test } from 'node:test';
import { Conversation, isAction, isResult, llmOf, ofKind, startRequest } from '../e2e/support/conversation.mjs';
import { engine } from '../e2e/runtime_house.mjs';
import { assertSound, query } from '../e2e/support/database.mjs';
import { INSTANCE } from '../e2e/support/instance.mjs';
import { Worker, start, stop } from '../e2e/support/processes.mjs';
import { waitUntil } from '../e2e/support/wait.mjs';
import { start as startModel } from '../fakes/openai.mjs';

let fake;

before(async () => {
  fake = await startModel();
  fake.setScenario('sleeps', [
    { calls: [{ name: 'terminal', arguments: { command: 'echo begun >> f; sleep 30; echo done >> f', summary: 's' } }] },
    { calls: [{ name: 'terminal', arguments: { command: 'cat f', summary: 's' } }] },
    { text: 'went on' },
  ]);
});

after(() => fake.close());

async function newConversation(t, scenario, more = {}) {
  const conversation = await Conversation.start(fake, scenario, { conversation_runtime: 'docker', ...more });
  t.after(() => conversation.delete());
  return conversation;
}

async function runtimeOf(conversation) {
  const [row] = await query("SELECT id, container_id FROM runtimes WHERE session_id = 'c-' || replace(:'id', '-', '') ORDER BY created_at DESC LIMIT 1", { id: conversation.id });
  return row;
}

/** The words in which the last failure of a conversation was told. */
async function complaint(conversation) {
  const events = await conversation.events();
  const told = events.filter(ofKind('ConversationErrorEvent')).at(-1);
  assert.ok(told, 'a ConversationErrorEvent');
  assert.ok(told.detail.length > 10 && told.detail.includes(' '), told.detail);
  assert.ok(events.indexOf(told) > events.findIndex(({ key, value }) => key === 'execution_status' && value === 'error'));
  return told;
}

for (const [how, [method, what]] of [['killed', ['POST', '/kill']], ['removed', ['DELETE', '?force=1']]]) {
  test(`a sandbox ${how} during a command: the call fails in words, and the run goes on with the same files`, async (t) => {
    const conversation = await newConversation(t, 'sleeps');
    await conversation.say('go', true);
    await conversation.event(isAction('terminal'), 'the command');
    const { stdout } = await conversation.must(200, 'POST', '/bash/execute_bash_command', { json: { command: 'until grep -qs begun f; do sleep 0.02; done; cat f' } });
    assert.equal(stdout, 'begun\n');
    const answer = await engine(method, `/containers/${(await runtimeOf(conversation)).container_id}${what}`);
    assert.equal(answer.status, 204, answer.text);
    assert.equal(await conversation.rest(), 'finished');
    const events = await conversation.events();
    const failed = events.find(ofKind('AgentErrorEvent'));
    assert.ok(failed.error.includes(' '), failed.error);
    const seen = events.find(isResult('terminal'));
    assert.equal(seen.observation.content[0].text.split('\n')[0], 'begun', 'the files are kept, and the command did not run again');
    assert.ok(events.some(({ source, llm_message: message }) => source === 'agent' && message?.content[0].text === 'went on'));
    await assertSound(conversation);
  });
}

test('an image that is missing is named, and the conversation runs once it is there', async (t) => {
  const conversation = await newConversation(t, 'true');
  const image = `deft-test-${INSTANCE}:gone`;
  stop('worker');
  t.after(() => start('worker'));
  const worker = await Worker.start({ DEFT_SANDBOX_IMAGE: image });
  t.after(() => worker.stop());
  assert.equal(await conversation.ask('go'), 'error');
  assert.match((await complaint(conversation)).detail, new RegExp(`image ${image} is not on this host`));
  await worker.stop();
  start('worker');
  assert.equal(await conversation.ask('again'), 'finished');
  await assertSound(conversation);
});

/** A TCP server that answers with bytes that are no HTTP. */
async function nonsenseServer(t, bytes) {
  const server = net.createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(bytes));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${server.address().port}/v1`;
}

async function closedPort() {
  const server = net.createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}/v1`;
}

const LLM_TROUBLE = [
  ['is not there', async () => ({ base_url: await closedPort() })],
  ['has no such name', async () => ({ base_url: 'http://no-such-host.invalid/v1' })],
  ['answers nonsense', async (t) => ({ base_url: await nonsenseServer(t, '\x00\x01\x02 hello\r\n\r\n') })],
  ['answers a page', async () => ({ model: 'openai/fault-html-200' })],
  ['breaks off in the middle', async () => ({ model: 'openai/fault-fin-mid-line' })],
  ['fails inside', async () => ({ model: 'openai/status-500' })],
  ['is overloaded', async () => ({ model: 'openai/status-429' })],
  ['refuses the key', async () => ({ model: 'openai/err' })],
  ['has no such model', async () => ({ model: 'openai/no-such-model' })],
  ['has no scheme that is known', async () => ({ base_url: 'ftp://127.0.0.1/v1' })],
];

for (const [what, llm] of LLM_TROUBLE) {
  test(`a model that ${what} is told in words, and the conversation can be run again`, async (t) => {
    const request = startRequest({ ...llmOf(fake, 'text'), ...(await llm(t)) });
    const conversation = await Conversation.create(request);
    t.after(() => conversation.delete());
    assert.equal(await conversation.ask('hello'), 'error');
    const { code, source } = await complaint(conversation);
    assert.match(code, /^[A-Z]\w+$/);
    assert.equal(source, 'environment');
    await conversation.run();
    assert.equal(await conversation.rest(), 'error');
    await waitUntil(async () => (await conversation.events()).filter(ofKind('ConversationErrorEvent')).length === 2, 'it is told again');
    await assertSound(conversation);
  });
}

test('arguments that are no JSON and tools that do not exist go back to the model', async (t) => {
  fake.setScenario('nonsense', [
    { calls: [{ name: 'terminal', arguments: '{"command": ' }, { name: 'rm -rf', arguments: {} }] },
    { calls: [{ name: 'file_editor', arguments: '[]' }, { name: 'terminal', arguments: '{"command": 5}' }] },
    { text: 'sorry' },
  ]);
  const conversation = await newConversation(t, 'nonsense');
  assert.equal(await conversation.ask('hello'), 'finished');
  const events = await conversation.events();
  assert.equal(events.filter(ofKind('AgentErrorEvent')).length, 4);
  assert.deepEqual(fake.violations, []);
  await assertSound(conversation);
});
