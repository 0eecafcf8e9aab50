// Secrets that a client sets during a run.
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

/** A conversation that waits in its first command, gets a secret during it, and ends. */
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

test('runtime 66: a secret that is set during a run is available to the next step, and masked', async (t) => {
  const events = await giveSecret(t, (wait) => [{ calls: [wait] }, { calls: [measure] }]);
  assert.match(observed(events.filter(isResult('terminal'))[1]), new RegExp(`^${VALUE.length}\\b[^]*<secret-hidden>`));
  const told = events.find(({ key }) => key === 'secret_registry');
  assert.deepEqual(Object.keys(told.value.secret_sources), ['LATE']);
  assert.ok(!JSON.stringify(events).includes(VALUE));
});

test('a secret that is set during a run is available to the next call of the same step', async (t) => {
  const events = await giveSecret(t, (wait) => [{ calls: [wait, measure] }]);
  assert.match(observed(events.filter(isResult('terminal'))[1]), new RegExp(`^${VALUE.length}\\b[^]*<secret-hidden>`));
});

/** Encodings of the value; `base64` also of a text that contains it after the beginning. */
const FORMS = {
  raw: VALUE,
  base64: Buffer.from(VALUE).toString('base64'),
  inside: Buffer.from(`user:${VALUE}@host`).toString('base64').slice(7, 25),
  hex: Buffer.from(VALUE).toString('hex'),
  upper: Buffer.from(VALUE).toString('hex').toUpperCase(),
  percent: [...Buffer.from(VALUE)].map((byte) => `%${byte.toString(16)}`).join(''),
  escaped: [...VALUE].map((c) => `\\u00${c.charCodeAt(0).toString(16)}`).join(''),
};

test('a secret is stored and sent to the model in no encoding, and a call that contains it runs as written', async (t) => {
  const scenario = `forms-${randomUUID()}`;
  const file = `/tmp/${scenario}`;
  const shown = Object.values(FORMS).map((form) => `'${form}'`).join(' ');
  fake.setScenario(scenario, [
    { text: `I know ${FORMS.base64}`, calls: [command(`printf '%s\\n' ${shown} | tee ${file} | wc -c; cat ${file}`)] },
    { calls: [command(`printf %s "$LATE" | base64; printf %s "$LATE" | xxd -p || printf %s "$LATE" | od -An -tx1; grep -c '^${VALUE}$' ${file}`)] },
    { text: `It was ${FORMS.hex}` },
  ]);
  const conversation = await Conversation.create(startRequest(llmOf(fake, scenario), { secrets: { LATE: { kind: 'StaticSecret', value: VALUE } } }));
  t.after(() => conversation.delete());
  assert.equal(await conversation.ask('go'), 'finished');
  const events = await conversation.events();
  const [first, second] = events.filter(isResult('terminal')).map(observed);
  const length = Object.values(FORMS).reduce((sum, form) => sum + form.length + 1, 0);
  assert.match(first, new RegExp(`^${length}\\b`), 'the command that ran had the values');
  assert.match(second, /^1$/m);
  for (const [name, form] of Object.entries(FORMS)) {
    const asJson = JSON.stringify(form).slice(1, -1);
    assert.ok(!JSON.stringify(events).includes(asJson), `${name} is stored`);
    assert.ok(!JSON.stringify(fake.requests).includes(asJson), `${name} is sent to the model`);
  }
  await assertSound(conversation);
});
