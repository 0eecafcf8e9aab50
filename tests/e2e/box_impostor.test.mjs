// A program takes the place of a sandbox's server: callers send it neither a key nor a request, and
// the service ends that sandbox and restarts it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { finish, terminal } from '../chaos/support.mjs';
import { start as startModel } from '../fakes/openai.mjs';
import { call } from './support/api.mjs';
import { Box } from './support/box.mjs';
import { Conversation, llmOf, startRequest } from './support/conversation.mjs';
import { execute, query } from './support/database.mjs';
import { API_KEY, APP_URL, WORKING_DIR } from './support/instance.mjs';
import { logOf } from './support/processes.mjs';
import { callKeyOf, proofKeyOf, proofOf } from './support/sandbox_key.mjs';
import { Socket } from './support/socket.mjs';
import { waitUntil } from './support/wait.mjs';

/** Texts in requests that the impostor must not receive. */
const MARK = 'words-for-the-genuine-one';

let fake;
let impostor;
const connections = new Set();
let heard;
let reply;
let conversation;
let own;
let key;

/** Answers of an impostor to the request for a proof. */
const json = (status, text) => `HTTP/1.1 ${status} X\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
const REPLIES = {
  'answers everything with 200': () => json(200, '{"status": "ok", "state": "finished"}'),
  'sends an invented proof': (nonce) => json(200, JSON.stringify({ proof: nonce })),
  'sends a proof by the session key': (nonce, address) => json(200, JSON.stringify({ proof: proofOf(key, nonce, address) })),
  'sends a proof by the call key': (nonce, address) => json(200, JSON.stringify({ proof: proofOf(callKeyOf(key), nonce, address) })),
  'relays the genuine server\'s proof': (nonce, address, genuine) => json(200, JSON.stringify({ proof: proofOf(proofKeyOf(key), nonce, genuine) })),
  'answers 404 to the request for a proof': () => json(404, '{"detail": "Not Found"}'),
  'closes the connection': () => null,
};

const rowOf = async () => (await query(`SELECT r.id, r.container_id, r.url, r.proves FROM runtimes r JOIN conversations c ON c.runtime_session = r.session_id
  WHERE c.id = :'id'::uuid`, { id: conversation.id }))[0];

before(async () => {
  fake = await startModel();
  fake.setScenario('marked', [{ calls: [terminal(`echo ${MARK}`)] }, { calls: [finish('done')] }]);
  impostor = net.createServer((socket) => {
    let text = '';
    connections.add(socket);
    socket.on('close', () => connections.delete(socket));
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      heard += bytes;
      text += bytes;
      if (!text.includes('\r\n\r\n')) return;
      const nonce = /x-deft-nonce: (\w+)/i.exec(text)?.[1] ?? '';
      text = '';
      const answer = reply(nonce, `${socket.localAddress}:${socket.localPort}`);
      if (answer === null) socket.destroy();
      else socket.write(answer);
    });
  });
  impostor.listen(0, '127.0.0.1');
  await once(impostor, 'listening');
  conversation = await Conversation.create(startRequest(llmOf(fake, 'marked'), { conversation_runtime: 'docker' }));
  own = new Box(conversation.path);
  await own.run('git init -q .');
  ({ session_api_key: key } = await conversation.must(200, 'POST', '/runtime/credentials', { json: {} }));
});

beforeEach(() => {
  heard = '';
  reply = REPLIES['answers everything with 200'];
});

after(async () => {
  impostor.close();
  for (const connection of connections) connection.destroy(); // callers keep theirs
  await conversation.delete();
  await fake.close();
});

/** Redirects all calls of the sandbox to the impostor; returns the previous row. */
async function takePlace() {
  await own.run('true');
  heard = '';
  const row = await rowOf();
  assert.equal(row.proves, true);
  await execute("UPDATE runtimes SET url = :'url' WHERE id = :'id'", { id: row.id, url: `http://127.0.0.1:${impostor.address().port}` });
  return row;
}

/** It got requests for a proof, and nothing else. */
function assertToldNothing(what = '') {
  const lines = heard.split('\r\n').filter((line) => /^[A-Z]+ \S+ HTTP/.test(line));
  assert.ok(lines.length > 0, `${what}: it was asked`);
  for (const line of lines) assert.equal(line, 'GET /prove HTTP/1.1', what);
  for (const secret of [key, callKeyOf(key), proofKeyOf(key), MARK]) assert.ok(!heard.includes(secret), `${what}: it heard ${heard}`);
}

