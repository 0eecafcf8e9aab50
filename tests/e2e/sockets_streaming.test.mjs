// Streamed answers: pieces on both sockets, never stored, and each item ended once.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { Conversation } from './support/conversation.mjs';
import { killAndAwait } from './support/processes.mjs';
import { Socket, isSnapshot, restingSnapshot } from './support/socket.mjs';

const WORDS = 'The quick brown fox jumps over the lazy dog, again and again. Grüße, 世界!';
const THOUGHTS = 'First I think about it for a while.';
const SECRET = 'a-very-secret-value';
/** Other encodings of the value; the base64 is that of a text in which it follows one byte. */
const FORMS = [Buffer.from(`:${SECRET}:`).toString('base64').slice(2, 26), Buffer.from(SECRET).toString('hex'), 'a%2Dvery%2Dsecret%2Dvalue', 'a\\u002dvery-secret-value'];

let fake;

before(async () => {
  fake = await startModel({
    scenarios: {
      words: [{ text: WORDS, hold: true }],
      thoughts: [{ reasoning: THOUGHTS, text: WORDS, hold: true }],
      call: [{ text: WORDS, calls: [{ name: 'terminal', arguments: { command: 'true', security_risk: 'LOW', summary: 's' } }], hold: true },
        { text: 'done', hold: true }],
      slow: [{ text: 'word '.repeat(400), drip_ms: 200 }],
      secret: [{ text: `It is ${SECRET}, and ${SECRET.slice(0, 9)} is not, ${FORMS.join(' ')}, ${SECRET}${SECRET}`, hold: true }],
      broken: [{ once: { text: WORDS, drip_ms: 5, break_after: 4 }, text: WORDS, hold: true }],
    },
  });
});

after(() => fake.close());

async function streaming(t, scenario, more = {}) {
  const conversation = await Conversation.start(fake, scenario, { llm: { stream: true, num_retries: 2, ...more.llm }, ...more.request });
  t.after(() => conversation.delete());
  return conversation;
}

async function open(t, conversation, kind, query = {}) {
  const socket = await Socket.open(`/sockets/${kind}/${conversation.id}`, { query });
  t.after(() => socket.cut());
  return socket;
}

const session = async (t, conversation) => {
  const socket = await open(t, conversation, 'session');
  await socket.frame(({ type }) => type === 'transient', 'the first snapshot');
  return socket;
};

const isEnd = ({ type, event }) => type === 'transient' && restingSnapshot(['finished', 'paused', 'error'])(event);
const ofType = (frames, ...types) => frames.filter(({ type }) => types.includes(type));
const joined = (frames, kind) => frames.filter((frame) => frame.type === 'delta' && frame.kind === kind).map(({ content }) => content).join('');

/** The model has sent everything, and ends only when this was received. */
async function showAll(socket, isShown) {
  await socket.until((frames) => isShown(joined(frames, 'text')), 'the pieces');
  fake.release();
  await socket.frame(isEnd, 'the end of the run');
}

/** Every started item is ended exactly once, with its pieces in between, in order. */
function assertItems(frames) {
  const starts = ofType(frames, 'item_started');
  for (const { item_id, attempt } of starts) {
    const begin = frames.findIndex((frame) => frame.type === 'item_started' && frame.item_id === item_id && frame.attempt === attempt);
    const ends = frames.flatMap((frame, i) =>
      (frame.type === 'item_aborted' && frame.item_id === item_id && frame.attempt === attempt) ||
      (frame.type === 'durable' && frame.event.id === item_id && attempt === Math.max(...starts.filter((one) => one.item_id === item_id).map((one) => one.attempt)))
        ? [i] : []);
    assert.equal(ends.length, 1, `item ${item_id}, attempt ${attempt} is ended ${ends.length} times`);
    const pieces = frames.flatMap((frame, i) => (frame.type === 'delta' && frame.item_id === item_id && frame.attempt === attempt ? [[i, frame]] : []));
    assert.deepEqual(pieces.map(([, { order }]) => order), pieces.map((_, i) => i), 'pieces are numbered from 0, without a gap');
    assert.ok(pieces.every(([i]) => i > begin && i < ends[0]), 'pieces stand between beginning and end');
  }
}

