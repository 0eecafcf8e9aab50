// Webhooks when deft's own processes fail: a worker during a delivery, and the database.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Receiver } from '../fakes/receiver.mjs';
import { execute } from './support/database.mjs';
import { Worker, start as startService, stop as stopService } from './support/processes.mjs';
import { waitUntil } from './support/wait.mjs';
import { assertAllTaken, fresh, receiverFor, settingsFor, TAKE_UP_MS, tellingWorker } from './support/webhooks.mjs';

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

test('changes during an outage of the database are delivered afterwards', async (t) => {
  const receiver = await receiverFor(t);
  await tellingWorker(t, receiver);
  const conversation = await fresh(t, 'talk');
  await waitUntil(() => receiver.statuses(conversation.id).length > 0, 'the start is told');
  stopService('postgres');
  await startService('postgres');
  await waitUntil(async () => (await conversation.call('GET')).status === 200, 'the database is back');
  assert.equal(await conversation.ask('go'), 'finished');
  await assertAllTaken(receiver, conversation, TAKE_UP_MS);
});
