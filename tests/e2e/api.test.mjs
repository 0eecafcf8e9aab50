// Every route of the agent API: access, and the shape of its answers.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { call, callFrom, getWithBody, must } from './support/api.mjs';
import { Conversation, llmOf, startRequest, text } from './support/conversation.mjs';
import { rowCounts } from './support/database.mjs';
import { API_KEY, WORKING_DIR } from './support/instance.mjs';
import { newUser } from './support/users.mjs';
import { waitUntil } from './support/wait.mjs';

const EVENT_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}$/;
const UTC_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const HEX = /^[0-9a-f]{32}$/;
const STATUSES = ['idle', 'running', 'paused', 'waiting_for_confirmation', 'finished', 'error', 'stuck', 'deleting'];

let fake;
let other;
let conversation;

before(async () => {
  fake = await startModel();
  other = await newUser();
  conversation = await Conversation.start(fake, 'hello', { tags: { made: 'by tests' } });
  assert.equal(await conversation.ask('Create hello.txt'), 'finished');
});

after(async () => {
  await conversation?.delete();
  await fake.close();
});

async function fresh(t, request = startRequest(llmOf(fake, 'text'))) {
  const made = await Conversation.create(request);
  t.after(() => made.delete());
  return made;
}

// Routes with a conversation's id: method, path after the id, a valid body.
const SCOPED = [
  ['GET', ''], ['PATCH', '', { title: 'T' }], ['DELETE', ''],
  ['POST', '/run', {}], ['POST', '/pause', {}], ['POST', '/interrupt', {}],
  ['POST', '/secrets', { secrets: { NAME: 'value' } }],
  ['POST', '/confirmation_policy', { policy: { kind: 'NeverConfirm' } }],
  ['POST', '/security_analyzer', { security_analyzer: null }],
  ['GET', '/agent_final_response'],
  ['GET', '/events/search'], ['GET', '/events/count'], ['POST', '/events', text('hi')],
  ['GET', `/events/${randomUUID()}`],
  ['POST', '/events/respond_to_confirmation', { accept: false }],
  ['POST', '/bash/start_bash_command', { command: 'true' }], ['POST', '/bash/execute_bash_command', { command: 'true' }],
  ['GET', '/bash/bash_events/search'], ['GET', `/bash/bash_events/${'0'.repeat(32)}`], ['DELETE', '/bash/bash_events'],
  ['POST', `/bash/bash_commands/${randomUUID()}/stop`],
  ['GET', `/file/download?path=${WORKING_DIR}/x`], ['POST', `/file/create_directory?path=${WORKING_DIR}/x`],
  ['GET', '/runtime'], ['DELETE', '/runtime'], ['POST', '/runtime/reprovision', {}], ['POST', '/runtime/credentials', {}],
];

const SHARED = [
  ['POST', '/api/conversations', {}], ['GET', `/api/conversations?ids=${randomUUID()}`], ['GET', '/api/conversations/search'],
  ['GET', '/api/conversations/count'],
  ['POST', '/api/bash/start_bash_command', { command: 'true' }], ['POST', '/api/bash/execute_bash_command', { command: 'true' }],
  ['GET', '/api/bash/bash_events/search'], ['GET', `/api/bash/bash_events/${'0'.repeat(32)}`], ['DELETE', '/api/bash/bash_events'],
  ['POST', `/api/bash/bash_commands/${randomUUID()}/stop`],
  ['GET', '/api/file/download?path=/tmp/x'], ['POST', '/api/file/create_directory?path=/tmp/x'], ['GET', '/api/file/home'],
  ['GET', '/api/file/search_subdirs?path=/'],
];

test('every route requires a known key', async () => {
  const before = await rowCounts();
  const paths = [...SHARED, ...SCOPED.map(([method, path, json]) => [method, `/api/conversations/${conversation.id}${path}`, json])];
  for (const [i, [method, path, json]] of paths.entries()) {
    for (const key of [null, '', `sk-deft-${'x'.repeat(43)}`, `${API_KEY}x`, API_KEY.slice(0, -1)]) {
      const answer = await callFrom(`127.0.75.${i + 1}`, method, path, { key, json });
      assert.equal(answer.status, 401, `${method} ${path} with ${key}`);
      assert.deepEqual(answer.json, { detail: 'Unauthorized' });
    }
  }
  const inQuery = await call('GET', '/api/conversations/search', { key: null, query: { session_api_key: API_KEY } });
  assert.equal(inQuery.status, 401, 'a key in the query is none');
  assert.deepEqual(await rowCounts(), before);
});