test('agent-server 92: a streamed answer is one item with the stored event\'s id', async (t) => {
  const conversation = await streaming(t, 'words');
  const socket = await session(t, conversation);
  await conversation.say('go', true);
  await showAll(socket, (shown) => shown === WORDS);
  const [started] = ofType(socket.frames, 'item_started');
  assert.equal(started.attempt, 1);
  const durable = ofType(socket.frames, 'durable');
  const answer = durable.find(({ event }) => event.id === started.item_id);
  assert.equal(answer.event.kind, 'MessageEvent');
  assert.equal(answer.event.llm_message.content[0].text, WORDS);
  const anchor = durable.find(({ seq }) => seq === started.anchor_seq);
  assert.ok(socket.frames.indexOf(anchor) < socket.frames.indexOf(started), 'the item stands behind its anchor');
  for (const delta of ofType(socket.frames, 'delta')) {
    assert.equal(delta.choice_index, 0);
    assert.match(delta.chunk_id, /^chatcmpl-/);
  }
  assertItems(socket.frames);
});

test('agent-server 92: reasoning is streamed as pieces of its own kind, before the text', async (t) => {
  const conversation = await streaming(t, 'thoughts');
  const socket = await session(t, conversation);
  await conversation.say('go', true);
  await showAll(socket, (shown) => shown === WORDS);
  assert.equal(joined(socket.frames, 'reasoning'), THOUGHTS);
  const kinds = ofType(socket.frames, 'delta').map(({ kind }) => kind);
  assert.deepEqual(kinds, [...kinds].sort(), 'reasoning comes before text');
  assertItems(socket.frames);
});

test('agent-server 92: the text next to a call is an item that the first action ends', async (t) => {
  const conversation = await streaming(t, 'call');
  const socket = await session(t, conversation);
  await conversation.say('go', true);
  await socket.until((frames) => joined(frames, 'text') === WORDS, 'the words beside the call');
  fake.release();
  await showAll(socket, (shown) => shown === `${WORDS}done`);
  const [first, second] = ofType(socket.frames, 'item_started');
  const byId = (id) => ofType(socket.frames, 'durable').find(({ event }) => event.id === id).event;
  assert.equal(byId(first.item_id).kind, 'ActionEvent');
  assert.equal(byId(first.item_id).thought[0].text, WORDS);
  const result = ofType(socket.frames, 'durable').find(({ event }) => event.action_id === first.item_id);
  assert.equal(result.event.kind, 'ObservationEvent', 'the result names the action by its id');
  assert.equal(byId(second.item_id).llm_message.content[0].text, 'done');
  assertItems(socket.frames);
});

test('agent-server 92: an interrupt during a streamed answer aborts the item', async (t) => {
  const conversation = await streaming(t, 'slow');
  const socket = await session(t, conversation);
  await conversation.say('go', true);
  await socket.until((frames) => ofType(frames, 'delta').length > 2, 'some pieces');
  await conversation.must(200, 'POST', '/interrupt', { json: {} });
  await socket.frame(isEnd, 'the end of the run');
  const [aborted] = ofType(socket.frames, 'item_aborted');
  assert.equal(aborted.item_id, ofType(socket.frames, 'item_started')[0].item_id);
  assert.notEqual(aborted.reason, '');
  assertItems(socket.frames);
});

test('agent-server 92: a broken answer is aborted, and the next attempt starts a new item', async (t) => {
  const conversation = await streaming(t, 'broken');
  const socket = await session(t, conversation);
  await conversation.say('go', true);
  const ofSecond = (frames) => frames.filter(({ type, attempt }) => type === 'delta' && attempt === 2);
  await socket.until((frames) => joined(ofSecond(frames), 'text') === WORDS, 'the pieces of the second attempt');
  fake.release();
  await socket.frame(isEnd, 'the end of the run');
  const starts = ofType(socket.frames, 'item_started');
  assert.deepEqual(starts.map(({ attempt }) => attempt), [1, 2]);
  assert.equal(starts[0].item_id, starts[1].item_id);
  assertItems(socket.frames);
});

test('agent-server 92: a worker that dies during a streamed answer leaves no item open', async (t) => {
  const conversation = await streaming(t, 'slow');
  const socket = await session(t, conversation);
  await conversation.say('go', true);
  await socket.until((frames) => ofType(frames, 'delta').length > 2, 'some pieces');
  await killAndAwait('worker');
  await socket.until((frames) => ofType(frames, 'item_started').length === 2, 'another worker asks again');
  await conversation.must(200, 'POST', '/interrupt', { json: {} });
  await socket.frame(isEnd, 'the end of the run');
  assert.equal(ofType(socket.frames, 'item_aborted').length, 2);
  assertItems(socket.frames);
});

