// Profiles that answer while a conversation's own model is out of order.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { call, must } from './support/api.mjs';
import { Conversation, llmOf, ofKind, startRequest } from './support/conversation.mjs';
import { strictModel } from './support/model.mjs';
import { textOf } from './support/loop.mjs';
import { terminal } from './support/model_calls.mjs';

const fake = await strictModel();
const DOWN = { status: 503, error: { message: 'overloaded' } };

/** A scenario of the fake as a stored profile; gives its name, which is the model's, too. */
async function profile(t, steps, more = {}) {
  const name = `fallback-${randomUUID()}`;
  fake.setScenario(name, steps);
  await must(201, 'POST', `/api/profiles/${name}`, { json: { llm: llmOf(fake, name, more), include_secrets: true } });
  t.after(() => call('DELETE', `/api/profiles/${name}`));
  return name;
}

/** A conversation whose model plays these steps, and that may use those profiles instead. */
async function begin(t, steps, names, more = {}) {
  const scenario = `own-${randomUUID()}`;
  fake.setScenario(scenario, steps);
  const conversation = await Conversation.create(startRequest(llmOf(fake, scenario, { fallback_strategy: { fallback_llms: names }, ...more.llm }), more.request));
  t.after(() => conversation.delete());
  return { conversation, scenario };
}

const nAsked = (scenario) => fake.requests.filter(({ body }) => body?.model === scenario).length;
const saidBy = (events) => events.filter(({ kind, source }) => kind === 'MessageEvent' && source === 'agent').map(({ llm_message: message }) => textOf(message));
const errorOf = (events) => events.find(ofKind('ConversationErrorEvent'));

test('the first profile that answers takes the place of a model that is down, for a while', async (t) => {
  const broken = await profile(t, [DOWN]);
  const backup = await profile(t, [{ calls: [terminal('echo ran')] }, { text: 'from the backup' }]);
  const { conversation, scenario } = await begin(t, [DOWN], ['no-such-profile', broken, backup]);
  assert.equal(await conversation.ask('go'), 'finished');
  const events = await conversation.events();
  assert.deepEqual(saidBy(events), ['from the backup']);
  assert.equal(errorOf(events), undefined);
  assert.deepEqual([nAsked(scenario), nAsked(broken), nAsked(backup)], [1, 2, 2], 'the second step does not ask the model that was down');
  const { usage_to_metrics: metrics } = (await conversation.info()).stats;
  assert.deepEqual(Object.keys(metrics), ['agent']);
  assert.equal(metrics.agent.token_usages?.length ?? 2, 2);
});

test('if all of them fail, the error is that of the model itself', async (t) => {
  const broken = await profile(t, [{ status: 500, error: { message: 'the fallback broke' } }]);
  const { conversation } = await begin(t, [DOWN], [broken]);
  assert.equal(await conversation.ask('go'), 'error');
  const error = errorOf(await conversation.events());
  assert.equal(error.code, 'LLMServiceUnavailableError');
  assert.doesNotMatch(error.detail, /the fallback broke/);
});

test('a refused key or request is no reason to ask another model, an empty account is', async (t) => {
  const backup = await profile(t, [{ text: 'from the backup' }]);
  for (const [failure, ends] of [
    [{ status: 401, error: { message: 'bad key' } }, 'error'],
    [{ status: 400, error: { message: 'bad request' } }, 'error'],
    [{ status: 400, error: { message: 'Budget has been exceeded' } }, 'error'],
    [{ status: 429, error: { message: 'You exceeded your quota', code: 'insufficient_quota' } }, 'finished'],
  ]) {
    const { conversation } = await begin(t, [failure], [backup]);
    assert.equal(await conversation.ask('go'), ends, JSON.stringify(failure));
  }
  assert.equal(nAsked(backup), 1);
});

test('a budget is kept: a profile without a price is not asked', async (t) => {
  const backup = await profile(t, [{ text: 'from the backup' }]);
  const { conversation } = await begin(t, [DOWN], [backup], { llm: { input_cost_per_token: 0.000001, output_cost_per_token: 0.000001 }, request: { max_budget_per_run: 1 } });
  assert.equal(await conversation.ask('go'), 'error');
  assert.equal(nAsked(backup), 0);
});

test('what is not a list of names is refused', async () => {
  for (const wrong of [{}, { fallback_llms: 'x' }, { fallback_llms: [1] }, 'x']) {
    const { status, json } = await call('POST', '/api/conversations', { json: startRequest(llmOf(fake, 'none', { fallback_strategy: wrong })) });
    assert.equal(status, 422, JSON.stringify(json));
    assert.ok(json.detail[0].loc.includes('fallback_strategy'), JSON.stringify(json.detail));
  }
});
