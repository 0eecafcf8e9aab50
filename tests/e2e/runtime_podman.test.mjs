// Podman as the engine: the same API, with differences.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';

import { call, House, tar, waitUntil } from './runtime_house.mjs';

// A separate Podman for the test, with its own folders. Images are found by the given names, as
// docs/operations.md says; runc, as crun refuses hosts with both kinds of control groups.
class Podman {
  constructor() {
    this.dir = fs.mkdtempSync('/tmp/deft-podman-');
    this.socket = path.join(this.dir, 'podman.sock');
    fs.writeFileSync(`${this.dir}/containers.conf`, '[engine]\ncompat_api_enforce_docker_hub = false\n');
  }

  async start() {
    const log = fs.openSync(`${this.dir}/log`, 'a');
    this.daemon = spawn('podman', ['--root', `${this.dir}/root`, '--runroot', `${this.dir}/run`, '--network-config-dir', `${this.dir}/networks`,
      '--network-backend', 'netavark', '--runtime', 'runc', '--cgroup-manager', 'cgroupfs', 'system', 'service', '--time', '0', `unix://${this.socket}`],
    { stdio: ['ignore', log, log], env: { ...process.env, CONTAINERS_CONF: `${this.dir}/containers.conf` } });
    fs.closeSync(log);
    await waitUntil(() => this.call('GET', '/_ping').then(({ status }) => status === 200, () => false), 120000, 'Podman');
  }

  call(method, url, options) { return call({ socketPath: this.socket }, method, url, options); }

  async stop() {
    this.daemon.kill('SIGTERM');
    await waitUntil(() => this.daemon.exitCode !== null || this.daemon.signalCode !== null, 120000, 'the end of Podman');
    for (const line of fs.readFileSync('/proc/mounts', 'utf8').split('\n').filter((one) => one.includes(this.dir)).reverse()) {
      execFileSync('umount', ['-l', line.split(' ')[1]]);
    }
    fs.rmSync(this.dir, { recursive: true, force: true });
  }
}

describe('Podman as the engine', { skip: process.getuid() !== 0 && 'needs root' }, () => {
  const podman = new Podman();
  let house;
  let sandbox;

  before(async () => {
    await podman.start();
    await podman.call('POST', '/v1.41/images/create?fromSrc=-&repo=nothing:1', { body: tar([]), type: 'application/x-tar' });
    house = await House.open({ DEFT_DOCKER_SOCKET: podman.socket, DEFT_SANDBOX_IMAGE: 'nothing:1' });
  });
  after(async () => {
    await house?.close();
    await podman.stop();
  });

  const inspect = async () => (await podman.call('GET', `/v1.41/containers/${house.instance}-${sandbox.runtime_id}/json`)).json;

  it('starts a sandbox with the same confinement as Docker', async () => {
    ({ json: sandbox } = await house.sandbox('p-1', { image: 'nothing:1' }));
    assert.equal(sandbox.status, 'running', sandbox.status_detail);
    const facts = await inspect();
    assert.equal(facts.Config.User, '0:0');

    assert.equal(facts.HostConfig.Privileged, false);
    assert.equal(facts.HostConfig.PidsLimit, 512);
    const status = fs.readFileSync(`/proc/${facts.State.Pid}/status`, 'utf8');
    assert.match(status, /^NoNewPrivs:\s+1$/m);
    assert.match(status, /^Seccomp:\s+2$/m);
    assert.match(status, /^CapEff:\s+0+$/m);
    assert.match(status, /^CapBnd:\s+0+$/m);
    assert.match(status, /^CapPrm:\s+0+$/m);
    assert.doesNotMatch(status, /^Uid:.*\t0(\t|$)/m);
  });

  it('configures deft\'s name server and no search domain of the host', async () => {
    const { hostname, port } = new URL(sandbox.url);
    const { text } = await call({ host: hostname, port }, 'GET', '/api/file/download?path=/etc/resolv.conf', { headers: { 'X-Session-API-Key': sandbox.call_key } });
    assert.deepEqual(text.match(/^nameserver .*$/gm), ['nameserver 192.0.2.53']);
    assert.match(text, /^options .*timeout:2/m);
    assert.doesNotMatch(text, /^search +[^.\s]/m);
  });

  it('pauses and resumes it', async () => {
    assert.equal((await house.post('/pause', { runtime_id: sandbox.runtime_id })).status, 200);
    await waitUntil(async () => (await inspect()).State.Paused, 120000, 'it is paused');
    assert.equal((await house.post('/resume', { runtime_id: sandbox.runtime_id })).status, 200);
    await waitUntil(async () => !(await inspect()).State.Paused, 120000, 'it runs again');
  });

  it('reports that one was killed, and starts it again with its workspace', async () => {
    const home = house.sql("SELECT spec->>'home' FROM runtimes WHERE session_id = 'p-1'");
    assert.equal(house.sql("SELECT backend FROM runtimes WHERE session_id = 'p-1'"), 'podman');
    assert.equal((await podman.call('POST', `/v1.41/containers/${house.instance}-${sandbox.runtime_id}/kill`)).status, 204);
    await waitUntil(async () => (await house.get('/sessions/p-1')).json.status === 'error', 120000, 'the row says error');
    const { json: again } = await house.sandbox('p-1', { image: 'nothing:1' });
    assert.equal(again.status, 'running', again.status_detail);
    assert.equal(house.sql("SELECT spec->>'home' FROM runtimes WHERE session_id = 'p-1'"), home);
    sandbox = again;
  });

  it('leaves nothing of a stopped one', async () => {
    const stopped = await house.post('/stop', { runtime_id: sandbox.runtime_id });
    assert.equal(stopped.status, 200, stopped.text);
    await waitUntil(async () => (await inspect()).State === undefined, 120000, 'the container is gone');
  });
});
