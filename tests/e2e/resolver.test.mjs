// DNS answers of deft-resolver to sandboxes, from a name server of the test: all types, by UDP and TCP,
// no private addresses; only at the sandbox's own gateway, and also during a flood of another sandbox.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import dgram from 'node:dgram';
import { once } from 'node:events';
import net from 'node:net';
import { after, before, describe, it } from 'node:test';

import { House, waitUntil } from './runtime_house.mjs';

const isRoot = process.getuid() === 0 && process.env.DEFT_NETWORK_RULES !== '0';
const DEADLINE_MS = 120_000;
const UPSTREAM = '127.0.8.53';
const OTHER_UPSTREAM = '127.0.8.54';
const SILENT_UPSTREAM = '127.0.8.55';
const SERVER = '192.0.2.53';
const ENGINE = '127.0.0.11';
const PORT = 1053;
const TYPES = { A: 1, PTR: 12, MX: 15, TXT: 16, AAAA: 28 };
const OK = 0;
const UNKNOWN = 3;
/** Longer than the tests take: what was answered once is known until the end. */
const TTL_S = 3600;
/** The limit of a sandbox's queries: at once, and per second (runtime/egress/egress_table_rules.c). */
const QUERIES_AT_ONCE = 200;
const QUERIES_PER_S = 100;
const FLOOD_SENT = 6000;

// --- a name server ---

const name = (text) => Buffer.concat([...text.split('.').filter(Boolean).map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)])), Buffer.from([0])]);
const ipv6 = (text) => {
  const [head, tail = ''] = text.split('::').map((half) => half.split(':').filter(Boolean));
  const words = [...head, ...Array(8 - head.length - tail.length).fill('0'), ...tail];
  return Buffer.concat(words.map((word) => Buffer.from(word.padStart(4, '0'), 'hex')));
};
const data = {
  A: (text) => Buffer.from(text.split('.').map(Number)),
  AAAA: ipv6,
  TXT: (text) => Buffer.concat([Buffer.from([text.length]), Buffer.from(text)]),
  MX: (text) => Buffer.concat([Buffer.from([0, 10]), name(text)]),
  PTR: name,
};
const PRIVATE = { A: ['10.1.2.3', '172.20.0.1', '192.168.0.1', '169.254.169.254', '127.0.0.1', '0.0.0.0', '100.100.100.200', '198.18.0.1', '224.0.0.1'], AAAA: ['fd00:ec2::254', 'fc00::1', 'fe80::1', '::1', '::ffff:a01:203', '64:ff9b::a01:203'] };
const RECORDS = {
  'a.test': { A: ['45.11.188.7'], AAAA: ['2a00:1450::8'], TXT: ['hello'], MX: ['mail.a.test'] },
  'known.test': { A: ['45.11.188.10'] },
  'large.test': { TXT: Array.from({ length: 40 }, (_, i) => `${i}`.padEnd(200, 'x')) },
  'mixed.test': { A: ['45.11.188.7', '10.1.2.3'] },
  'host.corp.test': { A: ['10.9.8.7'] },
  'meta.corp.test': { A: ['169.254.169.254'] },
  'metadata.google.internal': { A: ['45.11.188.9'] },
  '4.3.2.10.in-addr.arpa': { PTR: ['secret.corp.test'] },
  ...Object.fromEntries(Object.entries(PRIVATE).flatMap(([type, list]) => list.map((address, i) => [`private${i}-${type.toLowerCase()}.test`, { [type]: [address] }]))),
};

function question(packet) {
  const labels = [];
  let at = 12;
  for (; packet[at] !== 0; at += 1 + packet[at]) labels.push(packet.toString('latin1', at + 1, at + 1 + packet[at]));
  return { name: labels.join('.').toLowerCase(), type: packet.readUInt16BE(at + 1), end: at + 5 };
}

