// Two sandboxes, of one user or of two: neither reaches the other, by network or by key.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { call } from './support/api.mjs';
import { Box } from './support/box.mjs';
import { Conversation, startRequest } from './support/conversation.mjs';
import { query } from './support/database.mjs';
import { API_KEY } from './support/instance.mjs';
import { Socket } from './support/socket.mjs';
import { callKeyOf } from './support/sandbox_key.mjs';
import { newUser } from './support/users.mjs';
import { within } from './support/wait.mjs';

const model = { model: 'scripted/hello', usage_id: 'agent' };

let stranger;

before(async () => {
  stranger = await newUser();
});

/** A conversation in its own sandbox: {conversation, box, the sandbox's key, its call key, its server's URL}. */
async function sandboxOf(t, key) {
  const conversation = await Conversation.create(startRequest(model, { conversation_runtime: 'docker' }), { key });
  t.after(() => conversation.delete());
  const box = new Box(conversation.path, { key });
  const { session_api_key: own } = await conversation.must(200, 'POST', '/runtime/credentials', { json: {} });
  const [{ url }] = await query("SELECT r.url FROM runtimes r JOIN conversations c ON c.runtime_session = r.session_id WHERE c.id = :'id' AND r.status = 'running'", { id: conversation.id });
  return { conversation, box, key: own, callKey: callKeyOf(own), url };
}

/** The status that curl in the box gets from the other's server, or 000 without an answer in time. */
const reach = (box, url, key, seconds = 4) =>
  box.run(`curl -s -o /dev/null -m ${seconds} -w '%{http_code}' -H 'X-Session-API-Key: ${key}' ${url}/api/file/home || true`);

for (const whose of ['the same user', 'another user']) {
  test(`a sandbox cannot connect to any other of ${whose}`, async (t) => {
    const one = await sandboxOf(t, API_KEY);
    const two = await sandboxOf(t, whose === 'the same user' ? API_KEY : stranger.key);
    assert.equal((await fetch(`${two.url}/alive`)).status, 200, 'it listens there, for the host');
    assert.notEqual(one.url, two.url);
    assert.equal(await reach(one.box, 'http://localhost:8000', one.callKey, 30), '200', 'the question is right');
    for (const [from, to] of [[one, two], [two, one]]) assert.equal(await reach(from.box, to.url, to.callKey), '000');
  });

  test(`a sandbox's key gives no access to any other of ${whose}`, async (t) => {
    const one = await sandboxOf(t, API_KEY);
    const two = await sandboxOf(t, whose === 'the same user' ? API_KEY : stranger.key);
    const { path, id } = two.conversation;
    assert.equal((await call('GET', one.conversation.path, { key: one.key })).status, 200, 'it opens its own');
    for (const [method, route, json] of [
      ['GET', '', undefined], ['GET', '/events/search', undefined], ['POST', '/bash/execute_bash_command', { command: 'id' }], ['POST', '/run', undefined],
      ['GET', '/runtime', undefined], ['POST', '/runtime/credentials', {}], ['DELETE', '', undefined], ['GET', '/workspace/x', undefined],
    ]) {
      const { status } = await call(method, `${path}${route}`, { key: one.key, json });
      assert.ok([401, 403, 404].includes(status), `${method} ${route}: ${status}`);
    }
    const socket = await Socket.open(`/sockets/events/${id}`, { key: one.key });
    assert.equal((await within(socket.closed, 'the socket closes')).code, 4004);
    assert.equal((await two.conversation.info()).id, id, 'it is untouched');
  });
}
