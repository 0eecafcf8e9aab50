// Model calls outside of runs: side questions, condensations, titles.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { call, must } from './support/api.mjs';
import { Conversation, llmOf, ofKind, startRequest } from './support/conversation.mjs';
import { assertSound, query } from './support/database.mjs';
import { strictModel } from './support/model.mjs';
import { killAndAwait } from './support/processes.mjs';
import { waitUntil } from './support/wait.mjs';

const fake = await strictModel();
fake.setScenario('talk', [{ text: 'an answer in words' }]);
fake.setScenario('title', [{ text: '<think>hm</think>"✨ A fine title"' }]);
fake.setScenario('refusing', [{ status: 401, error: { message: 'bad key', type: 'invalid_request_error', code: 'invalid_api_key' } }]);

async function fresh(t, scenario, more = {}) {
  const conversation = await Conversation.start(fake, scenario, more);
  t.after(() => conversation.delete());
  return conversation;
}

const wordsOf = (message) => [message.content].flat().map((part) => part?.text ?? part).join('');
const withCondenser = (scenario, condenser = scenario) => {
  const request = startRequest(llmOf(fake, scenario));
  request.agent.condenser = { kind: 'LLMSummarizingCondenser', llm: { ...llmOf(fake, condenser), usage_id: 'condenser' }, max_size: 80, keep_first: 2 };
  return request;
};

test('agent-server 43: ask_agent answers from the history, without adding to it', async (t) => {
  const conversation = await fresh(t, 'talk');
  assert.equal(await conversation.ask('first'), 'finished');
  const before = await conversation.events();
  const from = fake.requests.length;
  const answer = await conversation.must(200, 'POST', '/ask_agent', { json: { question: 'what is this' } });
  assert.deepEqual(answer, { response: 'an answer in words' });
  const { messages, tools } = fake.requests[from].body;
  assert.deepEqual(messages.map(({ role }) => role), ['system', 'user', 'assistant', 'user']);
  assert.match(wordsOf(messages.at(-1)), /what is this/);
  assert.ok(tools.length > 0, 'the tools are listed, as for the agent');
  assert.deepEqual(await conversation.events(), before, 'no event says it');
  const { stats, execution_status: status } = await conversation.info();
  assert.deepEqual(Object.keys(stats.usage_to_metrics), ['agent', 'ask-agent-llm']);
  assert.equal(status, 'finished');
  assert.deepEqual(await query(`SELECT kind FROM jobs WHERE conversation_id = :'id'`, { id: conversation.id }), []);
});

test('agent-server 43: ask_agent works before the first message and during a run', async (t) => {
  const conversation = await fresh(t, 'talk');
  const from = fake.requests.length;
  assert.deepEqual(await conversation.must(200, 'POST', '/ask_agent', { json: { question: 'anybody there?' } }), { response: 'an answer in words' });
  assert.deepEqual(await conversation.events(), [], 'nothing is begun by it');
  assert.deepEqual(Object.keys((await conversation.info()).stats.usage_to_metrics), ['ask-agent-llm']);
  assert.equal(await conversation.ask('first'), 'finished');
  const [asked, run] = fake.requests.slice(from).map(({ body }) => body.messages);
  assert.deepEqual(asked.map(({ role }) => role), ['system', 'user']);
  assert.deepEqual(asked[0], run[0], 'the agent is the same as in its run');
  fake.setScenario('asleep', [{ park: true, text: 'late' }]);
  const busy = await fresh(t, 'asleep');
  await busy.say('work', true);
  await waitUntil(() => fake.requests.some(({ body }) => body.model === 'asleep'), 'the model is asked');
  fake.setScenario('asleep', [{ text: 'now' }]);
  assert.deepEqual(await busy.must(200, 'POST', '/ask_agent', { json: { question: 'busy?' } }), { response: 'now' });
  assert.equal(await busy.status(), 'running');
  fake.release();
  await busy.rest(['finished']);
  const { stats } = await busy.info();
  assert.deepEqual(Object.keys(stats.usage_to_metrics).sort(), ['agent', 'ask-agent-llm'], 'a cost beside a run is not lost');
});

test('agent-server 35: unknown conversations are a 404 for every operation', async () => {
  const unknown = new Conversation(randomUUID());
  for (const [path, json] of [['/ask_agent', { question: 'x' }], ['/condense', undefined]]) {
    const answer = await unknown.call('POST', path, { json });
    assert.equal(answer.status, 404);
    assert.deepEqual(answer.json, { detail: 'Conversation not found' });
  }
  assert.equal((await unknown.call('POST', '/generate_title')).status, 404);
  for (const [path, json] of [
    ['/pause', undefined], ['/interrupt', undefined], ['/run', undefined], ['/secrets', { secrets: { A: 'x' } }],
    ['/confirmation_policy', { policy: { kind: 'NeverConfirm' } }], ['/security_analyzer', { security_analyzer: null }], ['/agent_final_response'],
  ]) {
    const answer = await unknown.call(path === '/agent_final_response' ? 'GET' : 'POST', path, { json });
    assert.deepEqual([answer.status, typeof answer.json.detail], [404, 'string'], path);
  }
});

