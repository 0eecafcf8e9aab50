// The Runtime API for other programs: keys, routes, and tenants.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { engine, tar } from './runtime_house.mjs';
import { call } from './support/api.mjs';
import { execute, query } from './support/database.mjs';
import { AGENT_URL, API_KEY, APP_URL, DEFT } from './support/instance.mjs';
import { waitUntil } from './support/wait.mjs';

const IMAGE = process.env.DEFT_SANDBOX_IMAGE ?? 'deft-sandbox:1';
const names = [];

/** A tenant: a key, and the calls made with it. */
class Tenant {
  constructor() {
    this.name = `test-${randomUUID()}`;
    this.key = execFileSync(DEFT, ['key', '--runtime', this.name]).toString().trim();
    names.push(this.name);
  }

  call(method, path, json) {
    return call(method, `/runtime-api${path}`, { url: APP_URL, key: null, json, headers: { 'x-api-key': this.key } });
  }

  async must(status, method, path, json) {
    const answer = await this.call(method, path, json);
    assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`);
    return answer.json;
  }

  /** A start as the SDK requests it, with the members of `more`. */
  start(session, more = {}) {
    return this.call('POST', '/start', {
      image: IMAGE, command: '/usr/local/bin/openhands-agent-server --port 60000', working_dir: '/', environment: {}, session_id: session,
      run_as_user: 10001, fs_group: 10001, image_pull_policy: 'IfNotPresent', runtime_class: 'sysbox-runc', ...more,
    });
  }

  async running(session, more = {}) {
    const { status, json, text } = await this.start(session, { wait_ms: 100000, ...more });
    assert.equal(status, 200, text);
    assert.equal(json.status, 'running', json.status_detail);
    return json;
  }
}

/** Runs a command in the key's sandbox. */
async function run(key, command) {
  const answer = await call('POST', '/api/bash/execute_bash_command', { key, json: { command } });
  assert.equal(answer.status, 200, answer.text);
  return answer.json.stdout;
}

let one;
let other;
before(() => {
  one = new Tenant();
  other = new Tenant();
});

after(async () => {
  for (const tenant of [one, other]) {
    const { json } = await tenant.call('GET', '/list');
    for (const { runtime_id } of json?.runtimes ?? []) await tenant.call('POST', '/stop', { runtime_id });
  }
  for (const name of names) execFileSync(DEFT, ['key', '--revoke', name]);
});

const outside = (path, headers = {}, method = 'GET') => call(method, `/runtime-api${path}`, { url: APP_URL, key: null, headers });

test('runtime 1: no key, a wrong one, a user\'s and the service\'s own are refused on every path', async () => {
  const own = execFileSync('cat', [`${process.env.DEFT_KEYS}/runtime_api_key`]).toString().trim();
  for (const key of [undefined, '', 'wrong', API_KEY, own, 'x'.repeat(4000)]) {
    for (const path of ['/list', '/sessions/a', '/nowhere', '/registry_prefix']) {
      const answer = await outside(path, key === undefined ? {} : { 'x-api-key': key });
      assert.deepEqual([answer.status, answer.json], [401, { detail: 'provide a valid API key' }], `${path} ${key}`);
    }
  }
  assert.equal((await outside('/health')).status, 200);
  assert.equal((await call('GET', '/api/conversations/count', { key: one.key })).status, 401, 'nor is it a key of the agent API');
});

test('runtime 2, 4, 5: a start accepts a command as text or list, and its key selects its own sandbox', async () => {
  for (const command of ['/bin/server --port 60000', ['/bin/server', '--port', '60000']]) {
    const session = `agent-server-${randomUUID()}`;
    const { status, json } = await one.start(session, { command });
    assert.equal(status, 200);
    assert.equal((await one.call('GET', `/sessions/${session}-other`)).status, 404);
    assert.match(json.runtime_id, /^[a-z]{16}$/);
    assert.deepEqual([json.session_id, json.url, json.command], [session, AGENT_URL, command]);
    assert.match(json.status, /^(starting|running)$/);
    const order = ['pending', 'running', 'ready'];
    let last = order.indexOf(json.pod_status);
    assert.ok(last >= 0, json.pod_status);
    assert.equal(typeof json.session_api_key, 'string');
    assert.deepEqual((await one.must(200, 'GET', `/sessions/${session}`)).runtime_id, json.runtime_id);
    const ready = await waitUntil(async () => {
      const seen = await one.must(200, 'GET', `/runtime/${json.runtime_id}`);
      assert.ok(order.indexOf(seen.pod_status) >= last, seen.pod_status);
      last = order.indexOf(seen.pod_status);
      return seen.pod_status === 'ready' && seen;
    }, 'the sandbox is ready');
    assert.equal(ready.session_api_key, json.session_api_key);
    assert.match((await run(json.session_api_key, 'id -u')).trim(), /^[2-6]\d{4}$/);
    assert.equal((await one.must(200, 'POST', '/stop', { runtime_id: json.runtime_id })).status, 'stopped');
  }
});

test('runtime 6, 7, 10: sessions are read singly and in a batch, listed, and stopped', async () => {
  const [a, b] = [randomUUID(), randomUUID()];
  const [first, second] = await Promise.all([one.running(a), one.running(b)]);
  assert.equal((await one.call('GET', '/sessions/nobody')).status, 404);
  assert.deepEqual((await one.must(200, 'GET', `/sessions/batch?ids=${a}&ids=x&ids=${b}`)).map((seen) => seen.session_id), [a, b]);
  await one.must(200, 'POST', '/pause', { runtime_id: first.runtime_id });
  const listed = async () => (await one.must(200, 'GET', '/list')).runtimes.map((seen) => [seen.session_id, seen.status]);
  assert.deepEqual(Object.fromEntries(await listed()), { [a]: 'paused', [b]: 'running' });
  for (const { runtime_id } of [first, second]) {
    await one.must(200, 'POST', '/stop', { runtime_id });
    assert.equal((await one.call('POST', '/stop', { runtime_id })).status, 404);
  }
  assert.deepEqual(await listed(), []);
  assert.equal((await one.call('GET', `/sessions/${a}`)).status, 404);
  assert.equal((await call('GET', '/api/conversations/count', { key: first.session_api_key })).status, 401, 'its key is gone too');
});

test('runtime 9: pause and resume keep id, address, key and files', async () => {
  const session = randomUUID();
  const begun = await one.running(session, { environment: { COLOUR: 'blue' } });
  await run(begun.session_api_key, 'echo kept > /workspace/file');
  assert.equal((await one.must(200, 'POST', '/pause', { runtime_id: begun.runtime_id })).status, 'paused');
  assert.equal((await one.must(200, 'GET', `/sessions/${session}`)).status, 'paused');
  await one.must(200, 'POST', '/pause', { runtime_id: begun.runtime_id });
  const resumed = await one.must(200, 'POST', '/resume', { runtime_id: begun.runtime_id, wait_ms: 100000 });
  for (const name of ['runtime_id', 'url', 'session_api_key']) assert.equal(resumed[name], begun[name]);
  assert.equal((await run(begun.session_api_key, 'cat /workspace/file; echo $COLOUR')).trim(), 'kept\nblue');
  await one.must(200, 'POST', '/resume', { runtime_id: begun.runtime_id });
  await one.must(200, 'POST', '/stop', { runtime_id: begun.runtime_id });
});

test('runtime 8: a runtime paused by its tenant answers 503, and is resumed by its tenant only', async () => {
  const session = randomUUID();
  const { runtime_id: id, session_api_key: key } = await one.running(session);
  await run(key, 'echo kept > /workspace/file');
  await one.must(200, 'POST', '/pause', { runtime_id: id });
  for (const [method, path, json] of [['GET', '/api/bash/bash_events/search'], ['GET', '/api/conversations/search'], ['POST', '/api/bash/execute_bash_command', { command: 'true' }],
    ['POST', '/execute_action', { action: { action: 'run', args: { command: 'true' } } }]]) {
    assert.equal((await call(method, path, { key, json })).status, 503, path);
  }
  assert.equal((await one.must(200, 'GET', `/sessions/${session}`)).status, 'paused', 'calls do not wake it');
  await one.must(200, 'POST', '/resume', { runtime_id: id, wait_ms: 100000 });
  assert.equal(await run(key, 'cat /workspace/file'), 'kept\n');
  await one.must(200, 'POST', '/pause', { runtime_id: id });
  assert.equal((await one.running(session)).runtime_id, id, 'a start is a resume');
  assert.equal(await run(key, 'cat /workspace/file'), 'kept\n');
  await one.must(200, 'POST', '/stop', { runtime_id: id });
});

/** Pauses it as the service does with an idle one. */
async function letRest(session, id, tenant = one) {
  await execute("UPDATE runtimes SET desired = 'paused', updated_at = now() WHERE id = :'id'", { id });
  await waitUntil(async () => (await tenant.must(200, 'GET', `/sessions/${session}`)).status === 'paused', 'the sandbox rests');
}

test('an idle sandbox of another image is resumed with that image', async (t) => {
  const tag = randomUUID().slice(0, 8);
  const session = randomUUID();
  const image = `deft-test-other:${tag}`;
  assert.equal((await engine('POST', `/images/${IMAGE}/tag?repo=deft-test-other&tag=${tag}`)).status, 201);
  t.after(() => engine('DELETE', `/images/${image}`));
  const begun = await one.running(session, { image });
  await run(begun.session_api_key, 'echo kept > /workspace/file');
  await letRest(session, begun.runtime_id);
  assert.equal(await run(begun.session_api_key, 'cat /workspace/file'), 'kept\n');
  const seen = await one.must(200, 'GET', `/sessions/${session}`);
  assert.deepEqual([seen.runtime_id, seen.session_api_key, seen.status], [begun.runtime_id, begun.session_api_key, 'running']);
  await one.must(200, 'POST', '/stop', { runtime_id: begun.runtime_id });
});

test('runtime 11: unknown runtimes and sessions are a 404', async () => {
  for (const path of ['/pause', '/resume', '/stop']) assert.equal((await one.call('POST', path, { runtime_id: 'zzzzzzzzzzzzzzzz' })).status, 404, path);
  assert.equal((await one.call('GET', '/runtime/zzzzzzzzzzzzzzzz')).status, 404);
  for (const [path, body] of [['/pause', {}], ['/start', []], ['/start', { session_id: 'a', image: 'no name' }], ['/stop', { runtime_id: 5 }]]) {
    const { status, json } = await one.call('POST', path, body);
    assert.deepEqual([status, typeof json.detail], [400, 'string'], path);
  }
});

test('runtime 12: image_exists knows images of the host and of registries', async () => {
  const { exists, image } = await one.must(200, 'GET', `/image_exists?image=${encodeURIComponent(IMAGE)}`);
  assert.equal(exists, true);
  assert.ok(image.image_size_bytes > 0);
  assert.match(image.upload_time, /^20\d\d-/);
  assert.deepEqual(await one.must(200, 'GET', '/image_exists?image=localhost:1/no/such:1'), { exists: false });
  assert.equal((await one.call('GET', '/image_exists?image=no%20name')).status, 400);
  assert.equal((await one.call('GET', '/image_exists')).status, 400);
  assert.match((await one.must(200, 'GET', '/registry_prefix')).registry_prefix, /^\S+\/\S+$/);
});

test('the warm pool is shown with a key, its metrics on the private socket only', async () => {
  const { configs: [config] } = await one.must(200, 'GET', '/api/warm-runtime-configs');
  assert.deepEqual([config.name, config.image, config.environment], ['default', IMAGE, {}]);
  assert.ok(Number.isInteger(config.count) && Array.isArray(config.command));
  assert.equal((await outside('/api/warm-runtime-configs')).status, 401);
  for (const headers of [{}, { 'x-api-key': one.key }, { authorization: 'Bearer x' }]) {
    const refused = await outside('/api/admin/warm-runtime-configs/default', headers, 'DELETE');
    assert.deepEqual([refused.status, refused.json], [403, { detail: 'Admin functionality is disabled' }]);
  }
  assert.equal((await one.call('GET', '/metrics')).status, 404);
});

/** An archive with a Dockerfile alone, as Python's client posts it. */
function buildForm(dockerfile, image) {
  const form = new FormData();
  form.append('context', new Blob([gzipSync(tar([{ name: 'Dockerfile', data: dockerfile }])).toString('base64')]), 'context.tar.gz');
  form.append('target_image', image);
  return form;
}

test('runtime 13: an image is built from a tenant\'s context, for that tenant only', async (t) => {
  const builder = new Tenant();
  const { registry_prefix: prefix } = await builder.must(200, 'GET', '/registry_prefix');
  const image = `${prefix}/runtime:mine`;
  const build = (tenant) => fetch(`${APP_URL}/runtime-api/build`, { method: 'POST', headers: { 'x-api-key': tenant.key }, body: buildForm(`FROM ${IMAGE}\nENV BUILT=here\n`, image) });
  const posted = await build(builder);
  assert.equal(posted.status, 200, await posted.clone().text());
  const { build_id: id } = await posted.json();
  const done = await waitUntil(async () => {
    const seen = await builder.must(200, 'GET', `/build_status?build_id=${id}`);
    return !['QUEUED', 'BUILDING'].includes(seen.status) && seen;
  }, 'the image is built');
  t.after(() => engine('DELETE', `/images/${image}?force=1`));
  assert.deepEqual(done, { status: 'SUCCESS', image, error: null });
  assert.equal((await other.call('GET', `/build_status?build_id=${id}`)).status, 404);
  assert.deepEqual(await other.must(200, 'GET', `/image_exists?image=${image}`), { exists: false });
  assert.equal((await other.start(randomUUID(), { image })).status, 404);
  const foreign = await build(other);
  assert.deepEqual([foreign.status, /registry_prefix/.test((await foreign.json()).detail)], [400, true]);
  const runtime = await builder.running(randomUUID(), { image });
  assert.equal((await run(runtime.session_api_key, 'echo $BUILT')).trim(), 'here');
  await builder.must(200, 'POST', '/stop', { runtime_id: runtime.runtime_id });
});

test('runtime 20: a tenant neither sees nor reaches the runtimes of another', async () => {
  const session = randomUUID();
  const mine = await one.running(session);
  const theirs = await other.running(session, { owner_id: randomUUID(), conversation_id: 'x' });
  assert.notEqual(theirs.runtime_id, mine.runtime_id, 'the same name of a session is two sessions');
  for (const [method, path, body] of [
    ['GET', `/runtime/${mine.runtime_id}`], ['POST', '/pause', mine], ['POST', '/resume', mine], ['POST', '/stop', mine],
  ]) {
    assert.equal((await other.call(method, path, body && { runtime_id: body.runtime_id })).status, 404, path);
  }
  assert.deepEqual((await other.must(200, 'GET', '/list')).runtimes.map((seen) => seen.runtime_id), [theirs.runtime_id]);
  await run(mine.session_api_key, 'echo secret > /workspace/mine');
  assert.equal((await run(theirs.session_api_key, 'ls /workspace')).includes('mine'), false);
  await one.must(200, 'POST', '/stop', { runtime_id: mine.runtime_id });
  await other.must(200, 'POST', '/stop', { runtime_id: theirs.runtime_id });
});

test('runtime 20: a tenant\'s limit of sandboxes holds for every kind of start', async () => {
  const few = new Tenant();
  await execute("UPDATE runtime_keys SET max_runtimes = 2 WHERE name = :'name'", { name: few.name });
  const answers = await Promise.all(Array.from({ length: 6 }, () => few.start(randomUUID(), { wait_ms: 100000 })));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 200, 429, 429, 429, 429]);
  assert.match(answers.find(({ status }) => status === 429).json.detail, /which is its limit/);
  const [first, second] = answers.filter(({ status }) => status === 200).map(({ json }) => json);
  await few.must(200, 'POST', '/pause', { runtime_id: first.runtime_id });
  const third = await few.running(randomUUID());
  assert.equal((await few.call('POST', '/resume', { runtime_id: first.runtime_id })).status, 429);
  assert.equal((await few.call('POST', '/resume', { runtime_id: second.runtime_id })).status, 200, 'one that runs is counted already');
  // An idle one is resumed by a call, and then counts towards the limit.
  await letRest(second.session_id, second.runtime_id, few);
  assert.equal(await run(second.session_api_key, 'echo woken'), 'woken\n');
  await letRest(second.session_id, second.runtime_id, few);
  const fourth = await few.running(randomUUID());
  for (const [method, path, options] of [['POST', '/api/bash/execute_bash_command', { json: { command: 'true' } }], ['GET', '/api/file/home'], ['GET', '/api/vscode/url']]) {
    const asleep = await call(method, path, { key: second.session_api_key, ...options });
    assert.equal(asleep.status, 429, `${path}: ${asleep.text}`);
    assert.match(asleep.json.detail, /this key already has 2 sandboxes running, which is its limit/);
  }
  assert.equal((await few.must(200, 'GET', `/runtime/${second.runtime_id}`)).status, 'paused');
  await few.must(200, 'POST', '/stop', { runtime_id: fourth.runtime_id });
  assert.equal(await run(second.session_api_key, 'echo woken'), 'woken\n', 'there is room again');
  for (const { runtime_id } of [first, second, third]) await few.must(200, 'POST', '/stop', { runtime_id });
});

test('revoking a key removes its sandboxes', async () => {
  const tenant = new Tenant();
  const { runtime_id, session_api_key } = await tenant.running(randomUUID());
  assert.equal((await run(session_api_key, 'echo yes')).trim(), 'yes');
  execFileSync(DEFT, ['key', '--revoke', names.pop()]);
  assert.equal((await tenant.call('GET', '/list')).status, 401);
  await waitUntil(async () => (await query("SELECT 1 FROM runtimes WHERE id = :'id'", { id: runtime_id })).length === 0, 'the sandbox is gone');
  assert.equal((await call('GET', '/api/conversations/count', { key: session_api_key })).status, 401);
});
