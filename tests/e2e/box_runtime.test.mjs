// The sandbox of a conversation: state, release, restart, and isolation.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { call, must } from './support/api.mjs';
import { Box } from './support/box.mjs';
import { Conversation, isResult, llmOf, observed, startRequest } from './support/conversation.mjs';
import { WORKING_DIR } from './support/instance.mjs';
import { terminal } from './support/model_calls.mjs';
import { Socket } from './support/socket.mjs';

const STATUSES = ['available', 'starting', 'missing', 'ownership_lost', 'error'];

let fake;
before(async () => { fake = await startModel(); });
after(() => fake.close());

async function fresh(t, more = {}) {
  const made = await Conversation.create(startRequest(llmOf(fake, 'hello'), { conversation_runtime: 'docker', ...more }));
  t.after(() => made.delete());
  return made;
}

test('agent-server 68: a sandbox\'s state is reported by its own route and in the conversation', async (t) => {
  const request = startRequest(llmOf(fake, 'text'));
  const made = await must(201, 'POST', '/api/conversations', { json: request });
  t.after(() => call('DELETE', `/api/conversations/${made.id}`));
  assert.equal(made.runtime_info, null);
  const info = await must(200, 'GET', `/api/conversations/${made.id}/runtime`);
  assert.ok(STATUSES.includes(info.runtime_status), info.runtime_status);
  assert.deepEqual([info.can_resume, info.runtime_error], [true, null]);
  const one = await must(200, 'GET', `/api/conversations/${made.id}`);
  const [listed] = await must(200, 'GET', '/api/conversations', { query: { ids: made.id } });
  const { items } = await must(200, 'GET', '/api/conversations/search', { query: { limit: 100 } });
  for (const found of [one, listed, items.find(({ id }) => id === made.id)]) assert.deepEqual(found.runtime_info, info);
  assert.equal((await call('GET', `/api/conversations/${randomUUID()}/runtime`)).status, 404);
});

test('agent-server 74: a released sandbox is reported as missing, keeps its files, and can be started again', async (t) => {
  const one = await fresh(t);
  const box = new Box(one.path);
  await box.run('echo kept > kept.txt');
  const release = await one.call('DELETE', '/runtime');
  assert.deepEqual([release.status, release.text], [204, '']);
  const missing = { runtime_status: 'missing', can_resume: true, runtime_error: null };
  assert.deepEqual(await one.must(200, 'GET', '/runtime'), missing);
  assert.equal(typeof await one.must(200, 'GET', '/events/count'), 'number');
  assert.deepEqual((await one.info()).runtime_info, missing, 'reading starts nothing');
  assert.equal((await one.must(200, 'POST', '/runtime/reprovision', { json: {} })).runtime_status, 'available');
  assert.equal(await box.run('cat kept.txt'), 'kept\n');
  assert.equal(await one.ask('Create hello.txt'), 'finished');
});

test('agent-server 76: a scoped call starts a released sandbox', async (t) => {
  const one = await fresh(t);
  const box = new Box(one.path);
  assert.equal((await box.upload(`${WORKING_DIR}/f`, 'text')).status, 200);
  for (const use of [
    () => box.run('cat f'),
    async () => (await box.download(`${WORKING_DIR}/f`)).text,
    async () => (await one.call('GET', '/workspace/f')).text,
  ]) {
    await one.must(204, 'DELETE', '/runtime');
    assert.equal(await use(), 'text');
  }
  await one.must(204, 'DELETE', '/runtime');
  assert.deepEqual(await box.must(200, 'GET', '/git/changes', { query: { path: WORKING_DIR } }), []);
});

