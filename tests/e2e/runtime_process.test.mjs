// Sandboxes as processes of this host, created by bubblewrap, without a container engine.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';

import WebSocket from 'ws';
import { asRuntime, call, House, IMAGE, waitUntil } from './runtime_house.mjs';
import { within } from './support/wait.mjs';

const DEADLINE_MS = 120_000;
// EINVAL: an id that its users' namespace does not have.
const REFUSED = /^(EPERM|ENOSYS|EAFNOSUPPORT|EINVAL)$/;
const field = (status, name) => new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(status)?.[1];

// The host must allow this; the service checks it, too, and reports a failure.
function whyNot() {
  if (process.getuid() !== 0) return 'needs root';
  const tried = spawnSync('setpriv', ['--reuid', '1900000000', '--regid', '1900000000', '--clear-groups',
    'bwrap', '--unshare-user', '--unshare-pid', '--unshare-net', '--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev', 'true'], { encoding: 'utf8' });
  return tried.status === 0 ? false : `bubblewrap makes no sandbox here: ${tried.stderr || tried.error}`;
}

const results = (text) => Object.fromEntries(text.split('\n').map((line) => [line.slice(0, line.lastIndexOf(' ')), line.slice(line.lastIndexOf(' ') + 1)]));
const at = (runtime) => ({ host: new URL(runtime.url).hostname, port: new URL(runtime.url).port });

