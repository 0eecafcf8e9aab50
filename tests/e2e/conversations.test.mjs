// Creating, reading, changing and deleting conversations: the items of the checklist.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { call, must } from './support/api.mjs';
import { Conversation, llmOf, startRequest, text } from './support/conversation.mjs';
import { AGENT_URL, API_KEY, WORKING_DIR } from './support/instance.mjs';
import { Socket } from './support/socket.mjs';
import { waitUntil, within } from './support/wait.mjs';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const HEX = /^[0-9a-f]{32}$/;

let fake;

before(async () => {
  fake = await startModel();
});

after(() => fake.close());

const minimal = (more = {}) => ({ ...startRequest(llmOf(fake, 'text')), ...more });
const create = (json) => call('POST', '/api/conversations', { json });

async function made(t, json = minimal()) {
  const answer = await create(json);
  assert.equal(answer.status, 201, answer.text);
  const conversation = new Conversation(answer.json.id);
  t.after(() => conversation.delete());
  return { conversation, info: answer.json };
}

async function assertInvalid(json, loc, what = JSON.stringify(json).slice(-200)) {
  const answer = await create(json);
  assert.equal(answer.status, 422, `${what}: ${answer.status} ${answer.text.slice(0, 200)}`);
  if (loc) assert.ok(answer.json.detail.some((problem) => problem.loc.join('/').startsWith(loc.join('/'))), `${what}: ${answer.text}`);
  return answer;
}

test('agent-server 10: a minimal start request creates an idle conversation', async (t) => {
  const { info } = await made(t, {
    agent: { kind: 'Agent', llm: llmOf(fake, 'text'), tools: [{ name: 'terminal' }] },
    workspace: { working_dir: WORKING_DIR },
  });
  assert.match(info.id, UUID);
  assert.equal(info.execution_status, 'idle');
  assert.equal(info.agent.kind, 'Agent');
  assert.equal(info.agent.llm.api_key, null);
  assert.equal(info.workspace.kind, 'LocalWorkspace');
  assert.match(info.created_at, /Z$/);
  assert.deepEqual(info.stats.usage_to_metrics, {});
});

test('agent-server 11: start requests with the same id create one conversation', async (t) => {
  const id = randomUUID();
  const { conversation, info } = await made(t, minimal({ conversation_id: id }));
  assert.equal(info.id, id);
  const again = await create(minimal({ conversation_id: id, initial_message: text('again') }));
  assert.deepEqual([again.status, again.json.id], [200, id]);
  assert.equal(await conversation.must(200, 'GET', '/events/count'), 0);
  assert.equal(await conversation.status(), 'idle');
});

test('agent-server 12: a start request without a workspace, or with invalid members, is refused', async () => {
  await assertInvalid({}, ['body', 'workspace']);
  const broken = await call('POST', '/api/conversations', { headers: { 'content-type': 'application/json' }, body: '{"agent":' });
  assert.deepEqual([broken.status, broken.json.detail[0].type, broken.json.detail[0].loc[0]], [422, 'json_invalid', 'body']);
});

test('agent-server 13: an unknown kind of agent is refused, unknown members are ignored', async (t) => {
  const request = minimal();
  await assertInvalid({ ...request, agent: { ...request.agent, kind: 'Nope' } }, ['body', 'agent']);
  const { info } = await made(t, { ...request, unknown: 1, agent: { ...request.agent, unknown: 2, llm: { ...request.agent.llm, unknown: 3 } } });
  assert.doesNotMatch(JSON.stringify(info), /"unknown"/);
});

test('agent-server 14: older clients\' form of a workspace is accepted, other kinds are refused', async (t) => {
  const { info } = await made(t, minimal({ workspace: { type: 'local', working_dir: WORKING_DIR } }));
  assert.deepEqual(info.workspace, { working_dir: WORKING_DIR, kind: 'LocalWorkspace' });
  await assertInvalid(minimal({ workspace: { kind: 'RemoteWorkspace', working_dir: WORKING_DIR } }), ['body', 'workspace']);
});