/** The answer of a name server with these records, or nothing. */
function reply(packet, records, isTcp) {
  const asked = question(packet);
  if (asked.name.endsWith('silent.test')) return undefined;
  const type = Object.keys(TYPES).find((one) => TYPES[one] === asked.type);
  const found = (records[asked.name]?.[type] ?? []).map((text) => {
    const bytes = data[type](text);
    const head = Buffer.from([0xc0, 12, 0, asked.type, 0, 1, 0, 0, 0, 0, 0, 0]);
    head.writeUInt32BE(TTL_S, 6);
    head.writeUInt16BE(bytes.length, 10);
    return Buffer.concat([head, bytes]);
  });
  const isCut = !isTcp && Buffer.concat(found).length > 1000;
  const head = Buffer.alloc(12);
  packet.copy(head, 0, 0, 2);
  head.writeUInt16BE(0x8180 | (isCut ? 0x0200 : 0) | (records[asked.name] ? OK : UNKNOWN), 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(isCut ? 0 : found.length, 6);
  return Buffer.concat([head, packet.subarray(12, asked.end), ...(isCut ? [] : found)]);
}

class NameServer {
  constructor(address, records) { Object.assign(this, { address, records, asked: [], sockets: new Set() }); }

  async start() {
    this.udp = dgram.createSocket('udp4');
    this.udp.on('message', (packet, { port, address }) => this.answer(packet, false, (bytes) => this.udp.send(bytes, port, address)));
    this.udp.bind(53, this.address);
    this.tcp = net.createServer((socket) => {
      this.sockets.add(socket);
      socket.on('error', () => {});
      let read = Buffer.alloc(0);
      socket.on('data', (chunk) => {
        read = Buffer.concat([read, chunk]);
        if (read.length < 2 || read.length < 2 + read.readUInt16BE(0)) return;
        const packet = read.subarray(2, 2 + read.readUInt16BE(0));
        read = read.subarray(2 + packet.length);
        this.answer(packet, true, (bytes) => socket.write(Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes])));
      });
    }).listen(53, this.address);
    await Promise.all([once(this.udp, 'listening'), once(this.tcp, 'listening')]);
  }

  answer(packet, isTcp, send) {
    this.asked.push({ name: question(packet).name, isTcp });
    const bytes = this.records && reply(packet, this.records, isTcp);
    if (bytes) send(bytes);
  }

  stop() {
    this.udp?.close();
    this.tcp?.close();
    for (const socket of this.sockets) socket.destroy();
    this.udp = this.tcp = undefined;
  }
}

// --- queries of a sandbox ---

// ASK SERVER PORT PROTOCOL TYPE NAME...: prints one line each, the answer in hexadecimal, or "refused", "silence".
// Queries and answers may be lost, and forwarders give up after some seconds, so it asks again (RFC 1035, section 4.2.1).
const ASK = `
import socket, struct, sys
server, port, protocol, type = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
def exactly(s, n):
    b = b''
    while len(b) < n:
        more = s.recv(n - len(b))
        if not more: raise ConnectionError()
        b += more
    return b
for name in sys.argv[5:]:
    q = b'\\x12\\x34\\x01\\x00\\x00\\x01' + bytes(6) + b''.join(bytes([len(l)]) + l.encode() for l in name.split('.')) + b'\\0' + struct.pack('>HH', type, 1)
    answer = 'silence'
    for attempt in range(6):
        try:
            if protocol == 'tcp':
                s = socket.create_connection((server, port), 10)
                s.sendall(struct.pack('>H', len(q)) + q)
                answer = exactly(s, struct.unpack('>H', exactly(s, 2))[0]).hex()
            else:
                s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                s.settimeout(5)
                s.connect((server, port))
                s.send(q)
                answer = s.recv(65535).hex()
        except ConnectionRefusedError: answer = 'refused'
        except OSError: continue
        break
    print(answer)
`;
const LOOK_UP = `
import socket, sys
try: print('found', socket.getaddrinfo(sys.argv[1], 80, socket.AF_INET, socket.SOCK_STREAM)[0][4][0])
except socket.gaierror as e: print('again' if e.errno == socket.EAI_AGAIN else 'unknown')
`;
// Queries without an answer, and idle connections. The file says how many seconds the queries took.
const FLOOD = `
import os, socket, struct, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
began = time.monotonic()
for i in range(${FLOOD_SENT}):
    label = str(i).encode()
    try: s.sendto(struct.pack('>H', i) + b'\\x01\\x00\\x00\\x01' + bytes(6) + bytes([len(label)]) + label + b'\\x06silent\\x04test\\0\\0\\x01\\0\\x01', ('${SERVER}', 53))
    except OSError: pass
took = time.monotonic() - began
held = []
for i in range(40):
    c = socket.socket()
    c.setblocking(False)
    c.connect_ex(('${SERVER}', 53))
    held.append(c)
print('flooded', flush=True)
with open('/tmp/flooding', 'w') as f: f.write(str(took))
os.rename('/tmp/flooding', '/tmp/flooded')
while os.path.exists('/tmp/flooded'): time.sleep(0.1)
`;

