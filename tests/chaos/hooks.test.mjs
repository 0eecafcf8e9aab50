// A worker dies while hooks of a conversation run, or its guard is asked: another one continues, and each hook and call
// runs once.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { llmOf } from '../e2e/support/conversation.mjs';
import { start, stop } from '../e2e/support/processes.mjs';
import { within } from '../e2e/support/wait.mjs';
import { KILLED_STATUS, assertEndsWell, asked, expireLeases, finish, leaseOf, linesOf, startAlone, startWorker, takenOver, terminal } from './support.mjs';

/** Passages of a crash point: the message's hook, the call, the hook after it, and the hook before the end. */
const AT = { prompt: 1, call: 2, after: 3, end: 4 };
const POINTS = [
  ...Object.values(AT).flatMap((n) => [`aes_before_send:${n}`, `aes_sent:${n}`, `aes_result_read:${n}`]),
  'llm_sent:1', 'llm_done:2', 'obs_before_commit:1', 'obs_commit_sent:1', 'obs_committed:1', 'obs_before_commit:2',
];
const note = (name) => [{ hooks: [{ command: `echo ${name} >> ${name}` }] }];

let fake;

before(async () => {
  fake = await startModel();
});

after(async () => {
  await start('worker');
  await fake.close();
});

for (const point of POINTS) {
  test(`each hook runs once when a worker dies at ${point}`, async (t) => {
    fake.setScenario(point, [{ calls: [terminal('echo call >> call')] }, { calls: [finish('survived')] }]);
    stop('worker');
    const doomed = await startWorker(t, { DEFT_CRASH_AT: point });
    const conversation = await startAlone(t, fake, point, {
      hook_config: { user_prompt_submit: note('prompt'), post_tool_use: [{ matcher: 'terminal', ...note('after')[0] }], stop: note('end') },
    });
    await conversation.say('Do it.', true);
    assert.equal((await within(doomed.ended, `the worker dies at ${point}`)).code, KILLED_STATUS, doomed.log);
    const lease = await leaseOf(conversation);
    await expireLeases(conversation);
    const heir = await startWorker(t);
    await takenOver(conversation, lease);
    await assertEndsWell(conversation, 1);
    for (const name of Object.keys(AT)) assert.deepEqual(await linesOf(conversation, name), [name]);
    const hooks = (await conversation.events()).filter(({ kind }) => kind === 'HookExecutionEvent');
    assert.deepEqual(hooks.map(({ hook_event_type: type, exit_code: code }) => [type, code]), [['UserPromptSubmit', 0], ['PostToolUse', 0], ['Stop', 0]]);
    await heir.stop();
  });
}

test('a guard is asked anew when a worker dies while it thinks, and the call runs once', async (t) => {
  fake.setScenario('judged', [{ calls: [terminal('echo call >> call')] }, { calls: [finish('survived')] }]);
  fake.setScenario('guard', [{ park: true, text: 'RISK: LOW' }]);
  stop('worker');
  const doomed = await startWorker(t);
  const conversation = await startAlone(t, fake, 'judged', {
    confirmation_policy: { kind: 'ConfirmRisky', threshold: 'HIGH', confirm_unknown: true },
    security_analyzer: { kind: 'ToolShieldLLMSecurityAnalyzer', llm: llmOf(fake, 'guard') },
  });
  await conversation.say('Do it.', true);
  await asked(fake, 'guard');
  const lease = await leaseOf(conversation);
  await doomed.stop('SIGKILL');
  fake.setScenario('guard', [{ text: 'RISK: LOW' }]);
  fake.release();
  await expireLeases(conversation);
  const heir = await startWorker(t);
  await takenOver(conversation, lease);
  await assertEndsWell(conversation, 1);
  assert.deepEqual(await linesOf(conversation, 'call'), ['call']);
  const analyses = (await conversation.events()).filter(({ kind }) => kind === 'SecurityAnalysisEvent');
  assert.deepEqual(analyses.flatMap(({ risks }) => Object.values(risks)), ['LOW']);
  await heir.stop();
});