test('agent-server 15: limits of numbers and tags are enforced', async () => {
  await assertInvalid(minimal({ max_iterations: 0 }), ['body', 'max_iterations']);
  await assertInvalid(minimal({ tags: { 'Bad-Key': 'x' } }), ['body', 'tags']);
  await assertInvalid(minimal({ tags: { good: 'x'.repeat(257) } }), ['body', 'tags']);
});

/** Everything that the processes have logged so far. */
function logs() {
  return readdirSync(process.env.DEFT_LOG).map((name) => {
    try {
      return readFileSync(join(process.env.DEFT_LOG, name, 'current'), 'utf8');
    } catch (error) {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return '';
      throw error;
    }
  }).join('\n');
}

test('tracing can be set by headers, which are validated', async (t) => {
  const start = (headers, more = {}) => call('POST', '/api/conversations', { json: minimal(more), headers });
  const good = await start({
    'x-openhands-observability-span-name': 'work/1.a', 'x-openhands-observability-tags': 'a, b', 'x-openhands-observability-metadata': '{"a":1}',
    'x-openhands-observability-parent-span-context': 'c',
  });
  assert.equal(good.status, 201, good.text);
  t.after(() => call('DELETE', `/api/conversations/${good.json.id}`));
  for (const metadata of ['no JSON', '[1]', '1']) {
    const answer = await start({ 'x-openhands-observability-metadata': metadata });
    assert.deepEqual([answer.status, answer.json.detail[0].loc], [422, ['header', 'x-openhands-observability-metadata']], metadata);
  }
  assert.equal((await start({ 'x-openhands-observability-span-name': 'with space' })).status, 422);
  for (const name of ['', 'with space', 'x'.repeat(129)]) assert.equal((await start({}, { observability_span_name: name })).status, 422, name);
  const said = await start({ 'x-openhands-observability-metadata': 'no JSON' }, { observability_metadata: {} });
  assert.equal(said.status, 201, 'a header fills only what the body leaves out');
  t.after(() => call('DELETE', `/api/conversations/${said.json.id}`));
});

