// The warm pool of a test's own Runtime API service: its members, and starts that claim them.
import assert from 'node:assert/strict';
import { call, waitUntil } from '../runtime_house.mjs';

export const DEADLINE_MS = 120_000;
// After a failed start the pool waits for 30 seconds.
export const FILL_DEADLINE_MS = 150_000;

export async function run(runtime, command) {
  const { hostname, port } = new URL(runtime.url);
  const answer = await call({ host: hostname, port }, 'POST', '/api/bash/execute_bash_command', {
    body: { command }, headers: { 'X-Session-API-Key': runtime.call_key },
  });
  assert.equal(answer.status, 200, answer.text);
  return answer.json.stdout;
}

export class Pool {
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

  /** The engine has exactly the objects of the warm sandboxes. */
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