test('ask_agent reports an invalid body and a model\'s refusal', async (t) => {
  const conversation = await fresh(t, 'refusing');
  for (const json of [{}, { question: 7 }, { question: null }]) assert.equal((await conversation.call('POST', '/ask_agent', { json })).status, 422);
  const answer = await conversation.call('POST', '/ask_agent', { json: { question: 'x' } });
  assert.equal(answer.status, 502);
  assert.doesNotMatch(answer.text, /sk-test/);
  assert.deepEqual(await conversation.events(), []);
});

test('agent-server 87: condense without a condenser is refused', async (t) => {
  const conversation = await fresh(t, 'talk');
  const answer = await conversation.call('POST', '/condense');
  assert.equal(answer.status, 409);
  assert.deepEqual(answer.json, { detail: 'Cannot condense conversation: No condenser configured' });
  assert.equal(await conversation.must(200, 'GET', '/events/count'), 0);
});

test('the model is sent a condensation instead of the condensed events', async (t) => {
  fake.setScenario('memory', [{ text: 'USER_CONTEXT: they count' }]);
  const conversation = await Conversation.create(withCondenser('talk', 'memory'));
  t.after(() => conversation.delete());
  for (const words of ['word-one', 'word-two', 'word-three', 'word-four', 'word-five', 'word-six']) assert.equal(await conversation.ask(words), 'finished');
  const before = await conversation.events();
  const from = fake.requests.length;
  await conversation.must(200, 'POST', '/condense');
  const asked = fake.requests[from].body;
  assert.equal(asked.tools, undefined);
  assert.deepEqual(asked.messages.map(({ role }) => role), ['system', 'user']);
  assert.match(wordsOf(asked.messages[1]), /word-two/);
  const added = (await conversation.events()).slice(before.length);
  assert.deepEqual(added.map(({ kind, key }) => key ?? kind), ['CondensationRequest', 'stats', 'Condensation']);
  const condensation = added.find(ofKind('Condensation'));
  assert.equal(condensation.summary, 'USER_CONTEXT: they count');
  assert.equal(condensation.summary_offset, 2);
  assert.equal(await conversation.status(), 'finished');
  const later = fake.requests.length;
  assert.equal(await conversation.ask('seven'), 'finished');
  const read = fake.requests[later].body.messages;
  const texts = read.map(wordsOf).join('\n');
  assert.match(texts, /word-one/);
  assert.match(texts, /they count/);
  assert.doesNotMatch(texts, /word-two/);
  assert.match(texts, /word-six/);
  await assertSound(conversation);
});

test('a second condensation includes the first', async (t) => {
  fake.setScenario('memory2', [{ text: 'summary number one' }]);
  const conversation = await Conversation.create(withCondenser('talk', 'memory2'));
  t.after(() => conversation.delete());
  for (const words of ['one', 'two', 'three', 'four', 'five']) assert.equal(await conversation.ask(words), 'finished');
  await conversation.must(200, 'POST', '/condense');
  for (const words of ['six', 'seven', 'eight']) assert.equal(await conversation.ask(words), 'finished');
  fake.setScenario('memory2', [{ text: 'summary number two' }]);
  const from = fake.requests.length;
  await conversation.must(200, 'POST', '/condense');
  assert.match(wordsOf(fake.requests[from].body.messages[1]), /summary number one/);
  const later = fake.requests.length;
  assert.equal(await conversation.ask('nine'), 'finished');
  const texts = fake.requests[later].body.messages.map(wordsOf).join('\n');
  assert.match(texts, /summary number two/);
  assert.doesNotMatch(texts, /summary number one/);
});

test('a failed condensation is reported, and can be repeated', async (t) => {
  const conversation = await Conversation.create(withCondenser('talk', 'refusing2'));
  t.after(() => conversation.delete());
  fake.setScenario('refusing2', [{ status: 401, error: { message: 'bad key', type: 'invalid_request_error', code: 'invalid_api_key' } }]);
  for (const words of ['one', 'two', 'three']) assert.equal(await conversation.ask(words), 'finished');
  assert.equal((await conversation.call('POST', '/condense')).status, 502);
  fake.setScenario('refusing2', [{ text: 'a summary' }]);
  await conversation.must(200, 'POST', '/condense');
  assert.equal((await conversation.events()).filter(ofKind('Condensation')).length, 1);
});

