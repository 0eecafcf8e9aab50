// A worker dies while calls of one answer run at once: another one continues, nothing runs twice, nothing is lost.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { create } from '../e2e/support/model_calls.mjs';
import { start, stop } from '../e2e/support/processes.mjs';
import { within } from '../e2e/support/wait.mjs';
import {
  HELD, KILLED_STATUS, appeared, assertEndsWell, expireLeases, finish, leaseOf, letGo, linesOf, startAlone, startWorker, takenOver, terminal,
} from './support.mjs';

let fake;

before(async () => {
  fake = await startModel();
});

after(async () => {
  await start('worker');
  await fake.close();
});

/** Where a worker can die while two calls of an answer run, by which passage of the point it does. */
const AT_ONCE_CRASH_POINTS = ['aes_sent:1', 'aes_sent:2', 'aes_result_read:1', 'obs_before_commit:1', 'obs_commit_sent:1', 'obs_committed:1'];

for (const point of AT_ONCE_CRASH_POINTS) {
  test(`calls that run at once are not lost or done twice when a worker dies at ${point}`, async (t) => {
    const folder = `/workspace/${randomUUID()}`;
    fake.setScenario(point, [
      { calls: [terminal(`echo begun >> begun; ${HELD}echo ${point} >> f`), create(`${folder}/made`, 'once')] },
      { calls: [finish('survived')] },
    ]);
    stop('worker');
    const doomed = await startWorker(t, { DEFT_CRASH_AT: point });
    const conversation = await startAlone(t, fake, point, { folder, atOnce: 2 });
    await conversation.say('Do it.', true);
    const end = await within(doomed.ended, `the worker dies at ${point}`);
    assert.equal(end.code, KILLED_STATUS, doomed.log);
    const lease = await leaseOf(conversation);
    await expireLeases(conversation);
    const heir = await startWorker(t);
    await takenOver(conversation, lease);
    await appeared(conversation, 'begun');
    await letGo(conversation);
    await assertEndsWell(conversation, 1);
    assert.deepEqual(await linesOf(conversation, 'begun'), ['begun']);
    assert.deepEqual(await linesOf(conversation, 'f'), [point]);
    /* A second time, the file would have been there. */
    const made = (await conversation.events()).filter(({ kind, tool_name: tool }) => kind === 'ObservationEvent' && tool === 'file_editor');
    assert.deepEqual(made.map(({ observation }) => observation.is_error), [false]);
    await heir.stop();
  });
}