test('agent-server 95: pieces are events of the events socket, not stored and not counted', async (t) => {
  const conversation = await streaming(t, 'words');
  const socket = await open(t, conversation, 'events');
  await socket.frame(isSnapshot, 'the first snapshot');
  const from = socket.frames.length;
  const shown = (frames) => frames.filter(({ kind }) => kind === 'StreamingDeltaEvent');
  await conversation.say('go', true);
  await socket.until((frames) => shown(frames).map(({ content }) => content).join('') === WORDS, 'all pieces');
  fake.release();
  await socket.frame(restingSnapshot(), 'the end of the run', { from });
  const pieces = shown(socket.frames);
  for (const piece of pieces) assert.deepEqual(Object.keys(piece).sort(), ['content', 'id', 'kind', 'source', 'timestamp']);
  const stored = await conversation.events();
  assert.ok(!stored.some(({ kind }) => kind === 'StreamingDeltaEvent'));
  assert.equal(await conversation.must(200, 'GET', '/events/count'), stored.length);
  const last = socket.frames.lastIndexOf(pieces.at(-1));
  const answer = socket.frames.findIndex(({ kind, source }) => kind === 'MessageEvent' && source === 'agent');
  assert.ok(last < answer, 'the pieces stand before the answer');
});

test('agent-server 95: a model that does not stream has no pieces', async (t) => {
  const conversation = await streaming(t, 'words', { llm: { stream: false } });
  const [events, own] = [await open(t, conversation, 'events'), await session(t, conversation)];
  await events.frame(isSnapshot, 'the first snapshot');
  const from = events.frames.length;
  await conversation.say('go', true);
  await events.frame(restingSnapshot(), 'the end of the run', { from });
  await own.frame(isEnd, 'the end of the run');
  assert.ok(!events.frames.some(({ kind }) => kind === 'StreamingDeltaEvent'));
  assert.deepEqual(ofType(own.frames, 'item_started', 'delta', 'item_aborted'), []);
});

test('agent-server 95: a socket that connects during an answer gets no earlier pieces', async (t) => {
  const conversation = await streaming(t, 'slow');
  const first = await session(t, conversation);
  await conversation.say('go', true);
  await first.until((frames) => ofType(frames, 'delta').length > 2, 'some pieces');
  const late = await open(t, conversation, 'session', { after_seq: -1 });
  await late.frame(({ type }) => type === 'transient', 'the first snapshot');
  await conversation.must(200, 'POST', '/interrupt', { json: {} });
  await late.frame(({ type, event }) => type === 'durable' && event.kind === 'InterruptEvent', 'the interrupt');
  assert.deepEqual(ofType(late.frames, 'item_started', 'delta', 'item_aborted'), []);
});

test('agent-server 95: no piece contains a secret, wherever the model splits it', async (t) => {
  const conversation = await streaming(t, 'secret');
  await conversation.must(200, 'POST', '/secrets', { json: { secrets: { TOKEN: SECRET } } });
  const socket = await session(t, conversation);
  await conversation.say('go', true);
  await showAll(socket, (shown) => (shown.match(/<secret-hidden>/g) ?? []).length >= 1 + FORMS.length);
  const [started] = ofType(socket.frames, 'item_started');
  const answer = ofType(socket.frames, 'durable').find(({ event }) => event.id === started.item_id);
  assert.ok(answer.event.llm_message.content[0].text.startsWith(joined(socket.frames, 'text')));
  for (const form of [SECRET, ...FORMS]) assert.ok(!JSON.stringify(socket.frames).includes(form), form);
});

test('agent-server 95: each chunk of the model is one piece, on both sockets, at any rate', async (t) => {
  const chunks = Array.from({ length: 2500 }, (_, i) => (i % 500 === 99 ? 'Größe '.repeat(400) : `${i} `));
  // A chunk that is too long for one notification is sent in parts.
  fake.setScenario('many', [{ text: chunks.join(''), chunks, hold: true }]);
  const conversation = await streaming(t, 'many');
  const socket = await session(t, conversation);
  const events = await open(t, conversation, 'events');
  await events.frame(isSnapshot, 'the first snapshot');
  await conversation.say('go', true);
  await showAll(socket, (shown) => shown === chunks.join(''));
  await events.frame(restingSnapshot(['finished']), 'the end of the run');
  const short = (texts) => texts.filter((text) => !/Größe|^ *$/.test(text));
  const ofSession = ofType(socket.frames, 'delta').map(({ content }) => content);
  const ofEvents = events.frames.filter(({ kind }) => kind === 'StreamingDeltaEvent').map(({ content }) => content);
  assert.deepEqual(short(ofSession), short(chunks));
  assert.deepEqual(ofEvents, ofSession);
  assert.equal(ofSession.join(''), chunks.join(''));
  assertItems(socket.frames);
});
