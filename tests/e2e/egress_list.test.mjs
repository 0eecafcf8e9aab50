// Sandboxes with restricted egress: only to listed names and ports, or none; each
// tenant and user has their own list; names outside of it cause no query.
// The "internet" is a network namespace with public addresses; names come from a hosts file and a name server of the test.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import dgram from 'node:dgram';
import { once } from 'node:events';
import fs from 'node:fs';
import { after, before, describe, it } from 'node:test';

import { House, waitUntil } from './runtime_house.mjs';
import { within } from './support/wait.mjs';

const isRoot = process.getuid() === 0 && process.env.DEFT_NETWORK_RULES !== '0';
const ip = (...args) => execFileSync('ip', args, { stdio: ['ignore', 'pipe', 'pipe'] }).toString();
const iptables = (...args) => execFileSync('iptables', ['-w', '5', ...args], { stdio: ['ignore', 'pipe', 'pipe'] }).toString();
// The address of the resolver for lists, in the kernel's notation.
const listenerOf = ({ url }) => {
  const [a, b, c, d] = new URL(url).hostname.split('.').map(Number);
  return `${Buffer.from([d - 1, c, b, a]).toString('hex').toUpperCase()}:${(1054).toString(16).toUpperCase().padStart(4, '0')}`;
};
const quietly = (act) => { try { act(); } catch { /* it was not there */ } };
const DEADLINE_MS = 120_000;
const SPACE = `deftl${process.pid}`;
const LINK = `l${process.pid}`;
const GATEWAY = '45.11.188.1';
const NAMED = '45.11.188.2';
const BELOW = '45.11.188.3';
const RANGED = '45.11.188.4';
const PORTS = [7070, 8080, 9090];
const NAME_SERVER = '127.0.7.53';
const HOSTS = `127.0.0.1 localhost
${NAMED} allowed.test
${BELOW} one.below.test
${RANGED} forbidden.test
192.168.213.2 rebound.test
`;
const LIST = `Allowed.TEST.:8080, *.below.test ${RANGED}:9090 rebound.test nowhere.test`;

const SERVER = `
import select, socket
listening = []
for host in ${JSON.stringify([NAMED, BELOW, RANGED])}:
    for port in ${JSON.stringify(PORTS)}:
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind((host, port))
        s.listen(64)
        listening.append(s)
print('ready', flush=True)
while True:
    for s in select.select(listening, [], [])[0]: s.accept()[0].close()
`;
const PROBE = `
import socket, sys
for target in sys.argv[1:]:
    host, port = target.rsplit(':', 1)
    try:
        socket.create_connection((host, int(port)), 10).close()
        print(target, 'reached')
    except socket.gaierror:
        print(target, 'unknown')
    except OSError:
        print(target, 'refused')
`;
// Queries a server for a name by UDP or TCP, and prints the reply's code and number of records.
const ASK = `
import socket, sys
server, name, kind, protocol = sys.argv[1:]
labels = b''.join(bytes([len(label)]) + label.encode() for label in name.split('.'))
query = b'\\x12\\x34\\x01\\x00\\x00\\x01' + bytes(6) + labels + b'\\x00' + int(kind).to_bytes(2, 'big') + b'\\x00\\x01'
if protocol == 'udp':
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(10)
    s.sendto(query, (server, 53))
    reply = s.recv(512)
else:
    s = socket.create_connection((server, 53), 10)
    s.sendall(len(query).to_bytes(2, 'big') + query)
    stream = s.makefile('rb')
    reply = stream.read(int.from_bytes(stream.read(2), 'big'))
print(reply[3] & 15, reply[7])
`;
// Holds idle connections to a name server, and looks up a name.
const HOLD = `
import socket, sys
held = []
for _ in range(2):
    s = socket.socket()
    s.settimeout(10)
    s.connect((sys.argv[1], 53))
    held.append(s)
print(socket.getaddrinfo(sys.argv[2], 80, socket.AF_INET)[0][4][0])
`;
const TYPES = { A: 1, MX: 15, TXT: 16, AAAA: 28, HTTPS: 65 };

