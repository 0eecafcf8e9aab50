// Secrets that a client sets while the agent is at work.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { must } from './support/api.mjs';
import { Conversation, isAction, isResult, llmOf, observed, startRequest } from './support/conversation.mjs';
import { assertSound } from './support/database.mjs';
import { strictModel } from './support/model.mjs';

const VALUE = 'swordfish-4711';

const fake = await strictModel();

const command = (text) => ({ name: 'terminal', arguments: { command: text, summary: 'x', security_risk: 'LOW' } });
const waitFor = (mark) => command(`until [ -e /tmp/${mark} ]; do sleep 0.1; done; echo released`);
const measure = command('printf %s "$LATE" | wc -c; echo "$LATE"');

/** A conversation that waits in its first command, is given a secret meanwhile, and ends. */
async function giveSecret(t, stepsOf) {
  const mark = `late-${randomUUID()}`;
  fake.setScenario(mark, [...stepsOf(waitFor(mark)), { text: 'done' }]);
  const conversation = await Conversation.create(startRequest(llmOf(fake, mark)));
  t.after(() => conversation.delete());
  await conversation.say('wait', true);
  await conversation.event(isAction('terminal'), 'the first command is asked for');
  await conversation.must(200, 'POST', '/secrets', { json: { secrets: { LATE: { kind: 'StaticSecret', value: VALUE } } } });
  await must(200, 'POST', '/api/bash/execute_bash_command', { json: { command: `touch /tmp/${mark}`, cwd: '/' } });
  assert.equal(await conversation.rest(['finished', 'error']), 'finished');
  await assertSound(conversation);
  return conversation.events();
}

test('runtime 66: a secret that is set during a run is there for the next step, and hidden', async (t) => {
  const events = await giveSecret(t, (wait) => [{ calls: [wait] }, { calls: [measure] }]);
  assert.match(observed(events.filter(isResult('terminal'))[1]), new RegExp(`^${VALUE.length}\\b[^]*<secret-hidden>`));
  const told = events.find(({ key }) => key === 'secret_registry');
  assert.deepEqual(Object.keys(told.value.secret_sources), ['LATE']);
  assert.ok(!JSON.stringify(events).includes(VALUE));
});

test('and for the next call of the same step', async (t) => {
  const events = await giveSecret(t, (wait) => [{ calls: [wait, measure] }]);
  assert.match(observed(events.filter(isResult('terminal'))[1]), new RegExp(`^${VALUE.length}\\b[^]*<secret-hidden>`));
});
