// What becomes of the calls in an answer: their events, their results, and what the model reads of them.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { must } from './support/api.mjs';
import { isAction, isResult, observed, ofKind } from './support/conversation.mjs';
import { assertSound } from './support/database.mjs';
import { fake, kindsOf, play, requestsOf, textOf } from './support/loop.mjs';
import { finish, terminal } from './support/model_calls.mjs';

const done = { text: 'done' };

/** Plays the steps to their end; the events, and the messages of the last request. */
async function played(t, steps, more) {
  const conversation = await play(t, steps, more);
  assert.equal(await conversation.ask('go'), 'finished');
  await assertSound(conversation);
  return { conversation, events: await conversation.events(), messages: requestsOf(conversation).at(-1).messages };
}

test('agent-loop 3: two calls of one answer stay together, in order', async (t) => {
  const { conversation, events, messages } = await played(t, [{ text: 'Both.', calls: [terminal('echo o""ne'), terminal('echo t""wo')] }, done]);
  assert.deepEqual(kindsOf(events).slice(3, 7), ['ActionEvent terminal', 'ActionEvent terminal', 'ObservationEvent terminal', 'ObservationEvent terminal']);
  const actions = events.filter(ofKind('ActionEvent'));
  assert.ok(actions[0].llm_response_id);
  assert.equal(actions[0].llm_response_id, actions[1].llm_response_id);
  assert.deepEqual(actions.map(({ thought }) => thought.map(({ text }) => text)), [['Both.'], []]);
  const results = events.filter(isResult('terminal'));
  assert.deepEqual(results.map((event) => event.action_id), actions.map(({ id }) => id));
  assert.deepEqual(results.map((event) => /one|two/.exec(observed(event))[0]), ['one', 'two']);
  assert.equal(requestsOf(conversation).length, 2);
  const [answer, ...tools] = messages.slice(2);
  assert.deepEqual([answer.role, ...tools.map(({ role }) => role)], ['assistant', 'tool', 'tool']);
  assert.deepEqual(answer.tool_calls.map(({ id }) => id), actions.map((event) => event.tool_call_id));
  assert.deepEqual(tools.map((message) => message.tool_call_id), actions.map((event) => event.tool_call_id));
});

test('agent-loop 4: an unknown tool is reported with the known ones', async (t) => {
  const { conversation, events, messages } = await played(t, [{ calls: [{ name: 'nope', arguments: {} }] }, done]);
  assert.deepEqual(kindsOf(events).slice(3), ['ActionEvent nope', 'AgentErrorEvent nope', 'MessageEvent agent', 'S(finished)']);
  assert.equal(events.find(isAction('nope')).action ?? null, null);
  const { error, classification } = events.find(ofKind('AgentErrorEvent'));
  assert.deepEqual(classification, { kind: 'agent_action', retryable: true, user_action: 'retry' });
  for (const name of ['nope', 'terminal', 'file_editor', 'task_tracker', 'finish', 'think']) assert.ok(error.includes(`'${name}'`), `${name} in ${error}`);
  assert.equal(requestsOf(conversation).length, 2);
  assert.deepEqual([messages.at(-1).role, textOf(messages.at(-1))], ['tool', error]);
});

test('agent-loop 5: arguments that are not JSON are reported, and never sent back', async (t) => {
  const { events, messages } = await played(t, [{ calls: [{ name: 'terminal', arguments: '{bad json' }] }, done]);
  assert.deepEqual(kindsOf(events).slice(3), ['ActionEvent terminal', 'AgentErrorEvent terminal', 'MessageEvent agent', 'S(finished)']);
  const action = events.find(ofKind('ActionEvent'));
  assert.equal(action.action ?? null, null);
  const stored = JSON.parse(action.tool_call.arguments);
  assert.equal(stored._openhands_malformed_tool_call, true);
  assert.match(events.find(ofKind('AgentErrorEvent')).error, /unparseable JSON/);
  const [call] = messages.find(({ role }) => role === 'assistant').tool_calls;
  assert.deepEqual(JSON.parse(call.function.arguments), stored);
  assert.ok(!JSON.stringify(messages).includes('{bad json'));
});