describe('egress lists', { skip: !isRoot && 'needs root, and packet filter rules' }, () => {
  let house;
  let outside;
  let names;
  let one;
  const asked = []; // of the name server, as they came
  const cut = [];
  const tag = () => createHash('sha256').update(house.instance).digest('hex').slice(0, 4);

  // Answers NXDOMAIN at once.
  async function serveNames() {
    names = dgram.createSocket('udp4');
    names.on('message', (question, { port, address }) => {
      asked.push(question.toString('latin1').toLowerCase());
      const answer = Buffer.from(question);
      answer.writeUInt16BE(0x8183, 2);
      names.send(answer, port, address);
    });
    names.bind(53, NAME_SERVER);
    await once(names, 'listening');
  }

  async function makeOutside() {
    ip('netns', 'add', SPACE);
    cut.push(() => ip('netns', 'del', SPACE));
    ip('link', 'add', LINK, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', SPACE);
    ip('addr', 'add', `${GATEWAY}/29`, 'dev', LINK);
    ip('link', 'set', LINK, 'up');
    for (const address of [NAMED, BELOW, RANGED]) ip('-n', SPACE, 'addr', 'add', `${address}/29`, 'dev', 'eth0');
    ip('-n', SPACE, 'link', 'set', 'eth0', 'up');
    ip('-n', SPACE, 'route', 'add', 'default', 'via', GATEWAY);
    outside = spawn('ip', ['netns', 'exec', SPACE, 'python3', '-c', SERVER], { stdio: ['ignore', 'pipe', 'inherit'] });
    await within(once(outside.stdout, 'data'), 'the server outside listens', DEADLINE_MS);
  }

  before(async () => {
    await makeOutside();
    await serveNames();
    house = await House.open({ OH_SANDBOX_EGRESS: 'list', OH_SANDBOX_EGRESS_ALLOW: LIST });
    // Names that only the service sees on this host.
    await house.stop();
    fs.writeFileSync(`${house.dir}/hosts`, HOSTS);
    fs.writeFileSync(`${house.dir}/resolv.conf`, `nameserver ${NAME_SERVER}\n${fs.readFileSync('/etc/resolv.conf', 'utf8')}`);
    house.wrapper = ['unshare', '-m', 'sh', '-c', 'mount --bind "$0" /etc/hosts && mount --bind "$1" /etc/resolv.conf && exec "$2"', `${house.dir}/hosts`, `${house.dir}/resolv.conf`];
    await house.start();
    assert.deepEqual(house.udpSockets(), [], 'nothing listens for names before a sandbox may ask');
    one = (await house.sandbox('l-1')).json;
    assert.equal(one.status, 'running', one.status_detail);
    assert.deepEqual(house.udpSockets(), [listenerOf(one)], 'at the gateway of the sandbox that may ask, nowhere else');
  });

  after(async () => {
    try {
      await house?.close();
      for (const table of ['filter', 'nat']) assert.equal(house !== undefined && new RegExp(`-${tag()}\\b`).test(iptables('-t', table, '-S')), false, `nothing is left in ${table}`);
    } finally {
      outside?.kill();
      names?.close();
      for (const undo of cut.reverse()) quietly(undo);
    }
  });

  const probe = async (runtime, ...targets) => {
    const { text } = await house.look(runtime.runtime_id, ['python3', '-c', PROBE, ...targets]);
    return text.trim().split(/\r?\n/).map((line) => line.slice(line.lastIndexOf(' ') + 1)).join(' ');
  };
  const refusals = async (runtime) => (await house.get(`/egress_refusals/${runtime.runtime_id}`)).json.refusals;
  const isNoted = (runtime, wanted) => waitUntil(async () => (await refusals(runtime)).some((one) => Object.entries(wanted).every(([name, value]) => one[name] === value)), DEADLINE_MS, JSON.stringify(wanted));
  // The log tells it after the row does.
  const startedWarm = ({ runtime_id: id }) => waitUntil(() => house.log().includes(`"runtime_id":"${id}","kind":"warm"`), DEADLINE_MS, `${id} was a warm one`);
  const owner = (egress, allow) => {
    const id = randomUUID();
    house.sql(`INSERT INTO users (id, email, egress, egress_allow) VALUES ('${id}', '${id}', '${egress}', ${allow === undefined ? 'NULL' : `'${allow}'`})`);
    return id;
  };

  it('listed destinations are reachable, in any spelling of their names, on their ports only', async () => {
    assert.equal(await probe(one, 'allowed.test:8080', 'ALLOWED.Test.:8080', 'one.below.test:7070', `${RANGED}:9090`), 'reached reached reached reached');
    assert.equal(await probe(one, 'allowed.test:7070', `${RANGED}:8080`), 'refused refused');
    await isNoted(one, { host: NAMED, port: 7070, protocol: 'tcp', reason: 'policy' });
    await isNoted(one, { host: RANGED, port: 8080, protocol: 'tcp', reason: 'policy' });
  });

  it('other names do not resolve, cause no query, and are recorded', async () => {
    assert.equal(await probe(one, 'forbidden.test:8080', 'below.test:7070', 'my-secret.evil.test:80'), 'unknown unknown unknown');
    await isNoted(one, { host: 'my-secret.evil.test', port: null, protocol: 'dns', reason: 'policy' });
    const { text } = await house.look(one.runtime_id, ['python3', '-c', ASK, BELOW, 'my-other-secret.evil.test', '1', 'udp']);
    assert.equal(text.trim(), '3 0', 'whoever is meant to be asked: there is no such name');
    await isNoted(one, { host: 'my-other-secret.evil.test', protocol: 'dns' });
    assert.equal(await probe(one, 'nowhere.test:80'), 'unknown');
    assert.equal(asked.some((question) => question.includes('\x07nowhere\x04test')), true, 'the name server of the test is asked what may be asked');
    assert.equal(asked.some((question) => question.includes('evil') || question.includes('forbidden')), false);
  });

  it('names are answered by TCP, too, whatever server is addressed', async () => {
    const ask = async (name, type, protocol) => (await house.look(one.runtime_id, ['python3', '-c', ASK, BELOW, name, String(TYPES[type]), protocol])).text.trim();
    assert.equal(await ask('allowed.test', 'A', 'tcp'), '0 1');
    assert.equal(await ask('my-third-secret.evil.test', 'A', 'tcp'), '3 0');
    await isNoted(one, { host: 'my-third-secret.evil.test', protocol: 'dns' });
    const { text } = await house.look(one.runtime_id, ['env', 'RES_OPTIONS=use-vc', 'python3', '-c', PROBE, 'allowed.test:8080', 'forbidden.test:8080']);
    assert.deepEqual(text.trim().split(/\r?\n/), ['allowed.test:8080 reached', 'forbidden.test:8080 unknown']);
    for (const protocol of ['udp', 'tcp']) {
      for (const type of ['AAAA', 'MX', 'TXT', 'HTTPS']) assert.equal(await ask('allowed.test', type, protocol), '0 0', `${type} by ${protocol}: there is none, and the name exists`);
    }
    const { text: found } = await house.look(one.runtime_id, ['python3', '-c', HOLD, BELOW, 'allowed.test']);
    assert.equal(found.trim(), NAMED, 'connections that ask nothing delay no other query');
    assert.equal(asked.some((question) => question.includes('evil')), false);
  });

  it('a listed name with a private address is unreachable', async () => {
    assert.equal(await probe(one, 'rebound.test:80'), 'unknown');
    await isNoted(one, { host: 'rebound.test', protocol: 'dns' });
  });

  it('removed rules are restored, and rules outlive the service', async () => {
    iptables('-F', `DEFT-GO-${tag()}`);
    iptables('-t', 'nat', '-F', `DEFT-DNS-${tag()}`);
    await waitUntil(() => iptables('-S', `DEFT-GO-${tag()}`).includes(' -g DEFT-P') && iptables('-t', 'nat', '-S', `DEFT-DNS-${tag()}`).includes('REDIRECT'), DEADLINE_MS, 'the rules are back');
    assert.equal(await probe(one, `${RANGED}:8080`, 'allowed.test:8080'), 'refused reached');
    await house.stop('SIGKILL');
    assert.equal(await probe(one, `${RANGED}:8080`), 'refused');
    await house.start();
    assert.equal(await probe(one, `${RANGED}:8080`, 'allowed.test:8080'), 'refused reached');
  });

  it('each owner\'s list is in place before their code runs, also in a warm sandbox', async () => {
    await house.stop();
    house.settings = { ...house.settings, DEFT_WARM_LEAST: '1', DEFT_WARM_MOST: '1' };
    await house.start();
    await waitUntil(() => house.sql('SELECT count(*) FROM warm_sandboxes WHERE is_ready') === '1', DEADLINE_MS, 'one waits');
    const { json: none } = await house.sandbox('l-2', { owner_id: owner('none') });
    assert.equal(none.status, 'running', none.status_detail);
    await startedWarm(none);
    assert.equal(await probe(none, 'allowed.test:8080', `${RANGED}:9090`), 'unknown refused');
    await isNoted(none, { host: 'allowed.test', protocol: 'dns' });
    await waitUntil(() => house.sql('SELECT count(*) FROM warm_sandboxes WHERE is_ready') === '1', DEADLINE_MS, 'another one waits');
    const { json: free } = await house.sandbox('l-3', { owner_id: owner('internet') });
    assert.equal(free.status, 'running', free.status_detail);
    await startedWarm(free);
    assert.equal(await probe(free, `${RANGED}:7070`), 'reached');
    assert.equal(await probe(one, `${RANGED}:7070`), 'refused');
    house.sql("UPDATE users SET egress = 'none' WHERE egress = 'internet'");
    await waitUntil(async () => await probe(free, `${RANGED}:7070`) === 'refused', DEADLINE_MS, 'a change counts');
  });

  it('an unreadable list allows no connection', async () => {
    const { status, json } = await house.sandbox('l-4', { owner_id: owner('list', 'a..b') });
    assert.equal(status, 400);
    assert.match(json.detail, /egress policy of the sandbox.*a\.\.b: it is not a host name/);
    for (const settings of [{ OH_SANDBOX_EGRESS: 'some' }, { OH_SANDBOX_EGRESS_ALLOW: '10.0.0.0/8' }, { OH_SANDBOX_EGRESS_ALLOW: '' }, { DEFT_NETWORK_RULES: '0' }]) {
      const { status: code, stderr } = spawnSync(house.service.spawnargs.at(-1), [], { env: { ...house.environment(), DEFT_RUNTIME_LISTEN: `${house.dir}/other.sock`, ...settings }, encoding: 'utf8' });
      assert.notEqual(code, 0);
      assert.match(stderr, /OH_SANDBOX_EGRESS/, stderr);
    }
  });
});
