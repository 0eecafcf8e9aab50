// Two workers share one database: each run is on one of them at a time, and both have runs.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { query } from '../e2e/support/database.mjs';
import { Worker, start, stop } from '../e2e/support/processes.mjs';
import { waitUntil } from '../e2e/support/wait.mjs';
import { RUN_MS, assertAllRan, assertWhole, finish, linesOf, startAlone, terminal } from './support.mjs';

const N_CONVERSATIONS = 20;
const N_COMMANDS = 3;
/** Fewer than there are conversations, so that no worker can have them all at a time. */
const SLOTS = '8';

let fake;

before(async () => {
  fake = await startModel();
  stop('worker');
});

after(async () => {
  await start('worker');
  await fake.close();
});

const linesBy = (n) => Array.from({ length: N_COMMANDS }, (_, i) => `conversation ${n} line ${i}`);

/** A conversation whose commands append lines to a shared file. */
async function startWriter(t, folder, n) {
  const model = `writer-${n}`;
  fake.setScenario(model, [
    ...linesBy(n).map((line) => ({ calls: [terminal(`echo ${line} >> lines`)] })),
    { calls: [finish('written')] },
  ]);
  const conversation = await startAlone(t, fake, model, { folder });
  await conversation.say('Write.', true);
  return conversation;
}

test('two workers share the work, and no command runs on both', async (t) => {
  const workers = await Promise.all([1, 2].map(() => Worker.start({ DEFT_WORKER_CONVERSATIONS: SLOTS })));
  t.after(() => Promise.all(workers.map((worker) => worker.stop('SIGKILL'))));
  const folder = `/workspace/${randomUUID()}`;
  const numbers = Array.from({ length: N_CONVERSATIONS }, (_, n) => n);
  const conversations = await Promise.all(numbers.map((n) => startWriter(t, folder, n)));
  for (const conversation of conversations) {
    assert.equal(await conversation.rest(undefined, RUN_MS), 'finished');
    await assertAllRan(conversation, N_COMMANDS);
  }
  await assertWhole(...conversations);

  const lines = await linesOf(conversations[0], 'lines');
  assert.deepEqual([...lines].sort(), numbers.flatMap(linesBy).sort(), 'every line once');
  for (const n of numbers) {
    assert.deepEqual(lines.filter((line) => line.startsWith(`conversation ${n} `)), linesBy(n), 'in the order of the calls');
  }

  const ids = conversations.map(({ id }) => id);
  const taken = workers.map((worker) => worker.claimed().filter((id) => ids.includes(id)));
  for (const one of taken) assert.ok(one.length > 0, `both had some: ${taken.map(({ length }) => length)}`);
  assert.deepEqual([...new Set(taken.flat())].sort(), [...ids].sort(), 'each was claimed');
  // A stall that is longer than a lease ends it: its worker says so, and only then is a run claimed again.
  const again = taken.flat().filter((id, i, all) => all.indexOf(id) !== i);
  const hasEnded = (id) => workers.some((worker) => worker.lost().includes(id));
  await waitUntil((saw) => saw(again.filter((id) => !hasEnded(id))).length === 0, 'each was claimed once, unless its lease had ended');
  const once = `{${ids.filter((id) => !again.includes(id)).join(',')}}`;
  const fences = await query(`SELECT DISTINCT fence FROM events WHERE conversation_id = ANY (:'once'::uuid[]) AND fence IS NOT NULL`, { once });
  assert.deepEqual(fences, [{ fence: 1 }], 'all under the one lease');
  t.diagnostic(`claimed: ${taken.map(({ length }) => length).join(' and ')}`);
});
