// The runtime service with a real container engine: the life cycle of a sandbox.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, describe, it } from 'node:test';

import { alive, assertNoLeaks, call, engine, findBinary, House, IMAGE, waitUntil } from './runtime_house.mjs';

/** The output of a command that runs in the sandbox as a user's command. */
async function run(runtime, command) {
  const { hostname, port } = new URL(runtime.url);
  const answer = await call({ host: hostname, port }, 'POST', '/api/bash/execute_bash_command', {
    body: { command }, headers: { 'X-Session-API-Key': runtime.call_key },
  });
  assert.equal(answer.status, 200, answer.text);
  return answer.json.stdout;
}

describe('runtime service', () => {
  let house;

  before(async () => { house = await House.open(); });
  after(async () => { await house?.close(); });

  it('refuses a missing and a wrong key with a JSON error', async () => {
    for (const key of [null, 'wrong']) {
      for (const answer of [await house.get('/list', key), await house.post('/start', {}, key), await house.get('/nowhere', key)]) {
        assert.equal(answer.status, 401);
        assert.deepEqual(answer.json, { detail: 'provide a valid API key' });
      }
    }
    assert.equal((await house.get('/health', null)).status, 200);
  });

  it('answers invalid input with a message, never a 500', async () => {
    const bad = [
      ['POST', '/start', '{'], ['POST', '/start', '[]'], ['POST', '/start', '{"session_id": 5}'], ['POST', '/start', ''],
      ['POST', '/start', '{"session_id":"a","image":"no image name"}'], ['POST', '/start', '{"session_id":"a","session_id":"b"}'],
      ['POST', '/start', Buffer.from([0x22, 0xff, 0x22])], ['POST', '/stop', '{}'], ['POST', '/pause', '[]'], ['GET', '/start', ''],
    ];
    for (const [method, url, text] of bad) {
      const answer = await call({ socketPath: house.nginx.socket }, method, url, { body: Buffer.from(text), headers: { 'X-API-Key': house.key } });
      assert.equal(answer.status, 400, `${method} ${url} ${text}: ${answer.text}`);
      assert.equal(typeof answer.json.detail, 'string');
    }
    for (const url of ['/stop', '/pause', '/resume']) assert.equal((await house.post(url, { runtime_id: 'zzzzzzzzzzzzzzzz' })).status, 404);
    assert.equal((await house.get('/sessions/nobody')).status, 404);
    assert.equal((await house.get('/runtime/nobody')).status, 404);
  });

  it('starts, shows and stops a sandbox, and leaves only the workspace', async () => {
    const id = house.session();
    const { status, json: runtime } = await house.sandbox(id, { conversation_id: 'x-1' });
    assert.equal(status, 200);
    assert.equal(runtime.status, 'running', runtime.status_detail);
    assert.equal(runtime.pod_status, 'ready');
    assert.equal(runtime.session_id, id);
    assert.match(runtime.runtime_id, /^[a-z]{16}$/);
    assert.match(runtime.url, /^http:\/\/[0-9.]+:8000$/);
    assert.equal(await alive(runtime), true);
    assert.deepEqual((await house.get(`/sessions/${id}`)).json, runtime);
    assert.deepEqual((await house.get(`/runtime/${runtime.runtime_id}`)).json, runtime);
    assert.deepEqual((await house.get(`/sessions/batch?ids=${id}&ids=x`)).json, [runtime]);
    assert.ok((await house.get('/list')).json.runtimes.some((one) => one.runtime_id === runtime.runtime_id));
    assert.equal((await house.post('/stop', { runtime_id: runtime.runtime_id })).json.status, 'stopped');
    assert.equal((await house.post('/stop', { runtime_id: runtime.runtime_id })).status, 200);
    assert.equal((await house.get('/list')).json.runtimes.length, 0);
    await assertNoLeaks(house, 1);
    await house.forget(runtime);
    await assertNoLeaks(house);
  });

  it('waits for readiness only on request', async () => {
    const id = house.session();
    const { status, json: runtime } = await house.sandbox(id, { wait_ms: 0 });
    assert.equal(status, 200);
    assert.match(runtime.status, /^(starting|running)$/);
    await waitUntil(async () => (await house.get(`/sessions/${id}`)).json.status === 'running', 120000, 'running');
    await house.forget(runtime);
  });

  it('keeps files, key and id across pause and resume, and across stop and start', async () => {
    const id = house.session();
    const { json: runtime } = await house.sandbox(id, { environment: { COLOUR: 'blue' } });
    await house.look(runtime.runtime_id, ['sh', '-c', 'echo kept > /workspace/project/file']);
    assert.equal((await house.post('/pause', { runtime_id: runtime.runtime_id })).json.status, 'paused');
    assert.equal((await house.post('/pause', { runtime_id: runtime.runtime_id })).json.status, 'paused');
    assert.equal((await engine('GET', `/containers/${house.instance}-${runtime.runtime_id}/json`)).json.State.Status, 'paused');
    for (const again of [
      () => house.post('/resume', { runtime_id: runtime.runtime_id, wait_ms: 120000 }),
      async () => { await house.post('/stop', { runtime_id: runtime.runtime_id }); return house.sandbox(id); },
    ]) {
      const { json: resumed } = await again();
      assert.equal(resumed.status, 'running', resumed.status_detail);
      assert.equal(resumed.runtime_id, runtime.runtime_id);
      assert.equal(resumed.session_api_key, runtime.session_api_key);
      assert.equal(await run(resumed, 'cat /workspace/project/file; echo $COLOUR'), 'kept\nblue\n');
    }
    assert.equal((await house.post('/resume', { runtime_id: runtime.runtime_id })).json.status, 'running');
    await house.forget(runtime);
    await assertNoLeaks(house);
  });

  it('removes a container without a row', async () => {
    const { json } = await engine('POST', `/containers/create?name=${house.instance}-orphan`, {
      body: { Image: IMAGE, Labels: { 'deft.managed': '1', 'deft.instance': house.instance, 'deft.runtime_id': 'orphanorphanorph', 'deft.role': 'sandbox' } },
    });
    await waitUntil(async () => (await engine('GET', `/containers/${json.Id}/json`)).status === 404, 120000, 'the orphan is gone');
  });

  it('prints its settings and its version', () => {
    const settings = execFileSync(findBinary('deft-runtime', 'DEFT_RUNTIME_BINARY'), ['--help-config']).toString();
    assert.match(settings, /DEFT_SANDBOX_MEMORY_BYTES/);
    assert.match(execFileSync(findBinary('deft-runtime', 'DEFT_RUNTIME_BINARY'), ['--version']).toString(), /^deft-runtime \d/);
    assert.throws(() => execFileSync(findBinary('deft-runtime', 'DEFT_RUNTIME_BINARY'), [], { env: {}, stdio: 'pipe' }), /DEFT_DATABASE_URL/);
  });
});
