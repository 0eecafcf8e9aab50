// Deferred start: a server that is dormant until its initialization.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { Receiver } from '../fakes/receiver.mjs';
import { start as startModel } from '../fakes/openai.mjs';
import { call, must } from './support/api.mjs';
import { Conversation, llmOf, startRequest } from './support/conversation.mjs';
import { execute } from './support/database.mjs';
import { APP_URL } from './support/instance.mjs';
import { Worker, pidOf, restartWith } from './support/processes.mjs';
import { Socket } from './support/socket.mjs';
import { waitUntil } from './support/wait.mjs';

const SECRET = 'the operator’s key'.replace('’', '');
const SETTINGS = { OH_DEFERRED_INIT: '1', OH_SECRET_KEY: SECRET };
const ASLEEP = "503: server is in deferred-init state 'dormant'; call POST /api/init first";
const KEY = 'any-text-may-be-a-key';
const UUID = '00000000-0000-4000-8000-000000000000';

const init = (json, key = SECRET) => call('POST', '/api/init', { key: null, json, headers: { 'x-init-api-key': key } });
const state = async () => (await must(200, 'GET', '/api/init', { key: null })).state;

/** The status of a handshake: 101 when the socket opens. */
async function handshake() {
  try {
    await (await Socket.open(`/sockets/events/${UUID}`, { key: null })).close();
    return 101;
  } catch (refused) {
    return refused.status;
  }
}

async function restart(fcgi, gateway) {
  for (const [name, settings] of Object.entries({ fcgi, gateway })) {
    await waitUntil(() => pidOf(name), `${name} is there`);
    await restartWith(name, settings);
  }
  await waitUntil(async () => (await call('GET', '/ready', { key: null })).status === 200, 'requests are served');
  await waitUntil(async () => (await handshake()) !== 503, 'sockets are answered');
}

const restartDeferred = () => restart(SETTINGS, { OH_DEFERRED_INIT: '1' });

let model;

before(async () => {
  model = await startModel();
  model.setScenario('talk', [{ text: 'an answer' }]);
});

afterEach(() => execute(`DELETE FROM server_init; DELETE FROM api_keys WHERE name = 'init';
  UPDATE users SET run_slots = NULL WHERE email = 'owner@localhost'; DELETE FROM webhooks WHERE id LIKE 'init-%'`));

after(async () => {
  await model.close();
  await restart({}, {});
});

test('without a deferred start /api/init is a 404', async () => {
  const looked = await call('GET', '/api/init', { key: null });
  assert.deepEqual([looked.status, looked.json], [404, { detail: 'Not Found' }]);
  assert.equal((await init({ session_api_keys: [KEY] })).status, 404, 'with no key to begin it with');
  await restart({ OH_SECRET_KEY: SECRET }, {});
  assert.equal((await init({ session_api_keys: [KEY] }, 'another')).status, 404, 'with any key');
  assert.equal((await init({ session_api_keys: [KEY] })).status, 404);
  assert.equal((await call('GET', '/api/conversations/search', { key: KEY })).status, 401);
});

test('a dormant server answers health checks only', async () => {
  await restartDeferred();
  assert.equal(await state(), 'dormant');
  for (const path of ['/health', '/alive', '/ready', '/server_info', '/openapi.json']) assert.equal((await call('GET', path, { key: null })).status, 200, path);
  for (const [method, path] of [['GET', '/api/conversations/search'], ['POST', '/api/conversations'], ['GET', '/v1/models'], ['GET', '/api/settings'], ['GET', `/api/conversations/${UUID}/workspace/x`]]) {
    const answer = await call(method, path);
    assert.equal(answer.status, 503, path);
    assert.equal(answer.json.exception, ASLEEP);
  }
  assert.equal((await call('GET', '/api/v1/me', { url: APP_URL })).status, 503);
  assert.equal(await handshake(), 403);
});

test('initialization requires the operator\'s key and a valid body', async () => {
  await restartDeferred();
  assert.equal((await init({ session_api_keys: [KEY] }, 'another')).status, 401);
  assert.equal((await call('POST', '/api/init', { json: {} })).status, 401);
  for (const body of [{ session_api_keys: [''] }, { session_api_keys: [1] }, { unknown: 1 }, { env: { A: 'b' } }, { max_concurrent_runs: 0 },
    { webhooks: [{ base_url: 'ftp://x' }] }, { webhooks: ['x'] }, { webhooks: Array.from({ length: 5 }, () => ({ base_url: 'http://x' })) }, []]) {
    const answer = await init(body);
    assert.equal(answer.status, 422, JSON.stringify(body));
    assert.ok(answer.json.detail);
  }
  assert.equal(await state(), 'dormant');
  assert.equal((await call('GET', '/api/conversations/search', { key: KEY })).status, 503);
});

test('after initialization the given keys and webhooks work, also after restarts', async (t) => {
  await restartDeferred();
  const receiver = await new Receiver().open();
  t.after(() => receiver.close());
  const worker = await Worker.start({ OH_DEFERRED_INIT: '1' });
  t.after(() => worker.stop());
  const body = { session_api_keys: [KEY], secret_key: 'unused', max_concurrent_runs: 7, webhooks: [{ base_url: receiver.url, headers: { 'X-Other': 'h' } }] };
  const answers = await Promise.all([init(body), init(body), init(body)]);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400, 400]);
  assert.deepEqual(answers.find(({ status }) => status === 200).json, { state: 'ready', error: null });
  await waitUntil(async () => (await execute("SELECT count(*) FROM webhooks WHERE id = 'init-0'")) === '1', 'the receiver is known');
  for (const round of ['at once', 'after a restart']) {
    if (round !== 'at once') await restartDeferred();
    assert.equal(await state(), 'ready', round);
    assert.equal(await handshake(), 101);
    const conversation = await Conversation.create(startRequest(llmOf(model, 'talk')), { key: KEY });
    t.after(() => conversation.delete());
    assert.equal(await conversation.ask('go'), 'finished');
    await waitUntil(() => receiver.statuses(conversation.id).includes('finished'), `the end is told ${round}`);
    const [post] = receiver.of('info', conversation.id);
    assert.deepEqual([post.headers['x-session-api-key'], post.headers['x-other']], [KEY, 'h']);
  }
  assert.equal(await execute("SELECT run_slots FROM users WHERE email = 'owner@localhost'"), '7');
  assert.ok(!(await execute('SELECT settings FROM server_init')).includes(KEY), 'what is kept is sealed');
  assert.equal((await call('GET', '/api/conversations/search', { key: `${KEY}x` })).status, 401);
  assert.equal((await init(body, 'another')).status, 401, 'also when it has begun');
});
