// After an upgrade: running sandboxes get the new deft-action once they are idle.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, describe, it } from 'node:test';

import { call, House, waitUntil } from './runtime_house.mjs';

const WAIT_MS = 120_000;

describe('an upgrade of deft-action', () => {
  let house;
  let n = 0;

  before(async () => { house = await House.open({ DEFT_RENEW_AFTER_MS: '1' }); });
  after(async () => { await house?.close(); });

  const container = async (runtime) => (await house.ours('containers')).find((one) => one.Labels['deft.runtime_id'] === runtime.runtime_id);

  /** A command in the sandbox, as deft-fcgi starts it. */
  const bash = async (runtime, route, json) => {
    const { hostname, port } = new URL(runtime.url);
    const answer = await call({ host: hostname, port }, 'POST', `/api/bash/${route}`, { body: { timeout: 100, ...json }, headers: { 'X-Session-API-Key': runtime.call_key } });
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
  };

  /** Restarts the service with another deft-action: a byte after the header changes only its hash. */
  const upgrade = async () => {
    const binary = `${house.dir}/deft-action-${n++}`;
    fs.copyFileSync(house.environment().DEFT_ACTION_BINARY, binary);
    fs.appendFileSync(binary, 'x');
    await house.stop();
    house.settings.DEFT_ACTION_BINARY = binary;
    await house.start();
  };

  it('renews an idle sandbox, which keeps its files and its key', async () => {
    const { json: old } = await house.sandbox('c-at-rest');
    assert.equal(old.status, 'running', old.status_detail);
    await bash(old, 'execute_bash_command', { command: 'echo kept > /workspace/project/file' });
    const before = await container(old);
    await upgrade();
    await waitUntil(async () => {
      const now = await container(old);
      return now && now.Id !== before.Id && (await house.get(`/runtime/${old.runtime_id}`)).json.status === 'running';
    }, WAIT_MS, 'the sandbox has another container');
    const { json: renewed } = await house.get(`/runtime/${old.runtime_id}`);
    assert.equal(renewed.session_api_key, old.session_api_key);
    assert.equal((await bash(renewed, 'execute_bash_command', { command: 'cat /workspace/project/file' })).stdout, 'kept\n');
    const mount = ({ Mounts }) => Mounts.find(({ Destination }) => Destination === '/.deft').Name;
    assert.notEqual(mount(await container(old)), mount(before));
  });

  it('waits while a program runs in a sandbox, and while it is in use', async () => {
    const { json: busy } = await house.sandbox('c-busy');
    const { json: other } = await house.sandbox('c-other');
    const { id } = await bash(busy, 'start_bash_command', { command: 'exec sleep 900', timeout: 900 });
    const [before, otherBefore] = [await container(busy), await container(other)];
    await upgrade();
    // A check of all sandboxes renews the idle one; the busy one was checked, too.
    await waitUntil(async () => { const now = await container(other); return now && now.Id !== otherBefore.Id; }, WAIT_MS, 'the idle one is renewed');
    assert.equal((await container(busy)).Id, before.Id);
    await bash(busy, `bash_commands/${id}/stop`, {});
    await waitUntil(async () => { const now = await container(busy); return now && now.Id !== before.Id; }, WAIT_MS, 'the busy one is renewed when it rests');
  });
});