async function assertReplaced(was) {
  const now = await rowOf();
  assert.notEqual(now.container_id, was.container_id, 'the sandbox was started anew');
  assert.ok(!now.url.endsWith(`:${impostor.address().port}`));
}

for (const [what, answer] of Object.entries(REPLIES)) {
  test(`an impostor that ${what} receives no data and is replaced`, async () => {
    const was = await takePlace();
    reply = (nonce, address) => answer(nonce, address, new URL(was.url).host);
    assert.equal(await own.run(`echo ${MARK}`), `${MARK}\n`);
    assertToldNothing();
    await assertReplaced(was);
  });
}

const form = () => {
  const body = new FormData();
  body.append('file', new Blob([MARK]), 'x');
  return body;
};

const CALLERS = {
  'a list of commands': () => own.call('GET', '/bash/bash_events/search'),
  'an upload': () => own.upload(`${WORKING_DIR}/x`, MARK),
  'a download': async () => { const answer = await own.download(`${WORKING_DIR}/${MARK}`); return { ...answer, status: answer.status === 404 ? 200 : answer.status }; },
  'a git request': () => own.call('GET', '/git/changes', { query: { path: WORKING_DIR } }),
  'an action of the older API': () => call('POST', '/execute_action', { key, json: { action: { action: 'run', args: { command: `echo ${MARK}` }, source: 'agent', timeout: 60 } } }),
  'an upload of the older API': () => call('POST', '/upload_file', { key, query: { destination: WORKING_DIR }, body: form() }),
  'a call of deft itself (the image has no editor)': async () => { const answer = await conversation.call('GET', '/vscode/url'); return { ...answer, status: answer.status === 503 ? 200 : answer.status }; },
};

for (const [what, ask] of Object.entries(CALLERS)) {
  test(`${what} is served by the sandbox that replaces the impostor`, async () => {
    const was = await takePlace();
    const answer = await ask();
    assert.equal(answer.status, 200, answer.text);
    assertToldNothing();
    await assertReplaced(was);
  });
}

/** The service's reports that it ended the sandbox. */
const reportsOf = (id) => logOf('runtime').filter((line) => line.includes('sandbox.unresponsive') && line.includes(id));

test('a run continues in the sandbox that replaces the impostor, and the service logs the reason', async () => {
  const was = await takePlace();
  const before = reportsOf(was.id).length;
  assert.equal(await conversation.ask('Do it.'), 'finished');
  assertToldNothing();
  await assertReplaced(was);
  const said = await waitUntil(() => reportsOf(was.id)[before], 'the end of the sandbox is reported');
  assert.match(said, /did not authenticate/);
});

test('a command on the socket fails with a message or runs in the replacing sandbox, and the next one runs there', async (t) => {
  const was = await takePlace();
  const socket = await Socket.open('/sockets/bash-events', { key });
  t.after(() => socket.cut());
  const isOutput = ({ kind, stdout }) => kind === 'BashOutput' && stdout === `${MARK}\n`;
  socket.send({ command: `echo ${MARK}` });
  // Depends on whether the feed detected it before the command arrived.
  const first = await socket.frame((frame) => frame.kind === 'BashError' || isOutput(frame), 'an answer');
  if (first.kind === 'BashError') assert.match(first.detail, /did not authenticate/);
  const from = socket.frames.length;
  socket.send({ command: `echo ${MARK}` });
  await socket.frame(isOutput, 'the output', { from });
  assertToldNothing();
  await assertReplaced(was);
});

test('an impostor is not reported as a running sandbox', async () => {
  const { id } = await takePlace();
  await execute("UPDATE runtimes SET since = now() - interval '1 hour' WHERE id = :'id'", { id });
  const items = (await call('GET', '/api/v1/sandboxes', { key: null, headers: { authorization: `Bearer ${API_KEY}` }, url: APP_URL, query: { id } })).json;
  assert.equal(items[0].status, 'ERROR');
  assertToldNothing();
});

test('a sandbox of an older version is called with its session key', async () => {
  const was = await takePlace();
  await execute("UPDATE runtimes SET proves = false WHERE id = :'id'", { id: was.id });
  reply = () => json(200, '{"items": [], "next_page_id": null}');
  const { status } = await own.call('GET', '/bash/bash_events/search');
  assert.equal(status, 200);
  assert.ok(heard.includes(`X-Session-API-Key: ${key}`));
  assert.ok(!heard.includes('/prove'));
  await execute("UPDATE runtimes SET proves = true, url = :'url' WHERE id = :'id'", { id: was.id, url: was.url });
});
