// Webhooks: calls to receivers, their order, and failures of receivers and workers.
// The worker that delivers them belongs to the test; the instance's others have no receivers.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { Receiver } from '../fakes/receiver.mjs';
import { Validator, contract } from './support/contract.mjs';
import { Conversation, llmOf, startRequest } from './support/conversation.mjs';
import { execute, query } from './support/database.mjs';
import { finish, terminal } from './support/model_calls.mjs';
import { Worker, start as startService, stop as stopService } from './support/processes.mjs';
import { waitUntil, within } from './support/wait.mjs';

// A delivery interrupted by a kill is continued when its lease has expired.
const TAKE_UP_MS = 180_000;
const KEY = 'the-first-session-key';
const SECRET = 'a-header-that-nobody-else-may-see';

const validator = new Validator(contract);
const ref = (name) => ({ $ref: `#/components/schemas/${name}` });

let model;

before(async () => {
  model = await startModel();
  model.setScenario('talk', [{ text: 'an answer' }, { text: 'another' }]);
  model.setScenario('sleeper', [{ calls: [terminal('sleep 600; echo slept')] }, { text: 'just text' }]);
  // A pause waits for the running command; the run would continue with the next one.
  model.setScenario('napper', Array.from({ length: 60 }, (_, i) => ({ calls: [terminal(`sleep 1; echo slept ${i}`)] })));
  model.setScenario('large', [{ calls: [{ name: 'finish', arguments: { message: 'x'.repeat(300_000) } }] }]);
  model.setScenario('worker', [...Array.from({ length: 6 }, (_, i) => ({ calls: [{ name: 'think', arguments: { thought: `thought ${i}` } }] })), { calls: [finish] }]);
});

after(() => model.close());

function faultsOf({ kind, body, headers }) {
  const faults = kind === 'info' ? validator.errors(ref('ConversationInfo'), body) : body.flatMap((event) => validator.errors(ref('Event'), event));
  if (headers['x-session-api-key'] !== KEY) faults.push(`the key is ${headers['x-session-api-key']}`);
  if (headers['x-other'] !== SECRET) faults.push(`x-other is ${headers['x-other']}`);
  if (JSON.stringify(body).includes('sk-test')) faults.push("it shows the model's key");
  return faults;
}

async function receiverFor(t) {
  const receiver = await new Receiver(faultsOf).open();
  t.after(() => receiver.close());
  t.after(() => assert.deepEqual(receiver.violations, []));
  return receiver;
}

const settingsFor = (receiver, more = {}) => ({
  OH_WEBHOOKS_0_BASE_URL: `${receiver.url}/`,
  OH_WEBHOOKS_0_HEADERS: JSON.stringify({ 'X-Other': SECRET }),
  OH_WEBHOOKS_0_FLUSH_DELAY: '1.5',
  OH_WEBHOOKS_0_RETRY_DELAY: '1',
  OH_SESSION_API_KEYS_0: KEY,
  ...more,
});

async function tellingWorker(t, receiver, more = {}) {
  const worker = await Worker.start(settingsFor(receiver, more));
  t.after(() => worker.stop());
  // Only changes since the receiver was added are delivered.
  await waitUntil(async () => (await query("SELECT 1 FROM webhooks WHERE id = '0'")).length === 1, 'the receiver is known');
  return worker;
}

async function fresh(t, scenario, more = {}) {
  const conversation = await Conversation.create(startRequest(llmOf(model, scenario), more));
  t.after(() => conversation.delete());
  return conversation;
}

const ids = (events) => events.map(({ id }) => id);
const once = (events) => [...new Map(events.map((event) => [event.id, event])).values()];

/** Waits until all stored events were accepted, and checks that none is missing or out of order. */
async function assertAllTaken(receiver, conversation, deadlineMs = undefined) {
  const stored = await conversation.events();
  await waitUntil(() => once(receiver.events(conversation.id)).length >= stored.length, 'all events are taken', deadlineMs);
  assert.deepEqual(ids(once(receiver.events(conversation.id))), ids(stored));
  return stored;
}

