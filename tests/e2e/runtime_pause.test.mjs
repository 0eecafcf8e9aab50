// A paused sandbox: its programs are frozen, and continue after a resume, whichever process dies.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { call, engine, House, waitUntil } from './runtime_house.mjs';

const DEADLINE_MS = 120_000;

describe('a paused sandbox', () => {
  let house;
  let n = 0;
  const session = () => `p-${process.pid}-${n++}`;
  const name = (runtime) => `${house.instance}-${runtime.runtime_id}`;
  const state = async (runtime) => (await engine('GET', `/containers/${name(runtime)}/json`)).json?.State?.Status ?? 'none';
  const row = (runtime) => house.get(`/runtime/${runtime.runtime_id}`).then(({ json }) => json);
  const resume = (runtime) => house.post('/resume', { runtime_id: runtime.runtime_id, wait_ms: DEADLINE_MS }).then(({ json }) => json);
  const pause = (runtime) => house.post('/pause', { runtime_id: runtime.runtime_id });
  const running = async (more) => {
    const { json } = await house.sandbox(session(), more);
    assert.equal(json.status, 'running', json.status_detail);
    return json;
  };
  const bash = async (runtime, route, json) => {
    const { hostname, port } = new URL(runtime.url);
    const answer = await call({ host: hostname, port }, 'POST', `/api/bash/${route}`, { body: { timeout: 100, ...json }, headers: { 'X-Session-API-Key': runtime.call_key } });
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
  };
  const forget = async (...runtimes) => {
    for (const { runtime_id: id } of runtimes) house.sql(`UPDATE runtimes SET desired = 'deleted' WHERE id = '${id}'`);
    for (const { runtime_id: id } of runtimes) await waitUntil(async () => (await house.get(`/runtime/${id}`)).status === 404, DEADLINE_MS, 'the runtime is forgotten');
  };

  before(async () => { house = await House.open(); });
  after(async () => { await house?.close(); });

  it('runtime 32: keeps a background process across pause and resume', async () => {
    const runtime = await running();
    const { stdout: pid } = await bash(runtime, 'execute_bash_command', { command: 'setsid sleep 300 >/dev/null 2>&1 & echo $!' });
    assert.equal((await pause(runtime)).json.status, 'paused');
    assert.equal(await state(runtime), 'paused');
    const resumed = await resume(runtime);
    assert.equal(resumed.status, 'running', resumed.status_detail);
    assert.equal(resumed.status_detail, null);
    assert.equal((await bash(resumed, 'execute_bash_command', { command: `kill -0 ${pid.trim()} && echo lives` })).stdout, 'lives\n');
    await forget(runtime);
  });

  it('runtime 9: keeps id, address, files and key across pause and resume', async () => {
    const runtime = await running();
    await bash(runtime, 'execute_bash_command', { command: 'echo kept > /workspace/project/file' });
    await pause(runtime);
    const resumed = await resume(runtime);
    for (const member of ['runtime_id', 'url', 'session_api_key']) assert.equal(resumed[member], runtime[member]);
    assert.equal((await bash(resumed, 'execute_bash_command', { command: 'cat /workspace/project/file' })).stdout, 'kept\n');
    await forget(runtime);
  });

  it('is resumed by concurrent starts of its session', async () => {
    const runtime = await running();
    await pause(runtime);
    const answers = await Promise.all(Array.from({ length: 6 }, () => house.sandbox(runtime.session_id)));
    for (const { json } of answers) {
      assert.equal(json.status, 'running', json.status_detail);
      assert.equal(json.url, runtime.url);
    }
    assert.equal(await state(runtime), 'running');
    await forget(runtime);
  });

  it('whose container is gone is started again on the same files', async () => {
    const [gone, killed] = [await running(), await running()];
    for (const runtime of [gone, killed]) {
      await bash(runtime, 'execute_bash_command', { command: 'echo kept > /workspace/project/file' });
      await pause(runtime);
    }
    await engine('DELETE', `/containers/${name(gone)}?force=1`);
    await engine('POST', `/containers/${name(killed)}/kill`);
    await waitUntil(() => house.sql("SELECT count(*) FROM runtimes WHERE status = 'paused' AND container_id IS NULL") === '2', DEADLINE_MS, 'the rows name no container');
    for (const runtime of [gone, killed]) {
      const resumed = await resume(runtime);
      assert.equal(resumed.status, 'running', resumed.status_detail);
      assert.equal(resumed.session_api_key, runtime.session_api_key);
      assert.equal((await bash(resumed, 'execute_bash_command', { command: 'cat /workspace/project/file' })).stdout, 'kept\n');
    }
    await forget(gone, killed);
  });

  it('is in its row\'s state, whenever the service was killed', async () => {
    const runtime = await running();
    const id = runtime.runtime_id;
    const { stdout: pid } = await bash(runtime, 'execute_bash_command', { command: 'setsid sleep 300 >/dev/null 2>&1 & echo $!' });
    // Each state that a kill can leave: the request only, and the change without its row.
    const steps = [
      ['paused', () => house.sql(`UPDATE runtimes SET desired = 'paused' WHERE id = '${id}'`)],
      ['running', () => house.sql(`UPDATE runtimes SET desired = 'running' WHERE id = '${id}'`)],
      ['paused', () => house.sql(`UPDATE runtimes SET desired = 'paused', status = 'paused' WHERE id = '${id}'`)],
      ['running', async () => { await engine('POST', `/containers/${name(runtime)}/unpause`); house.sql(`UPDATE runtimes SET desired = 'running' WHERE id = '${id}'`); }],
    ];
    for (const [status, leave] of steps) {
      await house.stop('SIGKILL');
      await leave();
      await house.start();
      await waitUntil(async () => (await row(runtime)).status === status && (await state(runtime)) === status, DEADLINE_MS, `it is ${status}`);
    }
    for (const delay of [1, 10, 40]) {
      const asked = [pause(runtime), resume(runtime)].map((one) => one.catch(() => null));
      await new Promise((resolve) => setTimeout(resolve, delay));
      await house.stop('SIGKILL');
      await Promise.all(asked);
      await house.start();
      const resumed = await resume(runtime);
      assert.equal(resumed.status, 'running', resumed.status_detail);
      assert.equal((await bash(resumed, 'execute_bash_command', { command: `kill -0 ${pid.trim()} && echo lives` })).stdout, 'lives\n');
    }
    await forget(runtime);
  });

  it('runtime 7: is shown as paused, and stays in the list until it is stopped', async () => {
    const runtime = await running();
    await pause(runtime);
    assert.equal((await house.get(`/sessions/${runtime.session_id}`)).json.status, 'paused');
    const listed = async () => (await house.get('/list')).json.runtimes.some(({ runtime_id }) => runtime_id === runtime.runtime_id);
    assert.equal(await listed(), true);
    assert.equal((await house.post('/stop', { runtime_id: runtime.runtime_id })).json.status, 'stopped');
    assert.equal(await listed(), false);
    assert.equal(await state(runtime), 'none');
    await forget(runtime);
  });
});
