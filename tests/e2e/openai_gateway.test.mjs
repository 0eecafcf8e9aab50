// Profiles as models of the OpenAI-compatible API under /v1.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { call } from './support/api.mjs';
import { Conversation } from './support/conversation.mjs';
import { Keeper } from './support/keeper.mjs';

const KEY = `sk-${randomUUID()}`;
const ID_HEADER = 'x-openhands-serverconversation-id';
const MODEL = 'openhands_talker';
const work = { name: 'terminal', arguments: { command: 'echo made > made.txt', summary: 'make it', security_risk: 'LOW' } };

let keeper;
let fake;

const llm = (scenario) => ({ model: `openai/${scenario}`, api_key: KEY, base_url: fake.url, num_retries: 1, retry_min_wait: 0, retry_max_wait: 1 });

/** A user with profiles, one of them the agent's that is active. */
async function newKeeper() {
  const made = await Keeper.make();
  await made.saveProfile('talker', llm('talk'));
  await made.saveProfile('worker', llm('work'));
  await made.saveProfile('broken', llm('err'));
  await made.must(201, 'POST', '/api/agent-profiles/main', { llm_profile_ref: 'worker', system_message_suffix: 'Be brief.' });
  return made;
}

before(async () => {
  fake = await startModel({ key: KEY, scenarios: { talk: [{ text: 'an answer' }], work: [{ calls: [work] }, { text: 'it is made' }] } });
  keeper = await newKeeper();
  const { profile } = await keeper.must(200, 'GET', '/api/agent-profiles/main');
  await keeper.must(200, 'POST', `/api/agent-profiles/${profile.id}/activate`);
});

after(() => fake.close());

/** A call with a bearer token, as OpenAI's clients send it. */
const bearer = (method, path, { key = keeper.key, headers = {}, ...rest } = {}) => call(method, path, { key: null, headers: { authorization: `Bearer ${key}`, ...headers }, ...rest });

async function ask(t, path, json, headers = {}) {
  const answer = await bearer('POST', path, { json, headers });
  const id = answer.headers.get(ID_HEADER);
  const conversation = id === null ? null : new Conversation(id, keeper.key);
  if (conversation !== null) t.after(() => conversation.delete());
  return { ...answer, conversation };
}

const chat = (t, messages, { model = MODEL, headers, ...more } = {}) => ask(t, '/v1/chat/completions', { model, messages, ...more }, headers);
const respond = (t, input, { model = MODEL, ...more } = {}) => ask(t, '/v1/responses', { model, input, ...more });
const user = (content) => ({ role: 'user', content });

/** The messages of a role in the model's newest call, as text. */
const told = (role) => fake.requests.at(-1).body.messages.filter((one) => one.role === role).map(({ content }) => (typeof content === 'string' ? content : content.map((part) => part.text ?? '').join('\n')));

test('agent-server 103: profiles are listed as models, for both forms of the key', async () => {
  const { json } = await bearer('GET', '/v1/models');
  assert.deepEqual(json, { object: 'list', data: ['broken', 'talker', 'worker'].map((name) => ({ id: `openhands_${name}`, object: 'model', created: 0, owned_by: 'openhands' })) });
  assert.deepEqual((await keeper.call('GET', '/v1/models')).json, json);
  assert.equal((await call('GET', '/v1/models', { key: null, headers: { authorization: `bearer ${keeper.key}` } })).status, 200);
  for (const headers of [{}, { authorization: 'Bearer ' }, { authorization: 'Bearer sk-none' }, { authorization: `Basic ${keeper.key}` }]) {
    const answer = await call('GET', '/v1/models', { key: null, headers });
    assert.deepEqual([answer.status, answer.json], [401, { detail: 'Unauthorized' }], JSON.stringify(headers));
  }
  assert.equal((await bearer('GET', '/api/conversations/count')).status, 401, 'a bearer is known below /v1 alone');
});

