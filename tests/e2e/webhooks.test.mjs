// Webhooks: what receivers get, and in which order.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Receiver } from '../fakes/receiver.mjs';
import { query } from './support/database.mjs';
import { Worker } from './support/processes.mjs';
import { waitUntil, within } from './support/wait.mjs';
import { assertAllTaken, fresh, ids, once, receiverFor, TAKE_UP_MS, tellingWorker } from './support/webhooks.mjs';

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
