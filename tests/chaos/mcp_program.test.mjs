// A worker or an MCP server that is a program dies around a call: each call is made once, and the program goes on.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { PROGRAM } from '../fakes/mcp_program.mjs';
import { start as startModel } from '../fakes/openai.mjs';
import { Box } from '../e2e/support/box.mjs';
import { isResult, llmOf, observed } from '../e2e/support/conversation.mjs';
import { start, stop } from '../e2e/support/processes.mjs';
import { waitUntil, within } from '../e2e/support/wait.mjs';
import { KILLED_STATUS, RUN_MS, assertWhole, expireLeases, finish, leaseOf, startAlone, startWorker, takenOver } from './support.mjs';

/** Where the worker dies. The list of tools is the first action in the sandbox, the calls are the second and the third. */
const POINTS = [
  ...[1, 2, 3].flatMap((n) => [`aes_before_send:${n}`, `aes_sent:${n}`, `aes_result_read:${n}`]),
  'action_committed:1', ...[1, 2].flatMap((n) => [`obs_before_commit:${n}`, `obs_commit_sent:${n}`, `obs_committed:${n}`]),
];

const script = `/workspace/mcp-program-${randomUUID().slice(0, 8)}.py`;
const box = new Box();
let fake;

before(async () => {
  fake = await startModel();
  assert.equal((await box.upload(script, PROGRAM)).status, 200);
});

after(async () => {
  await start('worker');
  await fake.close();
});

const call = (name) => ({ calls: [{ name, arguments: {} }] });
const agentOf = (scenario, env = {}) => ({ kind: 'Agent', llm: llmOf(fake, scenario), tools: [], mcp_config: { here: { command: 'python3', args: [script], env } } });
const countsOf = async (conversation) => (await conversation.events()).filter(isResult('count')).map((event) => / ?(\d+) by (\d+) /.exec(observed(event)).slice(1));

for (const point of POINTS) {
  test(`each call of a program is made once, in one process, when a worker dies at ${point}`, async (t) => {
    const scenario = `program-${point}`;
    fake.setScenario(scenario, [call('count'), call('count'), { calls: [finish('survived')] }]);
    stop('worker');
    const doomed = await startWorker(t, { DEFT_CRASH_AT: point });
    const conversation = await startAlone(t, fake, scenario, { agent: agentOf(scenario) });
    await conversation.say('Do it.', true);
    assert.equal((await within(doomed.ended, `the worker dies at ${point}`)).code, KILLED_STATUS, doomed.log);
    const lease = await leaseOf(conversation);
    await expireLeases(conversation);
    const heir = await startWorker(t);
    await takenOver(conversation, lease);
    assert.equal(await conversation.rest(['finished'], RUN_MS), 'finished');
    const counts = await countsOf(conversation);
    assert.deepEqual(counts.map(([n]) => n), ['1', '2']);
    assert.equal(counts[0][1], counts[1][1]);
    await assertWhole(conversation);
    await heir.stop();
  });
}

test('a program that is killed during a call is the tool\'s error, and the run goes on', async (t) => {
  const scenario = 'program-killed';
  const record = `/workspace/mcp-record-${randomUUID().slice(0, 8)}`;
  fake.setScenario(scenario, [call('count'), call('wait'), call('count'), { calls: [finish('survived')] }]);
  await start('worker');
  const conversation = await startAlone(t, fake, scenario, { agent: agentOf(scenario, { RECORD: record }) });
  await conversation.say('Do it.', true);
  const waiting = await waitUntil(async () => {
    const { status, text } = await box.download(record);
    return status === 200 && text.split('\n').find((line) => line.endsWith('tools/call wait'));
  }, 'the program has the call');
  await box.run(`kill -9 ${waiting.split(' ')[0]}`);
  assert.equal(await conversation.rest(['finished'], RUN_MS), 'finished');
  const { error } = (await conversation.events()).find(({ kind }) => kind === 'AgentErrorEvent');
  assert.equal(error, 'The MCP server \'here\' failed: The program ended without a reply');
  const [first, second] = await countsOf(conversation);
  assert.deepEqual([first[0], second[0]], ['1', '1']);
  assert.notEqual(first[1], second[1]);
  await assertWhole(conversation);
});