test('the model generates a title during the first run', async (t) => {
  fake.setScenario('titled', [{ text: '<think>hm</think>"✨ A fine title"' }]);
  const conversation = await fresh(t, 'titled', { autotitle: true });
  const from = fake.requests.length;
  assert.equal(await conversation.ask('Please do something fine'), 'finished');
  const title = await waitUntil(async () => (await conversation.info()).title, 'there is a title');
  assert.equal(title, '✨ A fine title');
  const asked = fake.requests.slice(from).map(({ body }) => body).find(({ tools }) => tools === undefined);
  assert.deepEqual(asked.messages.map(({ role }) => role), ['system', 'user']);
  assert.match(wordsOf(asked.messages[1]), /Please do something fine/);
  const { stats } = await conversation.info();
  assert.equal(stats.usage_to_metrics.agent.token_usages.length, 2, 'both calls are counted');
});

test('agent-loop 52: a long title is cut; a title set by the user is kept; the creator\'s own prompt replaces the default one', async (t) => {
  fake.setScenario('prompted', [{ text: 'x'.repeat(80) }]);
  const conversation = await fresh(t, 'prompted', { autotitle: true, prompt: 'In {max_length}: {conversation_content}!' });
  const from = fake.requests.length;
  await conversation.say('braces {max_length} stay');
  const title = await waitUntil(async () => (await conversation.info()).title, 'there is a title');
  assert.deepEqual((await conversation.events()).map(({ kind, key }) => key ?? kind), ['SystemPromptEvent', 'MessageEvent', 'last_user_message_id', 'stats'], 'its cost alone is told');
  assert.equal(title, `${'x'.repeat(47)}...`);
  assert.equal(wordsOf(fake.requests[from].body.messages[1]), 'In 50: braces {max_length} stay!');
  const named = await fresh(t, 'talk', { autotitle: true });
  await named.must(200, 'PATCH', '', { json: { title: 'Mine' } });
  const later = fake.requests.length;
  assert.equal(await named.ask('hi'), 'finished');
  assert.equal((await named.info()).title, 'Mine');
  assert.ok(fake.requests.slice(later).every(({ body }) => body.tools !== undefined), 'nobody is asked for a title');
});

test('the title comes from the named profile\'s model, otherwise from the agent\'s', async (t) => {
  const name = `titles-${randomUUID().slice(0, 8)}`;
  await must(201, 'POST', `/api/profiles/${name}`, { json: { llm: llmOf(fake, 'title'), include_secrets: true } });
  t.after(() => call('DELETE', `/api/profiles/${name}`));
  for (const [profile, model] of [[name, 'title'], ['nobody', 'talk']]) {
    const conversation = await fresh(t, 'talk', { autotitle: true, title_llm_profile: profile });
    const from = fake.requests.length;
    await conversation.say('hello');
    await waitUntil(async () => (await conversation.info()).title, 'there is a title');
    assert.equal(fake.requests[from].body.model, model);
  }
});

test('agent-loop 52: if the model fails, the title is the first message, cut, without an event', async (t) => {
  const conversation = await fresh(t, 'refusing', { autotitle: true });
  await conversation.say('Paint the shed, the fence and the gates, and then the whole house');
  const title = await waitUntil(async () => (await conversation.info()).title, 'there is a title');
  assert.equal(title, 'Paint the shed, the fence and the gates, and...');
  assert.deepEqual((await conversation.events()).map(({ kind, key }) => key ?? kind), ['SystemPromptEvent', 'MessageEvent', 'last_user_message_id']);
  assert.equal(await conversation.status(), 'idle');
});

test('without a model the title is the first words', async (t) => {
  for (const llm of [{ model: 'scripted/hello', usage_id: 'agent' }, { ...llmOf(fake, 'talk'), api_key: null }]) {
    const conversation = await Conversation.create(startRequest(llm, { autotitle: true }));
    t.after(() => conversation.delete());
    const from = fake.requests.length;
    await conversation.say('  Say   hello\nand more');
    assert.equal(await waitUntil(async () => (await conversation.info()).title, 'there is a title'), 'Say hello');
    assert.equal(fake.requests.length, from);
  }
});

test('generate_title of older clients returns a title without storing it', async (t) => {
  const conversation = await fresh(t, 'title');
  await conversation.say('hello');
  assert.deepEqual(await conversation.must(200, 'POST', '/generate_title', { json: {} }), { title: '✨ A fine title' });
  assert.deepEqual(await conversation.must(200, 'POST', '/generate_title', { json: { max_length: 50, llm: null } }), { title: '✨ A fine title' });
  assert.equal((await conversation.info()).title, null);
});

test('a side question survives the death of its worker', async (t) => {
  fake.setScenario('patient', [{ park: true, text: 'at last' }]);
  const conversation = await fresh(t, 'patient');
  const answer = conversation.must(200, 'POST', '/ask_agent', { json: { question: 'still there?' } });
  await waitUntil(() => fake.requests.some(({ body }) => body.model === 'patient'), 'the model is asked');
  fake.setScenario('patient', [{ text: 'at last' }]);
  await killAndAwait('worker');
  assert.deepEqual(await answer, { response: 'at last' });
  await assertSound(conversation);
});