function decode(hex) {
  const packet = Buffer.from(hex, 'hex');
  const skip = (at) => {
    while (packet[at] !== 0 && packet[at] < 0xc0) at += 1 + packet[at];
    return at + (packet[at] === 0 ? 1 : 2);
  };
  let at = 12;
  for (let i = packet.readUInt16BE(4); i > 0; i--) at = skip(at) + 4;
  const answers = [];
  for (let i = packet.readUInt16BE(6); i > 0; i--) {
    at = skip(at);
    const len = packet.readUInt16BE(at + 8);
    answers.push({ type: packet.readUInt16BE(at), bytes: packet.subarray(at + 10, at + 10 + len) });
    at += 10 + len;
  }
  return { code: packet[3] & 15, isCut: (packet[2] & 2) !== 0, answers };
}

describe('the resolver of sandboxes', { skip: !isRoot && 'needs root, and packet filter rules' }, () => {
  const upstream = new NameServer(UPSTREAM, RECORDS);
  const other = new NameServer(OTHER_UPSTREAM, { 'a.test': { A: ['45.11.188.8'] } });
  const silent = new NameServer(SILENT_UPSTREAM, undefined);
  const houses = [];
  let house;
  let one;
  let two;

  const open = async (upstreams, settings = {}) => {
    const opened = await House.open();
    houses.push(opened);
    opened.startResolver({ DEFT_RESOLVER_UPSTREAMS: upstreams, ...settings });
    return opened;
  };
  const sandbox = async (of, session) => {
    const { json } = await of.sandbox(session);
    assert.equal(json.status, 'running', json.status_detail);
    return json;
  };
  const ask = async (runtime, type, names, { server = ENGINE, port = 53, protocol = 'udp', of = house } = {}) => {
    const { text } = await of.look(runtime.runtime_id, ['python3', '-c', ASK, server, String(port), protocol, String(TYPES[type]), ...[names].flat()]);
    const lines = text.trim().split(/\r?\n/);
    return Array.isArray(names) ? lines : lines[0];
  };
  const answer = async (...args) => decode(await ask(...args));
  const lookUp = async (runtime, what, of = house) => (await of.look(runtime.runtime_id, ['python3', '-c', LOOK_UP, what])).text.trim();
  /** As lookUp(), after the machine has had time to answer: libc gives up after a few seconds. */
  const lookUpLong = (runtime, what, of = house) => waitUntil(async () => {
    const seen = await lookUp(runtime, what, of);
    return seen !== 'again' && seen;
  }, DEADLINE_MS, `an answer for ${what}`);
  const gatewayOf = ({ url }) => new URL(url).hostname.replace(/\d+$/, (last) => String(Number(last) - 1));
  // The listening sockets of a process, by ss: "udp 10.201.0.1:1053".
  const listening = (pid) => execFileSync('ss', ['-Hlntup'], { encoding: 'utf8' }).split('\n').filter((line) => line.includes(`pid=${pid},`))
    .map((line) => line.trim().split(/\s+/)).map((fields) => `${fields[0]} ${fields[4]}`);
  const answers = (of, runtime) => waitUntil(async () => (await lookUp(runtime, 'a.test', of)).startsWith('found'), DEADLINE_MS, 'the resolver answers');

  before(async () => {
    await Promise.all([upstream, other, silent].map((server) => server.start()));
    house = await open(`${SILENT_UPSTREAM} ${UPSTREAM}`, { DEFT_RESOLVER_PRIVATE_NAMES: 'corp.test' });
    [one, two] = await Promise.all(['d-1', 'd-2'].map((session) => sandbox(house, session)));
    await answers(house, one);
  });

  after(async () => {
    for (const opened of houses) await opened.close();
    for (const server of [upstream, other, silent]) server.stop();
  });

  it('answers all record types, by UDP and TCP', async () => {
    for (const protocol of ['udp', 'tcp']) {
      for (const type of ['A', 'AAAA', 'TXT', 'MX']) {
        const { code, answers: found } = await answer(one, type, 'a.test', { protocol });
        assert.equal(code, OK, `${protocol} ${type}`);
        assert.deepEqual(found.map((record) => record.type), [TYPES[type]], `${protocol} ${type}`);
        if (type !== 'MX') assert.deepEqual(found[0].bytes, data[type](RECORDS['a.test'][type][0]), `${protocol} ${type}`);
      }
    }
    assert.equal((await answer(one, 'A', 'nowhere.test')).code, UNKNOWN);
    assert.equal(await lookUpLong(one, 'a.test'), 'found 45.11.188.7');
  });

  it('gives a large answer by TCP, after a truncated one by UDP', async () => {
    const cut = await answer(one, 'TXT', 'large.test', { server: SERVER });
    assert.equal(cut.isCut, true);
    const { code, answers: found } = await answer(one, 'TXT', 'large.test', { protocol: 'tcp' });
    assert.equal(code, OK);
    assert.equal(found.length, RECORDS['large.test'].TXT.length);
    assert.ok(upstream.asked.some(({ name: asked, isTcp }) => asked === 'large.test' && isTcp));
  });

  it('returns no private address, by UDP or TCP', async () => {
    for (const protocol of ['udp', 'tcp']) {
      for (const [type, list] of Object.entries(PRIVATE)) {
        const lines = await ask(one, type, list.map((_, i) => `private${i}-${type.toLowerCase()}.test`), { protocol });
        for (const [i, line] of lines.entries()) assert.deepEqual(decode(line).answers, [], `${protocol} ${list[i]}`);
      }
      assert.deepEqual((await answer(one, 'A', 'mixed.test', { protocol })).answers, []);
    }
  });

  it('forwards no names of private networks, plain names and private addresses', async () => {
    for (const [type, what] of [['A', 'metadata.google.internal'], ['A', 'printer.local'], ['A', 'host.lan'], ['A', 'plain'], ['PTR', '4.3.2.10.in-addr.arpa']]) {
      const { code, answers: found } = await answer(one, type, what, { server: SERVER });
      assert.equal(code, UNKNOWN, what);
      assert.deepEqual(found, [], what);
      assert.ok(!upstream.asked.some(({ name: asked }) => asked === what), what);
    }
  });

  it('returns private addresses for exempted names, but never metadata addresses', async () => {
    assert.deepEqual((await answer(one, 'A', 'host.corp.test')).answers.map(({ bytes }) => [...bytes].join('.')), ['10.9.8.7']);
    assert.deepEqual((await answer(one, 'A', 'meta.corp.test')).answers, []);
  });

  it('does not know the host\'s names and search domains', async () => {
    const { text } = await house.look(one.runtime_id, ['cat', '/etc/resolv.conf']);
    assert.doesNotMatch(text, /^search +[^.\s]/m);
    assert.match(text, /^options .*timeout:2/m);
    const hostname = execFileSync('hostname', { encoding: 'utf8' }).trim();
    assert.equal((await answer(one, 'A', hostname, { server: SERVER })).code, UNKNOWN);
    assert.equal(await lookUpLong(one, 'host.docker.internal'), 'unknown');
  });

  it('answers queries to any private name server', async () => {
    for (const server of ['10.255.255.53', '169.254.169.253']) assert.equal((await answer(one, 'A', 'a.test', { server })).code, OK, server);
  });

  it('listens only at the gateways of its sandboxes', async () => {
    const gateways = [one, two].flatMap((runtime) => ['tcp', 'udp'].map((protocol) => `${protocol} ${gatewayOf(runtime)}:${PORT}`));
    const seen = await waitUntil(() => {
      const found = listening(house.resolver.pid).filter((line) => line.endsWith(`:${PORT}`));
      return gateways.every((line) => found.includes(line)) && found;
    }, DEADLINE_MS, 'it listens');
    const bridges = JSON.parse(execFileSync('ip', ['-j', 'addr', 'show', 'type', 'bridge'], { encoding: 'utf8' })).filter(({ ifname }) => ifname?.startsWith('dsb'));
    const own = new Set(bridges.flatMap(({ ifname, addr_info: list }) => list.map(({ local, family }) => family === 'inet' ? local : `[${local}]%${ifname}`)));
    for (const line of seen) assert.ok(own.has(line.split(' ')[1].slice(0, -`:${PORT}`.length)), line);
    for (const line of listening(house.resolver.pid)) assert.doesNotMatch(line, /^tcp (0\.0\.0\.0|\[::\]|\*):|:53$/, line);
    assert.deepEqual(house.udpSockets(), []);
  });

  it('is reachable only by redirection: no port of a gateway is open to sandboxes', async () => {
    for (const gateway of [gatewayOf(one), gatewayOf(two)]) {
      for (const protocol of ['udp', 'tcp']) assert.equal(await ask(one, 'A', 'a.test', { server: gateway, port: PORT, protocol }), 'refused', `${protocol} ${gateway}`);
    }
  });

  it('uses another name server if one does not answer, without a delay of seconds', async () => {
    assert.ok(silent.asked.length > 0, 'the first one is asked as well');
    assert.equal(await lookUp(one, 'first.silent.test'), 'again');
    assert.equal(await lookUpLong(one, 'known.test'), 'found 45.11.188.10');
    upstream.stop();
    try {
      assert.equal(await lookUpLong(one, 'known.test'), 'found 45.11.188.10', 'what is known is answered');
      assert.equal(await lookUp(one, 'never-asked.test'), 'again');
    } finally {
      await upstream.start();
    }
    assert.equal((await answer(one, 'TXT', 'a.test')).code, OK);
  });

  it('answers other sandboxes during one sandbox\'s flood', async () => {
    const flood = house.look(one.runtime_id, ['python3', '-c', FLOOD]);
    const took = await waitUntil(async () => /^[0-9.]+/.exec((await house.look(one.runtime_id, ['sh', '-c', 'cat /tmp/flooded 2>/dev/null'])).text)?.[0], DEADLINE_MS, 'the flood');
    // The resolver repeats a query for some seconds: a name counts once. Packets may arrive a little after the last was sent.
    const names = new Set(upstream.asked.map(({ name: asked }) => asked).filter((asked) => /^\d+\.silent\.test$/.test(asked)));
    const allowed = QUERIES_AT_ONCE + QUERIES_PER_S * (Number(took) + 5);
    assert.ok(names.size > 0 && names.size <= allowed, `${names.size} of a flood of ${FLOOD_SENT} in ${took} s went out`);
    assert.equal((await answer(two, 'AAAA', 'a.test', { server: SERVER })).code, OK);
    assert.equal((await answer(two, 'MX', 'a.test', { server: SERVER })).code, OK);
    assert.equal((await answer(two, 'TXT', 'large.test', { server: SERVER, protocol: 'tcp' })).code, OK);
    await house.look(one.runtime_id, ['rm', '/tmp/flooded']);
    await flood;
  });

  it('works again after it, or deft-runtime, was killed', async () => {
    await house.stop('SIGKILL');
    assert.equal((await answer(one, 'MX', 'a.test')).code, OK);
    await house.start();
    await house.stopResolver('SIGKILL');
    house.startResolver({ DEFT_RESOLVER_UPSTREAMS: UPSTREAM });
    await answers(house, one);
    await answers(house, two);
    const late = await sandbox(house, 'd-3');
    await answers(house, late);
  });

  it('works for two instances on one host', async () => {
    const second = await open(OTHER_UPSTREAM);
    const theirs = await sandbox(second, 'd-4');
    await answers(second, theirs);
    assert.equal(await lookUpLong(theirs, 'a.test', second), 'found 45.11.188.8');
    assert.equal(await lookUpLong(one, 'a.test'), 'found 45.11.188.7');
    assert.equal(listening(second.resolver.pid).some((line) => line.includes(`${gatewayOf(one)}:`)), false);
    assert.equal(listening(house.resolver.pid).some((line) => line.includes(`${gatewayOf(theirs)}:`)), false);
  });

  it('uses little memory', async () => {
    const kb = Number(/^Pss: +(\d+) kB/m.exec(execFileSync('cat', [`/proc/${house.resolver.pid}/smaps_rollup`], { encoding: 'utf8' }))[1]);
    assert.ok(kb < 8000, `${kb} kB`);
  });
});
