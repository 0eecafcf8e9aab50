// Runs that wait for confirmation: their events, and what runs when.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { must } from './support/api.mjs';
import { ofKind } from './support/conversation.mjs';
import { assertSound } from './support/database.mjs';
import { kindsOf, play, requestsOf, textOf } from './support/loop.mjs';
import { finish, terminal } from './support/model_calls.mjs';

const ALWAYS = { confirmation_policy: { kind: 'AlwaysConfirm' } };
const RISKY = { security_analyzer: { kind: 'LLMSecurityAnalyzer' }, confirmation_policy: { kind: 'ConfirmRisky', threshold: 'HIGH', confirm_unknown: true } };
const done = { text: 'done' };
const think = { name: 'think', arguments: { thought: 'hm' } };

/** Calls that each leave a mark, and whether a mark is there. */
const newMark = () => `/tmp/mark-${randomUUID()}`;
async function isThere(path) {
  const { exit_code: exitCode } = await must(200, 'POST', '/api/bash/execute_bash_command', { json: { command: `test -e ${path}`, cwd: '/' } });
  return exitCode === 0;
}

async function waiting(t, steps, more) {
  const conversation = await play(t, steps, more);
  await conversation.say('go', true);
  assert.equal(await conversation.rest(['waiting_for_confirmation', 'finished', 'error']), 'waiting_for_confirmation');
  return conversation;
}

/** A conversation whose call waits, and its mark. */
async function waitingCall(t) {
  const mark = newMark();
  const conversation = await waiting(t, [{ calls: [terminal(`touch ${mark}`)] }, done], ALWAYS);
  return { conversation, mark };
}

test('agent-loop 22: a call waits for confirmation, and nothing runs', async (t) => {
  const { conversation, mark } = await waitingCall(t);
  assert.deepEqual(kindsOf(await conversation.events()).slice(3), ['ActionEvent terminal', 'S(waiting_for_confirmation)']);
  assert.equal(await isThere(mark), false);
  assert.equal(requestsOf(conversation).length, 1);
});

test('agent-loop 23: a run approves the waiting call, and then asks the model', async (t) => {
  const { conversation, mark } = await waitingCall(t);
  await conversation.run();
  assert.equal(await conversation.rest(['finished', 'error']), 'finished');
  assert.deepEqual(kindsOf(await conversation.events()).slice(5), ['S(running)', 'ObservationEvent terminal', 'MessageEvent agent', 'S(finished)']);
  assert.equal(await isThere(mark), true);
  const requests = requestsOf(conversation);
  assert.equal(requests.length, 2);
  assert.equal(requests[1].messages.at(-1).role, 'tool');
  await assertSound(conversation);
});

test('agent-loop 24: a rejection makes the conversation idle, and the model reads the reason', async (t) => {
  const { conversation, mark } = await waitingCall(t);
  await conversation.must(200, 'POST', '/events/respond_to_confirmation', { json: { accept: false, reason: 'no' } });
  assert.deepEqual(kindsOf(await conversation.events()).slice(5), ['S(idle)', 'UserRejectObservation terminal']);
  assert.equal(await conversation.status(), 'idle');
  await conversation.run();
  assert.equal(await conversation.rest(['finished', 'error']), 'finished');
  assert.equal(await isThere(mark), false);
  const result = requestsOf(conversation)[1].messages.at(-1);
  assert.deepEqual([result.role, textOf(result)], ['tool', 'Action rejected: no']);
});

test('agent-loop 25: a lone think or finish needs no confirmation', async (t) => {
  for (const steps of [[{ calls: [think] }, done], [{ calls: [finish] }]]) {
    const conversation = await play(t, steps, ALWAYS);
    assert.equal(await conversation.ask('go'), 'finished');
    const events = await conversation.events();
    assert.equal(events.filter(ofKind('ObservationEvent')).length, 1);
    assert.ok(!kindsOf(events).includes('S(waiting_for_confirmation)'));
  }
});

test('agent-loop 26: only risky calls, and those of unknown risk, wait', async (t) => {
  const withRisk = (risk) => [{ calls: [{ name: 'terminal', arguments: { command: 'true', ...risk } }] }, done];
  const low = await play(t, withRisk({ security_risk: 'LOW' }), RISKY);
  assert.equal(await low.ask('go'), 'finished');
  assert.ok(!kindsOf(await low.events()).includes('S(waiting_for_confirmation)'));
  for (const [risk, seen] of [[{ security_risk: 'HIGH' }, 'HIGH'], [{}, 'UNKNOWN']]) {
    const conversation = await waiting(t, withRisk(risk), RISKY);
    const events = await conversation.events();
    assert.equal(events.find(ofKind('ActionEvent')).security_risk, seen);
    assert.ok(!events.some(ofKind('ObservationEvent')));
  }
});

test('agent-loop 27: one risky call holds back all calls of its answer', async (t) => {
  const marks = [newMark(), newMark()];
  const conversation = await waiting(t, [{ calls: [terminal(`touch ${marks[0]}`, 'LOW'), terminal(`touch ${marks[1]}`, 'HIGH')] }, done], RISKY);
  assert.deepEqual(await Promise.all(marks.map(isThere)), [false, false]);
  assert.ok(!(await conversation.events()).some(ofKind('ObservationEvent')));
  await conversation.must(200, 'POST', '/events/respond_to_confirmation', { json: { accept: true } });
  assert.equal(await conversation.rest(['finished', 'error']), 'finished');
  assert.deepEqual(await Promise.all(marks.map(isThere)), [true, true]);
  assert.equal((await conversation.events()).filter(ofKind('ObservationEvent')).length, 2);
  await assertSound(conversation);
});
