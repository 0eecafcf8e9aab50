// The container engine goes away, hangs, and comes back: the service reports it, and recovers.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';

import { call, engine, House, tar, waitUntil } from './runtime_house.mjs';
import { within } from './support/wait.mjs';

const REAL = process.env.DEFT_DOCKER_SOCKET ?? '/var/run/docker.sock';

// The engine's socket with a switch: 'open', 'cut' (no connection), 'hung' (no answer) or 'ending' (no
// new connection). A request whose first line is like `refused` ends its connection.
class Switch {
  constructor(file) {
    this.file = file;
    this.state = 'open';
    this.sockets = new Set();
  }

  listen() {
    this.server = net.createServer((socket) => {
      this.sockets.add(socket);
      socket.on('error', () => {}).on('close', () => this.sockets.delete(socket));
      if (this.state === 'cut' || this.state === 'ending') { socket.destroy(); return; }
      if (this.state === 'hung') return;
      const real = net.connect(REAL);
      real.on('error', () => socket.destroy()).on('close', () => socket.destroy());
      socket.on('close', () => real.destroy());
      // Silence, not an end: what flows stops, connections stay.
      socket.on('data', (chunk) => {
        const text = chunk.toString('latin1');
        if (this.refused?.test(text)) socket.destroy();
        else if (this.passesBytes()) real.write(chunk);
        if (this.state === 'ending') this.late.push(text.split('\r\n')[0]);
        if (this.awaited?.pattern.test(text)) this.awaited.resolve();
      });
      real.on('data', (chunk) => { if (this.passesBytes()) socket.write(chunk); });
    });
    return new Promise((resolve) => { this.server.listen(this.file, resolve); });
  }

  passesBytes() { return this.state === 'open' || this.state === 'ending'; }

  set(state) {
    this.state = state;
    this.late = []; // what came while it was ending
    if (state === 'cut') for (const socket of this.sockets) socket.destroy();
  }

  // Resolves when a request comes whose first line is like the pattern.
  passes(pattern) {
    return within(new Promise((resolve) => { this.awaited = { pattern, resolve }; }), `the engine is asked for ${pattern}`);
  }

  close() { this.set('cut'); this.server.close(); }
}

