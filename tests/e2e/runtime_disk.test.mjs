// A disk that fills up: no new sandbox starts, idle ones end first, and working ones continue.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';

import { call, engine, House, waitUntil } from './runtime_house.mjs';

const DEADLINE_MS = 120_000;
const FILE_BYTES = 32 << 20;
const PLENTY = String(2 ** 52); // more than any disk has free

describe('a disk with little free space', () => {
  let house;
  const state = async (runtime) => (await engine('GET', `/containers/${house.instance}-${runtime.runtime_id}/json`)).json?.State?.Status ?? 'none';
  const start = async (id) => {
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
  const restart = async (settings, options) => {
    await house.stop();
    Object.assign(house.settings, settings);
    await house.start(options);
  };

  before(async () => { house = await House.open({ DEFT_SANDBOX_DISK_BYTES: String(FILE_BYTES), OH_SANDBOX_LIFECYCLE_IDLE_SECONDS: '0' }); });
  after(async () => { await house?.close(); });

  it('limits the size of a file, and the sandbox\'s server continues', async () => {
    const runtime = await start('d-file');
    const { exit_code: code, stderr } = await bash(runtime, 'execute_bash_command', { command: `head -c ${FILE_BYTES + 1} /dev/zero > /workspace/project/large` });
    assert.notEqual(code, 0, stderr);
    const { stdout: size } = await bash(runtime, 'execute_bash_command', { command: 'stat -c %s /workspace/project/large' });
    assert.equal(Number(size), FILE_BYTES);
    const { hostname, port } = new URL(runtime.url);
    const boundary = 'b0undary';
    const body = Buffer.concat([Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n`), Buffer.alloc(FILE_BYTES + 1), Buffer.from(`\r\n--${boundary}--\r\n`)]);
    const upload = await call({ host: hostname, port }, 'POST', '/api/file/upload?path=/workspace/project/upload', {
      body, type: `multipart/form-data; boundary=${boundary}`, headers: { 'X-Session-API-Key': runtime.call_key },
    });
    assert.ok(upload.status >= 400, upload.text);
    assert.match(upload.text, /no space for the file/);
    assert.equal((await bash(runtime, 'execute_bash_command', { command: 'echo here' })).stdout, 'here\n');
    await house.post('/stop', { runtime_id: runtime.runtime_id });
  });

  it('reports which limits the engine can enforce', async () => {
    assert.match(house.log(), /disk_limit\.checked/);
    assert.equal((await house.ours('volumes')).some(({ Name }) => Name.endsWith('-probe')), false);
  });

  it('also counts inodes: if few are free, no sandbox starts', async () => {
    const { text } = await house.get('/metrics');
    const room = /^deft_disk_free_files (\d+)$/m.exec(text)?.[1];
    if (room === undefined) {
      assert.match(text, /^deft_disk_free_bytes \d+$/m, 'the disk is seen, and makes room for files as they come');
      return;
    }
    await restart({ DEFT_SANDBOX_FREE_FILES: String(Number(room) * 2) }, { ready: false });
    const { detail } = await waitUntil(async () => {
      const health = (await house.get('/health').catch(() => null))?.json;
      return health?.sandboxes === 'unavailable' && /DEFT_SANDBOX_FREE_FILES/.test(health.detail) && health;
    }, DEADLINE_MS, 'the disk is seen to be low');
    assert.match(detail, /has \d+ free inodes, and \d+ are to stay free/);
    assert.equal((await house.sandbox('d-files')).status, 503);
    await restart({ DEFT_SANDBOX_FREE_FILES: '1' });
    await house.post('/stop', await start('d-files'));
  });

  it('starts no sandbox, ends idle ones first, and lets working ones continue', async () => {
    const [busy, idle, paused] = [await start('d-busy'), await start('d-idle'), await start('d-paused')];
    await bash(paused, 'execute_bash_command', { command: 'echo kept > /workspace/project/file' });
    await bash(busy, 'start_bash_command', { command: 'exec sleep 900', timeout: 900 });
    await house.post('/pause', { runtime_id: paused.runtime_id });
    house.sql(`UPDATE runtimes SET last_used_at = now() - interval '2 minutes' WHERE session_id IN ('d-idle', 'd-busy')`);
    await restart({ DEFT_SANDBOX_FREE_BYTES: PLENTY }, { ready: false });
    await waitUntil(async () => /DEFT_SANDBOX_FREE_BYTES/.test((await house.get('/health').catch(() => null))?.json?.detail), DEADLINE_MS, 'the disk is seen to be low');
    const refused = await house.sandbox('d-new');
    assert.equal(refused.status, 503, refused.text);
    assert.match(refused.json.detail, /disk has \d+ MB free/);
    assert.equal((await house.get('/sessions/d-new')).status, 404);
    for (const runtime of [idle, paused]) await waitUntil(async () => (await state(runtime)) === 'none', DEADLINE_MS, 'its container has gone');
    await waitUntil(() => house.sql(`SELECT 1 FROM runtimes WHERE id = '${paused.runtime_id}' AND container_id IS NULL`) === '1', DEADLINE_MS, 'the service knows that');
    assert.equal((await start('d-busy')).url, busy.url);
    assert.equal((await bash(busy, 'execute_bash_command', { command: 'echo works' })).stdout, 'works\n');
    const held = await house.post('/resume', { runtime_id: paused.runtime_id, wait_ms: DEADLINE_MS });
    assert.equal(held.status, 503, held.text);
    assert.match(held.json.detail, /disk has \d+ MB free/);
    assert.equal((await house.get('/sessions/d-paused')).json.status, 'paused');
    await restart({ DEFT_SANDBOX_FREE_BYTES: '1' });
    const again = await start('d-paused');
    assert.equal((await bash(again, 'execute_bash_command', { command: 'cat /workspace/project/file' })).stdout, 'kept\n');
  });
});
