// Both sockets of a conversation, black box: access, frames and their order.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import WebSocket from 'ws';
import { start as startModel } from '../fakes/openai.mjs';
import { Conversation, isAction, text } from './support/conversation.mjs';
import { assertSound, execute } from './support/database.mjs';
import { AGENT_URL, API_KEY, APP_URL, DEFT, SERVICES } from './support/instance.mjs';
import { signIn } from './support/session.mjs';
import { Refused, Socket, isSnapshot, restingSnapshot } from './support/socket.mjs';
import { newUser } from './support/users.mjs';
import { waitUntil, within } from './support/wait.mjs';

const WRONG_KEY = `sk-deft-${'x'.repeat(43)}`;
const SOCKETS_MAX = 48;
/** No end of a run is told sooner after its beginning: its client listens only once it has the answer to its request. */
const TOLD_MS = 300;

let fake;
let other;
/** An idle conversation with a finished run; tests only read it. */
let resting;

before(async () => {
  fake = await startModel();
  other = await newUser();
  resting = await Conversation.start(fake, 'hello');
  assert.equal(await resting.ask('Create hello.txt'), 'finished');
});

after(async () => {
  await resting?.delete();
  await fake.close();
});

/** Opens a socket that ends with the test. */
async function open(t, path, options) {
  const socket = await Socket.open(path, options);
  t.after(() => socket.cut());
  return socket;
}

const eventsPath = (conversation) => `/sockets/events/${conversation.id}`;
const sessionPath = (conversation) => `/sockets/session/${conversation.id}`;
const closeOf = (socket) => within(socket.closed, 'the server closes the socket');

/** A conversation of the test's own. */
async function quiet(t) {
  const conversation = await Conversation.start(fake, 'text');
  t.after(() => conversation.delete());
  return conversation;
}

async function assertRefused(path, options) {
  await assert.rejects(Socket.open(path, options), (error) => {
    assert.ok(error instanceof Refused, `${path}: ${error}`);
    assert.equal(error.status, 403);
    return true;
  });
}

for (const auth of ['query', 'header', 'frame']) {
  test(`agent-server 44: a key in the ${auth} opens the socket, and the first frame is a snapshot`, async (t) => {
    for (const path of [eventsPath(resting), `/sockets/events/${resting.id.replaceAll('-', '')}`]) {
      const socket = await open(t, path, { auth });
      const [first] = await socket.until((frames) => frames.length > 0 && frames, 'a frame');
      assert.ok(isSnapshot(first));
      assert.equal(first.value.id, resting.id);
      assert.equal(first.value.execution_status, 'finished');
    }
  });
}

test('agent-server 44: an unexpected auth frame is ignored', async (t) => {
  const socket = await open(t, eventsPath(resting));
  socket.send({ type: 'auth', session_api_key: API_KEY });
  socket.send({ foo: 1 });
  const error = await socket.frame(({ kind }) => kind === 'ServerErrorEvent', 'the answer to the bad frame');
  assert.equal(typeof error.detail, 'string');
  assert.equal(socket.frames.filter(({ kind }) => kind === 'ServerErrorEvent').length, 1);
});

test('agent-server 44: bad handshakes are refused before the upgrade', async () => {
  await assertRefused(eventsPath(resting), { key: WRONG_KEY });
  await assertRefused(eventsPath(resting), { key: WRONG_KEY, auth: 'header' });
  await assertRefused(eventsPath(resting), { query: { resend_mode: 'some' } });
  await assertRefused(eventsPath(resting), { query: { resend_mode: 'since', after_timestamp: 'yesterday' } });
  await assertRefused(sessionPath(resting), { query: { after_seq: 'abc' } });
  await assertRefused(sessionPath(resting), { query: { after_seq: '-2' } });
  await assertRefused(sessionPath(resting), { query: { after_seq: '1\0' } });
  await assertRefused(sessionPath(resting), { query: { other: 'x'.repeat(9000) } });
  await assertRefused('/sockets/events/xyz');
  await assertRefused(`/sockets/nothing/${resting.id}`);
});

