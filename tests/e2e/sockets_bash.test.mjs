// /sockets/bash-events: commands of clients, live, black box.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { engine } from './runtime_house.mjs';
import { Box } from './support/box.mjs';
import { Conversation, startRequest } from './support/conversation.mjs';
import { query } from './support/database.mjs';
import { AGENT_URL, API_KEY, APP_URL } from './support/instance.mjs';
import { logOf, withSlowLimit } from './support/processes.mjs';
import { Refused, Socket } from './support/socket.mjs';
import { newUser } from './support/users.mjs';
import { waitUntil, within } from './support/wait.mjs';

const PATH = '/sockets/bash-events';
const WRONG_KEY = `sk-deft-${'x'.repeat(43)}`;
const SOCKETS_MAX = 48;
/** Time after which a socket that accepts no data is closed: longer than a busy machine delays the reader that goes on. */
const SLOW_MS = 12_000;
const HEX = /^[0-9a-f]{32}$/;
/** The request that Agent Canvas sends every ten seconds. */
const GIT_LINE = 'git rev-parse --abbrev-ref HEAD 2>/dev/null; git remote get-url origin 2>/dev/null; true';

let user;
let box;
before(async () => {
  user = await newUser();
  box = new Box('/api', { key: user.key });
});

async function open(t, options = {}) {
  const socket = await Socket.open(options.url === APP_URL ? `/agent${PATH}` : PATH, { key: user.key, ...options });
  t.after(() => socket.cut());
  return socket;
}

const isEnd = ({ kind, exit_code: code }) => kind === 'BashOutput' && code !== null;
const outputs = (frames) => frames.filter(({ kind }) => kind === 'BashOutput').map(({ stdout }) => stdout);
const closeOf = (socket) => within(socket.closed, 'the server closes the socket');

/** Runs a command on the socket; resolves with its first and its last frame. */
async function give(socket, command, more = {}) {
  const from = socket.frames.length;
  socket.send({ command, ...more });
  const begun = await socket.frame(({ kind, command: text }) => kind === 'BashCommand' && text === command, `${command} begins`, { from });
  const end = await socket.frame((frame) => isEnd(frame) && frame.command_id === begun.id, `${command} ends`, { from });
  return { begun, end };
}

/** The running containers of a user's shared sandbox. */
async function sandboxes(userId) {
  const rows = await query("SELECT container_id FROM runtimes WHERE session_id = :'session' AND status = 'running'",
    { session: `u-${userId.replaceAll('-', '')}` });
  return rows.map(({ container_id: id }) => id);
}

for (const auth of ['query', 'header', 'frame']) {
  for (const [origin, url] of [['agent', AGENT_URL], ['app', APP_URL]]) {
    test(`a key in the ${auth} opens the socket of the ${origin} origin, and a command runs`, async (t) => {
      const socket = await open(t, { auth, url });
      const { begun, end } = await give(socket, 'echo out; echo err >&2; exit 3', { cwd: null, timeout: 30 });
      assert.match(begun.id, HEX);
      assert.deepEqual([begun.cwd, begun.timeout], [null, 30]);
      assert.deepEqual([end.exit_code, end.stdout, end.stderr, end.order], [3, 'out\n', 'err\n', 0]);
      assert.match(end.timestamp, /Z$/);
    });
  }
}

test('the git command of Agent Canvas works, with null for missing output', async (t) => {
  const socket = await open(t, { auth: 'frame' });
  await give(socket, 'rm -rf /workspace/repo; git init -q -b topic /workspace/repo && cd /workspace/repo && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m first');
  const { end } = await give(socket, GIT_LINE, { cwd: '/workspace/repo', timeout: 10 });
  assert.deepEqual([end.exit_code, end.stdout, end.stderr], [0, 'topic\n', null]);
});