async function send(runtime, method, url, options) {
  const answer = await call(at(runtime), method, url, { headers: { 'X-Session-API-Key': runtime.call_key }, ...options });
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

const bash = async (runtime, command) => (await send(runtime, 'POST', '/api/bash/execute_bash_command', { body: { command, timeout: 100 } })).stdout;

// A command in a conversation's terminal, whose programs run as an agent's do.
const act = async (runtime, command) => (await send(runtime, 'POST', '/execute_action', { body: { action: { action: 'run', args: { command, blocking: true }, timeout: 100 } } })).content;

describe('sandboxes as processes', { skip: whyNot() }, () => {
  let house;
  let place;
  let folder;
  let sandbox;
  const start = async (session, more) => {
    const { json } = await house.sandbox(session, more);
    assert.equal(json.status, 'running', json.status_detail);
    return json;
  };
  const row = () => house.get(`/runtime/${sandbox.runtime_id}`).then(({ json }) => json);
  const home = () => path.join(folder, 'homes', house.sql(`SELECT spec->>'home' FROM runtimes WHERE id = '${sandbox.runtime_id}'`));
  const boxes = () => fs.readdirSync(path.join(folder, 'boxes')).filter((name) => name.startsWith(sandbox.runtime_id));
  // Its first process, as the host sees it.
  const first = () => Object.assign({}, ...fs.readFileSync(path.join(folder, 'boxes', boxes()[0], 'status'), 'utf8').trim().split('\n').map((line) => JSON.parse(line)))['child-pid'];
  const inside = (pid) => fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name)).filter((name) => {
    try { return fs.readlinkSync(`/proc/${name}/ns/pid`) === fs.readlinkSync(`/proc/${pid}/ns/pid`); } catch { return false; }
  });
  const stat = (pid) => {
    const [state, parent] = fs.readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '').split(' ');
    return { state, parent: Number(parent) };
  };
  const isThere = (pid) => { try { return !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8')); } catch { return false; } };

  before(async () => {
    place = fs.mkdtempSync('/tmp/deft-boxes-');
    fs.chmodSync(place, 0o755);
    folder = path.join(place, 'sandboxes');
    house = await House.open({ DEFT_RUNTIME: 'process', DEFT_DOCKER_SOCKET: '/none', DEFT_PROCESS_DIR: folder });
    // As ./deft starts it: its sockets belong to a group.
    house.wrapper = ['sh', '-c', 'umask 0117; exec "$@"', 'sh', ...asRuntime('process')];
    await house.stop();
    await house.start();
    sandbox = await start('s-1');
  });
  after(async () => {
    await house?.close();
    fs.rmSync(place, { recursive: true, force: true });
  });

  it('are reported as less isolated', async () => {
    assert.equal((await house.get('/health', null)).json.isolation, 'process');
    assert.match(house.log(), /"isolation.reduced".*share its kernel/);
    assert.equal(house.sql(`SELECT backend FROM runtimes WHERE id = '${sandbox.runtime_id}'`), 'process');
  });

  it('run commands and keep files', async () => {
    assert.equal(await bash(sandbox, 'id -u; pwd; hostname; umask; echo kept > /workspace/project/file; echo mine > ~/file; cat ~/file'), '10001\n/workspace/project\nsandbox\n0022\nmine\n');
    assert.equal(await act(sandbox, 'cd /tmp && X=1'), '');
    assert.equal(await act(sandbox, 'echo $PWD $X'), '/tmp 1');
    assert.equal(fs.readFileSync(`${home()}/workspace/project/file`, 'utf8'), 'kept\n');
  });

  it('refuse any other image with a message', async () => {
    const { json } = await house.sandbox('s-other', { image: 'another:1' });
    assert.equal(json.status, 'error');
    assert.match(json.status_detail, /the image another:1 needs a container engine/);
    assert.equal((await house.get('/image_exists?image=another:1')).json.exists, false);
    assert.equal((await house.get(`/image_exists?image=${IMAGE}`)).json.exists, true);
    await house.forget(json);
  });

  it('are confined as documented, tested from inside', async () => {
    const prober = `${home()}/workspace/prober`;
    execFileSync('cc', ['-static', '-O1', '-o', prober, new URL('isolation/prober.c', import.meta.url).pathname]);
    fs.copyFileSync(prober, `${prober}-of-root`);
    fs.chmodSync(`${prober}-of-root`, 0o4755);
    const seen = results(await act(sandbox, '/workspace/prober server $PPID'));
    const tries = ['unshare-user', 'unshare-mount', 'unshare-net', 'clone-user', 'clone-pid', 'clone3', 'setns', 'chroot', 'mount', 'bind-mount', 'umount', 'pivot_root', 'fsopen',
      'fsmount', 'open_tree', 'move_mount', 'mount_setattr', 'bpf', 'perf_event_open', 'userfaultfd', 'io_uring_setup', 'keyctl', 'add_key', 'request_key', 'kexec_load', 'init_module',
      'swapon', 'reboot', 'clock_settime', 'settimeofday', 'adjtimex', 'acct', 'quotactl', 'syslog', 'sethostname', 'process_vm_readv', 'process_vm_writev', 'pidfd_getfd', 'kcmp',
      'ptrace-server', 'open_by_handle_at', 'setuid', 'setgid', 'setgroups', 'mknod-block', 'mknod-char', 'chown', 'socket-packet', 'socket-raw', 'socket-raw6', 'socket-vsock',
      'socket-alg', 'socket-key', 'socket-netfilter', 'socket-audit'];
    for (const name of tries) assert.match(seen[name] ?? 'not tried', REFUSED, name);
    for (const [name, how] of Object.entries(seen)) {
      if (/^(write|socket|server):/.test(name)) assert.match(how, /^(EACCES|EROFS|ENOENT|EPERM)$/, name);
      if (name.startsWith('read:')) assert.match(how, /^(EACCES|ENOENT|EPERM|ENXIO|EIO|ENOTDIR|empty)$/, name);
    }
    assert.equal(seen['limit:core'], '0:0');
    assert.equal(results(await bash(sandbox, '/workspace/prober server $PPID')).descriptors, '', 'no descriptor but the three of each program');
    assert.equal(seen['limit:files'], '8192:8192');
    assert.equal(seen['limit:tmp'], String(1 << 30));
    assert.equal(results(await act(sandbox, '/workspace/prober-of-root server $PPID')).setuid, 'EINVAL');
    const [, n, why] = /^processes (\d+) (\w+)$/.exec(await act(sandbox, '/workspace/prober processes'));
    assert.equal(why, 'EAGAIN');
    assert.ok(Number(n) < 512, n);
  });

  it('let no program end, stop or replace the server', async () => {
    const prober = `${home()}/workspace/prober`;
    execFileSync('cc', ['-static', '-O1', '-o', prober, new URL('isolation/prober.c', import.meta.url).pathname]);
    const was = first();
    await bash(sandbox, '(setsid /workspace/prober impostor 8000 > /tmp/tried 2>&1 &)');
    const tried = await waitUntil(async () => {
      const said = await bash(sandbox, 'cat /tmp/tried') ?? '';
      return said.includes('over done') && results(said.trim());
    }, DEADLINE_MS, 'the impostor has tried everything');
    for (const name of ['seize', 'mem', 'forged-user']) assert.match(tried[name], /^(EPERM|EACCES)$/, name);
    for (const name of ['replace', 'remove']) assert.match(tried[name], /^(EROFS|EACCES|EPERM)$/, name);
    assert.equal(tried.bind, 'EADDRINUSE');
    assert.equal(first(), was);
    assert.equal(await bash(sandbox, 'echo goes on'), 'goes on\n');
  });

  it('are confined as documented, inspected from outside', () => {
    for (const pid of inside(first())) {
      let status;
      let others;
      let words;
      try {
        status = fs.readFileSync(`/proc/${pid}/status`, 'utf8');
        others = ['mnt', 'pid', 'net', 'ipc', 'uts', 'user'].map((kind) => fs.readlinkSync(`/proc/${pid}/ns/${kind}`));
        words = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      } catch (error) {
        if (['ENOENT', 'ESRCH'].includes(error.code)) continue; // it ended just now
        throw error;
      }
      for (const set of ['CapEff', 'CapPrm', 'CapAmb']) assert.equal(field(status, set), '0000000000000000', `${pid} ${set}`);
      assert.equal(field(status, 'NoNewPrivs'), '1');
      assert.equal(field(status, 'Seccomp'), '2');
      assert.ok(Number(field(status, 'Uid').split('\t')[0]) >= 1900000000, 'a user of its own');
      for (const other of others) assert.notEqual(other, fs.readlinkSync(`/proc/self/ns/${other.split(':')[0]}`), other);
      assert.equal(words.includes(sandbox.session_api_key), false);
    }
  });

  it('see their own limits, and programs that exceed them end', async () => {
    const said = JSON.parse(/^.*"isolation.reduced".*$/m.exec(house.log())[0]).control_groups;
    const words = ['memory', 'processes', 'processors'].map((word) => said.split(', ').includes(word));
    if (words.every((is) => !is)) return assert.equal(await bash(sandbox, 'ls -d /sys/fs/cgroup/* 2>/dev/null | grep -c max'), '0\n');
    const bounded = await start('s-bounds');
    const look = (...files) => bash(bounded, `cd /sys/fs/cgroup; cat ${files.join(' ')} 2>/dev/null`);
    if (words[0]) assert.equal(await look('memory.max', 'memory/memory.limit_in_bytes'), `${512 << 20}\n`);
    if (words[1]) assert.equal(await look('pids.max', 'pids/pids.max'), '512\n');
    if (words[2]) assert.match(await look('cpu.max', 'cpu/cpu.cfs_quota_us'), /^200000( 100000)?\n$/);
    assert.equal(await bash(bounded, 'find /sys/fs/cgroup -writable -type f | wc -l'), '0\n');
    if (words[0]) assert.match(await act(bounded, 'head -c 700M /dev/zero | tail >/dev/null; echo "ended with ${PIPESTATUS[1]}"'), /ended with 137/);
    await house.forget(bounded);
  });

  it('have no network, not even access to their server\'s listener', async () => {
    const server = net.createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    after(() => server.close());
    const reach = (port) => act(sandbox, `(exec 3<>/dev/tcp/127.0.0.1/${port}) 2>&1 | grep -o refused | sort -u`);
    assert.equal(await reach(server.address().port), 'refused');
    assert.equal(await reach(at(sandbox).port), 'refused');
    // Programs in the sandbox reach the server at the same address as in a container.
    assert.equal(await bash(sandbox, 'curl -s -o /dev/null -w "%{http_code}" -H "X-Session-API-Key: $OH_SESSION_API_KEYS_0" http://localhost:8000/api/file/home'), '200');
    assert.equal(await bash(sandbox, 'cat /proc/net/route | wc -l'), '1\n');
  });

  it('serve previews through a socket on the host', async () => {
    fs.copyFileSync(new URL('support/site.py', import.meta.url), `${home()}/workspace/site.py`);
    await bash(sandbox, 'python3 /workspace/site.py 5173');
    const door = { host: '127.0.0.2', port: at(sandbox).port };
    const ask = (method, url, port, more) => call(door, method, url, { headers: { Host: 'localhost:5173', Connection: 'close', 'X-Deft-Port': port }, ...more });
    const { json: seen } = await ask('POST', '/hello?x=1', 5173, { body: { text: 'x'.repeat(3 << 20) } });
    assert.deepEqual([seen.port, seen.method, seen.path, JSON.parse(seen.body).text.length], [5173, 'POST', '/hello?x=1', 3 << 20]);
    assert.deepEqual(seen.headers.filter(([name]) => name.startsWith('x-deft')), [], 'what is for the door stays there');
    // No listener; an invalid port; no port: the connection ends, and nginx reports it.
    for (const port of [5174, 0, 70000]) await assert.rejects(ask('GET', '/', port), /socket hang up|ECONNRESET/, String(port));
    await assert.rejects(call(door, 'GET', '/', { headers: { Connection: 'close' } }), /socket hang up|ECONNRESET/);
    const socket = new WebSocket(`ws://${door.host}:${door.port}/socket`, { headers: { 'X-Deft-Port': '5173' } });
    await within(once(socket, 'open'), 'the socket opens', DEADLINE_MS);
    socket.send('both ways');
    assert.equal(String((await within(once(socket, 'message'), 'the message comes back', DEADLINE_MS))[0]), 'both ways');
    socket.close();
    await within(once(socket, 'close'), 'the socket closes', DEADLINE_MS);
  });

  it('accept their own key only', async () => {
    const answer = await call(at(sandbox), 'POST', '/api/bash/execute_bash_command', { body: { command: 'true' }, headers: { 'X-Session-API-Key': 'wrong' } });
    assert.equal(answer.status, 401);
  });

  it('runtime 32: keeps a background process across pause and resume', async () => {
    const pid = (await bash(sandbox, 'setsid sleep 300 >/dev/null 2>&1 & echo $!')).trim();
    assert.equal((await house.post('/pause', { runtime_id: sandbox.runtime_id })).json.status, 'paused');
    await assert.rejects(call(at(sandbox), 'GET', '/alive', { timeoutMs: 500 }), /timeout/);
    const { json: resumed } = await house.post('/resume', { runtime_id: sandbox.runtime_id, wait_ms: DEADLINE_MS });
    assert.equal(resumed.status, 'running', resumed.status_detail);
    for (const member of ['runtime_id', 'url', 'session_api_key']) assert.equal(resumed[member], sandbox[member]);
    assert.equal(await bash(sandbox, `kill -0 ${pid} && echo lives`), 'lives\n');
  });

  it('are found again after a kill of the service, and their end is detected', async () => {
    const pid = first();
    await house.stop('SIGKILL');
    assert.equal(await bash(sandbox, 'cat /workspace/project/file'), 'kept\n');
    await house.start();
    assert.equal((await row()).status, 'running');
    assert.equal((await house.post('/pause', { runtime_id: sandbox.runtime_id })).json.status, 'paused');
    assert.equal((await house.post('/resume', { runtime_id: sandbox.runtime_id, wait_ms: DEADLINE_MS })).json.status, 'running');
    assert.equal(first(), pid, 'it is the same');
    process.kill(pid, 'SIGKILL');
    await waitUntil(async () => (await row()).status === 'error', DEADLINE_MS, 'the row says error');
    assert.match((await row()).status_detail, /killed/);
    sandbox = await start('s-1');
    assert.equal(await bash(sandbox, 'cat /workspace/project/file ~/file'), 'kept\nmine\n');
  });

  it('the end of a started one is detected', async () => {
    process.kill(first(), 'SIGKILL');
    await waitUntil(async () => (await row()).status === 'error', DEADLINE_MS, 'the row says error');
    sandbox = await start('s-1');
  });

  it('the end of a server during a restart of the service is detected, whatever its programs do', async () => {
    await bash(sandbox, 'setsid sleep 300 >/dev/null 2>&1 &');
    await house.stop('SIGKILL');
    process.kill(first(), 'SIGKILL');
    await house.start();
    await waitUntil(async () => (await row()).status === 'error', DEADLINE_MS, 'the row says error');
    await waitUntil(() => boxes().length === 0, DEADLINE_MS, 'nothing is left of it');
    sandbox = await start('s-1');
  });

  it('are paused by signals without control groups, and can be ended', async () => {
    house.settings.DEFT_PROCESS_CGROUPS = 'none';
    await house.stop();
    await house.start();
    const other = sandbox;
    sandbox = await start('s-signals');
    const pid = (await bash(sandbox, '(while :; do sleep 0.01; done) >/dev/null 2>&1 & setsid sleep 300 >/dev/null 2>&1 & echo $!')).trim();
    const top = first();
    assert.equal((await house.post('/pause', { runtime_id: sandbox.runtime_id })).json.status, 'paused');
    assert.deepEqual(inside(top).map((pid) => stat(pid).state).filter((state) => !/[TZ]/.test(state)), []);
    assert.equal((await house.post('/resume', { runtime_id: sandbox.runtime_id, wait_ms: DEADLINE_MS })).json.status, 'running');
    assert.equal(await bash(sandbox, `kill -0 ${pid} && echo lives`), 'lives\n');
    assert.equal((await house.post('/stop', { runtime_id: sandbox.runtime_id })).status, 200);
    assert.equal(isThere(top), false);
    await house.forget(sandbox);
    sandbox = other;
    delete house.settings.DEFT_PROCESS_CGROUPS;
    await house.stop();
    await house.start();
  });

  // Holds bubblewrap before it reports its child, by a program of the same name.
  for (const groups of ['/sys/fs/cgroup', 'none']) {
    it(`a start interrupted by a kill leaves nothing, with control groups in ${groups}`, async () => {
      const bin = path.join(place, 'bin');
      fs.mkdirSync(bin, { recursive: true });
      execFileSync('mkfifo', ['-m', '666', `${bin}/began`]);
      // The test at each start of the service may pass.
      fs.writeFileSync(`${bin}/bwrap`, `#!/bin/sh\ncase "$*" in *deft-action*) echo $$ > ${bin}/began; exec sleep 300 ;; esac\nexec /usr/bin/bwrap "$@"\n`, { mode: 0o755 });
      Object.assign(house.settings, { DEFT_PROCESS_CGROUPS: groups, PATH: `${bin}:${process.env.PATH}` });
      await house.stop();
      await house.start();
      const asked = house.sandbox('s-cut').catch(() => {});
      const [guardian] = await once(fs.createReadStream(`${bin}/began`, 'utf8'), 'data', { signal: AbortSignal.timeout(DEADLINE_MS) });
      await house.stop('SIGKILL');
      await asked;
      assert.equal(isThere(Number(guardian)), true, 'it outlives the service');
      fs.rmSync(bin, { recursive: true });
      await house.start();
      await waitUntil(() => !isThere(Number(guardian)), DEADLINE_MS, 'the end of the guardian');
      await house.forget(await start('s-cut'));
      for (const setting of ['DEFT_PROCESS_CGROUPS', 'PATH']) delete house.settings[setting];
      await house.stop();
      await house.start();
    });
  }

  it('a stopped one ends by itself, and keeps its files', async () => {
    const pid = first();
    const where = home();
    assert.equal((await house.post('/stop', { runtime_id: sandbox.runtime_id })).status, 200);
    assert.equal(isThere(pid), false);
    assert.deepEqual(boxes(), []);
    assert.equal(fs.readFileSync(`${where}/workspace/project/file`, 'utf8'), 'kept\n');
  });

  it('--end ends all of them without the service, and keeps their files', async () => {
    sandbox = await start('s-1');
    const pid = first();
    const where = home();
    await house.stop('SIGKILL');
    await house.reap('--end');
    assert.equal(isThere(pid), false);
    assert.deepEqual(boxes(), []);
    assert.equal(fs.readFileSync(`${where}/workspace/project/file`, 'utf8'), 'kept\n');
    await house.start();
  });

  it('get the host\'s network only if it is configured, and listen nowhere else on it', async () => {
    const server = net.createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    after(() => server.close());
    house.settings.DEFT_PROCESS_NETWORK = 'host';
    await house.stop();
    await house.start();
    const open = await start('s-host');
    assert.equal(await act(open, `(exec 3<>/dev/tcp/127.0.0.1/${server.address().port}) && echo reached`), 'reached');
    // Another program may have that port, but not this server.
    assert.notEqual(await bash(open, 'curl -s -o /dev/null -w "%{http_code}" -H "X-Session-API-Key: $OH_SESSION_API_KEYS_0" http://localhost:8000/api/file/home || true'), '200');
    await house.forget(open);
    delete house.settings.DEFT_PROCESS_NETWORK;
    await house.stop();
    await house.start();
  });

  it('without a network no list is needed; a policy that cannot be enforced is refused with a message', async () => {
    house.settings.OH_SANDBOX_EGRESS = 'none';
    await house.stop();
    await house.start();
    const cut = await start('s-nowhere');
    assert.equal(await bash(cut, 'cat /proc/net/route | wc -l'), '1\n');
    await house.forget(cut);
    delete house.settings.OH_SANDBOX_EGRESS;
    await house.stop();
    for (const [settings, why] of [
      [{ OH_SANDBOX_EGRESS: 'none', DEFT_PROCESS_NETWORK: 'host' }, /OH_SANDBOX_EGRESS: sandboxes run as processes.*DEFT_PROCESS_NETWORK=host/],
      [{ OH_SANDBOX_EGRESS: 'list', OH_SANDBOX_EGRESS_ALLOW: '*.example.com' }, /OH_SANDBOX_EGRESS: sandboxes run as processes.*needs a container engine/],
    ]) {
      const { status, stderr } = spawnSync(house.service.spawnargs.at(-1), [], { env: { ...house.environment(), ...settings }, encoding: 'utf8', timeout: DEADLINE_MS });
      assert.notEqual(status, 0);
      assert.match(stderr, why);
    }
    await house.start();
  });

  it('a warm one is claimed', async () => {
    house.settings.DEFT_WARM_MOST = '1';
    await house.stop();
    await house.start();
    const warm = /"sandbox.started".*"kind":"warm"/;
    await waitUntil(() => fs.readdirSync(path.join(folder, 'boxes')).length > 0, DEADLINE_MS, 'one waits');
    await waitUntil(async () => {
      await house.forget(await start('s-warm'));
      return warm.test(house.log());
    }, DEADLINE_MS, 'the one that waited is handed over');
    house.settings.DEFT_WARM_MOST = '0';
    await house.stop();
    await house.start();
  });

  it('a deleted one leaves nothing, and --reap removes everything', async () => {
    sandbox = await start('s-1');
    const where = home();
    await house.forget(sandbox);
    assert.equal(fs.existsSync(where), false);
    sandbox = await start('s-2');
    const pid = first();
    await house.stop('SIGKILL');
    await house.reap();
    assert.equal(isThere(pid), false);
    assert.equal(fs.existsSync(folder), false);
    // Control groups of others may disappear during the search, which counts as a failure.
    const { stdout: groups } = spawnSync('find', ['/sys/fs/cgroup', '-name', `deft-${house.instance}*`], { encoding: 'utf8' });
    assert.equal(groups, '');
    await house.start();
  });
});