for (const [what, frame] of [
  ['a wrong key', { type: 'auth', session_api_key: WRONG_KEY }],
  ['an empty key', { type: 'auth', session_api_key: '' }],
  ['a key that is a number', { type: 'auth', session_api_key: 5 }],
  ['another type', { type: 'hello', session_api_key: API_KEY }],
  ['a list', [API_KEY]],
  ['text other than JSON', 'session_api_key'],
  ['more than a key needs', { type: 'auth', session_api_key: API_KEY, more: 'x'.repeat(9000) }],
]) {
  test(`agent-server 44: ${what} in the first frame closes the socket with 4001`, async (t) => {
    for (const path of [eventsPath(resting), sessionPath(resting)]) {
      const socket = await open(t, path, { key: null });
      socket.send(frame);
      assert.equal((await closeOf(socket)).code, 4001);
      assert.deepEqual(socket.frames, []);
    }
  });
}

test('agent-server 44: silence instead of a key closes the socket with 4001', async (t) => {
  const socket = await open(t, eventsPath(resting), { key: null });
  assert.equal((await closeOf(socket)).code, 4001);
});

test('agent-server 44: unknown, foreign and deleted conversations close the socket with 4004', async (t) => {
  const deleted = await quiet(t);
  const watching = await open(t, eventsPath(deleted));
  await watching.frame(isSnapshot, 'the first snapshot');
  await deleted.delete();
  assert.equal((await closeOf(watching)).code, 4004);
  for (const [id, key] of [[randomUUID(), API_KEY], [deleted.id, API_KEY], [resting.id, other.key]]) {
    for (const kind of ['events', 'session']) {
      const socket = await open(t, `/sockets/${kind}/${id}`, { key });
      assert.equal((await closeOf(socket)).code, 4004);
      assert.deepEqual(socket.frames, []);
    }
  }
});

test('more sockets than one conversation may have are closed with 1013', async (t) => {
  const conversation = await quiet(t);
  const sockets = await Promise.all(Array.from({ length: SOCKETS_MAX }, () => open(t, eventsPath(conversation))));
  await Promise.all(sockets.map((socket) => socket.frame(isSnapshot, 'a snapshot')));
  const late = await open(t, eventsPath(conversation));
  assert.equal((await closeOf(late)).code, 1013);
  await sockets[0].close();
  await waitUntil(async () => {
    const again = await open(t, eventsPath(conversation));
    return again.frame(isSnapshot, 'a snapshot').then(() => true, () => false);
  }, 'the place is free again');
});

for (const [what, query] of [
  ['without parameters', {}],
  ['since no time', { resend_mode: 'since' }],
  ['since a time to come', { resend_mode: 'since', after_timestamp: '2100-01-01T00:00:00' }],
]) {
  test(`agent-server 45: ${what} only the snapshot is sent`, async (t) => {
    const conversation = await quiet(t);
    await conversation.say('before');
    const socket = await open(t, eventsPath(conversation), { query });
    await socket.frame(isSnapshot, 'the first snapshot, from which on the socket listens');
    await conversation.say('after');
    const seen = await socket.frame(({ kind }) => kind === 'MessageEvent', 'the message');
    assert.equal(seen.llm_message.content[0].text, 'after');
    assert.ok(isSnapshot(socket.frames[0]));
    assert.equal(socket.frames.filter((event) => !isSnapshot(event))[0], seen);
  });
}

test('agent-server 45: all events, or those since a time, are sent again in order', async (t) => {
  const stored = await resting.events();
  const ids = stored.map(({ id }) => id);
  const resent = async (query, expected) => {
    const socket = await open(t, eventsPath(resting), { query });
    const frames = await socket.until((all) => all.length > expected.length && all, 'the events');
    assert.ok(isSnapshot(frames[0]), 'the snapshot comes first');
    assert.deepEqual(frames.filter((event) => !isSnapshot(event)).map(({ id }) => id), expected);
  };
  await resent({ resend_mode: 'all' }, ids);
  await resent({ resend_all: 'true' }, ids);
  const { timestamp } = stored[stored.length - 3];
  const since = stored.filter((event) => event.timestamp >= timestamp).map(({ id }) => id);
  await resent({ resend_mode: 'since', after_timestamp: timestamp }, since);
  await resent({ resend_mode: 'since', after_timestamp: `${timestamp}Z` }, since);
});

