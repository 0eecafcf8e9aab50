// Streamed answers of the OpenAI-compatible API, read by OpenAI's own package.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import OpenAI from 'openai';
import { start as startModel } from '../fakes/openai.mjs';
import { Conversation, ofKind } from './support/conversation.mjs';
import { AGENT_URL } from './support/instance.mjs';
import { Keeper } from './support/keeper.mjs';
import { terminal } from './support/model_calls.mjs';
import { waitUntil } from './support/wait.mjs';

const KEY = `sk-${randomUUID()}`;
const ID_HEADER = 'x-openhands-serverconversation-id';
const WORDS = 'The quick brown fox jumps over the lazy dog.';
const scenarios = {
  talk: [{ text: WORDS }],
  held: [{ text: WORDS, hold: true }],
  work: [{ text: 'Let me look.', calls: [terminal('echo made')] }, { calls: [{ name: 'finish', arguments: { message: 'It is made.' } }] }],
  err: [{ status: 401, error: { message: 'no', type: 'invalid_request_error', code: 'invalid_api_key' } }],
  parked: [{ park: true }],
};

let keeper;
let fake;
let client;

before(async () => {
  fake = await startModel({ key: KEY, scenarios });
  keeper = await Keeper.make();
  for (const name of Object.keys(scenarios))
    await keeper.saveProfile(name, { model: `openai/${name}`, api_key: KEY, base_url: fake.url, num_retries: 1, retry_min_wait: 0, retry_max_wait: 1, stream: name === 'held' || name === 'parked' });
  await keeper.must(201, 'POST', '/api/agent-profiles/main', { llm_profile_ref: 'talk' });
  const { profile } = await keeper.must(200, 'GET', '/api/agent-profiles/main');
  await keeper.must(200, 'POST', `/api/agent-profiles/${profile.id}/activate`);
  client = new OpenAI({ apiKey: keeper.key, baseURL: new URL('/v1', AGENT_URL).href, maxRetries: 0 });
});

after(() => {
  fake.release();
  return fake.close();
});

const messages = [{ role: 'user', content: 'hello' }];

/** A stream, and the conversation that it is of. */
async function open(t, promise) {
  const { data: stream, response } = await promise.withResponse();
  const conversation = new Conversation(response.headers.get(ID_HEADER), keeper.key);
  t.after(() => conversation.delete());
  return { stream, response, conversation };
}

const chat = (t, model, more = {}, options = {}) => open(t, client.chat.completions.create({ model: `openhands_${model}`, messages, stream: true, ...more }, options));
const respond = (t, model) => open(t, client.responses.create({ model: `openhands_${model}`, input: 'hello', stream: true }));

async function all(stream) {
  const items = [];
  for await (const item of stream) items.push(item);
  return items;
}

const textOf = (chunks) => chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');

test('a chat is streamed in chunks, with its usage at the end', async (t) => {
  const { stream, response, conversation } = await chat(t, 'talk', { stream_options: { include_usage: true } });
  assert.match(response.headers.get('content-type'), /^text\/event-stream/);
  const chunks = await all(stream);
  assert.equal(textOf(chunks), WORDS);
  assert.deepEqual(chunks[0].choices, [{ index: 0, delta: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null }]);
  const [last, usage] = chunks.slice(-2);
  assert.deepEqual(last.choices, [{ index: 0, delta: {}, logprobs: null, finish_reason: 'stop' }]);
  assert.deepEqual(usage.choices, []);
  assert.equal(usage.usage.total_tokens, usage.usage.prompt_tokens + usage.usage.completion_tokens);
  assert.ok(usage.usage.prompt_tokens > 0);
  assert.ok(chunks.every(({ id, object, model }) => id === chunks[0].id && object === 'chat.completion.chunk' && model === 'openhands_talk'));
  assert.equal((await conversation.info()).execution_status, 'finished');
});

