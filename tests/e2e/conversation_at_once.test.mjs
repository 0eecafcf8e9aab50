// Calls of one answer that run at once.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { Conversation, isAction, observed, ofKind } from './support/conversation.mjs';
import { assertSound } from './support/database.mjs';
import { strictModel } from './support/model.mjs';
import { create, finish, terminal } from './support/model_calls.mjs';

const fake = await strictModel();

/** A conversation whose first answer has these calls, in a folder of its own. */
async function fresh(t, atOnce, callsIn) {
  const folder = `/workspace/${randomUUID()}`;
  const scenario = `at-once-${randomUUID()}`;
  fake.setScenario(scenario, [{ calls: callsIn(folder) }, { calls: [finish] }]);
  const conversation = await Conversation.start(fake, scenario, { atOnce, workspace: { kind: 'LocalWorkspace', working_dir: folder } });
  t.after(() => conversation.delete());
  return conversation;
}

const stepsOf = (events) => events.filter(({ kind }) => ['ActionEvent', 'ObservationEvent', 'AgentErrorEvent'].includes(kind))
  .map(({ kind, tool_name: name }) => `${kind} ${name}`);

/** A command that ends only once the file is there. */
const waitingFor = (path) => terminal(`until [ -e ${path} ]; do sleep 0.1; done; cat ${path}`);

test('a command sees what a later call of the same answer makes, and the model reads the results in order', async (t) => {
  const conversation = await fresh(t, 2, (folder) => [waitingFor(`${folder}/made`), create(`${folder}/made`, 'by the editor')]);
  assert.equal(await conversation.ask('go'), 'finished');
  const events = await conversation.events();
  assert.deepEqual(stepsOf(events).slice(0, 4), [
    'ActionEvent terminal', 'ActionEvent file_editor', 'ObservationEvent file_editor', 'ObservationEvent terminal',
  ]);
  assert.match(observed(events.find(({ kind, tool_name: name }) => kind === 'ObservationEvent' && name === 'terminal')), /by the editor/);
  const calls = events.filter(ofKind('ActionEvent')).slice(0, 2).map(({ tool_call_id: id }) => id);
  const results = fake.requests.at(-1).body.messages.filter(({ role }) => role === 'tool').map(({ tool_call_id: id }) => id);
  assert.deepEqual(results, calls);
  await assertSound(conversation);
});

test('commands of one shell run in order, however many calls may run at once', async (t) => {
  const conversation = await fresh(t, 8, () => [terminal('sleep 0.5; echo one >> f'), terminal('echo two >> f'), terminal('cat f')]);
  assert.equal(await conversation.ask('go'), 'finished');
  const events = await conversation.events();
  const results = events.filter(({ kind, tool_name: name }) => kind === 'ObservationEvent' && name === 'terminal');
  assert.match(observed(results.at(-1)), /one\s+two/);
});

test('calls of an answer run one after the other where the agent has no higher limit', async (t) => {
  const conversation = await fresh(t, 1, (folder) => [terminal('sleep 0.3'), create(`${folder}/made`, 'x')]);
  assert.equal(await conversation.ask('go'), 'finished');
  assert.deepEqual(stepsOf(await conversation.events()).slice(0, 4), [
    'ActionEvent terminal', 'ActionEvent file_editor', 'ObservationEvent terminal', 'ObservationEvent file_editor',
  ]);
});

test('an interrupt ends a running call and the one that waits for it', async (t) => {
  const conversation = await fresh(t, 4, (folder) => [waitingFor(`${folder}/never`), terminal('echo not run'), create(`${folder}/made`, 'x')]);
  await conversation.say('go', true);
  await conversation.event(({ kind, tool_name: name }) => kind === 'ObservationEvent' && name === 'file_editor', 'the file is made');
  await conversation.must(200, 'POST', '/interrupt');
  assert.equal(await conversation.rest(), 'paused');
  const events = await conversation.events();
  assert.equal(events.filter(isAction('terminal')).length, 2);
  assert.deepEqual(stepsOf(events).slice(3), ['ObservationEvent file_editor', 'AgentErrorEvent terminal', 'AgentErrorEvent terminal']);
  await assertSound(conversation);
});