test('bad keys are refused or closed as on the other sockets', async (t) => {
  for (const options of [{ key: WRONG_KEY }, { key: WRONG_KEY, auth: 'header' }, { query: { resend_mode: 'some' } }]) {
    await assert.rejects(open(t, options), (error) => error instanceof Refused && error.status === 403);
  }
  await assert.rejects(Socket.open(`${PATH}/more`), (error) => error instanceof Refused && error.status === 403);
  const socket = await open(t, { key: WRONG_KEY, auth: 'frame' });
  assert.equal((await closeOf(socket)).code, 4001);
});

test('bad frames are answered with a BashError, and the socket stays usable', async (t) => {
  const socket = await open(t);
  socket.send({ type: 'auth', session_api_key: user.key });
  for (const [frame, code] of [['no JSON', 'JSONDecodeError'], [{ foo: 1 }, 'ValidationError'], [[], 'ValidationError'],
    [{ command: 1 }, 'ValidationError'], [{ command: 'ls', cwd: 1 }, 'ValidationError'], [{ command: 'ls', timeout: 'x' }, 'ValidationError']]) {
    const from = socket.frames.length;
    socket.send(frame);
    const error = await socket.frame(({ kind }) => kind === 'BashError', 'the answer to the bad frame', { from });
    assert.deepEqual([error.code, typeof error.detail], [code, 'string']);
    assert.match(error.id, HEX);
    assert.match(error.timestamp, /Z$/);
  }
  assert.equal((await give(socket, 'echo still')).end.stdout, 'still\n');
});

test('all sockets of a user see what is started over HTTP, and another user sees nothing', async (t) => {
  const [one, two] = [await open(t), await open(t)];
  const stranger = await open(t, { key: API_KEY });
  await Promise.all([one, two].map((socket) => give(socket, 'true')));
  const command = await box.must(200, 'POST', '/bash/start_bash_command', { json: { command: 'echo shared' } });
  const ends = await Promise.all([one, two].map((socket) => socket.frame((frame) => isEnd(frame) && frame.command_id === command.id, 'the output')));
  for (const end of ends) assert.equal(end.stdout, 'shared\n');
  assert.deepEqual(ends[0], ends[1]);
  assert.deepEqual(stranger.frames.filter(({ command_id: id }) => id === command.id), []);
});

test('commands of a conversation are not sent to it', async (t) => {
  const one = await Conversation.create(startRequest({ model: 'scripted/hello', usage_id: 'agent' }));
  t.after(() => one.delete());
  const socket = await open(t, { key: API_KEY });
  await give(socket, 'echo first');
  await new Box(one.path).run('echo scoped');
  await give(socket, 'echo second');
  // Commands of other tests in this sandbox may end at any time.
  const ours = ['first\n', 'scoped\n', 'second\n'];
  assert.deepEqual(outputs(socket.frames).filter((text) => ours.includes(text)), ['first\n', 'second\n']);
});

test('old events are sent on request only, all of them in order', async (t) => {
  const writer = await open(t);
  await box.must(200, 'DELETE', '/bash/bash_events');
  const texts = Array.from({ length: 40 }, (_, i) => `${i}\n`);
  for (const text of texts) await give(writer, `echo ${text.trim()}`);
  for (const wish of [{ resend_mode: 'all' }, { resend_all: true }]) {
    const reader = await open(t, { query: wish });
    const frames = await reader.until((all) => outputs(all).length === texts.length && all, 'all old events');
    assert.deepEqual(outputs(frames), texts);
    assert.equal(frames.length, 2 * texts.length);
    assert.equal(new Set(frames.map(({ id }) => id)).size, frames.length);
  }
  const late = await open(t);
  await give(late, 'echo new');
  assert.deepEqual(outputs(late.frames), ['new\n']);
});

test('large output arrives in pieces that add up to the whole', async (t) => {
  const socket = await open(t);
  const { begun, end } = await give(socket, "head -c 5242880 /dev/zero | tr '\\0' x");
  const pieces = socket.frames.filter(({ command_id: id }) => id === begun.id);
  assert.equal(pieces.map(({ stdout }) => stdout ?? '').join(''), 'x'.repeat(5242880));
  assert.deepEqual(pieces.map(({ order }) => order), pieces.map((_, i) => i));
  assert.equal(end.order, pieces.length - 1);
});

