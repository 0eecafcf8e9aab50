// Failures of sandboxes and of the service: what ends, what continues, and that nothing is left.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { alive, assertNoLeaks, engine, House, IMAGE, waitUntil } from './runtime_house.mjs';

describe('failures of sandboxes', () => {
  let house;

  before(async () => { house = await House.open(); });
  after(async () => { await house?.close(); });

  it('ends a sandbox that hangs after a report, and no other', async () => {
    const id = house.session();
    const { json: runtime } = await house.sandbox(id);
    const container = () => engine('GET', `/containers/${house.instance}-${runtime.runtime_id}/json`).then(({ json }) => json.Id);
    const first = await container();
    assert.equal((await house.sandbox(id, { is_doubted: true })).json.status, 'running');
    assert.equal(await container(), first);
    // The engine is not involved: for it, and in the rows, the container runs.
    const { json: { Titles: titles, Processes: processes } } = await engine('GET', `/containers/${first}/top?ps_args=-eo%20pid,args`);
    const server = processes.find((columns) => columns[titles.indexOf('COMMAND')].split(' ')[0].endsWith('deft-action'));
    process.kill(Number(server[titles.indexOf('PID')]), 'SIGSTOP');
    const { json: again } = await house.sandbox(id, { is_doubted: true });
    assert.equal(again.status, 'running', again.status_detail);
    assert.equal(again.runtime_id, runtime.runtime_id);
    assert.equal(again.session_api_key, runtime.session_api_key);
    assert.notEqual(await container(), first);
    assert.equal(await alive(again), true);
    await house.forget(again);
  });

  // The state that an engine leaves if it ends during the creation of a workspace.
  it('ends a sandbox whose full workspace is in use', async () => {
    const { json: runtime } = await house.sandbox(house.session());
    const volume = `${house.instance}-ws-${house.sql(`SELECT spec->>'home' FROM runtimes WHERE id = '${runtime.runtime_id}'`)}`;
    const { json: helper } = await engine('POST', '/containers/create', {
      body: { Image: IMAGE, Labels: { 'deft.managed': '1', 'deft.instance': house.instance, 'deft.role': 'helper' }, HostConfig: { Binds: [`${volume}:/x`] } },
    });
    const { status, text } = await house.post('/stop', { runtime_id: runtime.runtime_id, forget: true });
    assert.equal(status, 200, text);
    assert.equal((await engine('GET', `/containers/${helper.Id}/json`)).status, 404);
    assert.equal((await engine('GET', `/volumes/${volume}`)).status, 404);
    await assertNoLeaks(house);
  });

  it('runtime 15: detects a killed container, and starts it again on the same files', async () => {
    const id = house.session();
    const { json: runtime } = await house.sandbox(id);
    await house.look(runtime.runtime_id, ['sh', '-c', 'echo kept > /workspace/file']);
    await engine('POST', `/containers/${house.instance}-${runtime.runtime_id}/kill`);
    const dead = await waitUntil(async () => {
      const { json } = await house.get(`/sessions/${id}`);
      return json.status === 'error' && json;
    }, 120000, 'the row says error');
    assert.match(dead.status_detail, /killed \(exit code 137\)/);
    const { json: again } = await house.sandbox(id);
    assert.equal(again.status, 'running', again.status_detail);
    assert.equal(again.restart_count, 1);
    assert.match((await house.look(again.runtime_id, ['cat', '/workspace/file'])).text, /kept/);
    await engine('DELETE', `/containers/${house.instance}-${runtime.runtime_id}?force=1`);
    const { json: twice } = await waitUntil(async () => {
      const answer = await house.get(`/sessions/${id}`);
      return answer.json.status === 'error' && answer;
    }, 120000, 'the row says error');
    assert.deepEqual([twice.pod_status, twice.restart_count], ['crashloopbackoff', 1]);
    await house.forget(runtime);
    await assertNoLeaks(house);
  });
});