test('a receiver gets the state at start, run, rename and end, and all events in order, once', async (t) => {
  const receiver = await receiverFor(t);
  await tellingWorker(t, receiver);
  const conversation = await fresh(t, 'talk');
  await waitUntil(() => receiver.statuses(conversation.id).includes('idle'), 'the start is told');
  assert.equal(await conversation.ask('go'), 'finished');
  await waitUntil(() => receiver.statuses(conversation.id).includes('finished'), 'the end is told');
  await conversation.must(200, 'PATCH', '', { json: { title: 'Called thus', tags: { team: 'core' } } });
  const named = await waitUntil(() => receiver.of('info', conversation.id).find(({ body }) => body.title === 'Called thus'), 'the name is told');
  assert.deepEqual(named.body.tags, { team: 'core' });
  await assertAllTaken(receiver, conversation);
  assert.equal(receiver.events(conversation.id).length, once(receiver.events(conversation.id)).length, 'no event came twice');
  // Null members are present, as in the answer to a GET of one event.
  const [first] = receiver.events(conversation.id);
  assert.deepEqual(first, await conversation.must(200, 'GET', `/events/${first.id}`));
});

test('a pause and an interrupt are reported', async (t) => {
  const receiver = await receiverFor(t);
  await tellingWorker(t, receiver);
  for (const [stop, scenario] of [['/pause', 'napper'], ['/interrupt', 'sleeper']]) {
    const conversation = await fresh(t, scenario);
    await conversation.say('go', true);
    await waitUntil(() => receiver.statuses(conversation.id).includes('running'), 'the run is told');
    await conversation.must(200, 'POST', stop);
    await waitUntil(() => receiver.statuses(conversation.id).at(-1) === 'paused', `${stop} is told`);
    await assertAllTaken(receiver, conversation);
  }
});

test('a deletion is reported last, after all events', async (t) => {
  const receiver = await receiverFor(t);
  receiver.answer = (post, response) => response.writeHead(503).end();
  await tellingWorker(t, receiver, { OH_WEBHOOKS_0_NUM_RETRIES: '1000' });
  const conversation = await fresh(t, 'worker');
  assert.equal(await conversation.ask('go'), 'finished');
  const stored = await conversation.events();
  await waitUntil(() => receiver.of('info', conversation.id).length > 0, 'the receiver was tried');
  assert.equal(await conversation.delete(), 200);
  receiver.answer = Receiver.take;
  await waitUntil(() => receiver.statuses(conversation.id).includes('deleting'), 'the end is told', TAKE_UP_MS);
  assert.deepEqual(ids(once(receiver.events(conversation.id))), ids(stored));
  const { body } = receiver.of('info', conversation.id).at(-1);
  assert.equal(body.execution_status, 'deleting');
  assert.equal(receiver.posts.filter(({ id, taken }) => id === conversation.id && taken).at(-1).kind, 'info', 'nothing comes behind it');
  await waitUntil(async () => {
    const left = await query(`SELECT conversation_id FROM webhook_cursors WHERE conversation_id = '${conversation.id}'`);
    return left.length === 0;
  }, 'nothing of it is left');
});

