// Checkpoints and restores of a conversation's files while processes are killed.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { engine } from '../e2e/runtime_house.mjs';
import { query } from '../e2e/support/database.mjs';
import { start, stop } from '../e2e/support/processes.mjs';
import { within } from '../e2e/support/wait.mjs';
import { KILLED_STATUS, RUN_MS, assertWhole, expireLeases, leaseOf, linesOf, startAlone, startWorker, takenOver, terminal } from './support.mjs';

let fake;

before(async () => {
  fake = await startModel();
  fake.setScenario('lines', [{ calls: [terminal('echo line >> f')] }, { text: 'did it' }]);
});

beforeEach(async () => {
  await start('worker');
});

after(async () => {
  await start('worker');
  await fake.close();
});

const checkpointsOf = async (conversation) => (await conversation.must(200, 'GET', '/checkpoints')).items;
const firstAnswer = async (conversation) => (await conversation.events()).find((event) => event.kind === 'MessageEvent' && event.source === 'agent');

/** A conversation of two turns, each of which added a line. */
async function withTwoTurns(t) {
  const conversation = await startAlone(t, fake, 'lines');
  for (const words of ['one', 'two']) assert.equal(await conversation.ask(words), 'finished');
  assert.deepEqual(await linesOf(conversation, 'f'), ['line', 'line']);
  return conversation;
}

for (const point of ['checkpoint_taken', 'checkpoint_stored']) {
  test(`a worker that dies at ${point} is replaced, and the turn has one checkpoint`, async (t) => {
    const conversation = await startAlone(t, fake, 'lines');
    assert.equal(await conversation.ask('one'), 'finished');
    stop('worker');
    const doomed = await startWorker(t, { DEFT_CRASH_AT: `${point}:1` });
    await conversation.say('two', true);
    assert.equal((await within(doomed.ended, `the worker dies at ${point}`)).code, KILLED_STATUS, doomed.log);
    const lease = await leaseOf(conversation);
    await expireLeases(conversation);
    const heir = await startWorker(t);
    await takenOver(conversation, lease);
    assert.equal(await conversation.rest(['finished'], RUN_MS), 'finished');
    assert.deepEqual(await linesOf(conversation, 'f'), ['line', 'line']);
    const items = await checkpointsOf(conversation);
    assert.deepEqual(items.map(({ n_files: n }) => n), [0, 1]);
    await heir.stop();
    await start('worker');
    const answer = await firstAnswer(conversation);
    await conversation.must(200, 'POST', '/navigate', { json: { event_id: answer.id, restore_files: true } });
    assert.equal(await conversation.ask('two again'), 'finished');
    assert.deepEqual(await linesOf(conversation, 'f'), ['line', 'line'], 'the files of the first turn, and a line');
    await assertWhole(conversation);
  });
}

for (const point of ['aes_before_send', 'aes_sent', 'aes_result_read']) {
  test(`a worker that dies while files are set back, at ${point}, is replaced, and they are set back once`, async (t) => {
    const conversation = await withTwoTurns(t);
    const answer = await firstAnswer(conversation);
    await conversation.must(200, 'POST', '/navigate', { json: { event_id: answer.id, restore_files: true } });
    stop('worker');
    const doomed = await startWorker(t, { DEFT_CRASH_AT: `${point}:1` });
    await conversation.say('two again', true);
    assert.equal((await within(doomed.ended, `the worker dies at ${point}`)).code, KILLED_STATUS, doomed.log);
    const lease = await leaseOf(conversation);
    await expireLeases(conversation);
    await startWorker(t);
    await takenOver(conversation, lease);
    assert.equal(await conversation.rest(['finished'], RUN_MS), 'finished');
    assert.deepEqual(await linesOf(conversation, 'f'), ['line', 'line']);
    assert.equal((await checkpointsOf(conversation)).length, 4, 'two turns, what was replaced, and the turn after it');
    await assertWhole(conversation);
  });
}

test('checkpoints outlive their sandbox\'s server', async (t) => {
  const conversation = await startAlone(t, fake, 'lines', { conversation_runtime: 'docker' });
  for (const words of ['one', 'two']) assert.equal(await conversation.ask(words), 'finished');
  const answer = await firstAnswer(conversation);
  const [{ container_id: container }] = await query(`SELECT container_id FROM runtimes WHERE status = 'running'
    AND session_id = (SELECT runtime_session FROM conversations WHERE id = :'id')`, conversation);
  assert.equal((await engine('POST', `/containers/${container}/kill`, {})).status, 204);
  await conversation.must(200, 'POST', '/navigate', { json: { event_id: answer.id, restore_files: true } });
  assert.equal(await conversation.ask('two again'), 'finished');
  assert.deepEqual(await linesOf(conversation, 'f'), ['line', 'line']);
});