test('agent-server 47: a run\'s events arrive in order, its end last', async (t) => {
  const conversation = await Conversation.start(fake, 'hello');
  t.after(() => conversation.delete());
  const [socket, twin] = [await open(t, eventsPath(conversation)), await open(t, eventsPath(conversation), { auth: 'frame' })];
  await Promise.all([socket, twin].map((one) => one.frame(isSnapshot, 'the first snapshot')));
  const from = socket.frames.length;
  await conversation.say('Create hello.txt', true);
  await Promise.all([socket, twin].map((one) => one.frame(restingSnapshot(['finished']), 'the end')));
  const ids = (await conversation.events()).map(({ id }) => id);
  for (const one of [socket, twin]) {
    const frames = one.frames.slice(from);
    assert.deepEqual(frames.filter((event) => !isSnapshot(event)).map(({ id }) => id), ids);
    const states = frames.filter(isSnapshot).map((event) => event.value.execution_status);
    assert.deepEqual(states.filter((state) => !['running', 'finished'].includes(state)), [], 'none says another state on the way');
    const last = frames.findIndex(restingSnapshot());
    assert.deepEqual(frames.slice(last).filter((event) => !isSnapshot(event)), [], 'nothing comes behind the end');
  }
});

test('a run on a finished conversation is reported as over, after the answer', async (t) => {
  const socket = await open(t, eventsPath(resting));
  await socket.frame(isSnapshot, 'the first snapshot');
  const from = socket.frames.length;
  await resting.run();
  const end = await socket.frame(restingSnapshot(), 'the end', { from });
  assert.equal(end.value.execution_status, 'finished');
});

test('agent-server 46: messages on the socket are stored and run', async (t) => {
  const conversation = await quiet(t);
  const socket = await open(t, eventsPath(conversation));
  await socket.frame(isSnapshot, 'the first snapshot');
  socket.send('not JSON');
  socket.send({ role: 'robot', content: [] });
  await socket.until((frames) => frames.filter(({ kind }) => kind === 'ServerErrorEvent').length === 2, 'both complaints');
  for (const content of [text('as a list').content, 'as a string']) {
    const from = socket.frames.length;
    socket.send({ role: 'user', content });
    await socket.frame(({ kind, source }) => kind === 'MessageEvent' && source === 'agent', 'the answer', { from });
    await socket.frame(restingSnapshot(['finished']), 'the end', { from });
  }
  const said = (await conversation.events()).filter(({ kind, source }) => kind === 'MessageEvent' && source === 'user');
  assert.deepEqual(said.map((event) => event.llm_message.content[0].text), ['as a list', 'as a string']);
  await assertSound(conversation);
});

test('a message on the socket keeps its sender, and is refused if that is invalid', async (t) => {
  const conversation = await quiet(t);
  const socket = await open(t, eventsPath(conversation));
  await socket.frame(isSnapshot, 'the first snapshot');
  for (const sender of [7, 'x'.repeat(257)]) socket.send({ ...text('refused'), sender });
  await socket.until((frames) => frames.filter(({ kind }) => kind === 'ServerErrorEvent').length === 2, 'both complaints');
  socket.send({ ...text('by name'), sender: 'planner' });
  const told = await socket.frame(({ kind, source }) => kind === 'MessageEvent' && source === 'user', 'the message');
  await socket.frame(restingSnapshot(['finished']), 'the end');
  const said = (await conversation.events()).filter(({ kind, source }) => kind === 'MessageEvent' && source === 'user');
  assert.deepEqual([told.sender, ...said.map(({ sender }) => sender)], ['planner', 'planner']);
});

test('agent-server 48: pings are answered', async (t) => {
  const socket = await open(t, eventsPath(resting));
  for (const n of [1, 2]) {
    socket.ws.ping(`ping ${n}`);
    await socket.until((_, { pongs }) => pongs === n, `pong ${n}`);
  }
});