test('a worker killed between call and answer loses no event', async (t) => {
  const receiver = await receiverFor(t);
  const held = [];
  receiver.answer = (post) => held.push(post);
  const doomed = await Worker.start(settingsFor(receiver));
  const conversation = await fresh(t, 'worker');
  await waitUntil(() => held.length > 0, 'a call is under way');
  await doomed.stop('SIGKILL');
  receiver.answer = (post, response) => {
    // The second worker is killed during a delivery.
    if (post.kind === 'events') held.push(post);
    else Receiver.take(post, response);
  };
  const second = await Worker.start(settingsFor(receiver));
  await conversation.say('go', true);
  await waitUntil(() => held.some(({ kind, id }) => kind === 'events' && id === conversation.id), 'events are under way', TAKE_UP_MS);
  await second.stop('SIGKILL');
  // The lease of the first has expired.
  await execute("UPDATE webhook_cursors SET lease_expires_at = now() WHERE lease_owner IS NOT NULL");
  receiver.answer = Receiver.take;
  await tellingWorker(t, receiver);
  await conversation.rest(['finished'], TAKE_UP_MS);
  await waitUntil(() => receiver.statuses(conversation.id).includes('finished'), 'the end is told', TAKE_UP_MS);
  await assertAllTaken(receiver, conversation, TAKE_UP_MS);
});

test('two workers deliver each event once', async (t) => {
  const receiver = await receiverFor(t);
  await tellingWorker(t, receiver);
  await tellingWorker(t, receiver);
  const conversations = await Promise.all(Array.from({ length: 6 }, () => fresh(t, 'talk')));
  await Promise.all(conversations.map((conversation) => conversation.ask('go')));
  for (const conversation of conversations) {
    const stored = await assertAllTaken(receiver, conversation);
    assert.deepEqual(ids(receiver.events(conversation.id)), ids(stored));
  }
});

test('a receiver that was down gets the missed events, also those written without a worker', async (t) => {
  const receiver = await receiverFor(t);
  const worker = await tellingWorker(t, receiver);
  const conversation = await fresh(t, 'talk');
  await waitUntil(() => receiver.statuses(conversation.id).length > 0, 'the start is told');
  await receiver.close();
  assert.equal(await conversation.ask('go'), 'finished');
  await waitUntil(() => worker.log.includes('"webhook.failed"'), 'the receiver is found down');
  await worker.stop();
  assert.equal(await conversation.ask('again'), 'finished');
  await receiver.open();
  await tellingWorker(t, receiver);
  await assertAllTaken(receiver, conversation, TAKE_UP_MS);
  await waitUntil(() => receiver.statuses(conversation.id).at(-1) === 'finished', 'the end is told', TAKE_UP_MS);
  assert.ok(!worker.log.includes(SECRET) && !worker.log.includes(KEY), 'the log shows no key');
});

test('a 500, a slow and an endless answer do not delay other receivers', async (t) => {
  const receiver = await receiverFor(t);
  const [refused, slow, endless, plain] = [[], [], [], []];
  const by = new Map();
  receiver.answer = (post, response) => (by.get(post.id) ?? Receiver.take)(post, response);
  await tellingWorker(t, receiver);
  const make = async (answer) => {
    const conversation = await fresh(t, 'talk', { tags: {} });
    by.set(conversation.id, answer);
    return conversation;
  };
  const broken = await make((post, response) => (refused.push(post), response.writeHead(500).end('no')));
  const late = await make((post, response) => (slow.push(response), post.kind === 'info' || setTimeout(() => {}, 0), undefined));
  const talker = await make((post, response) => {
    endless.push(post);
    post.taken = true;
    response.writeHead(200);
    const pour = () => response.writable && !response.destroyed && response.write('x'.repeat(65536), () => setImmediate(pour));
    pour();
    response.on('error', () => {});
  });
  const good = await make((post, response) => (plain.push(post), Receiver.take(post, response)));
  for (const conversation of [broken, late, talker, good]) assert.equal(await conversation.ask('go'), 'finished');
  await assertAllTaken(receiver, good);
  await assertAllTaken(receiver, talker);
  await waitUntil(() => refused.length > 1, 'what was refused is tried again');
  by.delete(broken.id);
  by.delete(late.id);
  for (const response of slow) response.destroy();
  await assertAllTaken(receiver, broken, TAKE_UP_MS);
  await assertAllTaken(receiver, late, TAKE_UP_MS);
});

