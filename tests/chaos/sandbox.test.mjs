// What a conversation leans on breaks and is mended: it says what happened, and then goes on.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { Conversation, llmOf, ofKind, startRequest } from '../e2e/support/conversation.mjs';
import { query } from '../e2e/support/database.mjs';
import { Worker, start, stop } from '../e2e/support/processes.mjs';
import { engine } from '../e2e/runtime_house.mjs';
import { RUN_MS, appeared, assertWhole, finish, linesOf, startAlone, terminal } from './support.mjs';

const MISSING_IMAGE = 'deft-nosuch:1';

let fake;

before(async () => {
  fake = await startModel();
});

after(async () => {
  start('worker');
  await fake.close();
});

/** The container of the sandbox that the test user's conversations share. */
async function sharedContainer() {
  const [row] = await query(`SELECT container_id FROM runtimes WHERE status = 'running' AND session_id = (
    SELECT runtime_session FROM conversations WHERE runtime_kind = 'local' ORDER BY created_at DESC LIMIT 1)`);
  return row.container_id;
}

/** Fails unless the run ended with a failure that is told in a sentence; returns the sentence. */
async function failureOf(conversation) {
  assert.equal(await conversation.rest(undefined, RUN_MS), 'error');
  const told = (await conversation.events()).filter(ofKind('ConversationErrorEvent')).at(-1);
  assert.match(told?.detail ?? 'nothing', /\w+ \w+ \w+/);
  return told.detail;
}

async function assertRunsAgain(conversation) {
  await conversation.run();
  assert.equal(await conversation.rest(['finished'], RUN_MS), 'finished');
  await assertWhole(conversation);
}

test('all conversations of a sandbox that is killed go on in a new one with the same files', async (t) => {
  fake.setScenario('killed', [
    { calls: [terminal('echo begun >> f; sleep 60; echo never >> f')] },
    { calls: [terminal('echo again >> f')] },
    { calls: [finish('went on')] },
  ]);
  const both = await Promise.all([1, 2].map(() => startAlone(t, fake, 'killed')));
  for (const one of both) await one.say('Do it.', true);
  for (const one of both) await appeared(one, 'f');
  const killed = await sharedContainer();
  const answer = await engine('POST', `/containers/${killed}/kill`);
  assert.equal(answer.status, 204, answer.text);
  for (const one of both) {
    assert.equal(await one.rest(undefined, RUN_MS), 'finished');
    assert.deepEqual(await linesOf(one, 'f'), ['begun', 'again']);
    const failures = (await one.events()).filter(ofKind('AgentErrorEvent'));
    assert.equal(failures.length, 1);
    assert.match(failures[0].error, /\w+ \w+ \w+/);
  }
  await assertWhole(...both);
});

test('an image that is not there is named, and is all that was wrong', async (t) => {
  fake.setScenario('one', [{ calls: [terminal('echo done >> f')] }, { calls: [finish('done')] }]);
  stop('worker');
  const worker = await Worker.start({ DEFT_SANDBOX_IMAGE: MISSING_IMAGE });
  t.after(() => worker.stop('SIGKILL'));
  const conversation = await startAlone(t, fake, 'one', { conversation_runtime: 'docker' });
  await conversation.say('Do it.', true);
  assert.ok((await failureOf(conversation)).includes(MISSING_IMAGE));
  await worker.stop();
  start('worker');
  await assertRunsAgain(conversation);
  assert.deepEqual(await linesOf(conversation, 'f'), ['done']);
});

test('a model that is not reached is told, and asked again by the next run', async (t) => {
  const gone = await startModel();
  const conversation = await Conversation.create(startRequest(llmOf(gone, 'text')));
  t.after(() => conversation.delete());
  await gone.close();
  await conversation.say('Hello?', true);
  await failureOf(conversation);
  const back = await startModel({ port: gone.port });
  t.after(() => back.close());
  await assertRunsAgain(conversation);
});

for (const fault of ['html-200', 'fin-mid-line', 'rst-mid-utf8', 'error-event', 'comments-only', 'short-length']) {
  test(`a model that answers with ${fault} is told, and asked again by the next run`, async (t) => {
    const model = `broken-${fault}`;
    fake.setScenario(model, [{ fault }]);
    const conversation = await Conversation.start(fake, model);
    t.after(() => conversation.delete());
    await conversation.say('Hello?', true);
    await failureOf(conversation);
    fake.setScenario(model, [{ text: 'Hello.' }]);
    await assertRunsAgain(conversation);
  });
}
