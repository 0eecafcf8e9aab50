// A worker dies while a conversation's agent hands work to another conversation: there is one child,
// its command runs once, and the call has one result.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { Conversation, isResult } from '../e2e/support/conversation.mjs';
import { Worker, start, stop } from '../e2e/support/processes.mjs';
import { within } from '../e2e/support/wait.mjs';
import { KILLED_STATUS, RUN_MS, assertAllRan, assertWhole, expireLeases, finish, linesOf, startAlone, terminal } from './support.mjs';

const PART = 'do the part';

let fake;

before(async () => {
  fake = await startModel();
  stop('worker');
});

after(async () => {
  await start('worker');
  await fake.close();
});

/** The child appends a line to f; its parent's first call delegates that. */
function script(name, call) {
  const steps = {
    parent: [{ calls: [call] }, { calls: [finish('handed on')] }],
    child: [{ calls: [terminal('echo part >> f')] }, { calls: [finish('the part is done')] }],
  };
  fake.setScenario(name, ({ messages }) => {
    const last = messages.findLastIndex(({ role }) => role === 'user');
    const who = JSON.stringify(messages[last].content).includes(PART) ? 'child' : 'parent';
    return steps[who][messages.slice(last).filter(({ role }) => role === 'assistant').length];
  });
}

/** Starts a worker that dies at that point and one that continues; resolves with parent and child at their ends. */
async function survive(t, point, name, { tool, handing = tool }) {
  const doomed = await Worker.start({ DEFT_CRASH_AT: point });
  t.after(() => doomed.stop('SIGKILL'));
  const parent = await startAlone(t, fake, name, { tools: ['terminal', tool] });
  await parent.say('Do it.', true);
  const end = await within(doomed.ended, `the worker dies at ${point}`);
  assert.equal(end.code, KILLED_STATUS, doomed.log);
  const children = (await parent.info()).sub_conversation_ids.map((id) => ({ id }));
  await expireLeases(parent, ...children);
  const heir = await Worker.start();
  t.after(() => heir.stop('SIGKILL'));
  assert.equal(await parent.rest(undefined, RUN_MS), 'finished');
  const ids = (await parent.info()).sub_conversation_ids;
  assert.equal(ids.length, 1, 'there is one child');
  const child = new Conversation(ids[0]);
  t.after(() => child.delete());
  assert.equal(await child.rest(undefined, RUN_MS), 'finished');
  assert.deepEqual(await linesOf(parent, 'f'), ['part']);
  assert.equal((await parent.events()).filter(isResult(handing)).length, 1);
  await assertAllRan(child, 1);
  await assertWhole(parent, child);
  await heir.stop();
}

for (const point of ['child_before_commit:1', 'child_committed:1']) {
  test(`a child is started once, even if a worker dies at ${point}`, async (t) => {
    const name = `starts-${point}`;
    script(name, { name: 'start_child_conversation', arguments: { task: PART, isolation: 'shared', security_risk: 'LOW', summary: 's' } });
    await survive(t, point, name, { tool: 'start_child_conversation' });
  });
}

const TASK_POINTS = {
  'child_before_commit:1': 'its caller is about to wait',
  'child_committed:1': 'its caller waits',
  'aes_sent:1': 'its command runs',
  'claim_committed:3': 'its caller is claimed again',
  'obs_before_commit:3': 'its result is read',
  'obs_committed:2': 'its result is stored',
};
for (const [point, what] of Object.entries(TASK_POINTS)) {
  test(`a sub-agent is created and reported once, even if a worker dies when ${what}`, async (t) => {
    const name = `task-${point}`;
    script(name, { name: 'task', arguments: { prompt: PART, security_risk: 'LOW', summary: 's' } });
    await survive(t, point, name, { tool: 'task_tool_set', handing: 'task' });
  });
}
