// A server with a sandbox's keys sends invalid answers: the call ends with a message, and the conversation continues.
import assert from 'node:assert/strict';
import http from 'node:http';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { execute, query } from '../e2e/support/database.mjs';
import { proofKeyOf, proofOf } from '../e2e/support/sandbox_key.mjs';
import { start as startModel } from '../fakes/openai.mjs';
import { RUN_MS, assertWhole, finish, linesOf, startAlone, terminal } from './support.mjs';

const JSON_TYPE = { 'Content-Type': 'application/json' };

/** Writes until the connection is closed. */
function writeForEver(response) {
  const piece = Buffer.alloc(1 << 16, ' ');
  response.writeHead(200, JSON_TYPE);
  const more = () => { while (!response.destroyed && response.write(piece)); };
  response.on('drain', more);
  more();
}

const send = (text, status = 200) => (response) => response.writeHead(status, JSON_TYPE).end(text);

const ANSWERS = {
  'without end': writeForEver,
  'that is cut off': (response) => response.writeHead(200, { ...JSON_TYPE, 'Content-Length': 1000 }).write('{"state":', () => response.destroy()),
  'nested a hundred thousand deep': send(`{"state": ${'['.repeat(100_000)}${']'.repeat(100_000)}}`),
  'that is not JSON': send('<html>Welcome</html>'),
  'without an observation': send('{"state": "finished"}'),
  'with an invalid observation': send('{"state": "finished", "observation": {"kind": "TerminalObservation", "content": 5, "exit_code": "x"}}'),
  'with an unknown state': send('{"state": "confused"}'),
  'with status 500': send('{"detail": ["no", {"words": 1}]}', 500),
};

let fake;
let hostile;
let answer;
let proofKey;

before(async () => {
  fake = await startModel();
  hostile = http.createServer((request, response) => {
    request.resume();
    const { localAddress, localPort } = request.socket;
    if (request.url === '/prove') send(JSON.stringify({ proof: proofOf(proofKey, request.headers['x-deft-nonce'], `${localAddress}:${localPort}`) }))(response);
    else if (request.url === '/alive') send('{"status": "ok"}')(response);
    else answer(response);
  });
  hostile.listen(0, '127.0.0.1');
  await once(hostile, 'listening');
});

after(async () => {
  hostile.closeAllConnections();
  hostile.close();
  await fake.close();
});

/** Redirects a conversation's calls; returns the previous URL. */
async function redirect({ id }, url) {
  const [{ url: was }] = await query("SELECT url FROM runtimes WHERE status = 'running' AND session_id = (SELECT runtime_session FROM conversations WHERE id = :'id')", { id });
  await execute("UPDATE runtimes SET url = :'url' WHERE session_id = (SELECT runtime_session FROM conversations WHERE id = :'id')", { id, url });
  return was;
}

const failures = (events) => events.filter(({ kind }) => ['AgentErrorEvent', 'ConversationErrorEvent'].includes(kind));

for (const [what, send] of Object.entries(ANSWERS)) {
  test(`an answer ${what}`, async (t) => {
    const steps = ['first', 'lost', 'last'].flatMap((word) => [{ calls: [terminal(`echo ${word} >> f`)] }, { calls: [finish(word)] }]);
    fake.setScenario('hostile', steps);
    const conversation = await startAlone(t, fake, 'hostile', { conversation_runtime: 'docker' });
    await conversation.say('Begin.', true);
    assert.equal(await conversation.rest(undefined, RUN_MS), 'finished');
    answer = send;
    proofKey = proofKeyOf((await conversation.must(200, 'POST', '/runtime/credentials', { json: {} })).session_api_key);
    const { port } = hostile.address();
    const own = await redirect(conversation, `http://127.0.0.1:${port}`);
    await conversation.say('Go on.', true);
    await conversation.rest(undefined, RUN_MS);
    const told = failures(await conversation.events());
    assert.equal(told.length, 1, JSON.stringify(told));
    assert.match(told[0].error ?? told[0].detail, /\w+ \w+ \w+/);
    await redirect(conversation, own);
    await conversation.say('And again.', true);
    assert.equal(await conversation.rest(['finished'], RUN_MS), 'finished');
    assert.equal((await linesOf(conversation, 'f'))[0], 'first');
    assert.equal(failures(await conversation.events()).length, 1, 'nothing else failed');
    await assertWhole(conversation);
  });
}