test('agent-server 16: values of secrets are never returned', async (t) => {
  const mark = `hunter2-${randomUUID()}`;
  const secrets = { A: { kind: 'StaticSecret', value: `${mark}-a` } };
  const own = await startModel({ key: `${mark}-key` });
  t.after(() => own.close());
  const llm = { ...llmOf(own, 'text'), api_key: `${mark}-key`, aws_secret_access_key: `${mark}-aws` };
  const { conversation, info } = await made(t, startRequest(llm, { secrets }));
  const socket = await conversation.socket();
  t.after(() => socket.close());
  await conversation.must(200, 'POST', '/secrets', { json: { secrets: { B: `${mark}-b`, C: { value: `${mark}-c` } } } });
  assert.equal(await conversation.ask('hi'), 'finished', 'the model was asked with the key');
  const refusals = [
    await create(startRequest({ ...llm, num_retries: 'many' }, { secrets })),
    await create(startRequest(llm, { secrets, max_iterations: 0 })),
    await create(startRequest(llm, { secrets: { A: { kind: 'Nope', value: mark } } })),
    await conversation.call('POST', '/secrets', { json: { secrets: { D: { kind: 'Nope', value: mark } } } }),
    await conversation.call('POST', '/secrets', { json: { secrets: [mark] } }),
  ];
  for (const { status, text: body } of refusals) {
    assert.equal(status, 422, body);
    assert.doesNotMatch(body, new RegExp(mark));
  }
  const read = [info, await conversation.info(), await conversation.events(), socket.frames, await must(200, 'GET', '/api/conversations/search')];
  assert.doesNotMatch(JSON.stringify(read), new RegExp(mark));
  const logged = logs();
  assert.match(logged, /\{"/, 'there are logs');
  assert.ok(!logged.includes(mark), 'no log holds one');
});

test('agent-server 17: a conversation is found by either form of its id', async (t) => {
  const { conversation } = await made(t);
  const dashed = await conversation.info();
  const hex = await must(200, 'GET', `/api/conversations/${conversation.id.replaceAll('-', '')}`);
  assert.deepEqual(hex, dashed);
  const unknown = await call('GET', `/api/conversations/${randomUUID()}`);
  assert.deepEqual([unknown.status, unknown.json], [404, { detail: 'Not Found' }]);
  const malformed = await call('GET', '/api/conversations/xyz');
  assert.deepEqual([malformed.status, malformed.json.detail[0].type, malformed.json.detail[0].loc], [422, 'uuid_parsing', ['path', 'conversation_id']]);
});

test('agent-server 18: several conversations are requested at once', async (t) => {
  const { conversation } = await made(t);
  const found = await must(200, 'GET', '/api/conversations', { query: { ids: [conversation.id, randomUUID()] } });
  assert.deepEqual(found.map((one) => one && one.id), [conversation.id, null]);
  const without = await call('GET', '/api/conversations');
  assert.deepEqual([without.status, without.json.detail[0].loc], [422, ['query', 'ids']]);
});

test('agent-server 19: conversations are paged, newest first', async (t) => {
  const ids = [];
  for (let i = 0; i < 3; i++) ids.unshift((await made(t)).conversation.id);
  const seen = [];
  let page;
  do {
    const query = { limit: 1, ...(page === undefined ? {} : { page_id: page }) };
    const found = await must(200, 'GET', '/api/conversations/search', { query });
    seen.push(...found.items.map(({ id }) => id));
    if (found.next_page_id !== null) assert.match(found.next_page_id, HEX);
    page = found.next_page_id;
  } while (page !== null);
  assert.deepEqual(seen.slice(0, 3), ids);
  assert.equal(new Set(seen).size, seen.length);
  assert.equal((await call('GET', '/api/conversations/search', { query: { status: 'bogus' } })).status, 422);
});

test('agent-server 20: the title can be changed, but not to an empty one', async (t) => {
  const { conversation } = await made(t);
  await conversation.must(200, 'PATCH', '', { json: { title: ' T ' } });
  assert.equal((await conversation.info()).title, 'T');
  for (const title of ['', '  ']) assert.equal((await conversation.call('PATCH', '', { json: { title } })).status, 422);
  assert.equal((await conversation.info()).title, 'T');
  assert.equal((await call('PATCH', `/api/conversations/${randomUUID()}`, { json: { title: 'T' } })).status, 404);
});

test('agent-server 21: a deleted conversation is a 404', async (t) => {
  const { conversation } = await made(t);
  assert.deepEqual(await conversation.must(200, 'DELETE'), { success: true });
  assert.equal((await conversation.call('DELETE')).status, 404);
  assert.equal((await conversation.call('GET')).status, 404);
  const socket = await Socket.open(`/sockets/events/${conversation.id}`);
  t.after(() => socket.close());
  assert.equal((await socket.end()).code, 4004);
});

test('agent-server 22: an initial message starts a run', async (t) => {
  const { conversation } = await made(t, minimal({ initial_message: text('hi') }));
  assert.equal(await conversation.rest(['finished', 'error']), 'finished');
});

test('agent-server 41: all forms of secrets are accepted, and only known kinds of policies', async (t) => {
  const { conversation } = await made(t);
  const unknown = await conversation.call('POST', '/confirmation_policy', { json: { policy: { kind: 'Foo' } } });
  assert.deepEqual([unknown.status, unknown.json.detail[0].loc.slice(0, 2)], [422, ['body', 'policy']]);
  for (const policy of [{ kind: 'AlwaysConfirm' }, { kind: 'ConfirmRisky', threshold: 'MEDIUM', confirm_unknown: false }, { kind: 'NeverConfirm' }]) {
    await conversation.must(200, 'POST', '/confirmation_policy', { json: { policy } });
    assert.deepEqual((await conversation.info()).confirmation_policy, policy);
  }
  for (const secret of ['plain', { value: 'wrapped' }, { kind: 'StaticSecret', value: 'whole' }]) {
    assert.deepEqual(await conversation.must(200, 'POST', '/secrets', { json: { secrets: { NAME: secret } } }), { success: true });
  }
  assert.deepEqual(Object.keys((await conversation.info()).secret_registry.secret_sources), ['NAME']);
});

test('lists, batches and single reads return the same conversation, during and after a run', async (t) => {
  fake.setScenario('listed', [{ calls: [{ name: 'think', arguments: { thought: 'hm', security_risk: 'LOW', summary: 's' } }] }, { park: true, text: 'done' }]);
  const tools = [{ name: 'look', description: 'A "tool"', parameters: { type: 'object', properties: {} } }];
  const { conversation } = await made(t, { ...startRequest(llmOf(fake, 'listed')), client_tools: tools });
  const compared = async () => {
    const [inList] = (await must(200, 'GET', '/api/conversations/search', { query: { limit: 100 } })).items.filter(({ id }) => id === conversation.id);
    const [inBatch] = await must(200, 'GET', '/api/conversations', { query: { ids: conversation.id } });
    const whole = await conversation.must(200, 'GET', '', { query: { include_skills: true } });
    const events = await conversation.events();
    const alone = await conversation.info();
    for (const info of [inList, inBatch, alone]) assert.deepEqual(Object.keys(info).sort(), Object.keys(whole).sort());
    return [{ inList, inBatch, whole, alone }, events.filter(({ kind }) => kind !== 'ConversationStateUpdateEvent').at(-1)?.id ?? null];
  };
  const assertAlike = async () => {
    const [{ inList, inBatch, whole, alone }, leaf] = await compared();
    for (const info of [inList, inBatch, alone]) assert.deepEqual({ ...info, runtime_info: null }, { ...whole, runtime_info: null });
    assert.equal(alone.leaf_event_id, leaf);
    assert.deepEqual(alone.client_tools.map(({ name }) => name), ['look']);
  };
  await assertAlike();
  await conversation.say('go', true);
  await waitUntil(() => fake.nParked() > 0, 'the model is asked for the last time');
  await assertAlike();
  fake.release();
  await waitUntil(async () => (await conversation.status()) === 'finished', 'the run ends');
  await assertAlike();
  await conversation.must(200, 'PATCH', '', { json: { title: 'A "new" title' } });
  await conversation.must(200, 'POST', '/confirmation_policy', { json: { policy: { kind: 'AlwaysConfirm' } } });
  await conversation.must(200, 'POST', '/secrets', { json: { secrets: { TOKEN: 'a-secret-value' } } });
  await assertAlike();
  const info = await conversation.info();
  assert.deepEqual([info.title, info.confirmation_policy.kind, Object.keys(info.secret_registry.secret_sources)], ['A "new" title', 'AlwaysConfirm', ['TOKEN']]);
});

test('lists are compressed for clients behind a proxy, not for those on this machine', async (t) => {
  await made(t);
  const coding = (headers) =>
    within(new Promise((resolve, reject) => {
      const url = new URL('/api/conversations/search', AGENT_URL);
      http.get(url, { headers: { 'X-Session-API-Key': API_KEY, 'Accept-Encoding': 'gzip', ...headers } }, (answer) => {
        answer.resume();
        answer.on('end', () => resolve([answer.statusCode, answer.headers['content-encoding']]));
      }).on('error', reject);
    }), 'the list comes');
  assert.deepEqual(await coding({}), [200, undefined]);
  for (const header of ['Via', 'X-Forwarded-For']) assert.deepEqual(await coding({ [header]: '192.0.2.7' }), [200, 'gzip']);
});