test('many and large events are sent in batches within the limits', async (t) => {
  const receiver = await receiverFor(t);
  await tellingWorker(t, receiver, { OH_WEBHOOKS_0_MAX_BATCH_BYTES: '100000' });
  const large = await fresh(t, 'large');
  const many = await fresh(t, 'worker');
  assert.equal(await large.ask('go'), 'finished');
  assert.equal(await many.ask('go'), 'finished');
  await assertAllTaken(receiver, large);
  await assertAllTaken(receiver, many);
  for (const { bytes, body, kind } of receiver.posts) {
    if (kind === 'events') assert.ok(bytes <= 100_000 || body.length === 1, `${body.length} events of ${bytes} bytes together`);
  }
});

test('a full queue drops its oldest events only', async (t) => {
  const receiver = await receiverFor(t);
  receiver.answer = (post, response) => (post.kind === 'events' ? response.writeHead(500).end() : Receiver.take(post, response));
  const worker = await tellingWorker(t, receiver, {
    OH_WEBHOOKS_0_MAX_QUEUE_SIZE: '4',
    OH_WEBHOOKS_0_NUM_RETRIES: '0',
  });
  const conversation = await fresh(t, 'worker');
  assert.equal(await conversation.ask('go'), 'finished');
  const stored = await conversation.events();
  const dropped = () => worker.log.split('\n').filter((line) => line.includes('"webhook.events_dropped"') && line.includes(conversation.id));
  const n = () => dropped().reduce((sum, line) => sum + JSON.parse(line).n, 0);
  await waitUntil(() => n() === stored.length - 4, 'all but four are given up');
  receiver.answer = Receiver.take;
  await waitUntil(() => receiver.events(conversation.id).length === 4, 'the newest are taken', TAKE_UP_MS);
  assert.deepEqual(ids(receiver.events(conversation.id)), ids(stored.slice(-4)));
});

test('metadata and private addresses are never called, and invalid settings are named', async (t) => {
  const receiver = await receiverFor(t);
  const worker = await tellingWorker(t, receiver, { OH_WEBHOOKS_1_BASE_URL: 'http://169.254.169.254/latest', OH_WEBHOOKS_1_NUM_RETRIES: '0' });
  const conversation = await fresh(t, 'talk');
  await waitUntil(() => worker.log.split('\n').some((line) => line.includes('"webhook.failed"') && line.includes('"forbidden"')), 'the address is refused');
  await waitUntil(() => receiver.statuses(conversation.id).length > 0, 'the other receiver is told');
  for (const [settings, name] of [
    [{ OH_WEBHOOKS_2_BASE_URL: 'ftp://example.test/' }, 'OH_WEBHOOKS_2'],
    [{ OH_WEBHOOKS_3_BASE_URL: 'http://example.test/', OH_WEBHOOKS_3_HEADERS: '{"a b":"c"}' }, 'OH_WEBHOOKS_3'],
    [{ OH_WEBHOOKS_0_BASE_URL: 'http://example.test/', OH_WEBHOOKS_0_EVENT_BUFFER_SIZE: '0' }, 'event_buffer_size'],
  ]) {
    const wrong = new Worker(settings);
    const { code } = await within(wrong.ended, 'the worker refuses its settings');
    assert.notEqual(code, 0);
    assert.ok(wrong.log.includes(name), wrong.log);
  }
});

test('changes during an outage of the database are delivered afterwards', async (t) => {
  const receiver = await receiverFor(t);
  await tellingWorker(t, receiver);
  const conversation = await fresh(t, 'talk');
  await waitUntil(() => receiver.statuses(conversation.id).length > 0, 'the start is told');
  stopService('postgres');
  startService('postgres');
  await waitUntil(async () => (await conversation.call('GET')).status === 200, 'the database is back');
  assert.equal(await conversation.ask('go'), 'finished');
  await assertAllTaken(receiver, conversation, TAKE_UP_MS);
});