test('agent-server 103: a response is the agent\'s final message', async (t) => {
  const metadata = { purpose: 'test' };
  const { status, json, conversation } = await respond(t, 'make it', { model: 'openhands_worker', instructions: 'Answer in one word.', metadata });
  assert.equal(status, 200, JSON.stringify(json));
  const { id, created_at: created, completed_at: completed, output, usage, ...rest } = json;
  assert.match(id, /^resp_[0-9a-f]{32}$/);
  assert.ok(created <= completed && completed - created < 600);
  assert.deepEqual(rest, {
    object: 'response', model: 'openhands_worker', status: 'completed', instructions: 'Answer in one word.', metadata, previous_response_id: null,
    parallel_tool_calls: false, tool_choice: 'none', tools: [],
  });
  assert.match(output[0].id, /^msg_[0-9a-f]{32}$/);
  assert.deepEqual(output, [{ id: output[0].id, type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'it is made', annotations: [] }] }]);
  assert.ok(usage.input_tokens > 0 && usage.output_tokens > 0);
  assert.equal(usage.total_tokens, usage.input_tokens + usage.output_tokens);
  assert.equal(typeof usage.input_tokens_details.cached_tokens, 'number');
  assert.equal(typeof usage.output_tokens_details.reasoning_tokens, 'number');
  const info = await conversation.info();
  assert.equal(info.execution_status, 'finished');
  assert.equal(info.agent.llm.model, 'openai/work');
  assert.equal(info.agent.agent_context.system_message_suffix, 'Be brief.\n\nAnswer in one word.');
  assert.ok((await conversation.events()).some(({ kind, tool_name: tool }) => kind === 'ObservationEvent' && tool === 'terminal'), 'it has worked for it');
});

test('agent-server 103: a chat is completed, and continued by its header', async (t) => {
  const first = await chat(t, [{ role: 'system', content: 'Be kind.' }, user('hello')]);
  assert.equal(first.status, 200, first.text);
  assert.match(first.json.id, /^chatcmpl-[0-9a-f]{32}$/);
  assert.equal(first.json.object, 'chat.completion');
  assert.equal(first.json.model, MODEL);
  assert.deepEqual(first.json.choices, [{ index: 0, message: { role: 'assistant', content: 'an answer' }, finish_reason: 'stop' }]);
  assert.match(told('system')[0], /Be brief\.\s+Be kind\./);
  const messages = [user('hello'), { role: 'assistant', content: 'an answer' }, user([{ type: 'text', text: 'and again' }])];
  const second = await chat(t, messages, { headers: { [ID_HEADER]: first.conversation.id } });
  assert.equal(second.status, 200, second.text);
  assert.equal(second.conversation.id, first.conversation.id);
  assert.deepEqual(told('user'), ['hello', 'and again'], 'what the conversation knows is not told again');
  const { prompt_tokens: input, completion_tokens: output, total_tokens: total } = second.json.usage;
  assert.equal(total, input + output);
  const sum = (await first.conversation.info()).stats.usage_to_metrics;
  const [metrics] = Object.values(sum);
  assert.equal(metrics.accumulated_token_usage.prompt_tokens, first.json.usage.prompt_tokens + input, 'each answer says what it has cost itself');
});

test('agent-server 103: a new conversation contains the earlier messages', async (t) => {
  const messages = [user('my name is Ada'), { role: 'assistant', content: 'Hello Ada' }, { role: 'developer', content: 'Be fast.' }, user('who am I?')];
  const { status, conversation } = await chat(t, messages);
  assert.equal(status, 200);
  const [said] = told('user');
  assert.match(said, /by the user:\nmy name is Ada\nSaid before, by the assistant:\nHello Ada\nSaid now:\nwho am I\?/);
  assert.equal((await conversation.info()).agent.agent_context.system_message_suffix, 'Be brief.\n\nBe fast.');
});

