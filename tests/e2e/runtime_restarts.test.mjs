// Kills and restarts of the runtime service: nothing is left, and sandboxes run on.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { alive, assertNoLeaks, engine, House, waitUntil } from './runtime_house.mjs';

describe('restarts of the service', () => {
  let house;

  before(async () => { house = await House.open(); });
  after(async () => { await house?.close(); });

  it('leaks nothing and continues after a kill during starts', async () => {
    const ids = [house.session(), house.session(), house.session()];
    for (const delay of [5, 60, 250]) {
      const starts = ids.map((id) => house.sandbox(id).catch(() => null));
      await new Promise((resolve) => setTimeout(resolve, delay));
      await house.stop('SIGKILL');
      await Promise.all(starts);
      await house.start();
      for (const id of ids) {
        const { json: runtime } = await house.sandbox(id);
        assert.equal(runtime.status, 'running', runtime.status_detail);
        assert.equal(await alive(runtime), true);
        await house.post('/stop', { runtime_id: runtime.runtime_id });
      }
    }
    await assertNoLeaks(house, 3);
    house.sql("UPDATE runtimes SET desired = 'deleted'");
    await waitUntil(() => house.sql('SELECT count(*) FROM runtimes') === '0', 120000, 'no rows');
    await assertNoLeaks(house);
  });

  it('runtime 38: running sandboxes survive its restart', async () => {
    const id = house.session();
    const { json: runtime } = await house.sandbox(id);
    await house.stop('SIGTERM');
    await house.start();
    // Volumes without a row are gone when rows and containers have been compared.
    await engine('POST', '/volumes/create', { body: { Name: `${house.instance}-ws-nobodys`, Labels: { 'deft.instance': house.instance } } });
    await waitUntil(async () => !(await house.ours('volumes')).some(({ Name }) => Name.endsWith('-nobodys')), 120000, 'a comparison');
    const { json: same } = await house.sandbox(id);
    assert.equal(same.url, runtime.url);
    assert.equal(await alive(same), true);
    await house.forget(runtime);
    await assertNoLeaks(house);
  });
});