test('another user\'s conversation looks like a missing one', async () => {
  const before = await rowCounts();
  const unknown = randomUUID();
  for (const [method, path, json] of SCOPED) {
    const foreign = await call(method, `/api/conversations/${conversation.id}${path}`, { key: other.key, json });
    const missing = await call(method, `/api/conversations/${unknown}${path}`, { key: other.key, json });
    assert.equal(foreign.status, 404, `${method} ${path}: ${foreign.text}`);
    assert.equal(missing.status, 404, `${method} ${path}: ${missing.text}`);
    assert.equal(foreign.text.replaceAll(conversation.id, 'ID'), missing.text.replaceAll(unknown, 'ID'), `${method} ${path}`);
    assert.equal(typeof foreign.json.detail, 'string');
  }
  assert.deepEqual(await rowCounts(), before);
  const found = await must(200, 'GET', '/api/conversations', { key: other.key, query: { ids: [conversation.id] } });
  assert.deepEqual(found, [null]);
  assert.equal((await must(200, 'GET', '/api/conversations/search', { key: other.key })).items.length, 0);
  assert.equal(await must(200, 'GET', '/api/conversations/count', { key: other.key }), 0);
});

test('create returns the conversation, and creates it once per id', async (t) => {
  const id = randomUUID();
  const request = { ...startRequest(llmOf(fake, 'text')), conversation_id: id, unknown: 1 };
  request.agent.llm.unknown = 1;
  const info = await must(201, 'POST', '/api/conversations', { json: request });
  t.after(() => call('DELETE', `/api/conversations/${id}`));
  assert.equal(info.id, id);
  assert.equal(info.execution_status, 'idle');
  assert.equal(info.agent.kind, 'Agent');
  assert.equal(info.agent.llm.api_key, null);
  assert.deepEqual(info.workspace, { working_dir: WORKING_DIR, kind: 'LocalWorkspace' });
  assert.match(info.created_at, UTC_TIME);
  assert.deepEqual(info.stats, { usage_to_metrics: {} });
  const again = await call('POST', '/api/conversations', { json: { ...request, initial_message: text('again') } });
  assert.equal(again.status, 200);
  assert.equal(again.json.id, id);
  assert.equal(await must(200, 'GET', `/api/conversations/${id}/events/count`), 0);
  assert.doesNotMatch(again.text, /sk-test/);
});

test('a conversation is found by both forms of its id, in single and batch requests', async () => {
  const info = await conversation.info();
  assert.match(info.id, UUID);
  assert.ok(STATUSES.includes(info.execution_status));
  const { stats: _, ...plain } = info;
  const { stats: __, ...byHex } = await must(200, 'GET', `/api/conversations/${conversation.id.replaceAll('-', '')}`);
  assert.deepEqual(byHex, plain);
  const unknown = randomUUID();
  const batch = await must(200, 'GET', '/api/conversations', { query: { ids: [unknown, conversation.id, unknown] } });
  assert.deepEqual(batch.map((one) => one && one.id), [null, conversation.id, null]);
  assert.equal((await call('GET', '/api/conversations')).status, 422);
  const many = Array.from({ length: 100 }, () => unknown);
  assert.equal((await call('GET', '/api/conversations', { query: { ids: many } })).status, 422);
});

test('search pages through all conversations of the user', async (t) => {
  const { key } = await newUser();
  const made = [];
  for (let i = 0; i < 3; i++) {
    const one = await Conversation.create(startRequest(llmOf(fake, 'text')), { key });
    t.after(() => one.delete());
    made.push(one.id);
  }
  const seen = [];
  let page;
  do {
    const { items, next_page_id: next } = await must(200, 'GET', '/api/conversations/search', { key, query: { limit: 1, ...(page ? { page_id: page } : {}) } });
    seen.push(items[0].id);
    if (next !== null) assert.match(next, HEX);
    page = next;
  } while (page !== null);
  assert.deepEqual(seen, [...made].reverse(), 'newest first');
  assert.equal(seen.length, await must(200, 'GET', '/api/conversations/count', { key }));
  const { items: oldest } = await must(200, 'GET', '/api/conversations/search', { key, query: { sort_order: 'CREATED_AT', limit: 100 } });
  assert.deepEqual(oldest.map(({ id }) => id), made);
  const { items: idle } = await must(200, 'GET', '/api/conversations/search', { key, query: { status: 'idle' } });
  assert.ok(idle.every((one) => one.execution_status === 'idle'));
  assert.equal(idle.length, 3);
  for (const query of [{ status: 'bogus' }, { sort_order: 'bogus' }, { limit: 0 }, { limit: -1 }, { limit: 101 }, { limit: 'x' }]) {
    assert.equal((await call('GET', '/api/conversations/search', { query })).status, 422, JSON.stringify(query));
  }
});