test('agent-server 48: permessage-deflate may be offered', async (t) => {
  const socket = await open(t, eventsPath(resting), { perMessageDeflate: true, query: { resend_mode: 'all' } });
  await socket.frame(isAction('finish'), 'the last call');
});

test('a handshake may offer subprotocols, and bring headers of any length', async (t) => {
  const cookie = Array.from({ length: 60 }, (_, n) => `cookie${n}=${'x'.repeat(200)}`).join('; ');
  const headers = { 'Sec-WebSocket-Protocol': 'chat, superchat', Cookie: cookie, 'X-Long': 'x'.repeat(10_000) };
  const socket = await open(t, eventsPath(resting), { headers });
  await socket.frame(isSnapshot, 'the first snapshot');
});

test('agent-server 91: the session socket numbers stored events, from any position', async (t) => {
  const stored = await resting.events();
  const n = stored.length;
  const replay = async (query, from) => {
    const socket = await open(t, sessionPath(resting), { query });
    const frames = await socket.until((all) => all.some(({ type }) => type === 'transient') && all, 'the snapshot');
    const [sync, ...more] = frames;
    assert.equal(sync.type, 'sync');
    assert.equal(sync.through_seq, n - 1);
    assert.equal(sync.from_seq, query.after_seq);
    const durable = more.filter(({ type }) => type === 'durable');
    assert.deepEqual(durable.map(({ seq }) => seq), Array.from({ length: n - from }, (_, i) => from + i));
    assert.deepEqual(durable.map(({ event }) => event.id), stored.slice(from).map(({ id }) => id));
    assert.ok(isSnapshot(more[durable.length].event), 'the snapshot comes behind the replay');
  };
  await replay({}, n);
  await replay({ after_seq: -1 }, 0);
  await replay({ after_seq: n - 3 }, n - 2);
  await replay({ after_seq: n - 1 }, n);
  await replay({ after_seq: n + 100 }, n);
});

test('agent-server 93: the session socket reports invalid frames', async (t) => {
  const conversation = await quiet(t);
  const socket = await open(t, sessionPath(conversation));
  const [sync] = await socket.until((frames) => frames.length > 0 && frames, 'a frame');
  assert.deepEqual(sync, { type: 'sync' }, 'nothing is stored yet');
  socket.send('{');
  socket.send({ foo: 1 });
  await socket.until((frames) => frames.filter(({ type }) => type === 'error').length === 2, 'both complaints');
  socket.send({ role: 'user', content: 'hi' });
  await socket.frame(({ type, event }) => type === 'transient' && restingSnapshot(['finished'])(event), 'the end');
  const durable = socket.frames.filter(({ type }) => type === 'durable');
  assert.deepEqual(durable.map(({ seq }) => seq), durable.map((_, i) => i));
});

test('agent-server 44: the session socket has the same handshake', async (t) => {
  for (const auth of ['query', 'header', 'frame']) {
    const socket = await open(t, sessionPath(resting), { auth });
    const [first] = await socket.until((frames) => frames.length > 0 && frames, 'a frame');
    assert.equal(first.type, 'sync');
  }
});

test('agent-server 46: a message sent directly after the key is stored', async (t) => {
  const conversation = await quiet(t);
  const socket = await open(t, eventsPath(conversation), { key: null });
  socket.send({ type: 'auth', session_api_key: API_KEY });
  socket.send({ role: 'user', content: 'first' });
  socket.send({ role: 'user', content: 'second' });
  const said = await socket.until((frames) => {
    const messages = frames.filter(({ kind, source }) => kind === 'MessageEvent' && source === 'user');
    return messages.length === 2 && messages;
  }, 'both messages');
  assert.deepEqual(said.map((event) => event.llm_message.content[0].text), ['first', 'second']);
});

test('agent-server 46: a message is stored even if its socket breaks', async (t) => {
  const conversation = await quiet(t);
  const socket = await open(t, eventsPath(conversation));
  await socket.frame(isSnapshot, 'the first snapshot');
  socket.send({ role: 'user', content: 'last words' });
  await socket.close();
  await waitUntil(async () => (await conversation.events()).some(({ kind, source }) => kind === 'MessageEvent' && source === 'user'), 'the message is stored');
});

