// A worker dies or is suspended: another one continues, nothing runs twice, nothing is lost, and the one that
// is resumed changes nothing.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { query } from '../e2e/support/database.mjs';
import { pidOf, signal, start, stop } from '../e2e/support/processes.mjs';
import { waitUntil, within } from '../e2e/support/wait.mjs';
import {
  HELD, KILLED_STATUS, RUN_MS, appeared, asked, assertEndsWell, assertWhole, expireLeases, finish, heldLease, leaseOf, letGo, linesOf, startAlone, startWorker,
  takenOver, terminal,
} from './support.mjs';

/** After this many attempts without progress a conversation is not retried automatically. */
const CRASHES_MAX = 3;
/** The points at which a worker can die, in the order of a run, and the scenario that reaches each. */
const CRASH_POINTS = {
  claim_committed: {},
  llm_sent: {},
  llm_half: { llm: { stream: true }, step: { drip_ms: 20 } },
  llm_done: {},
  action_committed: {},
  checkpoint_taken: {},
  checkpoint_stored: {},
  aes_before_send: {},
  aes_sent: {},
  aes_started: { command: HELD, settings: { DEFT_SANDBOX_CHECK_MS: '2000' } },
  aes_result_read: {},
  obs_before_commit: {},
  obs_commit_sent: {},
  obs_committed: {},
};

let fake;

before(async () => {
  fake = await startModel();
});

beforeEach(async () => {
  fake.requests.length = 0;
  await start('worker');
});

after(async () => {
  await start('worker');
  await fake.close();
});

test('a worker killed during a model call is replaced', async (t) => {
  const steps = [{ calls: [terminal('echo done >> f')] }, { calls: [finish('survived')] }];
  fake.setScenario('thinks', [{ ...steps[0], park: true }, steps[1]]);
  const conversation = await startAlone(t, fake, 'thinks');
  await conversation.say('Do it.', true);
  await asked(fake, 'thinks');
  const lease = await heldLease(conversation);
  fake.setScenario('thinks', steps);
  signal('worker', 'SIGKILL');
  await takenOver(conversation, lease);
  await assertEndsWell(conversation, 1);
  assert.deepEqual(await linesOf(conversation, 'f'), ['done']);
});

test('agent-loop 32: a command runs once, even if the worker that sent it is killed', async (t) => {
  fake.setScenario('slow', [
    { calls: [terminal(`echo begun >> begun; ${HELD}echo done >> f`)] },
    { calls: [finish('survived')] },
  ]);
  const conversation = await startAlone(t, fake, 'slow');
  await conversation.say('Do it.', true);
  await appeared(conversation, 'begun');
  const lease = await heldLease(conversation);
  signal('worker', 'SIGKILL');
  await takenOver(conversation, lease);
  await letGo(conversation);
  await assertEndsWell(conversation, 1);
  assert.deepEqual(await linesOf(conversation, 'begun'), ['begun']);
  assert.deepEqual(await linesOf(conversation, 'f'), ['done']);
});

for (const [point, { llm = {}, step = {}, command = '', settings = {} }] of Object.entries(CRASH_POINTS)) {
  test(`nothing is lost or done twice when a worker dies at ${point}`, async (t) => {
    fake.setScenario(point, [
      { calls: [terminal(`${command}echo ${point} >> f`)], ...step },
      { calls: [finish('survived')] },
    ]);
    stop('worker');
    const doomed = await startWorker(t, { DEFT_CRASH_AT: `${point}:1`, ...settings });
    const conversation = await startAlone(t, fake, point, { llm });
    await conversation.say('Do it.', true);
    const end = await within(doomed.ended, `the worker dies at ${point}`);
    assert.equal(end.code, KILLED_STATUS, doomed.log);
    if (command !== '') await letGo(conversation);
    const lease = await leaseOf(conversation);
    await expireLeases(conversation);
    const heir = await startWorker(t);
    await takenOver(conversation, lease);
    await assertEndsWell(conversation, 1);
    assert.deepEqual(await linesOf(conversation, 'f'), [point]);
    assert.ok(heir.claimed().includes(conversation.id));
    await heir.stop();
  });
}

test('a conversation that crashes every worker is stopped with a message, and can be run again', async (t) => {
  fake.setScenario('poison', [{ text: 'harmless' }]);
  stop('worker');
  const conversation = await startAlone(t, fake, 'poison');
  await conversation.say('Do it.', true);
  for (let n = 0; n < CRASHES_MAX; n++) {
    const doomed = await startWorker(t, { DEFT_CRASH_AT: 'llm_sent:1' });
    assert.equal((await within(doomed.ended, 'the worker dies')).code, KILLED_STATUS, doomed.log);
    await expireLeases(conversation);
  }
  const heir = await startWorker(t, { DEFT_CRASH_AT: 'llm_sent:1' });
  assert.equal(await conversation.rest(undefined, RUN_MS), 'error');
  const told = (await conversation.events()).filter(({ kind }) => kind === 'ConversationErrorEvent');
  assert.equal(told.length, 1);
  assert.match(told[0].detail, /\w+ \w+ \w+/);
  await heir.stop();
  await start('worker');
  await conversation.run();
  assert.equal(await conversation.rest(['finished'], RUN_MS), 'finished');
  await assertWhole(conversation);
});

test('a suspended worker writes nothing after another has taken over', async (t) => {
  fake.setScenario('long', [
    { calls: [terminal(`echo begun >> f; ${HELD}echo done >> f`)] },
    { delay_ms: 1000, calls: [terminal('echo more >> f')] },
    { calls: [finish('survived')] },
  ]);
  stop('worker');
  const sleeper = await startWorker(t);
  const conversation = await startAlone(t, fake, 'long');
  await conversation.say('Do it.', true);
  await appeared(conversation, 'f');
  const lease = await heldLease(conversation);
  sleeper.signal('SIGSTOP');
  t.after(() => sleeper.signal('SIGCONT'));
  await startWorker(t);
  await takenOver(conversation, lease);
  await letGo(conversation);
  await asked(fake, 'long', 2);
  sleeper.signal('SIGCONT');
  await waitUntil(() => sleeper.log.includes('"run.ended"'), 'the sleeper lets go');
  await assertEndsWell(conversation, 2);
  assert.deepEqual(await linesOf(conversation, 'f'), ['begun', 'done', 'more']);
  const written = await query(`SELECT fence, count(*) AS n FROM events WHERE conversation_id = :'id' AND fence IS NOT NULL
    AND seq > (SELECT min(seq) FROM events WHERE conversation_id = :'id' AND fence > :'fence')
    GROUP BY fence`, { id: conversation.id, fence: lease.fence });
  assert.ok(written.length > 0 && written.every(({ fence }) => fence > lease.fence), JSON.stringify(written));
  assert.equal(pidOf('worker'), null);
});