describe('an engine that goes away', () => {
  const file = `/tmp/deft-switch-${process.pid}.sock`;
  const way = new Switch(file);
  let house;
  const assertRuns = async (session) => {
    const { json } = await house.sandbox(session);
    assert.equal(json.status, 'running', json.status_detail ?? json.detail);
  };

  before(async () => {
    await way.listen();
    house = await House.open({ DEFT_DOCKER_SOCKET: file });
  });
  after(async () => {
    way.set('open');
    await house?.close();
    way.close();
  });

  it('is reported by a 503 with the reason, and detected again when it is back', async () => {
    const { json: runtime } = await house.sandbox('e-1');
    assert.equal(runtime.status, 'running', runtime.status_detail);
    way.set('cut');
    await waitUntil(async () => (await house.get('/health')).json.sandboxes === 'unavailable', 120000, 'the loss is noticed');
    const refused = await house.sandbox('e-2');
    assert.equal(refused.status, 503);
    assert.match(refused.json.detail, /container engine/);
    assert.equal((await house.get('/sessions/e-1')).json.status, 'running');
    assert.equal((await house.post('/pause', { runtime_id: runtime.runtime_id })).status, 503);
    way.set('open');
    await waitUntil(async () => (await house.get('/health')).json.sandboxes === 'available', 120000, 'the engine is found');
    // The pause was requested, but could not be done at once.
    await waitUntil(async () => (await house.get('/sessions/e-1')).json.status === 'paused', 120000, 'the wish is carried out');
    await assertRuns('e-2');
    assert.equal((await house.sandbox('e-1')).json.session_api_key, runtime.session_api_key);
  });

  it('that is stopping is sent no requests, whose work it might leave incomplete', async () => {
    const { json: runtime } = await house.sandbox('e-8');
    assert.equal(runtime.status, 'running', runtime.status_detail);
    // What had begun goes on; then only the stream of events is open.
    await waitUntil(() => {
      const rests = way.sockets.size === 1;
      if (rests) way.set('ending');
      return rests;
    }, 120000, 'the service rests');
    await engine('POST', `/containers/${house.instance}-${runtime.runtime_id}/kill`);
    await waitUntil(async () => (await house.get('/health')).json.sandboxes === 'unavailable', 120000, 'the loss is noticed');
    assert.deepEqual(way.late, []);
    way.set('open');
    await waitUntil(async () => (await house.get('/health')).json.sandboxes === 'available', 120000, 'the engine is found');
    await assertRuns('e-8');
  });

  it('that hangs is detected, too', async () => {
    way.set('hung');
    await waitUntil(async () => (await house.get('/health')).json.sandboxes === 'unavailable', 120000, 'the loss is noticed');
    assert.equal((await house.sandbox('e-9')).status, 503);
    way.set('open');
    await waitUntil(async () => (await house.get('/health')).json.sandboxes === 'available', 120000, 'the engine is found');
  });

  it('that keeps a failed start\'s container gets no other one into its network', async () => {
    way.refused = /^(POST \S+\/start|DELETE \S+\/containers\/)/;
    const { json: failed } = await house.sandbox('e-4');
    way.refused = /^DELETE \S+\/containers\//;
    assert.equal(failed.status, 'error');
    for (const session of ['e-5', 'e-6']) await assertRuns(session);
    const sandboxes = (await house.ours('containers')).filter((c) => c.Labels['deft.role'] === 'sandbox');
    assert.ok(sandboxes.some((c) => c.Labels['deft.runtime_id'] === failed.runtime_id), 'the container is still there');
    way.refused = undefined;
    const networks = sandboxes.flatMap((c) => Object.keys(c.NetworkSettings.Networks));
    assert.equal(new Set(networks).size, sandboxes.length, 'each has a network of its own');
  });

  it('runtime 3: a start is answered with id, key and both statuses, even if the engine does not answer', async () => {
    way.set('hung');
    const { status, json } = await house.sandbox('e-7', { wait_ms: 0 });
    assert.equal(status, 200);
    assert.match(json.runtime_id, /^[a-z]{16}$/);
    assert.match(json.session_api_key, /^\S{32,}$/);
    assert.deepEqual([json.status, json.pod_status, json.url], ['starting', 'pending', '']);
    assert.equal((await house.get('/sessions/e-7')).json.runtime_id, json.runtime_id);
    way.set('cut');
    const failed = await waitUntil(async () => {
      const seen = await house.get('/sessions/e-7');
      return seen.json.status === 'error' && seen.json;
    }, 120000, 'the start has failed');
    assert.match(failed.status_detail, /engine/);
    assert.deepEqual(failed.restart_reasons, ['EngineUnavailable']);
    way.set('open');
    await waitUntil(async () => (await house.get('/health')).json.sandboxes === 'available', 120000, 'the engine is found');
    await assertRuns('e-7');
  });

  it('that goes away during a start ends it with a message, and the next start works', async () => {
    const begun = way.passes(/^POST \S+\/containers\/create/);
    const start = house.sandbox('e-3');
    await begun;
    way.set('cut');
    const { json } = await start;
    assert.match(json.status_detail ?? json.detail, /engine/);
    way.set('open');
    await waitUntil(async () => (await house.get('/health')).json.sandboxes === 'available', 120000, 'the engine is found');
    await assertRuns('e-3');
    house.sql("UPDATE runtimes SET desired = 'deleted'");
    await waitUntil(() => house.sql('SELECT count(*) FROM runtimes') === '0', 120000, 'no rows');
    await waitUntil(async () => (await house.ours('containers')).filter((c) => c.Labels['deft.role'] === 'sandbox').length === 0
      && (await house.ours('networks')).length === 1 && (await house.ours('volumes')).length === 3, 120000, 'nothing is left over');
  });
});

const hasEngine = process.getuid() === 0 && fs.existsSync('/usr/sbin/dockerd');

// A separate engine for the test: no bridge, no packet filter, its own folders.
class Engine {
  constructor() {
    this.dir = fs.mkdtempSync('/tmp/deft-engine-');
    this.socket = path.join(this.dir, 'docker.sock');
  }

  async start() {
    const log = fs.openSync(`${this.dir}/log`, 'a');
    this.daemon = spawn('dockerd', ['--host', `unix://${this.socket}`, '--data-root', `${this.dir}/data`, '--exec-root', `${this.dir}/exec`,
      '--pidfile', `${this.dir}/pid`, '--bridge', 'none', '--iptables=false', '--containerd-namespace', 'deft-test', '--containerd-plugins-namespace', 'deft-test-plugins'],
    { stdio: ['ignore', log, log], detached: true });
    fs.closeSync(log);
    await waitUntil(() => this.call('GET', '/_ping').then(({ status }) => status === 200, () => false), 120000, 'the engine of the test');
  }

  call(method, url, options) { return call({ socketPath: this.socket }, method, url, options); }

  async stop() {
    const gone = () => this.daemon.exitCode !== null || this.daemon.signalCode !== null;
    this.daemon.kill('SIGTERM');
    await waitUntil(gone, 120000, 'the end of the engine');
  }

