// Webhooks to receivers that fail: what is repeated, what is dropped, and who waits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Receiver } from '../fakes/receiver.mjs';
import { waitUntil } from './support/wait.mjs';
import { assertAllTaken, fresh, ids, KEY, receiverFor, SECRET, TAKE_UP_MS, tellingWorker } from './support/webhooks.mjs';

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
  await tellingWorker(t, receiver, { DEFT_WEBHOOKS_TIMEOUT_MS: '3000' });
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
