// Broken connections and stopped readers: no event is missed or repeated, and no reader delays another.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { Conversation } from './support/conversation.mjs';
import { logOf, memoryOf, pidOf, withSlowLimit } from './support/processes.mjs';
import { Socket } from './support/socket.mjs';
import { waitUntil, within } from './support/wait.mjs';

const CUTS = 1000;
const READERS = 10;
const MESSAGES = 300;
/** Time after which a socket that accepts no data is closed: longer than a busy machine delays the reader that goes on. */
const SLOW_MS = 12_000;

let fake;

before(async () => {
  fake = await startModel();
});

after(() => fake.close());

/** A conversation of the test's own. */
async function quiet(t) {
  const conversation = await Conversation.start(fake, 'text');
  t.after(() => conversation.delete());
  return conversation;
}

const sessionPath = (conversation) => `/sockets/session/${conversation.id}`;
const durableOf = (frames) => frames.filter(({ type }) => type === 'durable');
const isTransient = ({ type }) => type === 'transient';

/** Continues from its cursor, a few events at a time, each time over a new connection that it breaks. */
async function readWithCuts(conversation, cuts, isOver) {
  const seen = [];
  let n = 0;
  for (; n < cuts || !isOver(seen); n++) {
    const socket = await Socket.open(sessionPath(conversation), { query: { after_seq: seen.length - 1 } });
    const enough = 1 + (n % 7);
    await socket.until((frames) => durableOf(frames).length >= enough || frames.some(isTransient), 'some events, or the end of the replay');
    await socket.cut();
    const durable = durableOf(socket.frames);
    assert.deepEqual(durable.map(({ seq }) => seq), durable.map((_, k) => seen.length + k), 'the next ones come, in order');
    seen.push(...durable.map(({ event }) => event.id));
  }
  return { seen, n };
}

test('a thousand broken connections miss no event and repeat none', async (t) => {
  const conversation = await quiet(t);
  let total = Infinity;
  const say = async () => {
    for (let i = 0; i < MESSAGES; i++) await conversation.say(`message ${i}`);
    total = (await conversation.events()).length;
  };
  const reading = Array.from({ length: READERS }, () => readWithCuts(conversation, CUTS / READERS, (seen) => seen.length >= total));
  const [, ...readers] = await Promise.all([say(), ...reading]);
  const stored = (await conversation.events()).map(({ id }) => id);
  for (const { seen } of readers) assert.deepEqual(seen, stored);
  assert.ok(readers.reduce((sum, { n }) => sum + n, 0) >= CUTS);
});

test('many readers that connect at once all get every event in order', async (t) => {
  const conversation = await quiet(t);
  for (let i = 0; i < 100; i++) await conversation.say(`message ${i}`);
  const stored = (await conversation.events()).map(({ id }) => id);
  const sockets = await Promise.all(Array.from({ length: 40 }, () => Socket.open(sessionPath(conversation), { query: { after_seq: -1 } })));
  t.after(() => Promise.all(sockets.map((socket) => socket.cut())));
  await Promise.all(sockets.map((socket) => socket.frame(isTransient, 'the end of the replay')));
  for (const { frames } of sockets) assert.deepEqual(durableOf(frames).map(({ event }) => event.id), stored);
});

test('agent-server 94: a reader that stops is closed with 1013, delays no other, and misses no event after reconnecting', async (t) => {
  const n = 60;
  const words = 'x'.repeat(200_000);
  await withSlowLimit(t, SLOW_MS);
  const conversation = await quiet(t);
  const open = async (query) => {
    const socket = await Socket.open(sessionPath(conversation), { query });
    t.after(() => socket.cut());
    await socket.frame(isTransient, 'a snapshot');
    return socket;
  };
  const [slow, quick] = [await open({ after_seq: -1 }), await open({ after_seq: -1 })];
  const pid = pidOf('gateway');
  const before = memoryOf(pid);
  const isMessage = ({ type, event }) => type === 'durable' && event.kind === 'MessageEvent';
  slow.ws._socket.pause();
  for (let i = 0; i < n; i++) await conversation.say(`${i} ${words}`);
  await quick.until((frames) => frames.filter(isMessage).length === n, 'the quick reader has all');
  assert.ok(memoryOf(pid) - before < 24 << 20, `the gateway grew by ${memoryOf(pid) - before} bytes`);
  await waitUntil(() => logOf('gateway').some((line) => line.includes('socket.slow') && line.includes(conversation.id)), 'the gateway gives the reader up');
  slow.ws._socket.resume();
  const { code, reason } = await within(slow.closed, 'the slow reader is closed');
  assert.deepEqual({ code, reason }, { code: 1013, reason: 'slow_consumer' });
  const seen = durableOf(slow.frames);
  const rest = await open({ after_seq: seen.length - 1 });
  const ids = [...seen, ...durableOf(rest.frames)].map(({ event }) => event.id);
  assert.deepEqual(ids, (await conversation.events()).map(({ id }) => id));
});
