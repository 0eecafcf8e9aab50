// Sockets during the death of PostgreSQL, of the gateway's database connections, and of the gateway.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { Conversation } from '../e2e/support/conversation.mjs';
import { query } from '../e2e/support/database.mjs';
import { killAndAwait } from '../e2e/support/processes.mjs';
import { Socket } from '../e2e/support/socket.mjs';
import { waitUntil } from '../e2e/support/wait.mjs';

let fake;

before(async () => {
  fake = await startModel();
});

after(() => fake.close());

const isTransient = ({ type }) => type === 'transient';
const durableOf = (frames) => frames.filter(({ type }) => type === 'durable');

async function watched(t) {
  const conversation = await Conversation.start(fake, 'text');
  t.after(() => conversation.delete());
  const socket = await Socket.open(`/sockets/session/${conversation.id}`, { query: { after_seq: -1 } });
  t.after(() => socket.cut());
  await socket.frame(isTransient, 'the first snapshot');
  return { conversation, socket };
}

/** Repeats the message until it is accepted; a refused one is not stored. */
const sayAtLast = (conversation, words) =>
  waitUntil(async () => (await conversation.call('POST', '/events', { json: { role: 'user', content: [{ type: 'text', text: words }], run: false } })).status === 200, `"${words}" is accepted`);

const says = (words) => ({ event }) => event.llm_message?.content[0].text === words;

test('open sockets survive a restart of PostgreSQL, and new ones can be opened', async (t) => {
  const { conversation, socket } = await watched(t);
  await conversation.say('before');
  await killAndAwait('postgres');
  await sayAtLast(conversation, 'after');
  await socket.until((frames) => durableOf(frames).some(says('after')), 'the event that came behind the restart');
  const stored = (await conversation.events()).map(({ id }) => id);
  assert.deepEqual(durableOf(socket.frames).map(({ event }) => event.id), stored);
  const late = await Socket.open(`/sockets/session/${conversation.id}`, { query: { after_seq: -1 } });
  t.after(() => late.cut());
  await late.frame(isTransient, 'the end of the replay');
  assert.deepEqual(durableOf(late.frames).map(({ event }) => event.id), stored);
});

test('the gateway loses its database connections repeatedly, and no event', async (t) => {
  const { conversation, socket } = await watched(t);
  for (let i = 0; i < 20; i++) {
    await query("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'deft-gateway'");
    await sayAtLast(conversation, `message ${i}`);
  }
  await socket.until((frames) => durableOf(frames).some(says('message 19')), 'the last message');
  const stored = (await conversation.events()).map(({ id }) => id);
  assert.deepEqual(durableOf(socket.frames).map(({ event }) => event.id), stored);
});

test('a message on a socket is stored at most once if the gateway dies', async (t) => {
  const { conversation, socket } = await watched(t);
  for (let i = 0; i < 20; i++) socket.send({ role: 'user', content: `message ${i}` });
  await killAndAwait('gateway');
  await socket.end();
  const said = async () => (await conversation.events()).filter(({ kind, source }) => kind === 'MessageEvent' && source === 'user').map((event) => event.llm_message.content[0].text);
  const texts = await said();
  assert.deepEqual(texts, texts.map((_, i) => `message ${i}`), 'what is stored is the beginning of what was said');
});