test('agent-server 48: no frame exceeds the clients\' limit, whatever a tool prints', async (t) => {
  fake.setScenario('flood', [
    { calls: [{ name: 'terminal', arguments: { command: "head -c 5000000 /dev/zero | tr '\\0' x; echo", security_risk: 'LOW', summary: 's' } }] },
    { text: 'done' },
  ]);
  const conversation = await Conversation.start(fake, 'flood');
  t.after(() => conversation.delete());
  const socket = await open(t, eventsPath(conversation), { maxPayload: (1 << 20) - 1 });
  await socket.frame(isSnapshot, 'the first snapshot');
  await conversation.say('go', true);
  await socket.frame(restingSnapshot(['finished']), 'the end');
  assert.ok(socket.frames.some(({ kind }) => kind === 'ObservationEvent'));
});

test('agent-server 49: a client disconnected during a run gets the end when it reconnects', async (t) => {
  const conversation = await Conversation.start(fake, 'hello');
  t.after(() => conversation.delete());
  const first = await open(t, eventsPath(conversation));
  await first.frame(isSnapshot, 'the first snapshot');
  await conversation.say('Create hello.txt', true);
  await first.frame(({ kind }) => kind === 'ActionEvent', 'the first action');
  await first.cut();
  const second = await open(t, eventsPath(conversation), { query: { resend_mode: 'all' } });
  await second.frame(restingSnapshot(['finished']), 'the end');
  // If the run has ended by now, its end is in the first snapshot, before the replayed events.
  const stored = await conversation.events();
  await second.until((frames) => {
    const ids = new Set([...first.frames, ...frames].map(({ id }) => id));
    return stored.every(({ id }) => ids.has(id));
  }, 'every event was seen');
});

for (const [what, say] of [
  ['a message', ({ ws }) => ws.send('{"foo": 1}', { mask: false })],
  ['an empty message', ({ ws }) => ws.send('', { mask: false })],
  ['a ping', ({ ws }) => ws.ping('x', false)],
  ['a piece of a message', ({ ws }) => { ws.send('{"foo"', { fin: false }); ws.send(': 1}', { mask: false }); }],
  ['a message after masked ones', ({ ws }) => { for (const size of [1, 125, 126, 65_535, 65_536]) ws.send(`{"foo": "${'x'.repeat(size)}"}`); ws.send('{}', { mask: false }); }],
]) {
  test(`${what} without a mask closes the socket with 1002`, async (t) => {
    const socket = await open(t, eventsPath(resting));
    await socket.frame(isSnapshot, 'the first snapshot');
    say(socket);
    assert.equal((await closeOf(socket)).code, 1002);
  });
}

// A client that still sends when the server closes may lose the close frame.
test('a large unmasked message closes the socket without an answer', async (t) => {
  const socket = await open(t, eventsPath(resting));
  await socket.frame(isSnapshot, 'the first snapshot');
  socket.ws.send('x'.repeat(100_000), { mask: false });
  assert.ok([1002, 1006].includes((await closeOf(socket)).code));
  assert.deepEqual(socket.frames.filter(({ kind }) => kind === 'ServerErrorEvent'), []);
});

test('sessions of two instances on one host coexist in a browser', async (t) => {
  const cookie = await signIn();
  const port = new URL(APP_URL).port;
  assert.match(cookie, new RegExp(`^deft_session_${port}=`), 'cookies do not tell ports apart');
  const cookies = `deft_session_${Number(port) + 1}=of-another; ${cookie}; deft_session=of-another`;
  const me = await fetch(new URL('/api/v1/me', APP_URL), { headers: { cookie: cookies } });
  assert.equal(me.status, 200);
  const socket = await open(t, `/agent${eventsPath(resting)}`, { key: null, url: APP_URL, headers: { Cookie: cookies, Origin: APP_URL } });
  await socket.frame(isSnapshot, 'the first snapshot');
});