test('opening the socket starts no sandbox; a command does', async (t) => {
  const fresh = await newUser();
  const socket = await open(t, { key: fresh.key, query: { resend_mode: 'all' } });
  socket.send({ nothing: true });
  await socket.frame(({ kind }) => kind === 'BashError', 'an answer');
  assert.deepEqual(await sandboxes(fresh.id), []);
  assert.equal((await give(socket, 'echo up')).end.stdout, 'up\n');
  assert.equal((await sandboxes(fresh.id)).length, 1);
});

test('the socket survives the end of its sandbox and sees the next one', async (t) => {
  const fresh = await newUser();
  const socket = await open(t, { key: fresh.key });
  await give(socket, 'echo before');
  const end = async () => {
    const [container] = await sandboxes(fresh.id);
    assert.equal((await engine('POST', `/containers/${container}/kill`)).status, 204);
    await waitUntil(async () => (await sandboxes(fresh.id)).length === 0, 'the sandbox is gone');
  };
  await end();
  assert.equal((await give(socket, 'echo after')).end.stdout, 'after\n');
  await end();
  const from = socket.frames.length;
  const other = new Box('/api', { key: fresh.key });
  assert.equal(await other.run('echo elsewhere'), 'elsewhere\n');
  const output = await socket.frame(isEnd, 'the output of a command that came by HTTP', { from });
  assert.equal(output.stdout, 'elsewhere\n');
});

test('agent-server 75: a sandbox\'s key can watch that sandbox', async (t) => {
  const one = await Conversation.create(startRequest({ model: 'scripted/hello', usage_id: 'agent' }, { conversation_runtime: 'docker' }));
  t.after(() => one.delete());
  const { session_api_key: key } = await one.must(200, 'POST', '/runtime/credentials', { json: {} });
  const [socket, outside] = [await open(t, { key }), await open(t)];
  await give(socket, 'echo own');
  await give(outside, 'echo other');
  assert.deepEqual([outputs(socket.frames), outputs(outside.frames)], [['own\n'], ['other\n']]);
});

test('more sockets than one sandbox may have are closed with 1013', async (t) => {
  const fresh = await newUser();
  const sockets = await Promise.all(Array.from({ length: SOCKETS_MAX }, () => open(t, { key: fresh.key })));
  sockets.forEach((socket) => socket.send('no JSON'));
  await Promise.all(sockets.map((socket) => socket.frame(({ kind }) => kind === 'BashError', 'an answer')));
  const { code, reason } = await closeOf(await open(t, { key: fresh.key }));
  assert.deepEqual([code, reason], [1013, 'Too many bash event connections']);
});

test('a reader that stops is closed with 1013, delays no other, and gets the rest after reconnecting', async (t) => {
  await withSlowLimit(t, SLOW_MS);
  const fresh = await newUser();
  const [slow, quick] = [await open(t, { key: fresh.key }), await open(t, { key: fresh.key })];
  await Promise.all([slow, quick].map((socket) => give(socket, 'true')));
  const from = slow.frames.length;
  slow.ws._socket.pause();
  const { begun } = await give(quick, "head -c 15728640 /dev/zero | tr '\\0' x", { timeout: 60 });
  await waitUntil(() => logOf('gateway').some((line) => line.includes('socket.slow') && line.includes(`u-${fresh.id.replaceAll('-', '')}`)),
    'the gateway gives the reader up');
  slow.ws._socket.resume();
  const { code, reason } = await closeOf(slow);
  assert.deepEqual([code, reason], [1013, 'slow_consumer']);
  assert.ok(slow.frames.length - from < 16, 'it was not sent everything');
  const again = await open(t, { key: fresh.key, query: { resend_mode: 'all' } });
  await again.frame((frame) => isEnd(frame) && frame.command_id === begun.id, 'the last piece');
  const text = again.frames.filter(({ command_id: id }) => id === begun.id).map(({ stdout }) => stdout ?? '').join('');
  assert.equal(text.length, 15728640);
});