test('agent-server 75: a sandbox\'s key gives access to its own conversation only', async (t) => {
  const [one, two] = [await fresh(t), await fresh(t)];
  const { session_api_key: key } = await one.must(200, 'POST', '/runtime/credentials', { json: {} });
  assert.equal(await new Box(one.path, { key }).run('echo in'), 'in\n');
  assert.equal((await call('GET', one.path, { key })).status, 200);
  for (const [method, path, json] of [['GET', ''], ['POST', '/bash/execute_bash_command', { command: 'true' }], ['GET', `/file/download?path=${WORKING_DIR}/x`],
    ['GET', `/git/changes?path=${WORKING_DIR}`], ['GET', '/workspace/x'], ['GET', '/runtime']]) {
    assert.equal((await call(method, two.path + path, { key, json })).status, 404, path);
  }
  assert.equal((await call('GET', `/api/file/download-trajectory/${two.id}`, { key })).status, 404);
  for (const kind of ['events', 'session']) {
    const [own, foreign] = await Promise.all([one, two].map(({ id }) => Socket.open(`/sockets/${kind}/${id}`, { key })));
    t.after(() => own.close());
    await own.until((frames) => frames.length > 0, 'the first frame');
    assert.equal((await foreign.end()).code, 4004, kind);
  }
});

test('agent-server 77: conversations with own sandboxes share nothing, those in the shared sandbox share files', async (t) => {
  const [one, two] = [await fresh(t), await fresh(t)];
  const mark = `mark-${randomUUID()}`;
  const own = await new Box(one.path).must(200, 'POST', '/bash/execute_bash_command', { json: { command: `echo ${mark} > ${mark}` } });
  assert.equal((await new Box(two.path).download(`${WORKING_DIR}/${mark}`)).status, 404);
  assert.equal((await two.call('GET', `/bash/bash_events/${own.id}`)).status, 404);
  const [three, four] = [await fresh(t, { conversation_runtime: 'local' }), await fresh(t, { conversation_runtime: 'local' })];
  const shared = await new Box(three.path).must(200, 'POST', '/bash/execute_bash_command', { json: { command: `echo ${mark} > ${mark}` } });
  t.after(() => new Box().run(`rm -f ${WORKING_DIR}/${mark}`));
  assert.equal((await new Box(four.path).download(`${WORKING_DIR}/${mark}`)).text, `${mark}\n`);
  assert.equal((await four.call('GET', `/bash/bash_events/${shared.id}`)).status, 404);
  for (const [mine, other] of [[one, two], [three, four]]) {
    const listed = async (conversation) => (await conversation.must(200, 'GET', '/bash/bash_events/search')).items.filter(({ kind }) => kind === 'BashCommand');
    assert.equal((await listed(mine)).length, 1, 'the command is on the list of its conversation');
    assert.deepEqual(await listed(other), []);
  }
});

test('agent-server 78: a container has the requested limits', async (t) => {
  const one = await fresh(t, { container: { memory: '512m', cpus: 0.5 } });
  const seen = await new Box(one.path).run('cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/cpu.max 2>/dev/null || { cat /sys/fs/cgroup/memory/memory.limit_in_bytes; echo $(cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu/cpu.cfs_period_us); }');
  assert.equal(seen, `${512 << 20}\n50000 100000\n`);
  for (const [more, type] of [[{ container: { memory: 'lots' } }], [{ container: { cpus: 0 } }], [{ container: { gpus: 1 } }], [{ container: { memory: '999t' } }, 'value_error'], [{ container: { memory: '1k' } }, 'value_error'], [{ container: { cpus: 1e6 } }, 'value_error'], [{ conversation_runtime: 'kubernetes' }, 'literal_error']]) {
    const answer = await call('POST', '/api/conversations', { json: startRequest(llmOf(fake, 'text'), { conversation_runtime: 'docker', ...more }) });
    assert.equal(answer.status, 422, JSON.stringify(more));
    if (type) assert.equal(answer.json.detail[0].type, type);
  }
});

test('conversations of one sandbox have shells of their own', async (t) => {
  const stays = (name) => [{ calls: [terminal(`cd /tmp && OWN=${name}`)] }, { calls: [terminal('echo "[$OWN] in $PWD"')] }, { text: 'done' }];
  for (const name of ['first', 'second']) fake.setScenario(name, stays(name));
  const two = await Promise.all(['first', 'second', 'text'].map(async (name) => {
    const one = await Conversation.start(fake, name, { conversation_runtime: 'local' });
    t.after(() => one.delete());
    return one;
  }));
  await Promise.all(two.map(async (one) => assert.equal(await one.ask('go'), 'finished')));
  for (const [i, name] of ['first', 'second'].entries()) {
    const seen = (await two[i].events()).filter(isResult('terminal')).map(observed);
    assert.match(seen[1], new RegExp(`^\\[${name}\\] in /tmp`));
  }
});
