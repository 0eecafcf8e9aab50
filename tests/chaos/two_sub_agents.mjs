// Conversations that wait for two sub-agents that run at once, while a worker dies: each is started once, its command runs
// once, and each call has one result.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { Conversation, isResult, observed } from '../e2e/support/conversation.mjs';
import { query } from '../e2e/support/database.mjs';
import { start, stop } from '../e2e/support/processes.mjs';
import { within } from '../e2e/support/wait.mjs';
import {
  HELD, KILLED_STATUS, RUN_MS, appeared, assertAllRan, assertWhole, expireLeases, finish, letGo, linesOf, startAlone, startWorker, terminal,
} from './support.mjs';

export let fake;

before(async () => {
  fake = await startModel();
  stop('worker');
});

after(async () => {
  await start('worker');
  await fake.close();
});

/** One sub-agent ends by itself, the other one is held until the test lets it go. */
const CHILDREN = {
  'the first part': [{ calls: [terminal('echo first >> f')] }, { calls: [finish('the first is done')] }],
  'the second part': [{ calls: [terminal(`echo begun >> begun; ${HELD}echo second >> f`)] }, { calls: [finish('the second is done')] }],
};

export function script(name, parent) {
  fake.setScenario(name, ({ messages }) => {
    const last = messages.findLastIndex(({ role }) => role === 'user');
    const said = JSON.stringify(messages[last].content);
    const steps = Object.entries(CHILDREN).find(([part]) => said.includes(part))?.[1] ?? parent;
    return steps[messages.slice(last).filter(({ role }) => role === 'assistant').length];
  });
}

const task = (prompt) => ({ name: 'task', arguments: { prompt, security_risk: 'LOW', summary: 's' } });
export const delegate = (args) => ({ name: 'delegate', arguments: { security_risk: 'LOW', summary: 's', ...args } });

/** Runs the scenario with a worker that dies at that point and one that continues; resolves with the parent at its end. */
export async function survive(t, name, point, tools) {
  const doomed = await startWorker(t, { DEFT_CRASH_AT: point });
  const parent = await startAlone(t, fake, name, { tools: ['terminal', ...tools], atOnce: 2 });
  await parent.say('Do it.', true);
  const end = await within(doomed.ended, `the worker dies at ${point}`);
  assert.equal(end.code, KILLED_STATUS, doomed.log);
  await expireLeases(parent, ...(await parent.info()).sub_conversation_ids.map((id) => ({ id })));
  const heir = await startWorker(t);
  await appeared(parent, 'begun');
  await letGo(parent);
  assert.equal(await parent.rest(undefined, RUN_MS), 'finished');
  const children = (await parent.info()).sub_conversation_ids.map((id) => new Conversation(id));
  assert.equal(children.length, 2, 'there are two children');
  for (const child of children) {
    t.after(() => child.delete());
    assert.equal(await child.rest(undefined, RUN_MS), 'finished');
    await assertAllRan(child, 1);
  }
  assert.deepEqual((await linesOf(parent, 'f')).sort(), ['first', 'second']);
  assert.deepEqual(await linesOf(parent, 'begun'), ['begun']);
  await assertWhole(parent, ...children);
  assert.deepEqual(await query("SELECT child_id FROM task_waits WHERE conversation_id = :'id'", parent), []);
  await heir.stop();
  return parent;
}

/** Tests that the worker's death at each point loses and repeats nothing of two calls of task. */
export function testTasks(points) {
  for (const [point, what] of Object.entries(points)) {
    test(`two sub-agents are started and reported once, even if a worker dies when ${what}`, async (t) => {
      const name = `tasks-${point}`;
      script(name, [{ calls: [task('the first part'), task('the second part')] }, { calls: [finish('handed on')] }]);
      const parent = await survive(t, name, point, ['task_tool_set']);
      const results = (await parent.events()).filter(isResult('task'));
      assert.deepEqual(results.map(observed).sort(), ['the first is done', 'the second is done']);
      const asked = fake.requests.filter(({ body }) => body?.model === name).map(({ body }) => body.messages.filter(({ role }) => role === 'tool'));
      const told = asked.find((tools) => JSON.stringify(tools).includes('task_0000'));
      assert.deepEqual(told.map(({ content }) => /the (first|second) is done/.exec(JSON.stringify(content))[1]), ['first', 'second'], 'in the order of the calls');
    });
  }
}
