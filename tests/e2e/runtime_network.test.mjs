// The network of a sandbox: the internet, but not the host, its networks, link-local, or another sandbox.
// The "internet" is a network namespace with a public address, so that no connection is needed.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import net from 'node:net';
import { after, before, describe, it } from 'node:test';

import { House, removeHostRule, waitUntil } from './runtime_house.mjs';

const isRoot = process.getuid() === 0 && process.env.DEFT_NETWORK_RULES !== '0';
const ip = (...args) => execFileSync('ip', args, { stdio: ['ignore', 'pipe', 'pipe'] }).toString();
const quietly = (act) => { try { act(); } catch { /* it was not there */ } };
/** Of this run: one that was killed has left its links and addresses, and pids are used again. */
const TAG = randomBytes(4).toString('hex');
const NETWORK = 4 * (randomBytes(1)[0] % 64);
// An unused address outside all refused ranges.
const PUBLIC = { host: `45.11.187.${NETWORK + 2}`, gateway: `45.11.187.${NETWORK + 1}`, port: 8080 };
const SPACE = `deft${TAG}`;
const LINK = `v${TAG}`;

const PROBE = `
import socket, sys
for target in sys.argv[1:]:
    host, port = target.rsplit(':', 1)
    kind = socket.AF_INET6 if ':' in host else socket.AF_INET
    s = socket.socket(kind, socket.SOCK_STREAM)
    s.settimeout(20)
    try:
        s.connect((host, int(port)))
        print(target, 'reached')
    except Exception as e:
        print(target, 'refused')
`;
const SERVER = `
import socket, sys
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind((sys.argv[1], int(sys.argv[2])))
s.listen(64)
while True: s.accept()[0].close()
`;
const UDP = `
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(1)
for target in sys.argv[1:]:
    host, port = target.rsplit(':', 1)
    try:
        s.sendto(b'deft', (host, int(port)))
        s.sendto(b'deft', (host, int(port)))
    except Exception:
        pass
`;

const listen = (host, port = 0) => new Promise((resolve, reject) => {
  const server = net.createServer((socket) => socket.end());
  server.on('error', reject);
  server.listen(port, host, () => resolve(server));
});

const reachesFromHost = (host, port) => new Promise((resolve) => {
  const socket = net.connect({ host, port, timeout: 60000 }, () => { socket.destroy(); resolve(true); });
  socket.on('error', () => resolve(false));
  socket.on('timeout', () => { socket.destroy(); resolve(false); });
});

