// Switching the model of an existing conversation, and errors of the related routes.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { call, must } from './support/api.mjs';
import { Conversation, llmOf, startRequest } from './support/conversation.mjs';
import { strictModel } from './support/model.mjs';
import { waitUntil } from './support/wait.mjs';

const fake = await strictModel();
fake.setScenario('talk', [{ text: 'the first model' }]);
fake.setScenario('other', [{ text: 'the other model' }]);

async function fresh(t, request = startRequest(llmOf(fake, 'talk'))) {
  const conversation = await Conversation.create(request);
  t.after(() => conversation.delete());
  return conversation;
}

test('switch_llm: the next step calls the new model, with the new key only', async (t) => {
  const conversation = await fresh(t);
  assert.equal(await conversation.ask('one'), 'finished');
  await conversation.must(200, 'POST', '/switch_llm', { json: { llm: llmOf(fake, 'other') } });
  const { agent } = await conversation.info();
  assert.equal(agent.llm.model, 'openai/other');
  assert.equal(agent.llm.api_key, null);
  const told = (await conversation.events()).findLast(({ key }) => key === 'agent');
  assert.equal(told.value.llm.model, 'openai/other');
  assert.doesNotMatch(JSON.stringify(told), /sk-test/);
  assert.equal(await conversation.ask('two'), 'finished');
  assert.equal(fake.requests.at(-1).body.model, 'other');
});

test('switch_llm during a run: the current step ends with the old model', async (t) => {
  fake.setScenario('slowly', [{ park: true, calls: [{ name: 'think', arguments: { thought: 'hm' } }] }, { text: 'old' }]);
  const conversation = await fresh(t, startRequest(llmOf(fake, 'slowly')));
  await conversation.say('work', true);
  await waitUntil(() => fake.requests.some(({ body }) => body.model === 'slowly'), 'the model is asked');
  await conversation.must(200, 'POST', '/switch_llm', { json: { llm: llmOf(fake, 'other') } });
  fake.release();
  assert.equal(await conversation.rest(['finished', 'error']), 'finished');
  assert.equal(fake.requests.at(-1).body.model, 'other');
  const { stats } = await conversation.info();
  assert.equal(stats.usage_to_metrics.agent.token_usages.length, 2);
});

test('switch_llm: the condenser is switched if it used the same model', async (t) => {
  for (const [model, after] of [['talk', 'openai/other'], ['third', 'openai/third']]) {
    const request = startRequest(llmOf(fake, 'talk'));
    request.agent.condenser = { kind: 'LLMSummarizingCondenser', llm: { ...llmOf(fake, model), usage_id: 'condenser' } };
    const conversation = await fresh(t, request);
    await conversation.must(200, 'POST', '/switch_llm', { json: { llm: llmOf(fake, 'other') } });
    const { condenser } = (await conversation.info()).agent;
    assert.equal(condenser.llm.model, after);
    assert.equal(condenser.llm.usage_id, 'condenser');
  }
});

test('agent-server 87: switch_llm with an unknown connection is refused, and the old model is kept', async (t) => {
  const conversation = await fresh(t);
  const llm = { ...llmOf(fake, 'other'), api_key: null, provider_connection_id: randomUUID() };
  assert.equal((await conversation.call('POST', '/switch_llm', { json: { llm } })).status, 422);
  assert.equal((await conversation.info()).agent.llm.model, 'openai/talk');
  await conversation.must(200, 'POST', '/switch_llm', { json: { llm: { ...llm, api_key: 'sk-test' } } });
  assert.equal((await conversation.info()).agent.llm.model, 'openai/other');
});

test('switch_profile uses the model of a stored profile', async (t) => {
  const name = `switch-${randomUUID().slice(0, 8)}`;
  await must(201, 'POST', `/api/profiles/${name}`, { json: { llm: llmOf(fake, 'other'), include_secrets: true } });
  t.after(() => call('DELETE', `/api/profiles/${name}`));
  const conversation = await fresh(t, startRequest(llmOf(fake, 'talk'), { conversation_runtime: 'docker' }));
  await conversation.must(200, 'POST', '/switch_profile', { json: { profile_name: name } });
  const { agent } = await conversation.info();
  assert.equal(agent.llm.model, 'openai/other');
  assert.equal(agent.llm.usage_id, `profile:${name}`);
  assert.equal(await conversation.ask('one'), 'finished');
  const { session_api_key: sandboxKey } = await conversation.must(200, 'POST', '/runtime/credentials');
  assert.equal((await conversation.call('POST', '/switch_profile', { key: sandboxKey, json: { profile_name: name } })).status, 403, 'not for the agent');
  const missing = await conversation.call('POST', '/switch_profile', { json: { profile_name: 'nobody' } });
  assert.equal(missing.status, 404);
  assert.deepEqual(missing.json, { detail: "Profile 'nobody' not found" });
});

test('plugins and ACP models are refused with a message', async (t) => {
  const conversation = await fresh(t);
  for (const [path, json] of [['/load_plugin', { plugin_ref: '/tmp/nosuch' }], ['/switch_acp_model', { model: 'x' }]]) {
    const answer = await conversation.call('POST', path, { json });
    assert.equal(answer.status, 400);
    assert.equal(typeof answer.json.detail, 'string');
    assert.equal((await conversation.call('POST', path, { json: {} })).status, 422);
    assert.equal((await new Conversation(randomUUID()).call('POST', path, { json })).status, 404);
  }
  for (const path of ['/switch_llm', '/switch_profile']) assert.equal((await conversation.call('POST', path, { json: {} })).status, 422);
});