  // Like a crash of the host: with its containerd, the shims, and all programs in its containers.
  async kill() {
    const read = (file) => { try { return fs.readFileSync(file, 'utf8'); } catch { return ''; } };
    const withChildren = (pid) => [pid, ...read(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number).flatMap(withChildren)];
    const ours = fs.readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && read(`/proc/${pid}/cmdline`).includes(this.dir)).map(Number);
    const service = ours.filter((pid) => pid !== process.pid && !read(`/proc/${pid}/cmdline`).startsWith('node'));
    for (const pid of new Set(service.flatMap(withChildren))) { try { process.kill(pid, 'SIGKILL'); } catch { /* it ended with another one */ } }
    await waitUntil(() => this.daemon.signalCode !== null, 120000, 'the end of the engine');
    await waitUntil(() => service.every((pid) => read(`/proc/${pid}/cmdline`) === ''), 120000, 'the end of its processes');
    this.remove(`${this.dir}/exec`);
  }

  remove(dir = this.dir) {
    for (const line of fs.readFileSync('/proc/mounts', 'utf8').split('\n').filter((l) => l.includes(dir)).reverse()) {
      execFileSync('umount', ['-l', line.split(' ')[1]]);
    }
    fs.rmSync(dir, { recursive: true, force: true });
  }
}

describe('an engine that is restarted', { skip: !hasEngine && 'needs root and dockerd' }, () => {
  const own = new Engine();
  let house;

  before(async () => {
    await own.start();
    await own.call('POST', '/images/create?fromSrc=-&repo=nothing&tag=1', { body: tar([]), type: 'application/x-tar' });
    house = await House.open({ DEFT_DOCKER_SOCKET: own.socket, DEFT_SANDBOX_IMAGE: 'nothing:1' });
  });
  after(async () => {
    await house?.close();
    await own.stop();
    own.remove();
  });

  it('ends its containers; rows report it, and a start uses the same workspace', async () => {
    const { json: runtime } = await house.sandbox('r-1', { image: 'nothing:1' });
    assert.equal(runtime.status, 'running', runtime.status_detail);
    const { json: paused } = await house.sandbox('r-2', { image: 'nothing:1' });
    assert.equal((await house.post('/pause', { runtime_id: paused.runtime_id })).json.status, 'paused');
    const homes = () => house.sql("SELECT spec->>'home' FROM runtimes ORDER BY session_id");
    const before = homes();
    // Wait until the spare objects exist: then no creation is in progress that the end would interrupt.
    const count = async (kind) => (await house.ours(kind, (method, url) => own.call(method, `/v1.41${url}`))).length;
    const counts = () => Promise.all(['networks', 'volumes', 'containers'].map(count));
    await waitUntil(async () => (await counts()).join() === '3,7,2', 120000, 'a network and a home are ready');
    await own.stop();
    await waitUntil(async () => (await house.get('/health')).json.sandboxes === 'unavailable', 120000, 'the loss is noticed');
    assert.equal((await house.sandbox('r-1', { image: 'nothing:1' })).json.status ?? 'refused', 'refused');
    await own.start();
    await waitUntil(async () => (await house.get('/health')).json.sandboxes === 'available', 120000, 'the engine is found');
    const dead = await waitUntil(async () => {
      const { json } = await house.get('/sessions/r-1');
      return json.status === 'error' && json;
    }, 120000, 'the row says error');
    assert.match(dead.status_detail, /ended|killed|gone/);
    const { json: again } = await house.sandbox('r-1', { image: 'nothing:1' });
    assert.equal(again.status, 'running', again.status_detail);
    assert.equal(again.session_api_key, runtime.session_api_key);
    // The paused one lost its programs, as it would have later; that is not an error.
    await waitUntil(() => house.sql("SELECT status, container_id IS NULL FROM runtimes WHERE session_id = 'r-2'") === 'paused|t', 120000, 'the row names no container');
    const { json: resumed } = await house.post('/resume', { runtime_id: paused.runtime_id, wait_ms: 120000 });
    assert.equal(resumed.status, 'running', resumed.status_detail);
    assert.equal(resumed.session_api_key, paused.session_api_key);
    assert.equal(homes(), before);
  });

  it('that was killed with its containers is detected, and sandboxes start again', async () => {
    const { json: runtime } = await house.sandbox('r-3', { image: 'nothing:1' });
    assert.equal(runtime.status, 'running', runtime.status_detail);
    await own.kill();
    await waitUntil(async () => (await house.get('/health')).json.sandboxes === 'unavailable', 120000, 'the loss is noticed');
    await own.start();
    const dead = await waitUntil(async () => {
      const { json } = await house.get('/sessions/r-3');
      return json.status === 'error' && json;
    }, 120000, 'the row says error');
    assert.equal(dead.status_detail, 'the sandbox ended when the engine or the host did');
    assert.deepEqual(dead.restart_reasons, ['HostRestarted']);
    const { json: again } = await house.sandbox('r-3', { image: 'nothing:1' });
    assert.equal(again.status, 'running', again.status_detail);
    assert.equal(again.session_api_key, runtime.session_api_key);
  });
});
