// Number and kinds of warm sandboxes: by settings, the administrator's configurations, and demand.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { call, engine, House, IMAGE, tar, waitUntil } from './runtime_house.mjs';
import { DEADLINE_MS, FILL_DEADLINE_MS, Pool, run } from './support/warm_pool.mjs';

describe('the contents of the warm pool', () => {
  let house;
  let pool;

  before(async () => {
    house = await House.open({ DEFT_WARM_LEAST: '2', DEFT_WARM_MOST: '2' });
    pool = new Pool(house);
  });
  after(async () => { await house?.close(); });

  it('runtime 27: the administrator\'s configuration overrides the settings until it is deleted', async () => {
    const change = (method, name, body) => call({ socketPath: house.nginx.socket }, method, `/api/admin/warm-runtime-configs/${name}`, { body, headers: { 'X-API-Key': house.key } });
    const configs = async () => (await house.get('/api/warm-runtime-configs')).json.configs.map(({ name, source, image, count }) => [name, source, image, count]);
    await pool.filled(2);
    assert.deepEqual(await configs(), [['default', 'file', IMAGE, 2]]);
    const { status, json: put } = await change('PUT', 'default', { image: IMAGE, count: 1, environment: { A: 'b' } });
    assert.deepEqual([status, put.name, put.source, put.count, put.environment], [200, 'default', 'db', 1, { A: 'b' }]);
    await pool.filled(1);
    await change('PUT', 'large%20ones', { image: IMAGE, count: 1, resource_factor: 2, command: ['x'] });
    const waiting = await pool.filled(2);
    assert.deepEqual(await configs(), [['default', 'db', IMAGE, 1], ['large ones', 'db', IMAGE, 1]]);
    const large = await pool.start({ resource_factor: 2 });
    assert.ok(waiting.includes(large.runtime_id), 'it had waited');
    await pool.filled(2);
    for (const [name, body, code] of [['a', {}, 400], ['a', [], 400], ['a', { image: 'no name' }, 400], ['a', { image: IMAGE, count: -1 }, 400], ['x'.repeat(101), { image: IMAGE }, 400]]) {
      assert.equal((await change('PUT', name, body)).status, code, JSON.stringify(body));
    }
    for (let i = 0; i < 6; i++) assert.equal((await change('PUT', `more-${i}`, { image: IMAGE, count: 0 })).status, i < 5 ? 200 : 429);
    const made = (await configs()).map(([name]) => name);
    for (const name of made) assert.equal(typeof (await change('DELETE', encodeURIComponent(name))).json.message, 'string', name);
    assert.equal((await change('DELETE', 'default')).status, 404);
    assert.deepEqual(await configs(), [['default', 'file', IMAGE, 2]]);
    await pool.forget(large);
    await waitUntil(() => house.sql('SELECT count(*) FROM warm_sandboxes WHERE memory_bytes = 536870912') === '2', FILL_DEADLINE_MS, 'two of the usual kind wait');
    await pool.filled(2);
    await pool.assertTidy();
  });

  it('runtime 26: warm sandboxes of another deft-action, image or number are removed', async () => {
    const before = await pool.filled(2);
    await house.stop();
    house.sql("UPDATE warm_sandboxes SET fittings = 'older'");
    await house.start();
    assert.equal(before.includes((await pool.start()).runtime_id), false, 'none is handed out meanwhile');
    await waitUntil(() => pool.ready().every((id) => !before.includes(id)), DEADLINE_MS, 'the old ones are drained');
    const renewed = await pool.filled(2);
    house.sql("UPDATE warm_sandboxes SET image_id = 'sha256:older'");
    await waitUntil(() => pool.ready().every((id) => !renewed.includes(id)), DEADLINE_MS, 'those of the old image are drained');
    await pool.forget(...(await house.get('/list')).json.runtimes);
    await house.stop();
    house.settings = { DEFT_WARM_MOST: '0' };
    await house.start();
    await waitUntil(() => pool.ready().length === 0, DEADLINE_MS, 'none waits where none may');
    await pool.assertTidy();
    house.settings = { DEFT_WARM_LEAST: '2', DEFT_WARM_MOST: '2' };
    await house.stop();
    await house.start();
    await pool.filled(2);
  });

  it('in a burst of starts each gets its own sandbox, all warm ones are used, and nothing is left over', async () => {
    await house.stop();
    house.settings = { DEFT_WARM_LEAST: '3', DEFT_WARM_MOST: '3' };
    await house.start();
    const waiting = await pool.filled(3);
    const runtimes = await Promise.all(Array.from({ length: 12 }, () => pool.start()));
    for (const name of ['runtime_id', 'url', 'session_api_key']) assert.equal(new Set(runtimes.map((runtime) => runtime[name])).size, 12, name);
    assert.deepEqual(waiting.filter((id) => !runtimes.some(({ runtime_id }) => runtime_id === id)), []);
    const [warm, cold] = await Promise.all(['warm', 'cold'].map((kind) => pool.metric(`deft_start_seconds_count{kind="${kind}"}`)));
    assert.ok(warm >= 3 && warm + cold === 12, `${warm} warm, ${cold} cold`);
    await Promise.all(runtimes.map(async (runtime, i) => {
      await run(runtime, `echo ${i} > /workspace/file`);
      assert.equal(await run(runtime, 'cat /workspace/file'), `${i}\n`);
    }));
    await pool.forget(...runtimes);
    await pool.filled(3);
    await pool.assertTidy();
  });

  it('requested kinds are made in advance', async () => {
    const image = `deft-test-${house.instance}:asked`;
    await house.stop();
    house.settings = { DEFT_WARM_LEAST: '0', DEFT_WARM_MOST: '3' };
    await house.start();
    await waitUntil(() => pool.ready().length === 0, DEADLINE_MS, 'nobody asked yet');
    await engine('POST', `/images/create?fromSrc=-&repo=${image.replace(':', '&tag=')}`, { body: tar([]), type: 'application/x-tar' });
    try {
      const cold = await pool.start({ image });
      const [waiting] = await pool.filled(1);
      const warm = await pool.start({ image });
      assert.equal(warm.runtime_id, waiting);
      assert.equal(warm.image, image);
      assert.notEqual(cold.image, IMAGE);
      await pool.filled(2);
      await pool.forget(cold, warm);
    } finally {
      await house.stop();
      house.settings = { DEFT_WARM_MOST: '0' };
      await house.start();
      await waitUntil(() => pool.ready().length === 0, DEADLINE_MS, 'all are drained');
      await engine('DELETE', `/images/${image}?force=1`);
    }
    await pool.assertTidy();
  });
});
