// Metrics of the Runtime API: in Prometheus' format, documented, and correct.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import { after, before, describe, it } from 'node:test';

import { House, IMAGE, waitUntil } from './runtime_house.mjs';
import { readMetrics } from './support/prometheus.mjs';

describe('the metrics of the Runtime API', () => {
  let house;
  const read = async () => {
    const { status, text } = await house.get('/metrics');
    assert.equal(status, 200);
    return readMetrics(text);
  };
  const value = (families, name, labels = {}) => {
    const wanted = (one) => Object.entries(labels).every(([key, text]) => one.labels[key] === text);
    const [found, ...more] = families.get(name.replace(/_(count|sum)$/, '')).samples.filter((one) => one.name === name && wanted(one));
    assert.deepEqual(more, []);
    return found?.value;
  };

  before(async () => { house = await House.open({ DEFT_WARM_LEAST: '1', DEFT_WARM_MOST: '1' }); });
  after(async () => { await house?.close(); });

  it('are in Prometheus\' format, and all are documented', async () => {
    const families = await read();
    const guide = fs.readFileSync(new URL('../../docs/api/runtime-api.md', import.meta.url), 'utf8');
    for (const [name, { help }] of families) {
      assert.match(help, /^[A-Z].*\.$/, name);
      assert.ok(guide.includes(`\`${name}\``), `${name} is not in docs/api/runtime-api.md`);
    }
  });

  it('report warm sandboxes by image and size', async () => {
    const labels = { image: IMAGE, memory_bytes: String(512 << 20), cpus: '2' };
    await waitUntil(async () => value(await read(), 'deft_warm_idle', labels) === 1, 120_000, 'one waits');
    const families = await read();
    assert.equal(value(families, 'deft_warm_target', labels), 1);
    assert.deepEqual(families.get('deft_warm_idle').samples.length, 1);
  });

  it('count starts, failures by their reason, and sandboxes by tenant', async () => {
    const before = await read();
    const { json: runtime } = await house.sandbox('m-1');
    assert.equal(runtime.status, 'running', runtime.status_detail);
    const { json: failed } = await house.sandbox('m-2', { image: 'no-such-image:1' });
    assert.equal(failed.status, 'error');
    const [user, key, name] = [randomUUID(), randomUUID(), 'a "b" \\ c'];
    house.sql(`INSERT INTO users (id, email) VALUES ('${user}', '${user}@example.org');
      INSERT INTO runtime_keys (id, user_id, name, key_hash) VALUES ('${key}', '${user}', '${name}', 'h');
      UPDATE runtimes SET tenant_id = '${key}' WHERE id = '${failed.runtime_id}'`);
    const families = await read();
    const more = (metric, labels) => value(families, metric, labels) - value(before, metric, labels);
    assert.equal(more('deft_warm_hit_total'), 1);
    assert.equal(more('deft_warm_miss_total', { reason: 'class' }), 1);
    assert.equal(more('deft_start_seconds_count', { kind: 'warm' }), 1);
    // A start that a stalled service finds unfinished is tried again.
    const nAgain = Number(house.sql(`SELECT restart_count FROM runtimes WHERE id = '${failed.runtime_id}'`));
    assert.equal(more('deft_start_failed_total', { reason: 'ImageNotFound' }), 1 + nAgain);
    assert.equal(more('deft_start_failed_total', { reason: 'Other' }), 0);
    assert.deepEqual(families.get('deft_sandboxes').samples.map(({ labels, value: n }) => [labels, n]), [
      [{ tenant: '', status: 'running' }, 1], [{ tenant: name, status: 'error' }, 1],
    ]);
    assert.ok(value(families, 'deft_disk_free_bytes') > 0);
    await house.forget(runtime, failed);
  });
});