test('events are paged, filtered and counted', async () => {
  const stored = await conversation.events();
  for (const event of stored) {
    assert.match(event.timestamp, EVENT_TIME);
    for (const member of ['id', 'source', 'kind']) assert.equal(typeof event[member], 'string');
    for (const [member, value] of Object.entries(event)) assert.notEqual(value, null, `${event.kind}.${member}`);
  }
  assert.ok(stored.findIndex(({ kind }) => kind === 'SystemPromptEvent') < stored.findIndex(({ kind }) => kind === 'MessageEvent'));
  const walk = async (query) => {
    const ids = [];
    let page;
    do {
      const { items, next_page_id: next } = await conversation.must(200, 'GET', '/events/search', { query: { ...query, ...(page ? { page_id: page } : {}) } });
      assert.ok(items.length <= query.limit);
      ids.push(...items.map(({ id }) => id));
      page = next;
    } while (page);
    return ids;
  };
  const ids = stored.map(({ id }) => id);
  assert.deepEqual(await walk({ limit: 2 }), ids);
  assert.deepEqual(await walk({ limit: 7, sort_order: 'TIMESTAMP_DESC' }), [...ids].reverse());
  assert.equal(await conversation.must(200, 'GET', '/events/count'), ids.length);
  const path = 'openhands.sdk.event.llm_convertible.message.MessageEvent';
  for (const query of [{ kind: 'MessageEvent' }, { kind: path }, { source: 'user' }, { body: 'CREATE HELLO' }]) {
    assert.equal(await conversation.must(200, 'GET', '/events/count', { query }), 1, JSON.stringify(query));
    assert.deepEqual((await walk({ limit: 5, ...query })).length, 1);
  }
  const { timestamp } = stored[5];
  const at = (test) => stored.filter((event) => test(event.timestamp)).length;
  assert.equal(await conversation.must(200, 'GET', '/events/count', { query: { timestamp__gte: timestamp } }), at((one) => one >= timestamp));
  assert.equal(await conversation.must(200, 'GET', '/events/count', { query: { timestamp__lt: timestamp } }), at((one) => one < timestamp));
  assert.deepEqual(await walk({ limit: 100, page_id: randomUUID() }), ids, 'an unknown page begins at the beginning');
  for (const query of [{ limit: 0 }, { limit: -5 }, { limit: 101 }, { limit: 'many' }, { limit: '99999999999999999999' }, { sort_order: 'x' }, { timestamp__gte: 'x' }]) {
    assert.equal((await conversation.call('GET', '/events/search', { query })).status, 422, JSON.stringify(query));
  }
});

test('events are found by id, one or several', async () => {
  const stored = await conversation.events();
  const one = await conversation.must(200, 'GET', `/events/${stored[3].id}`);
  assert.equal(one.id, stored[3].id);
  assert.equal((await conversation.call('GET', `/events/${randomUUID()}`)).status, 404);
  const batch = await getWithBody(`${conversation.path}/events`, JSON.stringify([stored[1].id, randomUUID(), stored[0].id]));
  assert.equal(batch.status, 200, batch.text);
  assert.deepEqual(batch.json.map((event) => event && event.id), [stored[1].id, null, stored[0].id]);
});

test('title and tags can be changed', async (t) => {
  const one = await fresh(t);
  assert.deepEqual(await one.must(200, 'PATCH', '', { json: { title: ' T ', tags: { a: 'b' } } }), { success: true });
  const info = await one.info();
  assert.equal(info.title, 'T');
  assert.deepEqual(info.tags, { a: 'b' });
  assert.deepEqual((await one.events()).find(({ key }) => key === 'tags').value, { a: 'b' });
  for (const json of [{ title: '' }, { title: '  ' }, { title: 'x'.repeat(201) }, { title: 5 }, { tags: { 'Bad-Key': 'x' } }, { tags: { a: 'x'.repeat(257) } }, { tags: [] }, []]) {
    assert.equal((await one.call('PATCH', '', { json })).status, 422, JSON.stringify(json));
  }
  assert.equal((await one.info()).title, 'T');
});

test('a second run is refused during a run, and stop has no effect on an idle conversation', async (t) => {
  const one = await fresh(t, startRequest(llmOf(fake, 'park')));
  await one.say('wait');
  assert.deepEqual(await one.run(), { success: true });
  assert.equal(await one.status(), 'running');
  const second = await one.call('POST', '/run');
  assert.equal(second.status, 409);
  assert.equal(second.json.detail, 'Conversation already running. Wait for completion or pause first.');
  assert.equal((await one.must(200, 'POST', '/interrupt')).success, true);
  assert.equal(await one.status(), 'paused');
  const n = (await one.events()).length;
  assert.deepEqual(await conversation.must(200, 'POST', '/pause', { json: {} }), { success: true });
  assert.equal(await conversation.status(), 'finished');
  assert.equal((await one.events()).length, n);
});

