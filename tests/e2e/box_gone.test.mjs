// Calls to a sandbox whose server is gone, while its row still says that it runs: the service checks it,
// restarts it on the same files, and the call is served there.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import net from 'node:net';
import { once } from 'node:events';
import { engine } from './runtime_house.mjs';
import { call } from './support/api.mjs';
import { Box } from './support/box.mjs';
import { Conversation, startRequest } from './support/conversation.mjs';
import { execute, query } from './support/database.mjs';
import { WORKING_DIR } from './support/instance.mjs';

const model = { model: 'scripted/hello', usage_id: 'agent' };

let one;
let own;
let key;

before(async () => {
  one = await Conversation.create(startRequest(model, { conversation_runtime: 'docker' }));
  own = new Box(one.path);
  await own.run('git init -q . && echo kept > kept.txt');
  ({ session_api_key: key } = await one.must(200, 'POST', '/runtime/credentials', { json: {} }));
});

after(() => one.delete());

const rowOf = async () => (await query(`SELECT r.id, r.container_id, r.url FROM runtimes r JOIN conversations c ON c.runtime_session = r.session_id
  WHERE c.id = :'id'::uuid`, { id: one.id }))[0];

/** A port of this host's loopback without a listener. */
async function deadUrl() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return `http://127.0.0.1:${port}`;
}

/** Ways in which a server can be gone before the row says so: a dead address, or a container that was just killed. */
const WAYS = {
  'with a dead address': async ({ id }) => execute("UPDATE runtimes SET url = :'url' WHERE id = :'id'", { id, url: await deadUrl() }),
  'that was just killed': async ({ container_id: container }) => engine('POST', `/containers/${container}/kill`),
};

const form = () => {
  const body = new FormData();
  body.append('file', new Blob(['sent']), 'sent.txt');
  return body;
};

const ROUTES = {
  'a command': () => own.call('POST', '/bash/execute_bash_command', { json: { command: 'cat kept.txt' } }),
  'the list of commands': () => own.call('GET', '/bash/bash_events/search'),
  'a download': () => own.download(`${WORKING_DIR}/kept.txt`),
  'an upload': () => own.upload(`${WORKING_DIR}/sent.txt`, 'sent'),
  'a new directory': () => own.call('POST', '/file/create_directory', { query: { path: `${WORKING_DIR}/new` } }),
  'a git request': () => own.call('GET', '/git/changes', { query: { path: WORKING_DIR } }),
  'a workspace file in a browser': () => one.call('GET', '/workspace/kept.txt'),
  'an action of the older API': () => call('POST', '/execute_action', { key, json: { action: { action: 'run', args: { command: 'true' }, source: 'agent', timeout: 60 } } }),
  'a list of files of the older API': () => call('POST', '/list_files', { key, json: { path: WORKING_DIR } }),
  'an upload of the older API': () => call('POST', '/upload_file', { key, query: { destination: WORKING_DIR }, body: form() }),
  'a download of the older API': () => call('GET', '/download_files', { key, query: { path: WORKING_DIR } }),
};

for (const [way, lose] of Object.entries(WAYS)) {
  for (const [what, ask] of Object.entries(ROUTES)) {
    test(`${what} from a sandbox ${way} is served by a new one`, async () => {
      assert.equal(await own.run('cat kept.txt'), 'kept\n');
      const before = await rowOf();
      await lose(before);
      const answer = await ask();
      assert.equal(answer.status, 200, answer.text);
      const now = await rowOf();
      assert.notEqual(now.container_id, before.container_id);
      assert.equal(now.id, before.id);
    });
  }
}
