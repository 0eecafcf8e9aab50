// The warm pool with a real container engine: sandboxes that are started in advance.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { call, engine, House, waitUntil } from './runtime_house.mjs';
import { DEADLINE_MS, Pool, run } from './support/warm_pool.mjs';

describe('warm pool', () => {
  let house;
  let pool;

  before(async () => {
    house = await House.open({ DEFT_WARM_LEAST: '2', DEFT_WARM_MOST: '2' });
    pool = new Pool(house);
  });
  after(async () => { await house?.close(); });

  it('runtime 21, 25: a start claims a warm sandbox, and the pool is refilled', async () => {
    const waiting = await pool.filled(2);
    const hits = await pool.metric('deft_warm_hit_total');
    const runtime = await pool.start();
    assert.equal(runtime.runtime_id, waiting[0], 'the one that waits longest');
    assert.equal(await run(runtime, 'echo $((6 * 7))'), '42\n');
    assert.equal(await pool.metric('deft_warm_hit_total'), hits + 1);
    assert.ok(await pool.metric('deft_start_seconds_count{kind="warm"}') > 0);
    assert.equal((await pool.filled(2)).includes(runtime.runtime_id), false);
    await pool.forget(runtime);
    await pool.assertTidy();
  });

  it('runtime 22, 23, 29: the environment is set by the claim, except settings of the server', async () => {
    const [first] = await pool.filled(2);
    const environment = { COLOUR: 'blue $x "y"', PATH: '/opt/none:/usr/bin:/bin', SESSION_API_KEY: 'forged', DEFT_ACTION_OPEN: '1' };
    const runtime = await pool.start({ environment, working_dir: '/elsewhere', command: 'other words' });
    assert.equal(runtime.runtime_id, first);
    assert.equal(await run(runtime, 'echo "$COLOUR|$PATH|$DEFT_ACTION_OPEN"'), 'blue $x "y"|/opt/none:/usr/bin:/bin|\n');
    const { hostname, port } = new URL(runtime.url);
    assert.equal((await call({ host: hostname, port }, 'GET', '/api/file/home', { headers: { 'X-Session-API-Key': 'forged' } })).status, 401);
    const { json: seen } = await engine('GET', `/containers/${house.instance}-${runtime.runtime_id}/json`);
    assert.equal(JSON.stringify(seen).includes('blue'), false, 'the engine knows nothing of it');
    await pool.forget(runtime);
  });

  it('pause, resume, stop and start keep id, key, files and environment of a claimed sandbox', async () => {
    await pool.filled(2);
    const runtime = await pool.start({ environment: { COLOUR: 'blue' } });
    await run(runtime, 'echo kept > /workspace/file');
    for (const verb of ['/pause', '/stop']) {
      await house.post(verb, { runtime_id: runtime.runtime_id });
      const { json: again } = await house.sandbox(runtime.session_id);
      assert.deepEqual([again.status, again.runtime_id, again.session_api_key], ['running', runtime.runtime_id, runtime.session_api_key], again.status_detail);
      assert.equal(await run(again, 'cat /workspace/file; echo $COLOUR'), 'kept\nblue\n');
    }
    await pool.forget(runtime);
  });

  it('another size or image starts cold, and is kept warm after that', async () => {
    const waiting = await pool.filled(2);
    const misses = await pool.metric('deft_warm_miss_total{reason="class"}');
    const runtime = await pool.start({ memory_bytes: 256 << 20 });
    assert.equal(waiting.includes(runtime.runtime_id), false);
    assert.equal(await pool.metric('deft_warm_miss_total{reason="class"}'), misses + 1);
    await pool.forget(runtime);
    await pool.filled(2);
    await pool.assertTidy();
  });

  it('runtime 24: concurrent starts never share a sandbox', async () => {
    await pool.filled(2);
    const runtimes = await Promise.all(Array.from({ length: 6 }, () => pool.start()));
    assert.equal(new Set(runtimes.map(({ runtime_id }) => runtime_id)).size, 6);
    assert.equal(new Set(runtimes.map(({ url }) => url)).size, 6);
    await Promise.all(runtimes.map(async (runtime, i) => {
      await run(runtime, `echo ${i} > /workspace/file`);
      assert.equal(await run(runtime, 'cat /workspace/file'), `${i}\n`);
    }));
    await pool.forget(...runtimes);
    await pool.filled(2);
    await pool.assertTidy();
  });

  it('concurrent starts of one session get one sandbox', async () => {
    await pool.filled(2);
    const id = pool.session();
    const answers = await Promise.all(Array.from({ length: 8 }, () => house.sandbox(id)));
    assert.equal(new Set(answers.map(({ json }) => json.runtime_id)).size, 1);
    for (const { json } of answers) assert.equal(json.status, 'running', json.status_detail);
    await pool.forget(answers[0].json);
    await pool.filled(2);
    await pool.assertTidy();
  });

  it('a warm sandbox whose container ends is removed and replaced', async () => {
    const [first, second] = await pool.filled(2);
    await engine('POST', `/containers/${house.instance}-${first}/kill`);
    await engine('DELETE', `/containers/${house.instance}-${second}?force=1`);
    await waitUntil(() => pool.ready().every((id) => id !== first && id !== second), DEADLINE_MS, 'the dead ones are out');
    await pool.filled(2);
    await pool.assertTidy();
  });

  it('a warm sandbox that hangs is replaced by a cold start', async () => {
    const [first] = await pool.filled(2);
    await engine('POST', `/containers/${house.instance}-${first}/pause`);
    const runtime = await pool.start();
    assert.equal(await run(runtime, 'echo yes'), 'yes\n');
    await pool.forget(runtime);
    await pool.filled(2);
    await pool.assertTidy();
  });
});
