// The warm pool of a service that is killed or restarted, with a real container engine.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { House, waitUntil } from './runtime_house.mjs';
import { DEADLINE_MS, Pool, run } from './support/warm_pool.mjs';

describe('warm pool of a restarted service', () => {
  let house;
  let pool;

  before(async () => {
    house = await House.open({ DEFT_WARM_LEAST: '2', DEFT_WARM_MOST: '2' });
    pool = new Pool(house);
  });
  after(async () => { await house?.close(); });

  it('a killed service finds its warm sandboxes again, also unfinished ones', async () => {
    const runtimes = [];
    for (const delay of [0, 30, 300]) {
      await pool.filled(2);
      const starts = [pool.session(), pool.session(), pool.session()].map((id) => house.sandbox(id).catch(() => null));
      await new Promise((resolve) => setTimeout(resolve, delay));
      await house.stop('SIGKILL');
      await Promise.all(starts);
      await house.start();
    }
    await pool.filled(2);
    await waitUntil(() => house.sql("SELECT count(*) FROM runtimes WHERE status = 'starting'") === '0', DEADLINE_MS, 'all that was asked for is settled');
    const { json } = await house.get('/list');
    for (const runtime of json.runtimes) {
      assert.equal(runtime.status, 'running', runtime.status_detail);
      assert.equal(await run(runtime, 'echo yes'), 'yes\n');
      runtimes.push(runtime);
    }
    await pool.forget(...runtimes);
    await pool.filled(2);
    await pool.assertTidy();
  });

  it('warm sandboxes survive a clean restart of the service', async () => {
    const before = await pool.filled(2);
    await house.stop();
    await house.start();
    const runtime = await pool.start();
    assert.ok(before.includes(runtime.runtime_id));
    await pool.forget(runtime);
    await pool.filled(2);
  });
});
