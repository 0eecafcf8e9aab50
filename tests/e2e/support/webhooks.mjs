// Webhooks for tests: receivers, conversations, and workers that deliver.
// The worker that delivers them belongs to the test; the instance's others have no receivers.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { start as startModel } from '../../fakes/openai.mjs';
import { Receiver } from '../../fakes/receiver.mjs';
import { Validator, contract } from './contract.mjs';
import { Conversation, llmOf, startRequest } from './conversation.mjs';
import { execute, query } from './database.mjs';
import { finish, terminal } from './model_calls.mjs';
import { Worker } from './processes.mjs';
import { waitUntil } from './wait.mjs';

// A delivery interrupted by a kill is continued when its lease has expired.
export const TAKE_UP_MS = 180_000;
export const KEY = 'the-first-session-key';
export const SECRET = 'a-header-that-nobody-else-may-see';

const validator = new Validator(contract);
const ref = (name) => ({ $ref: `#/components/schemas/${name}` });

// What other files did on this instance is not for the receivers of this one.
await execute('TRUNCATE webhooks, webhook_cursors, webhook_leftovers', {});

const model = await startModel();
model.setScenario('talk', [{ text: 'an answer' }, { text: 'another' }]);
model.setScenario('sleeper', [{ calls: [terminal('sleep 600; echo slept')] }, { text: 'just text' }]);
// A pause waits for the running command; the run would continue with the next one.
model.setScenario('napper', Array.from({ length: 60 }, (_, i) => ({ calls: [terminal(`sleep 1; echo slept ${i}`)] })));
model.setScenario('large', [{ calls: [{ name: 'finish', arguments: { message: 'x'.repeat(300_000) } }] }]);
model.setScenario('worker', [...Array.from({ length: 6 }, (_, i) => ({ calls: [{ name: 'think', arguments: { thought: `thought ${i}` } }] })), { calls: [finish] }]);

after(() => model.close());

function faultsOf({ kind, body, headers }) {
  const faults = kind === 'info' ? validator.errors(ref('ConversationInfo'), body) : body.flatMap((event) => validator.errors(ref('Event'), event));
  if (headers['x-session-api-key'] !== KEY) faults.push(`the key is ${headers['x-session-api-key']}`);
  if (headers['x-other'] !== SECRET) faults.push(`x-other is ${headers['x-other']}`);
  if (JSON.stringify(body).includes('sk-test')) faults.push("it shows the model's key");
  return faults;
}

export async function receiverFor(t) {
  const receiver = await new Receiver(faultsOf).open();
  t.after(() => receiver.close());
  t.after(() => assert.deepEqual(receiver.violations, []));
  return receiver;
}

export const settingsFor = (receiver, more = {}) => ({
  OH_WEBHOOKS_0_BASE_URL: `${receiver.url}/`,
  OH_WEBHOOKS_0_HEADERS: JSON.stringify({ 'X-Other': SECRET }),
  OH_WEBHOOKS_0_FLUSH_DELAY: '1.5',
  OH_WEBHOOKS_0_RETRY_DELAY: '1',
  OH_SESSION_API_KEYS_0: KEY,
  ...more,
});

export async function tellingWorker(t, receiver, more = {}) {
  const worker = await Worker.start(settingsFor(receiver, more));
  t.after(() => worker.stop());
  // Only changes since the receiver was added are delivered.
  await waitUntil(async () => (await query("SELECT 1 FROM webhooks WHERE id = '0'")).length === 1, 'the receiver is known');
  return worker;
}

export async function fresh(t, scenario, more = {}) {
  const conversation = await Conversation.create(startRequest(llmOf(model, scenario), more));
  t.after(() => conversation.delete());
  return conversation;
}

export const ids = (events) => events.map(({ id }) => id);
export const once = (events) => [...new Map(events.map((event) => [event.id, event])).values()];

/** Waits until all stored events were accepted, and checks that none is missing or out of order. */
export async function assertAllTaken(receiver, conversation, deadlineMs = undefined) {
  const stored = await conversation.events();
  await waitUntil(() => once(receiver.events(conversation.id)).length >= stored.length, 'all events are taken', deadlineMs);
  assert.deepEqual(ids(once(receiver.events(conversation.id))), ids(stored));
  return stored;
}