test('the end of a chat\'s stream is the vendor\'s, and it can be continued by its header', async (t) => {
  const ask = (headers) => fetch(new URL('/v1/chat/completions', AGENT_URL), {
    method: 'POST', headers: { authorization: `Bearer ${keeper.key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'openhands_talk', messages, stream: true }),
  });
  const first = await ask({});
  assert.match(await first.text(), /"finish_reason":"stop"\}\][^\n]*\}\n\ndata: \[DONE\]\n\n$/);
  const conversation = new Conversation(first.headers.get(ID_HEADER), keeper.key);
  t.after(() => conversation.delete());
  const second = await ask({ [ID_HEADER]: conversation.id });
  const text = await second.text();
  assert.equal(text.match(/"content":"[^"]/g).length, 1, 'what was said before is not said again');
  assert.equal((await conversation.events()).filter(({ kind, source }) => kind === 'MessageEvent' && source === 'agent').length, 2);
});

test('pieces come while the model is still writing, and the end when it is stored', async (t) => {
  const { stream, conversation } = await chat(t, 'held');
  const chunks = [];
  let sent = '';
  for await (const chunk of stream) {
    chunks.push(chunk);
    if (sent !== WORDS) {
      sent = textOf(chunks);
      if (sent !== WORDS) continue;
      assert.equal((await conversation.info()).execution_status, 'running');
      assert.ok(chunks.every(({ choices }) => choices[0].finish_reason === null));
      fake.release();
    }
  }
  assert.equal(textOf(chunks), WORDS, 'what was sent before is not sent again with the event');
  assert.ok(chunks.length > 4, `${chunks.length}`);
  assert.equal(chunks.at(-1).choices[0].finish_reason, 'stop');
});

test('everything that the agent says is in the stream, its answer last', async (t) => {
  const { stream } = await chat(t, 'work');
  assert.equal(textOf(await all(stream)), 'Let me look.\n\nIt is made.');
});

test('a response is streamed as the vendor\'s events', async (t) => {
  const { stream, conversation } = await respond(t, 'work');
  const events = await all(stream);
  assert.deepEqual(events.map(({ sequence_number: n }) => n), events.map((_, i) => i));
  const types = events.map(({ type }) => type.replace('response.', ''));
  assert.deepEqual(types.slice(0, 4), ['created', 'in_progress', 'output_item.added', 'content_part.added']);
  assert.deepEqual(types.slice(-4), ['output_text.done', 'content_part.done', 'output_item.done', 'completed']);
  assert.ok(types.slice(4, -4).length > 0 && types.slice(4, -4).every((type) => type === 'output_text.delta'));
  const { response } = events.at(-1);
  assert.deepEqual([response.status, response.output.length, response.error], ['completed', 1, null]);
  assert.equal(response.output[0].content[0].text, 'Let me look.\n\nIt is made.');
  assert.equal(response.id, events[0].response.id);
  assert.ok(response.usage.total_tokens > 0);
  assert.equal((await conversation.info()).execution_status, 'finished');
});

test('the package\'s own reader of responses puts them together', async () => {
  const runner = client.responses.stream({ model: 'openhands_talk', input: 'hello' });
  const response = await runner.finalResponse();
  assert.equal(response.output_text, WORDS);
  await keeper.call('DELETE', `/api/conversations/${(await keeper.must(200, 'GET', '/api/conversations/search')).items[0].id}`);
});

test('a failed run is an error of the stream', async (t) => {
  const { stream } = await chat(t, 'err');
  await assert.rejects(all(stream), /ended as 'error'/);
  const events = await all((await respond(t, 'err')).stream);
  const { type, response } = events.at(-1);
  assert.deepEqual([type, response.status, response.error.code], ['response.failed', 'failed', 'server_error']);
  assert.match(response.error.message, /ended as 'error'/);
});

test('a client that leaves ends the run', async (t) => {
  const { stream, conversation } = await chat(t, 'parked');
  const chunks = stream[Symbol.asyncIterator]();
  await chunks.next();
  await waitUntil(() => fake.n_parked > 0, 'the model is asked');
  stream.controller.abort();
  assert.equal(await conversation.rest(['paused']), 'paused');
  assert.ok((await conversation.events()).some(ofKind('InterruptEvent')));
});

test('a stream that cannot begin is refused as other calls are', async () => {
  const refused = async (model, body) => client.chat.completions.create({ model, messages, stream: true, ...body });
  await assert.rejects(refused('openhands_none'), { status: 404 });
  await assert.rejects(refused('openhands_talk', { messages: [] }), { status: 400 });
  await assert.rejects(refused('openhands_talk', { stream_options: { include_usage: 'x' } }), { status: 422 });
});
