// The warm pool with a real container engine: sandboxes that wait, started, for whoever asks next.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { call, engine, House, IMAGE, tar, waitUntil } from './runtime_house.mjs';

const DEADLINE_MS = 120_000;
// A fill that fails makes the pool rest for 30 seconds.
const FILL_DEADLINE_MS = 150000;

async function run(runtime, command) {
  const { hostname, port } = new URL(runtime.url);
  const answer = await call({ host: hostname, port }, 'POST', '/api/bash/execute_bash_command', {
    body: { command }, headers: { 'X-Session-API-Key': runtime.call_key },
  });
  assert.equal(answer.status, 200, answer.text);
  return answer.json.stdout;
}

class Pool {
  constructor(house) {
    this.house = house;
    this.n = 0;
  }

  session() { return `w-${process.pid}-${this.n++}`; }

  ready() { return this.house.sql('SELECT id FROM warm_sandboxes WHERE is_ready ORDER BY created_at').split('\n').filter(Boolean); }

  filled(n) { return waitUntil(() => { const ids = this.ready(); return ids.length === n && ids; }, FILL_DEADLINE_MS, `${n} sandboxes wait`); }

  async start(more) {
    const { status, json, text } = await this.house.sandbox(this.session(), more);
    assert.equal(status, 200, text);
    assert.equal(json.status, 'running', json.status_detail);
    return json;
  }

  forget(...runtimes) { return this.house.forget(...runtimes); }

  containers() { return this.house.ours('containers').then((all) => all.filter((one) => one.Labels['deft.role'] === 'sandbox').map((one) => one.Labels['deft.runtime_id'])); }

  /** Exactly the members that wait have anything in the engine, and nothing else has. */
  async assertTidy() {
    let seen;
    await waitUntil(async () => {
      const ids = this.ready();
      const [containers, networks, volumes] = await Promise.all([this.containers(), this.house.ours('networks'), this.house.ours('volumes')]);
      seen = { ids, containers, networks: networks.length, volumes: volumes.length };
      // One spare network, one spare home of two volumes, and deft-action's own.
      return String(containers.sort()) === String([...ids].sort()) && networks.length === 1 + ids.length && volumes.length === 3 + 2 * ids.length;
    }, 120000, 'nothing is left over').catch((error) => { throw new Error(`${error.message}: ${JSON.stringify(seen)}`); });
  }

  async metric(name) {
    const { text } = await this.house.get('/metrics');
    return Number(text.split('\n').find((line) => line.startsWith(`${name} `)).split(' ')[1]);
  }
}

describe('warm pool', () => {
  let house;
  let pool;

  before(async () => {
    house = await House.open({ DEFT_WARM_LEAST: '2', DEFT_WARM_MOST: '2' });
    pool = new Pool(house);
  });
  after(async () => { await house?.close(); });

  it('runtime 21, 25: a start takes one that waits, and the pool is filled again', async () => {
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

  it('runtime 22, 23, 29: the environment comes with the claim, and what says something of the server does not', async () => {
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

  it('pause, resume, stop and start keep id, key, files and environment of one that had waited', async () => {
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

  it('another size or image starts cold, and only what was asked for before waits', async () => {
    const waiting = await pool.filled(2);
    const misses = await pool.metric('deft_warm_miss_total{reason="class"}');
    const runtime = await pool.start({ memory_bytes: 256 << 20 });
    assert.equal(waiting.includes(runtime.runtime_id), false);
    assert.equal(await pool.metric('deft_warm_miss_total{reason="class"}'), misses + 1);
    await pool.forget(runtime);
    await pool.filled(2);
    await pool.assertTidy();
  });

  it('runtime 24: many starts at once never share one', async () => {
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

  it('one session asked for many times at once is one sandbox', async () => {
    await pool.filled(2);
    const id = pool.session();
    const answers = await Promise.all(Array.from({ length: 8 }, () => house.sandbox(id)));
    assert.equal(new Set(answers.map(({ json }) => json.runtime_id)).size, 1);
    for (const { json } of answers) assert.equal(json.status, 'running', json.status_detail);
    await pool.forget(answers[0].json);
    await pool.filled(2);
    await pool.assertTidy();
  });

  it('a member whose container ends is removed and replaced', async () => {
    const [first, second] = await pool.filled(2);
    await engine('POST', `/containers/${house.instance}-${first}/kill`);
    await engine('DELETE', `/containers/${house.instance}-${second}?force=1`);
    await waitUntil(() => pool.ready().every((id) => id !== first && id !== second), DEADLINE_MS, 'the dead ones are out');
    await pool.filled(2);
    await pool.assertTidy();
  });

  it('a member that hangs makes way for a cold start', async () => {
    const [first] = await pool.filled(2);
    await engine('POST', `/containers/${house.instance}-${first}/pause`);
    const runtime = await pool.start();
    assert.equal(await run(runtime, 'echo yes'), 'yes\n');
    await pool.forget(runtime);
    await pool.filled(2);
    await pool.assertTidy();
  });

  it('a service that is killed finds its members again, and what it was making', async () => {
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

  it('members outlive a restart of the service in order', async () => {
    const before = await pool.filled(2);
    await house.stop();
    await house.start();
    const runtime = await pool.start();
    assert.ok(before.includes(runtime.runtime_id));
    await pool.forget(runtime);
    await pool.filled(2);
  });

  it('runtime 27: a configuration of the administrator counts before that of the settings, until it is deleted', async () => {
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

  it('runtime 26: members of another deft-action, image or number are drained', async () => {
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

  it('a burst of starts, more than wait: each gets its own sandbox, those that wait are used up, nothing is left over', async () => {
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

  it('what is asked for is made ahead', async () => {
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
