// Failures of the model are reported in the conversation with a message, and it can be run again.
import assert from 'node:assert/strict';
import net from 'node:net';
import { after, before, test } from 'node:test';
import { Conversation, llmOf, ofKind, startRequest } from '../e2e/support/conversation.mjs';
import { start as startModel } from '../fakes/openai.mjs';
import { assertRunsAgain, assertWhole, failureOf } from './support.mjs';

let fake;

before(async () => {
  fake = await startModel();
});

after(() => fake.close());

async function startConversation(t, llm) {
  const conversation = await Conversation.create(startRequest(llm));
  t.after(() => conversation.delete());
  return conversation;
}

/** A TCP server that answers with bytes other than HTTP. */
async function nonsenseServer(t, bytes) {
  const server = net.createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(bytes));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${server.address().port}/v1`;
}

test('an unreachable model is reported, and called again by the next run', async (t) => {
  const gone = await startModel();
  const conversation = await startConversation(t, llmOf(gone, 'text'));
  await gone.close();
  await conversation.say('Hello?', true);
  await failureOf(conversation);
  const back = await startModel({ port: gone.port });
  t.after(() => back.close());
  await assertRunsAgain(conversation);
});

const PASSING = {
  'fails inside': { status: 500 },
  'is overloaded': { status: 429 },
  'answers with a page': { fault: 'html-200' },
  'breaks off in the middle of a line': { fault: 'fin-mid-line' },
  'breaks off in the middle of a letter': { fault: 'rst-mid-utf8' },
  'breaks off with an error': { fault: 'error-event' },
  'sends nothing': { fault: 'comments-only' },
  'sends less than its Content-Length': { fault: 'short-length' },
};

for (const [what, step] of Object.entries(PASSING)) {
  test(`a model that ${what} is reported, and called again by the next run`, async (t) => {
    const model = `broken-${Object.values(step)[0]}`;
    fake.setScenario(model, [step]);
    const conversation = await startConversation(t, llmOf(fake, model));
    await conversation.say('Hello?', true);
    await failureOf(conversation);
    fake.setScenario(model, [{ text: 'Hello.' }]);
    await assertRunsAgain(conversation);
  });
}

const LASTING = {
  'has a name that does not exist': () => ({ base_url: 'http://no-such-host.invalid/v1' }),
  'does not answer in HTTP': async (t) => ({ base_url: await nonsenseServer(t, '\x00\x01\x02 hello\r\n\r\n') }),
  'refuses the key': () => ({ model: 'openai/err' }),
  'does not exist': () => ({ model: 'openai/no-such-model' }),
  'has a URL with an unknown scheme': () => ({ base_url: 'ftp://127.0.0.1/v1' }),
};

for (const [what, brokenBy] of Object.entries(LASTING)) {
  test(`a model that ${what} is reported at each run`, async (t) => {
    const conversation = await startConversation(t, { ...llmOf(fake, 'text'), ...(await brokenBy(t)) });
    for (const n of [1, 2]) {
      await conversation.say('Hello?', true);
      const { code, source } = await failureOf(conversation);
      assert.match(code, /^[A-Z]\w+$/);
      assert.equal(source, 'environment');
      assert.equal((await conversation.events()).filter(ofKind('ConversationErrorEvent')).length, n);
    }
    await assertWhole(conversation);
  });
}

test('invalid arguments and unknown tools are reported to the model', async (t) => {
  fake.setScenario('nonsense', [
    { calls: [{ name: 'terminal', arguments: '{"command": ' }, { name: 'rm -rf', arguments: {} }] },
    { calls: [{ name: 'file_editor', arguments: '[]' }, { name: 'terminal', arguments: '{"command": 5}' }] },
    { text: 'sorry' },
  ]);
  const conversation = await startConversation(t, llmOf(fake, 'nonsense'));
  await conversation.say('Hello?', true);
  assert.equal(await conversation.rest(), 'finished');
  assert.equal((await conversation.events()).filter(ofKind('AgentErrorEvent')).length, 4);
  assert.deepEqual(fake.violations, []);
  await assertWhole(conversation);
});

test('answers with the same id stay separate', async (t) => {
  const echo = (word) => ({ id: 'chatcmpl-1', calls: [{ name: 'terminal', arguments: { command: `echo ${word}` } }] });
  fake.setScenario('one-id', [echo('one'), echo('two'), { id: 'chatcmpl-1', text: 'Done.' }]);
  const conversation = await startConversation(t, llmOf(fake, 'one-id'));
  await conversation.say('Go', true);
  assert.equal(await conversation.rest(), 'finished');
  const actions = (await conversation.events()).filter(ofKind('ActionEvent'));
  assert.equal(new Set(actions.map(({ llm_response_id: id }) => id)).size, actions.length);
  const { messages } = fake.requests.filter(({ body }) => body.model === 'one-id').at(-1).body;
  assert.deepEqual(messages.slice(2).map(({ role }) => role), ['assistant', 'tool', 'assistant', 'tool']);
  assert.equal(actions.length, 2);
  await assertWhole(conversation);
});
