// The confinement of programs in a sandbox: tested from inside by a static program, and read from
// outside from the engine and the kernel.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { after, before, describe, it } from 'node:test';

import { call, engine, House, IMAGE, tar, waitUntil } from './runtime_house.mjs';

const MEMORY = 256 << 20;
const REFUSED = /^(EPERM|ENOSYS)$/;
const profile = JSON.parse(fs.readFileSync(new URL('../../runtime/seccomp.json', import.meta.url)));

// A field of /proc/PID/status.
const field = (status, name) => new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(status)?.[1];

describe('the confinement of a sandbox', () => {
  let house;
  let runtime;
  let image;
  let user; // of its commands
  let seen; // name -> how the prober's try ended

  async function send(method, url, body) {
    const { hostname, port } = new URL(runtime.url);
    const answer = await call({ host: hostname, port }, method, url, { body, headers: { 'X-Session-API-Key': runtime.call_key } });
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
  }

  // A command in the terminal, whose programs run as an agent's do.
  async function run(command) {
    const observation = await send('POST', '/execute_action', { action: { action: 'run', args: { command, blocking: true }, timeout: 120 } });
    return observation.content;
  }

  const results = (text) => Object.fromEntries(text.split('\n').map((line) => [line.slice(0, line.lastIndexOf(' ')), line.slice(line.lastIndexOf(' ') + 1)]));

  before(async () => {
    house = await House.open();
    const prober = `${house.dir}/prober`;
    execFileSync('cc', ['-static', '-O1', '-o', prober, new URL('isolation/prober.c', import.meta.url).pathname]);
    // The prober is part of the image: no image can give its programs more privileges.
    image = `deft-test-${house.instance}:prober`;
    const files = tar([{ name: 'prober', data: fs.readFileSync(prober) }, { name: 'root-prober', mode: 0o4755, data: fs.readFileSync(prober) }]);
    const { json } = await engine('POST', '/containers/create', { body: { Image: IMAGE, Entrypoint: ['/none'], NetworkDisabled: true } });
    assert.equal((await engine('PUT', `/containers/${json.Id}/archive?path=/usr/bin`, { body: files, type: 'application/x-tar' })).status, 200);
    const [repo, tag] = image.split(':');
    assert.equal((await engine('POST', `/commit?container=${json.Id}&repo=${repo}&tag=${tag}`)).status, 201);
    await engine('DELETE', `/containers/${json.Id}?force=1`);
    ({ json: runtime } = await house.sandbox('isolation', { image, memory_bytes: MEMORY }));
    assert.equal(runtime.status, 'running', runtime.status_detail);
    user = Number(await house.userOf(runtime.runtime_id));
    seen = results(await run('prober server $PPID'));
  });

  after(async () => {
    await house?.close();
    if (image) await engine('DELETE', `/images/${image}?force=1`);
  });

  const tries = {
    'makes no namespace and no mount': [
      'unshare-user', 'unshare-mount', 'unshare-net', 'clone-user', 'clone-pid', 'clone3', 'setns', 'chroot', 'mount', 'bind-mount', 'umount', 'pivot_root',
      'fsopen', 'fsmount', 'open_tree', 'move_mount', 'mount_setattr',
    ],
    'reaches nothing of the kernel': [
      'bpf', 'perf_event_open', 'userfaultfd', 'io_uring_setup', 'io_uring_enter', 'keyctl', 'add_key', 'request_key', 'kexec_load', 'init_module',
      'finit_module', 'delete_module', 'swapon', 'swapoff', 'reboot', 'clock_settime', 'settimeofday', 'adjtimex', 'acct', 'quotactl', 'syslog',
      'sethostname', 'setdomainname', 'vhangup', ...(process.arch === 'x64' ? ['iopl', 'ioperm'] : []),
    ],
    'reaches no other process': ['process_vm_readv', 'process_vm_writev', 'pidfd_getfd', 'kcmp', 'ptrace-server', 'name_to_handle_at', 'open_by_handle_at'],
    'cannot change its user or create a device': ['setuid', 'setgid', 'setgroups', 'mknod-block', 'mknod-char', 'chown'],
    'has only client sockets': ['socket-packet', 'socket-raw', 'socket-raw6', 'socket-vsock', 'socket-alg', 'socket-key', 'socket-netfilter', 'socket-audit'],
  };
  for (const [what, names] of Object.entries(tries)) {
    it(`from inside: ${what}`, () => {
      for (const name of names) assert.match(seen[name] ?? 'not tried', REFUSED, name);
    });
  }

  it('from inside: cannot write the host\'s files, read masked ones, or see its sockets', () => {
    const of = (kind) => Object.entries(seen).filter(([name]) => name.startsWith(`${kind}:`));
    assert.equal(of('write').length, 15);
    for (const [name, how] of of('write')) assert.match(how, /^(EACCES|EROFS|ENOENT|EPERM)$/, name);
    assert.equal(of('read').length, 15);
    for (const [name, how] of of('read')) assert.match(how, /^(EACCES|ENOENT|EPERM|ENXIO|EIO|ENOTDIR|empty)$/, name);
    assert.equal(of('socket').length, 10);
    for (const [name, how] of of('socket')) assert.match(how, /^(ENOENT|EACCES)$/, name);
    assert.equal(of('server').length, 7);
    for (const [name, how] of of('server')) assert.match(how, /^(EACCES|EPERM)$/, name);
  });

  it('from inside: a set-uid program of root gains nothing', async () => {
    assert.equal(results(await run('root-prober server $PPID')).setuid, 'EPERM');
    assert.equal(await run('grep -E "^(Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp:)" /proc/self/status | tr -s "\\t " " " | sed "s/ $//"'), [
      `Uid: ${user} ${user} ${user} ${user}`, 'Gid: 10001 10001 10001 10001', 'Groups: 10001',
      ...['Inh', 'Prm', 'Eff', 'Bnd', 'Amb'].map((set) => `Cap${set}: 0000000000000000`), 'NoNewPrivs: 1', 'Seccomp: 2',
    ].join('\n'));
  });

  it('from inside: has only the listed devices, mounts and variables', async () => {
    assert.deepEqual((await run('ls /dev')).split(/\s+/).filter((name) => name !== 'core').sort(), // a link to /proc/kcore
      ['fd', 'full', 'mqueue', 'null', 'ptmx', 'pts', 'random', 'shm', 'stderr', 'stdin', 'stdout', 'tty', 'urandom', 'zero']);
    const mounts = (await run("awk '{print $5, $6}' /proc/self/mountinfo")).split('\n').map((line) => line.split(' '));
    const unusual = mounts.filter(([place]) => !/^\/(proc|sys|dev)(\/|$)/.test(place)).map(([place]) => place);
    assert.deepEqual(unusual.sort(), ['/', '/.deft', '/.deft-j', '/etc/hostname', '/etc/hosts', '/etc/resolv.conf', '/tmp', '/workspace'].sort());
    const options = (place) => mounts.findLast(([one]) => one === place)?.[1].split(',');
    for (const place of ['/.deft', '/sys', '/proc/sys']) assert.ok(options(place)?.includes('ro'), place);
    // The ones that this host's kernel has.
    for (const place of ['/proc/sysrq-trigger', '/proc/irq', '/proc/bus', '/proc/fs']) assert.ok(options(place)?.includes('ro') ?? !fs.existsSync(place), place);
    const names = (await run('env')).split('\n').map((line) => line.slice(0, line.indexOf('=')));
    assert.deepEqual(names.filter((name) => /KEY|TOKEN|SECRET|PASSWORD|DEFT_ACTION/.test(name)), []);
    assert.equal((await run('env; cat /proc/*/environ 2>/dev/null')).includes(runtime.session_api_key), false);
  });

  it('from inside: files, processes, memory and disk space are limited', async () => {
    assert.equal(seen['limit:files'], '4096:8192');
    assert.equal(seen['limit:core'], '0:0');
    assert.equal(seen['limit:tmp'], String(1 << 30));
    assert.equal(seen['limit:tmp-flags'], 'nosuid,nodev');
    const [, n, why] = /^processes (\d+) (\w+)$/.exec(await run('prober processes'));
    assert.equal(why, 'EAGAIN');
    assert.ok(Number(n) > 400 && Number(n) < 512, n);
    const command = `prober memory ${(MEMORY >> 20) * 2}`;
    const greedy = await send('POST', '/execute_action', { action: { action: 'run', args: { command, blocking: true }, timeout: 120 } });
    assert.equal(greedy.content, 'memory Killed');
    assert.match(greedy.extras.metadata.suffix, /exit code 0\.\]\n\[The sandbox ran out of memory while the command ran/);
    const modest = await send('POST', '/execute_action', { action: { action: 'run', args: { command: 'echo goes on', blocking: true } } });
    assert.deepEqual([modest.content, modest.extras.metadata.suffix], ['goes on', '\n[The command completed with exit code 0.]']);
  });

  it('from inside: a program has three descriptors, in the terminal also those of its shell', async () => {
    const bash = await send('POST', '/api/bash/execute_bash_command', { command: 'prober server $PPID' });
    assert.equal(results(bash.stdout).descriptors, '');
    assert.equal(seen.descriptors, '60,61,62,'); // its shell's: the command, the record of its end, the terminal
  });

  it('from inside: no program can end, stop or replace the server', async () => {
    const port = new URL(runtime.url).port;
    assert.equal((await send('POST', '/api/bash/execute_bash_command', { command: `(setsid prober impostor ${port} > /tmp/tried 2>&1 &)` })).exit_code, 0);
    const tried = await waitUntil(async () => {
      const answer = await call({ host: new URL(runtime.url).hostname, port }, 'POST', '/api/bash/execute_bash_command',
        { body: { command: 'cat /tmp/tried' }, headers: { 'X-Session-API-Key': runtime.call_key } });
      assert.equal(answer.status, 200, answer.text);
      assert.equal(answer.text.includes('impostor"'), false, 'a program in the sandbox answers for the server');
      const said = answer.json.stdout ?? '';
      return said.includes('over done') && results(said.trim());
    }, 120000, 'the impostor has tried everything');
    for (const name of ['seize', 'mem', 'prlimit', 'forged-queue', 'forged-user']) assert.match(tried[name], /^(EPERM|EACCES)$/, name);
    for (const name of Object.keys(tried).filter((one) => one.startsWith('kill:'))) assert.equal(tried[name], 'EPERM', name);
    assert.equal(tried.journal, 'EACCES');
    for (const name of ['replace', 'remove']) assert.match(tried[name], /^(EROFS|EACCES|EPERM)$/, name);
    assert.equal(tried.bind, 'EADDRINUSE');
    assert.equal(await run('echo goes on'), 'goes on');
  });

  it('from inside: commands run as an account of the image, with its home', async () => {
    assert.equal(await run('whoami; echo $USER; cd ~ && pwd && touch .mark && stat -c "%U %G" . .mark'), ['deft', 'deft', '/home/deft', 'deft deft', 'deft deft'].join('\n'));
    assert.equal(await run('cd /workspace/project && git init -q . && git status --short && rm -r .git && echo ours'), 'ours');
  });

  it('from inside: the kernel\'s per-user limits are counted per sandbox', async () => {
    const { json: other } = await house.sandbox('isolation-other', { image });
    assert.notEqual(await house.userOf(other.runtime_id), String(user));
    const { hostname, port } = new URL(other.url);
    const inOther = (command) => call({ host: hostname, port }, 'POST', '/api/bash/execute_bash_command', { body: { command }, headers: { 'X-Session-API-Key': other.call_key } });
    await inOther('(setsid prober watches > /tmp/taken 2>&1 &)');
    await waitUntil(async () => /^watches \d+ EMFILE/.test((await inOther('cat /tmp/taken')).json.stdout ?? ''), 120000, 'the other sandbox has all it may have');
    assert.equal((await inOther('prober watch')).json.stdout, 'watch EMFILE\n');
    assert.equal(await run('prober watch'), 'watch done');
    assert.equal((await inOther('echo goes on')).json.stdout, 'goes on\n', 'the server there has its own');
    await house.forget(other);
  });

  // A home from before sandboxes had users of their own.
  async function makeOldHome(home) {
    const names = { workspace: `${house.instance}-ws-${home}`, '.deft-j': `${house.instance}-j-${home}` };
    const mounts = [];
    for (const [folder, name] of Object.entries(names)) {
      await engine('POST', '/volumes/create', { body: { Name: name, Labels: { 'deft.managed': '1', 'deft.instance': house.instance } } });
      mounts.push({ Type: 'volume', Source: name, Target: `/${folder}` });
    }
    const { json } = await engine('POST', '/containers/create', { body: { Image: IMAGE, Entrypoint: ['/none'], HostConfig: { NetworkMode: 'none', Mounts: mounts } } });
    const files = tar([
      { name: 'workspace/', type: '5', uid: 10001 }, { name: 'workspace/project/', type: '5', uid: 10001 }, { name: 'workspace/project/kept', uid: 10001, data: 'kept' },
      { name: '.deft-j/', type: '5', uid: 10001, mode: 0o700 }, { name: '.deft-j/journal', uid: 10001, mode: 0o600 },
    ]);
    assert.equal((await engine('PUT', `/containers/${json.Id}/archive?path=/`, { body: files, type: 'application/x-tar' })).status, 200);
    assert.equal((await engine('DELETE', `/containers/${json.Id}?force=1`)).status, 204);
  }

  it('from inside: a workspace from before per-sandbox users works, and its journal is protected', async () => {
    const { json: begun } = await house.sandbox('isolation-old', { image });
    assert.equal((await house.post('/stop', { runtime_id: begun.runtime_id })).status, 200);
    // The row first: a sweep removes homes that no row has.
    house.sql(`UPDATE runtimes SET spec = jsonb_set(spec, '{home}', '"0123456789"') WHERE id = '${begun.runtime_id}'`);
    await makeOldHome('0123456789');
    const { json: old } = await house.sandbox('isolation-old', { image });
    assert.equal(old.status, 'running', old.status_detail);
    const { hostname, port } = new URL(old.url);
    const command = 'id -u; whoami; cat kept; echo more >> kept && echo written; ls /.deft-j 2>&1; stat -c %u:%a /.deft-j; kill -9 1 2>&1';
    const { json } = await call({ host: hostname, port }, 'POST', '/api/bash/execute_bash_command', { body: { command, cwd: '/workspace/project' }, headers: { 'X-Session-API-Key': old.call_key } });
    assert.ok(json.stdout, JSON.stringify(json));
    assert.deepEqual(json.stdout.trim().split('\n').map((line) => line.replace(/^.*(Permission denied|not permitted)$/, '$1')),
      ['10001', 'deft', 'keptwritten', 'Permission denied', '10002:700', 'not permitted']);
    await house.forget(old);
  });

  it('from outside: the engine\'s configuration of the container is exact', async () => {
    const { json: container, text } = await engine('GET', `/containers/${house.instance}-${runtime.runtime_id}/json`);
    const { HostConfig: host, Config: config } = container;
    assert.equal(config.User, '0:0');
    assert.deepEqual(host.CapAdd.map((name) => name.replace(/^CAP_/, '')).sort(), ['CHOWN', 'DAC_READ_SEARCH', 'SETGID', 'SETPCAP', 'SETUID'], 'gone when it serves');
    assert.deepEqual(config.Entrypoint, ['/.deft/deft-action']);
    assert.equal(text.includes(runtime.session_api_key), false);
    assert.equal(container.ExecIDs, null);
    const { json: { NCPU: n } } = await engine('GET', '/info');
    const wanted = {
      Privileged: false, CapDrop: ['ALL'], PidsLimit: 512, Memory: MEMORY, MemorySwap: MEMORY, NanoCpus: Math.min(2, n) * 1e9, CpuShares: 512, OomScoreAdj: 500,
      ReadonlyRootfs: false, ShmSize: 256 << 20, Init: false, IpcMode: 'private', PidMode: '', UTSMode: '', UsernsMode: '', CgroupnsMode: 'private',
      PublishAllPorts: false, RestartPolicy: { Name: 'no', MaximumRetryCount: 0 },
      LogConfig: { Type: 'local', Config: { 'max-size': '1m', 'max-file': '2' } },
      Tmpfs: { '/tmp': `rw,exec,nosuid,nodev,mode=1777,size=${1 << 30},uid=${user},gid=10001` },
    };
    for (const [name, value] of Object.entries(wanted)) assert.deepEqual(host[name], value, name);
    for (const name of ['Binds', 'Devices', 'DeviceRequests', 'DeviceCgroupRules', 'ExtraHosts', 'Links', 'VolumesFrom', 'GroupAdd', 'Sysctls']) {
      assert.equal(Object.keys(host[name] ?? []).length, 0, name);
    }
    assert.equal(Object.keys(host.PortBindings ?? {}).length, 0);
    assert.match(host.NetworkMode, new RegExp(`^${house.instance}-`));
    const limits = host.Ulimits.filter(({ Name }) => Name !== 'fsize'); // as much as the disk of this host allows
    assert.deepEqual(limits.map(({ Name, Soft, Hard }) => [Name, Soft, Hard]).sort(), [['core', 0, 0], ['nofile', 4096, 8192]]);
    const [privileges, seccomp] = [...host.SecurityOpt].sort();
    assert.match(privileges, /^no-new-privileges(:true)?$/);
    assert.deepEqual(JSON.parse(seccomp.slice('seccomp='.length)), profile);
    assert.equal(host.SecurityOpt.length, 2);
    for (const path of ['/proc/kcore', '/proc/keys', '/proc/timer_list', '/sys/firmware']) assert.ok(host.MaskedPaths.includes(path), path);
    for (const path of ['/proc/sys', '/proc/sysrq-trigger', '/proc/irq', '/proc/bus', '/proc/fs']) assert.ok(host.ReadonlyPaths.includes(path), path);
    assert.deepEqual(container.Mounts.map(({ Type, Destination, RW }) => [Type, Destination, RW]).sort(),
      [['volume', '/.deft', false], ['volume', '/.deft-j', true], ['volume', '/workspace', true]]);
  });

  it('from outside: every process of the sandbox is confined by the kernel', async () => {
    const { json: { Titles: titles, Processes: processes } } = await engine('GET', `/containers/${house.instance}-${runtime.runtime_id}/top?ps_args=-eo%20pid,args`);
    assert.ok(processes.length >= 2, 'deft-action and a shell');
    const users = new Set();
    for (const columns of processes) {
      const pid = columns[titles.indexOf('PID')];
      const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8');
      for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']) assert.equal(field(status, set), '0000000000000000', `${columns} ${set}`);
      users.add(field(status, 'Uid'));
      assert.equal(field(status, 'Gid'), '10001\t10001\t10001\t10001');
      assert.equal(field(status, 'Groups').trim(), '10001');
      assert.equal(field(status, 'NoNewPrivs'), '1');
      assert.equal(field(status, 'Seccomp'), '2');
      for (const kind of ['mnt', 'pid', 'net', 'ipc', 'uts', 'cgroup']) {
        assert.notEqual(fs.readlinkSync(`/proc/${pid}/ns/${kind}`), fs.readlinkSync(`/proc/self/ns/${kind}`), kind);
      }
      assert.ok(Number(fs.readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8')) >= 500, 'it dies before the host');
    }
    assert.deepEqual([...users].sort(), [[user, user, user, user], [user + 1, user, user + 1, user]].map((ids) => ids.join('\t')), 'files of the server are those of its commands, who can neither signal nor trace it');
  });
});