test('agent-loop 6: arguments that do not fit are reported by name, without their values', async (t) => {
  const { events } = await played(t, [{ calls: [{ name: 'terminal', arguments: { cmd: 'ls some-value' } }] }, done]);
  assert.deepEqual(kindsOf(events).slice(3, 5), ['ActionEvent terminal', 'AgentErrorEvent terminal']);
  assert.equal(events.find(ofKind('ActionEvent')).action ?? null, null);
  const { error } = events.find(ofKind('AgentErrorEvent'));
  assert.match(error, /^Error validating tool 'terminal': .*Parameters provided: \[.*\bcmd\b.*\]/s);
  assert.ok(!error.includes('some-value'), error);
});

test('agent-loop 7: a raw line break inside an argument is accepted', async (t) => {
  const { events } = await played(t, [{ calls: [{ name: 'terminal', arguments: '{"command": "echo \'one\ntwo\'"}' }] }, done]);
  const result = events.find(isResult('terminal'));
  assert.match(observed(result), /^one\r?\ntwo/);
  assert.equal(result.observation.exit_code, 0);
});

test('agent-loop 8: the other names of the terminal lead to it', async (t) => {
  const { events } = await played(t, [{ calls: [{ name: 'execute_bash', arguments: { command: 'echo r""an' } }] }, done]);
  assert.equal(events.find(ofKind('ActionEvent')).tool_name, 'terminal');
  assert.match(observed(events.find(isResult('terminal'))), /^ran/);
});

/** A file of ten numbered lines in the user's sandbox. */
async function tenLines() {
  const path = `/tmp/lines-${randomUUID()}`;
  await must(200, 'POST', '/api/bash/execute_bash_command', { json: { command: `seq -f line-%g- 10 > ${path}`, cwd: '/' } });
  return path;
}

test('agent-loop 9: the other name of the editor leads to it, and a path alone is a view', async (t) => {
  const path = await tenLines();
  const { events } = await played(t, [{ calls: [{ name: 'str_replace_editor', arguments: { path } }] }, done]);
  const { tool_name: name, action } = events.find(ofKind('ActionEvent'));
  assert.deepEqual([name, action.command, action.path], ['file_editor', 'view', path]);
  assert.match(observed(events.find(isResult('file_editor'))), /line-1-[^]*line-10-/);
});

test('agent-loop 10: a list that is sent as text is read as a list', async (t) => {
  const path = await tenLines();
  const { events } = await played(t, [{ calls: [{ name: 'file_editor', arguments: { command: 'view', path, view_range: '[1,5]' } }] }, done]);
  assert.deepEqual(events.find(ofKind('ActionEvent')).action.view_range, [1, 5]);
  const seen = observed(events.find(isResult('file_editor')));
  assert.match(seen, /line-1-[^]*line-5-/);
  assert.doesNotMatch(seen, /line-6-/);
});

test('agent-loop 11: an invalid risk is refused with an analyzer, and ignored without one', async (t) => {
  const steps = [{ calls: [terminal('echo r""an', 'SEVERE')] }, done];
  const judged = await played(t, steps, { security_analyzer: { kind: 'LLMSecurityAnalyzer' } });
  assert.deepEqual(kindsOf(judged.events).slice(3, 5), ['ActionEvent terminal', 'AgentErrorEvent terminal']);
  assert.match(judged.events.find(ofKind('AgentErrorEvent')).error, /^Error validating tool 'terminal': .*security_risk/s);
  const { events } = await played(t, steps);
  assert.equal(events.find(ofKind('ActionEvent')).security_risk, 'UNKNOWN');
  assert.match(observed(events.find(isResult('terminal'))), /^ran/);
});

test('agent-loop 12: a call without a summary gets one from its name and arguments', async (t) => {
  const { events } = await played(t, [{ calls: [{ name: 'terminal', arguments: { command: 'echo hi' } }] }, done]);
  assert.equal(events.find(ofKind('ActionEvent')).summary, 'terminal: {"command":"echo hi"}');
});

test('agent-loop 33: a call after a finish is not run', async (t) => {
  const path = `/tmp/after-finish-${randomUUID()}`;
  const { events } = await played(t, [{ calls: [finish, terminal(`touch ${path}`)] }]);
  assert.deepEqual(events.filter(ofKind('ObservationEvent')).map(({ tool_name: name }) => name), ['finish']);
  assert.equal(kindsOf(events).at(-1), 'S(finished)');
  const { exit_code: exitCode } = await must(200, 'POST', '/api/bash/execute_bash_command', { json: { command: `test -e ${path}`, cwd: '/' } });
  assert.equal(exitCode, 1, 'no file');
});