test('secrets, policies and analyzers can be set, and values of secrets are not returned', async (t) => {
  const one = await fresh(t);
  const secrets = { PLAIN: 'hunter2-plain', OBJECT: { value: 'hunter2-object' }, SOURCE: { kind: 'StaticSecret', value: 'hunter2-source' } };
  await one.must(200, 'POST', '/secrets', { json: { secrets } });
  await one.must(200, 'POST', '/confirmation_policy', { json: { policy: { kind: 'AlwaysConfirm' } } });
  await one.must(200, 'POST', '/security_analyzer', { json: { security_analyzer: { kind: 'LLMSecurityAnalyzer' } } });
  const info = await one.info();
  assert.equal(info.confirmation_policy.kind, 'AlwaysConfirm');
  assert.equal(info.security_analyzer.kind, 'LLMSecurityAnalyzer');
  await one.say('hi');
  assert.doesNotMatch(JSON.stringify([info, await one.events()]), /hunter2|sk-test/);
  const bad = await one.call('POST', '/secrets', { json: { secrets: { A: { kind: 'Nope', value: 'hunter2-bad' } } } });
  assert.equal(bad.status, 422);
  assert.doesNotMatch(bad.text, /hunter2/);
  for (const [path, json] of [
    ['/confirmation_policy', { policy: { kind: 'Foo' } }], ['/confirmation_policy', {}], ['/security_analyzer', {}], ['/security_analyzer', { security_analyzer: { kind: 'Foo' } }],
    ['/secrets', {}], ['/secrets', { secrets: [] }], ['/events/respond_to_confirmation', {}], ['/events/respond_to_confirmation', { accept: 'perhaps' }],
  ]) {
    assert.equal((await one.call('POST', path, { json })).status, 422, `${path} ${JSON.stringify(json)}`);
  }
});

test('a conversation\'s sandbox is shown, released and started again with its files', async (t) => {
  const one = await fresh(t, startRequest(llmOf(fake, 'text'), { conversation_runtime: 'docker' }));
  const status = async () => (await one.must(200, 'GET', '/runtime')).runtime_status;
  assert.equal((await one.must(200, 'GET', '/runtime')).can_resume, true);
  await one.must(200, 'POST', '/bash/execute_bash_command', { json: { command: 'echo kept > kept.txt' } });
  assert.equal(await status(), 'available');
  const { session_api_key: key } = await one.must(200, 'POST', '/runtime/credentials');
  assert.equal((await call('GET', one.path, { key })).status, 200, 'the sandbox key opens its conversation');
  assert.equal((await call('GET', conversation.path, { key })).status, 404, 'and no other');
  const release = await one.call('DELETE', '/runtime');
  assert.deepEqual([release.status, release.text], [204, '']);
  assert.equal(await status(), 'missing');
  assert.equal((await one.must(200, 'POST', '/runtime/reprovision')).runtime_status, 'available');
  assert.equal((await one.must(200, 'POST', '/bash/execute_bash_command', { json: { command: 'cat kept.txt' } })).stdout, 'kept\n');
});