test('agent-server 103: images are passed on', async (t) => {
  const url = 'data:image/png;base64,iVBORw0KGgo=';
  const { status, conversation } = await respond(t, [{ role: 'user', content: [{ type: 'input_text', text: 'see' }, { type: 'input_image', image_url: url }] }]);
  assert.equal(status, 200);
  const message = (await conversation.events()).find(({ kind, source }) => kind === 'MessageEvent' && source === 'user');
  assert.deepEqual(message.llm_message.content.map(({ type, image_urls: urls }) => [type, urls]), [['text', undefined], ['image', [url]]]);
});

const refusals = [
  ['stored', 400, '/v1/responses', { input: 'x', store: true }],
  ['following another', 400, '/v1/responses', { input: 'x', previous_response_id: 'resp_1' }],
  ['empty', 400, '/v1/responses', { input: '' }],
  ['an empty list', 400, '/v1/responses', { input: [] }],
  ['a file', 400, '/v1/responses', { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'x' }] }] }],
  ['too much system text', 400, '/v1/responses', { input: 'x', instructions: 'i'.repeat(32769) }],
  ['no profile', 404, '/v1/responses', { input: 'x', model: 'openhands_none' }],
  ['a model of others', 404, '/v1/responses', { input: 'x', model: 'gpt-5.5' }],
  ['no input', 422, '/v1/responses', {}],
  ['an unknown role', 422, '/v1/responses', { input: [{ role: 'judge', content: 'x' }] }],
  ['no content', 422, '/v1/responses', { input: [{ role: 'user' }] }],
  ['a chat of nobody', 400, '/v1/chat/completions', { messages: [] }],
  ['a chat with the last word', 400, '/v1/chat/completions', { messages: [user('x'), { role: 'assistant', content: 'y' }] }],
  ['a chat with no profile', 404, '/v1/chat/completions', { messages: [user('x')], model: 'openhands_none' }],
  ['a chat without messages', 422, '/v1/chat/completions', {}],
  ['a number for content', 422, '/v1/chat/completions', { messages: [user(5)] }],
  ['parts without a type', 422, '/v1/chat/completions', { messages: [user([{ text: 'x' }])] }],
];

test('agent-server 103: unsupported requests are refused with a message, and start nothing', async (t) => {
  const before = await keeper.must(200, 'GET', '/api/conversations/count');
  for (const [what, status, path, json] of refusals) {
    const answer = await ask(t, path, { model: MODEL, ...json });
    assert.equal(answer.status, status, `${what}: ${answer.text}`);
    assert.ok(answer.json.detail.length > 0, what);
    assert.equal(answer.conversation, null, what);
  }
  assert.equal((await chat(t, [user('x')], { headers: { [ID_HEADER]: randomUUID() } })).status, 404);
  assert.equal((await chat(t, [user('x')], { headers: { [ID_HEADER]: 'none' } })).status, 422);
  assert.equal(await keeper.must(200, 'GET', '/api/conversations/count'), before);
});

test('agent-server 103: a failed agent is a 500 that names the conversation', async (t) => {
  const { status, json, conversation } = await respond(t, 'x', { model: 'openhands_broken' });
  assert.equal(status, 500);
  assert.deepEqual(json, { detail: 'Internal Server Error', exception: "500: The conversation ended as 'error', not as 'finished'" });
  assert.equal((await conversation.info()).execution_status, 'error');
});

test('agent-server 103: without an active agent profile the answer is 409, and other users\' conversations are not found', async (t) => {
  const stranger = await newKeeper();
  const answer = await bearer('POST', '/v1/responses', { key: stranger.key, json: { model: MODEL, input: 'x' } });
  assert.deepEqual([answer.status, answer.json], [409, { detail: 'No agent profile is active' }]);
  const { conversation } = await chat(t, [user('mine')]);
  const foreign = await bearer('POST', '/v1/chat/completions', { key: stranger.key, json: { model: MODEL, messages: [user('x')] }, headers: { [ID_HEADER]: conversation.id } });
  assert.equal(foreign.status, 404);
});
