// Unused sandboxes: paused, later without a container, finally without files; the next use finds what is left.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';

import { call, engine, House, waitUntil } from './runtime_house.mjs';

const DEADLINE_MS = 120_000;
/** Longer than what a test does next takes, so that only what is made to look older is paused; a tenth passes between two looks. */
const IDLE_S = 40;
const NEVER = { OH_SANDBOX_LIFECYCLE_IDLE_SECONDS: '0', DEFT_STOP_AFTER_MS: '0', OH_SANDBOX_LIFECYCLE_MAX_SESSION_SECONDS: '0', OH_SANDBOX_LIFECYCLE_DELETE_AFTER_SECONDS: '0' };

describe('an unused sandbox', () => {
  let house;
  let n = 0;
  const session = () => `i-${process.pid}-${n++}`;
  const state = async (runtime) => (await engine('GET', `/containers/${house.instance}-${runtime.runtime_id}/json`)).json?.State?.Status ?? 'none';
  const status = (runtime) => house.sql(`SELECT status FROM runtimes WHERE id = '${runtime.runtime_id}'`);
  const is = (runtime, wanted) => waitUntil(async () => status(runtime) === wanted && (await state(runtime)) === (wanted === 'running' ? 'running' : 'paused'), DEADLINE_MS, `it is ${wanted}`);
  /** Makes these look unused for longer than IDLE_S; returns the time of the first one's last use. */
  const age = (...runtimes) => house.sql(`UPDATE runtimes SET last_used_at = now() - interval '${2 * IDLE_S} seconds'
    WHERE id IN (${runtimes.map(({ runtime_id: id }) => `'${id}'`)}) RETURNING last_used_at`).split('\n')[0];
  const start = async (id = session()) => {
    const { json } = await house.sandbox(id);
    assert.equal(json.status, 'running', json.status_detail ?? json.detail);
    return json;
  };
  const bash = async (runtime, route, json) => {
    const { hostname, port } = new URL(runtime.url);
    const answer = await call({ host: hostname, port }, 'POST', `/api/bash/${route}`, { body: { timeout: 100, ...json }, headers: { 'X-Session-API-Key': runtime.call_key } });
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
  };
  const cat = async (runtime) => (await bash(runtime, 'execute_bash_command', { command: 'cat /workspace/project/file' })).stdout;
  /** Restarts the service with these limits only. */
  const limit = async (limits, signal = 'SIGTERM') => {
    await house.stop(signal);
    Object.assign(house.settings, NEVER, limits);
    await house.start();
  };

  before(async () => { house = await House.open({ ...NEVER, DEFT_WARM_LEAST: '1', DEFT_WARM_MOST: '1' }); });
  after(async () => { await house?.close(); });

  it('runtime 16, 28: is paused; one with a running program or conversation is not, nor a warm one', async () => {
    const [idle, busy, inUse] = [await start(), await start(), await start()];
    const { id } = await bash(busy, 'start_bash_command', { command: 'exec sleep 900', timeout: 900 });
    const [user, conversation] = [randomUUID(), randomUUID()];
    house.sql(`INSERT INTO users (id, email) VALUES ('${user}', '${user}@example.org')`);
    house.sql(`INSERT INTO conversations (id, user_id, runtime_kind, runtime_session, spec, wanted_at, updated_at)
      VALUES ('${conversation}', '${user}', 'docker', '${inUse.session_id}', '{}', now(), now() - interval '${2 * IDLE_S} seconds')`);
    await limit({ OH_SANDBOX_LIFECYCLE_IDLE_SECONDS: String(IDLE_S) });
    const before = age(busy, idle, inUse);
    await is(idle, 'paused');
    const used = () => house.sql(`SELECT last_used_at FROM runtimes WHERE id = '${busy.runtime_id}'`);
    await waitUntil(() => used() !== before, DEADLINE_MS, 'what runs counts as a use');
    await is(busy, 'running');
    await is(inUse, 'running');
    await bash(busy, `bash_commands/${id}/stop`, {});
    age(busy);
    house.sql(`UPDATE conversations SET wanted_at = NULL WHERE id = '${conversation}'`);
    await is(busy, 'paused');
    await is(inUse, 'paused');
    const waiting = await waitUntil(() => house.sql('SELECT container_id FROM warm_sandboxes WHERE is_ready'), DEADLINE_MS, 'one waits');
    assert.equal((await engine('GET', `/containers/${waiting}/json`)).json.State.Status, 'running');
  });

  it('is resumed by its next use, however often it was paused', async () => {
    const first = await start();
    await bash(first, 'execute_bash_command', { command: 'echo kept > /workspace/project/file' });
    for (let round = 0; round < 2; round++) {
      age(first);
      await is(first, 'paused');
      const again = await Promise.all([start(first.session_id), start(first.session_id)]);
      for (const runtime of again) {
        assert.equal(runtime.url, first.url);
        assert.equal(await cat(runtime), 'kept\n');
      }
    }
  });

  it('is paused even if the service was killed after the decision', async () => {
    const runtime = await start();
    age(runtime);
    await waitUntil(() => house.sql(`SELECT desired FROM runtimes WHERE id = '${runtime.runtime_id}'`) === 'paused', DEADLINE_MS, 'it is decided');
    await limit({}, 'SIGKILL');
    await is(runtime, 'paused');
  });

  it('runtime 18: is paused after the maximum session time even if a program runs, which continues after a resume', async () => {
    const runtime = await start();
    const { stdout: pid } = await bash(runtime, 'execute_bash_command', { command: 'setsid sleep 300 >/dev/null 2>&1 & echo $!' });
    await limit({ OH_SANDBOX_LIFECYCLE_MAX_SESSION_SECONDS: '1' });
    await is(runtime, 'paused');
    await limit({});
    const again = await start(runtime.session_id);
    assert.equal((await bash(again, 'execute_bash_command', { command: `kill -0 ${pid.trim()} && echo lives` })).stdout, 'lives\n');
  });

  it('loses its container after a long pause, and keeps its files', async () => {
    const runtime = await start();
    await bash(runtime, 'execute_bash_command', { command: 'echo kept > /workspace/project/file' });
    await house.post('/pause', { runtime_id: runtime.runtime_id });
    await limit({ DEFT_STOP_AFTER_MS: '1000' }, 'SIGKILL');
    await waitUntil(async () => (await state(runtime)) === 'none', DEADLINE_MS, 'its container has gone');
    assert.equal(status(runtime), 'paused');
    const again = await start(runtime.session_id);
    assert.equal(again.runtime_id, runtime.runtime_id);
    assert.equal(again.session_api_key, runtime.session_api_key);
    assert.equal(await cat(again), 'kept\n');
  });

  it('runtime 17: is removed with its files after a long time', async () => {
    const [paused, stopped, other] = [await start(), await start(), await start()];
    const homes = [paused, stopped].map(({ runtime_id: id }) => house.sql(`SELECT spec->>'home' FROM runtimes WHERE id = '${id}'`));
    await house.post('/pause', { runtime_id: paused.runtime_id });
    await house.post('/stop', { runtime_id: stopped.runtime_id });
    await limit({ OH_SANDBOX_LIFECYCLE_DELETE_AFTER_SECONDS: '1' });
    for (const { runtime_id: id } of [paused, stopped]) await waitUntil(async () => (await house.get(`/runtime/${id}`)).status === 404, DEADLINE_MS, 'it is forgotten');
    await waitUntil(async () => !(await house.ours('volumes')).some(({ Name }) => homes.some((home) => Name.endsWith(home))), DEADLINE_MS, 'its files have gone');
    assert.equal(await state(paused), 'none');
    assert.equal(status(other), 'running');
    // The session starts again, with an empty workspace.
    const again = await start(paused.session_id);
    assert.notEqual(again.runtime_id, paused.runtime_id);
  });
});