describe('the network of a sandbox', { skip: !isRoot && 'needs root, and packet filter rules' }, () => {
  let house;
  let server;
  let outside;
  let one;
  let two;
  const cut = [];

  before(async () => {
    house = await House.open();
    ip('addr', 'replace', '169.254.169.254/32', 'dev', 'lo');
    cut.push(() => ip('addr', 'del', '169.254.169.254/32', 'dev', 'lo'));
    ip('netns', 'add', SPACE);
    cut.push(() => ip('netns', 'del', SPACE));
    ip('link', 'add', LINK, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', SPACE);
    ip('addr', 'add', `${PUBLIC.gateway}/30`, 'dev', LINK);
    ip('link', 'set', LINK, 'up');
    ip('-n', SPACE, 'addr', 'add', `${PUBLIC.host}/30`, 'dev', 'eth0');
    ip('-n', SPACE, 'link', 'set', 'eth0', 'up');
    ip('-n', SPACE, 'route', 'add', 'default', 'via', PUBLIC.gateway);
    outside = spawn('ip', ['netns', 'exec', SPACE, 'python3', '-c', SERVER, PUBLIC.host, String(PUBLIC.port)], { stdio: 'ignore' });
    await waitUntil(() => reachesFromHost(PUBLIC.host, PUBLIC.port), 120000, 'the outside');
    server = await listen('0.0.0.0');
    [one, two] = (await Promise.all([house.sandbox('n-1'), house.sandbox('n-2')])).map(({ json }) => json);
    assert.equal(one.status, 'running', one.status_detail);
    assert.equal(two.status, 'running', two.status_detail);
  });

  after(async () => {
    outside?.kill();
    server?.close();
    for (const undo of cut.reverse()) quietly(undo);
    await house?.close();
  });

  const probe = async (...targets) => {
    const { text } = await house.look(one.runtime_id, ['python3', '-c', PROBE, ...targets]);
    return Object.fromEntries(text.trim().split(/\r?\n/).map((line) => [line.slice(0, line.lastIndexOf(' ')), line.slice(line.lastIndexOf(' ') + 1)]));
  };

  it('reaches the internet', async () => {
    assert.deepEqual(await probe(`${PUBLIC.host}:${PUBLIC.port}`), { [`${PUBLIC.host}:${PUBLIC.port}`]: 'reached' });
  });

  it('reaches no service of the host, by any address', async () => {
    const { port } = server.address();
    const gateway = new URL(one.url).hostname.replace(/\d+$/, (last) => String(Number(last) - 1));
    const addresses = ip('-4', '-br', 'addr').match(/\d+\.\d+\.\d+\.\d+(?=\/)/g).filter((address) => !address.startsWith('127.') && !address.startsWith('10.201.'));
    const targets = [gateway, PUBLIC.gateway, '169.254.169.254', ...addresses].map((address) => `${address}:${port}`);
    assert.equal(await reachesFromHost('169.254.169.254', port), true);
    for (const [target, verdict] of Object.entries(await probe(...new Set(targets)))) assert.equal(verdict, 'refused', target);
  });

  it('reaches no other sandbox', async () => {
    const { hostname, port } = new URL(two.url);
    assert.equal(await reachesFromHost(hostname, port), true);
    assert.deepEqual(await probe(`${hostname}:${port}`), { [`${hostname}:${port}`]: 'refused' });
  });

  it('sends nothing to private networks', async () => {
    ip('-n', SPACE, 'addr', 'add', '192.168.211.2/32', 'dev', 'eth0');
    ip('route', 'replace', '192.168.211.2/32', 'via', PUBLIC.host);
    try {
      const catcher = spawn('ip', ['netns', 'exec', SPACE, 'python3', '-u', '-c', `
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('0.0.0.0', 5353))
print('ready')
while True: print(s.recvfrom(100)[0].decode(), s.getsockname())`], { stdio: ['ignore', 'pipe', 'inherit'] });
      let caught = '';
      catcher.stdout.on('data', (chunk) => { caught += chunk; });
      await waitUntil(() => caught.includes('ready'), 120000, 'the catcher');
      await house.look(one.runtime_id, ['python3', '-c', UDP, '192.168.211.2:5353']);
      assert.equal(caught.includes('deft'), false);
      // Datagrams may be lost, for example while the neighbour's address is asked for.
      await waitUntil(async () => {
        await house.look(one.runtime_id, ['python3', '-c', UDP, `${PUBLIC.host}:5353`]);
        return caught.includes('deft');
      }, 120000, 'what goes to a public address');
      catcher.kill();
    } finally {
      ip('route', 'del', '192.168.211.2/32');
    }
  });

  it('has no resolver for lists if no sandbox has a list', () => {
    assert.deepEqual(house.udpSockets(), []);
  });

  it('has no IPv6', async () => {
    const { text } = await house.look(one.runtime_id, ['cat', '/proc/net/if_inet6']);
    const outside = text.split('\n').filter((line) => line.trim() !== '' && !/\slo$/.test(line.trim()));
    assert.deepEqual(outside, []);
  });

  it('has its rules restored after they were removed', async () => {
    removeHostRule();
    await waitUntil(() => { try { execFileSync('iptables', ['-w', '5', '-C', 'INPUT', '-i', 'dsb+', '-j', 'DEFT-IN'], { stdio: 'ignore' }); return true; } catch { return false; } }, 120000, 'the rules are back');
  });
});

describe('without a packet filter', { skip: !isRoot && 'needs root' }, () => {
  it('starts no sandbox, and reports why', async () => {
    const house = await House.open();
    try {
      await house.stop();
      house.wrapper = ['setpriv', '--bounding-set', '-net_admin', '--no-new-privs'];
      await house.start({ ready: false });
      await waitUntil(async () => (await house.get('/health')).json?.detail?.includes('network rules:'), 120000, 'words about the rules');
      const { status, json } = await house.sandbox('f-1');
      assert.equal(status, 503);
      assert.match(json.detail, /cannot be confined/);
      assert.equal((await house.ours('containers')).filter((c) => c.Labels['deft.role'] === 'sandbox').length, 0);
    } finally {
      await house.close();
    }
  });
});

describe('rules that could not be created', { skip: !isRoot && 'needs root' }, () => {
  it('are created as soon as possible, before the next reconciliation', async () => {
    const house = await House.open({ DEFT_RECONCILE_MS: '3600000' });
    try {
      await house.stop();
      // Simulates a database that was unreachable at that moment.
      house.sql('ALTER TABLE users RENAME TO away');
      await house.start({ ready: false });
      const said = () => house.log().match(/"egress.assign_failed".*users/g) ?? [];
      await waitUntil(() => said().length > 0, 120000, 'words about the rules');
      house.sql('ALTER TABLE away RENAME TO users');
      await house.ready();
      const { json } = await house.sandbox('a-1');
      assert.equal(json.status, 'running', json.status_detail);
      assert.equal(said().length, 1, 'it is said once');
    } finally {
      await house.close();
    }
  });
});

describe('on a host with other networks', { skip: !isRoot && 'needs root' }, () => {
  // Another bridge has three of the range's four networks.
  const range = `10.214.${randomBytes(1)[0]}`;
  const bridge = `t${TAG}`;
  let house;

  before(async () => {
    ip('link', 'add', bridge, 'type', 'bridge');
    for (const last of [1, 9, 25]) ip('addr', 'add', `${range}.${last}/29`, 'dev', bridge);
    ip('link', 'set', bridge, 'up');
    house = await House.open({ DEFT_SANDBOX_SUBNETS: `${range}.0/27` });
  });
  after(async () => {
    await house?.close();
    ip('link', 'del', bridge);
  });

  it('a sandbox gets an unused network, or the engine\'s choice if there is none', async () => {
    const { json } = await house.sandbox('s-1');
    assert.equal(json.status, 'running', json.status_detail);
    const subnets = await waitUntil(async () => {
      const networks = await house.ours('networks');
      return networks.length === 2 && networks.map((network) => network.IPAM.Config[0].Subnet).sort();
    }, 120000, 'the sandbox has a network, and another is ready');
    const inside = subnets.filter((subnet) => subnet.startsWith(`${range}.`));
    assert.deepEqual(inside, [`${range}.16/29`]);
  });
});