test('commands of clients run, are listed and can be stopped', async (t) => {
  const scoped = await fresh(t);
  for (const path of ['/api/bash', `${scoped.path}/bash`]) {
    const search = (query) => must(200, 'GET', `${path}/bash_events/search`, { query });
    const command = await must(200, 'POST', `${path}/start_bash_command`, { json: { command: 'echo out; echo err >&2; exit 3' } });
    assert.match(command.id, HEX);
    assert.match(command.timestamp, UTC_TIME);
    const query = { command_id__eq: command.id, kind__eq: 'BashOutput', sort_order: 'TIMESTAMP' };
    const [output] = await waitUntil(async () => {
      const { items } = await search(query);
      return items.some((item) => item.exit_code !== null) && items;
    }, 'the output');
    assert.deepEqual([output.exit_code, output.stdout, output.stderr, output.order, output.kind], [3, 'out\n', 'err\n', 0, 'BashOutput']);
    assert.deepEqual((await search({ ...query, order__gt: 0 })).items, []);
    assert.equal((await must(200, 'GET', `${path}/bash_events/${output.id}`)).id, output.id);

    const whole = await must(200, 'POST', `${path}/execute_bash_command`, { json: { command: "head -c 3145728 /dev/zero | tr '\\0' x" } });
    assert.equal(whole.stdout.length, 3145728);
    const late = await must(200, 'POST', `${path}/execute_bash_command`, { json: { command: 'sleep 30', timeout: 1 } });
    assert.equal(late.exit_code, -1);
    const sleeping = await must(200, 'POST', `${path}/start_bash_command`, { json: { command: 'sleep 60' } });
    for (let i = 0; i < 2; i++) assert.deepEqual(await must(200, 'POST', `${path}/bash_commands/${sleeping.id}/stop`), { success: true });
    await waitUntil(async () => (await search({ command_id__eq: sleeping.id, kind__eq: 'BashOutput' })).items.length > 0, 'the end of what was stopped');
    assert.equal((await call('POST', `${path}/bash_commands/${randomUUID()}/stop`)).status, 404);
    assert.equal((await call('POST', `${path}/bash_commands/xyz/stop`)).status, 422);
    assert.equal((await call('POST', `${path}/execute_bash_command`, { json: {} })).status, 422);
  }
  const own = await scoped.must(200, 'POST', '/bash/start_bash_command', { json: { command: 'pwd' } });
  const listed = await must(200, 'GET', '/api/bash/bash_events/search', { query: { limit: 100, sort_order: 'TIMESTAMP_DESC' } });
  assert.ok(!listed.items.some(({ id }) => id === own.id), 'a scoped command is not in the global list');
  const { stdout } = await scoped.must(200, 'POST', '/bash/execute_bash_command', { json: { command: 'pwd' } });
  assert.equal(stdout, `${WORKING_DIR}\n`);
});

test('scoped paths are confined to the workspace', async (t) => {
  const one = await fresh(t);
  const form = () => {
    const body = new FormData();
    body.append('file', new Blob(['x']), 'x');
    return body;
  };
  const outside = 'path must be inside the conversation workspace';
  for (const path of ['/etc/x', `${WORKING_DIR}/../../etc/x`, 'relative', `${WORKING_DIR}evil/x`, '/']) {
    for (const answer of [
      await one.call('GET', '/file/download', { query: { path } }),
      await one.call('POST', '/file/upload', { query: { path }, body: form() }),
      await one.call('POST', '/file/create_directory', { query: { path } }),
    ]) {
      assert.equal(answer.status, 422, `${path}: ${answer.text}`);
      assert.equal(answer.json.detail, outside);
    }
  }
  for (const cwd of ['/etc', `${WORKING_DIR}/..`]) {
    const answer = await one.call('POST', '/bash/execute_bash_command', { json: { command: 'pwd', cwd } });
    assert.equal(answer.status, 422, `${cwd}: ${answer.text}`);
    assert.equal(answer.json.detail, 'cwd must be inside the conversation workspace');
  }
  const unknown = randomUUID();
  const missing = await call('GET', `/api/conversations/${unknown}/file/download`, { query: { path: `${WORKING_DIR}/x` } });
  assert.deepEqual([missing.status, missing.json.detail], [404, `Conversation not found: ${unknown}`]);
  const malformed = await call('GET', `/api/conversations/xyz/file/download`, { query: { path: `${WORKING_DIR}/x` } });
  assert.equal(malformed.status, 422);
  assert.deepEqual(malformed.json.detail[0].loc, ['path', 'runtime_conversation_id']);
});

// deft-fcgi checks names only; links are resolved in the sandbox.
test('agent-server 70: a link does not lead scoped paths out of the workspace', async (t) => {
  const one = await fresh(t);
  await one.must(200, 'POST', '/bash/execute_bash_command', { json: { command: 'ln -sfn /etc outward' } });
  const download = await one.call('GET', '/file/download', { query: { path: `${WORKING_DIR}/outward/passwd` } });
  assert.deepEqual([download.status, download.json?.detail], [422, 'path must be inside the conversation workspace']);
  const form = new FormData();
  form.append('file', new Blob(['x']), 'x');
  const upload = await one.call('POST', '/file/upload', { query: { path: `${WORKING_DIR}/outward/through-a-link` }, body: form });
  assert.deepEqual([upload.status, upload.json?.detail], [422, 'path must be inside the conversation workspace']);
  const there = await one.must(200, 'POST', '/bash/execute_bash_command', { json: { command: 'ls /etc/through-a-link' } });
  assert.notEqual(there.exit_code, 0, 'nothing was written');
  const command = await one.call('POST', '/bash/execute_bash_command', { json: { command: 'pwd', cwd: `${WORKING_DIR}/outward` } });
  assert.deepEqual([command.status, command.json?.detail], [422, 'cwd must be inside the conversation workspace']);
});