test('the cookie opens the socket from its own origin only', async (t) => {
  const cookie = await signIn();
  const path = `/agent${eventsPath(resting)}`;
  const browser = (origin) => ({ key: null, url: APP_URL, headers: { Cookie: cookie, ...(origin ? { Origin: origin } : {}) } });
  const socket = await open(t, path, browser(APP_URL));
  await socket.frame(isSnapshot, 'the first snapshot');
  for (const origin of ['http://evil.test', AGENT_URL, `${APP_URL}.evil.test`, APP_URL.replace('http:', 'https:'), `${APP_URL}/`, 'null', undefined]) await assertRefused(path, browser(origin));
  await assertRefused(path, { key: null, url: APP_URL, headers: { Cookie: `${cookie.split('=')[0]}=none`, Origin: APP_URL } });
  const withKey = await open(t, path, { url: APP_URL });
  await withKey.frame(isSnapshot, 'the first snapshot by a key');
  const elsewhere = await open(t, eventsPath(resting), { key: null, headers: { Cookie: cookie, Origin: AGENT_URL } });
  elsewhere.send({ foo: 1 });
  assert.equal((await closeOf(elsewhere)).code, 4001, 'a cookie is no credential of the agent origin');
});

/** A key of the owner, revoked at the end of the test. */
function ownKey() {
  const name = `sockets ${randomUUID()}`;
  return { name, key: execFileSync(DEFT, ['key', name], { encoding: 'utf8' }).trim().split(/\s+/).pop() };
}

/** Every kind of socket with that key, each in use. */
async function socketsBy(t, key) {
  const sockets = await Promise.all([
    open(t, eventsPath(resting), { key, auth: 'query' }),
    open(t, eventsPath(resting), { key, auth: 'frame' }),
    open(t, sessionPath(resting), { key, auth: 'header' }),
    open(t, '/sockets/bash-events', { key, auth: 'header' }),
  ]);
  await Promise.all(sockets.slice(0, 3).map((socket) => socket.until((frames) => frames.length > 0, 'a frame')));
  return sockets;
}

/** The socket still works. */
async function assertServed(socket) {
  socket.send({ foo: 1 });
  await socket.frame(({ kind }) => kind === 'ServerErrorEvent', 'an answer');
}

async function assertThrownOut(sockets) {
  for (const socket of sockets) assert.deepEqual(await closeOf(socket), { code: 4001, reason: 'Authentication failed' });
}

test('revoking a key closes its open sockets, and no others', async (t) => {
  const { name, key } = ownKey();
  const others = await open(t, eventsPath(resting));
  const sockets = await socketsBy(t, key);
  execFileSync(DEFT, ['key', '--revoke', name]);
  await assertThrownOut(sockets);
  await assertRefused(eventsPath(resting), { key });
  await assertServed(others);
});

/** A socket directly at the gateway, as nginx opens it after its check. */
async function openBehindCheck(t, credential) {
  const socket = readFileSync(`${SERVICES}/gateway/env/DEFT_GATEWAY_SOCKET`, 'utf8').trim();
  const ws = new WebSocket(`ws+unix:${socket}:${eventsPath(resting)}`, { headers: { 'X-Deft-Credential': credential } });
  const frames = [];
  const ends = new Promise((resolve) => ws.once('close', (code) => resolve(code)));
  const first = new Promise((resolve) => ws.once('message', (data) => resolve(frames.push(data))));
  t.after(() => ws.terminate());
  await within(once(ws, 'open'), 'the socket opens');
  return { first, frames, ends };
}

test("a credential that ends between nginx's check and the opening of its socket closes that socket before any frame", async (t) => {
  const { name, key } = ownKey();
  const hash = await execute(`SELECT key_hash FROM api_keys WHERE name = :'name'`, { name });
  const cookie = await signIn();
  const session = await execute('SELECT token_hash FROM sessions ORDER BY created_at DESC LIMIT 1');
  const credentials = [`key ${hash}`, `session ${session}`];
  for (const credential of credentials) await within((await openBehindCheck(t, credential)).first, 'what was checked is served');
  execFileSync(DEFT, ['key', '--revoke', name]);
  await fetch(new URL('/api/v1/sign-out', APP_URL), { method: 'POST', headers: { cookie, origin: APP_URL } });
  await assertRefused(eventsPath(resting), { key });
  for (const credential of credentials) {
    const late = await openBehindCheck(t, credential);
    assert.equal(await within(late.ends, 'it is closed'), 4001);
    assert.equal(late.frames.length, 0, 'and was told nothing');
  }
});

test("a client's own credential header is ignored", async (t) => {
  const { name, key } = ownKey();
  const hash = await execute(`SELECT key_hash FROM api_keys WHERE name = :'name'`, { name });
  const socket = await open(t, eventsPath(resting), { key: null, headers: { 'X-Deft-Credential': `key ${hash}` } });
  socket.send({ foo: 1 });
  assert.equal((await closeOf(socket)).code, 4001);
  await assertRefused(eventsPath(resting), { key: `${key}x`, headers: { 'X-Deft-Credential': `key ${hash}` } });
  execFileSync(DEFT, ['key', '--revoke', name]);
});

test('a key revoked while the database was unreachable closes its sockets when it is back', async (t) => {
  const { name, key } = ownKey();
  const others = await open(t, eventsPath(resting));
  const sockets = await socketsBy(t, key);
  await execute(`UPDATE api_keys SET revoked_at = now() WHERE name = :'name'`, { name });
  await execute(`SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE 'deft-gateway%'`);
  await assertThrownOut(sockets);
  await assertServed(others);
});

test('signing out closes the sockets of that browser only', async (t) => {
  const [cookie, another] = [await signIn(), await signIn()];
  const path = `/agent${eventsPath(resting)}`;
  const by = (Cookie) => open(t, path, { key: null, url: APP_URL, headers: { Cookie, Origin: APP_URL } });
  const [left, stays] = [await by(cookie), await by(another)];
  await left.frame(isSnapshot, 'the first snapshot');
  const answer = await fetch(new URL('/api/v1/sign-out', APP_URL), { method: 'POST', headers: { cookie, origin: APP_URL } });
  assert.equal(answer.status, 200);
  await assertThrownOut([left]);
  await assertServed(stays);
});

test('an expired session closes its sockets', async (t) => {
  const cookie = await signIn();
  // Longer than it takes a busy machine to open the socket.
  await execute(`UPDATE sessions SET expires_at = now() + interval '20 seconds' WHERE id = (SELECT id FROM sessions ORDER BY created_at DESC LIMIT 1)`);
  const socket = await open(t, `/agent${eventsPath(resting)}`, { key: null, url: APP_URL, headers: { Cookie: cookie, Origin: APP_URL } });
  await assertThrownOut([socket]);
});

test('each end of a run is reported by one snapshot, after the answer to its request, also for a run that ends at once', async (t) => {
  const conversation = await quiet(t);
  const events = await open(t, eventsPath(conversation));
  const session = await open(t, sessionPath(conversation));
  const snapshots = () => events.frames.filter(isSnapshot);
  let toldAt;
  events.ws.on('message', (data) => {
    if (isSnapshot(JSON.parse(data))) toldAt = performance.now();
  });
  const resting = (n) => events.until((frames) => frames.filter(isSnapshot).filter(({ value }) => value.execution_status === 'finished').length >= n, `the end of run ${n}`);
  await events.until((frames) => frames.some(isSnapshot), 'the first snapshot');
  // Each later run takes long enough that a second snapshot of the previous one would be seen.
  for (let run = 1; run <= 4; run++) {
    const askedAt = performance.now();
    if (run < 3) await conversation.say(`round ${run}`, true);
    else await conversation.run();
    await resting(run);
    assert.ok(toldAt - askedAt >= TOLD_MS, `the end of run ${run} is told before its client can hear it: after ${toldAt - askedAt} ms`);
    assert.equal(snapshots().length, run + 1, `after run ${run}`);
  }
  await session.until((frames) => frames.filter((frame) => frame.type === 'transient' && isSnapshot(frame.event)).length >= 5, 'the session socket has them, too');
  assert.equal(session.frames.filter((frame) => frame.type === 'transient' && isSnapshot(frame.event)).length, 5);
});
