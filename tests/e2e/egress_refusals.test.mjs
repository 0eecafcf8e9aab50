// Refused connections of a sandbox are shown to its conversation's owner and its tenant only;
// counted and bounded; per instance on a host; and if they cannot be logged, the answer says so.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';

import { House, removeHostRule, waitUntil } from './runtime_house.mjs';
import { call } from './support/api.mjs';
import { Box } from './support/box.mjs';
import { Conversation, startRequest } from './support/conversation.mjs';
import { query } from './support/database.mjs';
import { APP_URL, DEFT } from './support/instance.mjs';
import { newUser } from './support/users.mjs';

const isRoot = process.getuid() === 0 && process.env.DEFT_NETWORK_RULES !== '0';
const skip = !isRoot && 'needs root, and packet filter rules';
const ip = (...args) => execFileSync('ip', args, { stdio: ['ignore', 'pipe', 'pipe'] }).toString();
const iptables = (...args) => execFileSync('iptables', ['-w', '5', ...args], { stdio: ['ignore', 'pipe', 'pipe'] }).toString();
const DEADLINE_MS = 120_000;
// Unused networks with a route from this host. A run that was killed has left its link, and pids are used again.
const LINK = `r${randomBytes(4).toString('hex')}`;
const PRIVATE = '192.168.212.2';
const LINK_LOCAL = '169.254.7.2';

const TCP = (...targets) => `python3 -c "
import socket
for host, port in ${JSON.stringify(targets).replaceAll('"', "'")}:
    s = socket.socket()
    s.settimeout(5)
    print(s.connect_ex((host, port)))
"`;
const UDP = (host, first, count) => `python3 -c "
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(${count}):
    try: s.sendto(b'deft', ('${host}', ${first} + i % 30000))
    except OSError: pass
"`;

before(() => {
  if (skip) return;
  ip('link', 'add', LINK, 'type', 'veth', 'peer', 'name', `${LINK}p`);
  for (const address of ['192.168.212.1/24', '169.254.7.1/24']) ip('addr', 'add', address, 'dev', LINK);
  for (const end of [LINK, `${LINK}p`]) ip('link', 'set', end, 'up');
});

after(() => {
  if (!skip) ip('link', 'del', LINK);
});

const pick = ({ host, port, protocol, reason }) => ({ host, port, protocol, reason });
const byHost = (a, b) => (`${a.host}:${a.port}` < `${b.host}:${b.port}` ? -1 : 1);

describe('a conversation\'s refused connections', { skip }, () => {
  let conversation;
  let box;
  let id;
  const path = () => `${conversation.path}/egress_refusals`;

  before(async () => {
    conversation = await Conversation.create(startRequest({ model: 'scripted/hello', usage_id: 'agent' }, { conversation_runtime: 'docker' }));
    assert.deepEqual((await call('GET', path())).json, { logged: false, detail: 'the conversation has no sandbox yet', refusals: [] });
    box = new Box(conversation.path);
    await box.run('true');
    [{ id }] = await query(`SELECT r.id FROM runtimes r JOIN conversations c ON c.runtime_session = r.session_id
      WHERE c.id = :'id'::uuid AND r.status = 'running'`, { id: conversation.id });
  });
  after(() => conversation?.delete());

  it('are shown to their owner, with reason and count', async () => {
    const gateway = (await box.run('hostname -I')).trim().replace(/\d+$/, (last) => String(Number(last) - 1));
    assert.deepEqual((await call('GET', path())).json, { logged: true, detail: null, refusals: [] });
    await box.run(TCP([PRIVATE, 5432], [PRIVATE, 5432], [LINK_LOCAL, 80], [gateway, 22]));
    await box.run(UDP(PRIVATE, 5353, 1));
    const told = await waitUntil(async () => {
      const { json } = await call('GET', path());
      return json.refusals.length === 4 && json;
    }, DEADLINE_MS, 'four refusals');
    assert.deepEqual([told.logged, told.detail], [true, null]);
    assert.deepEqual(told.refusals.map(pick).sort(byHost), [
      { host: gateway, port: 22, protocol: 'tcp', reason: 'host' },
      { host: LINK_LOCAL, port: 80, protocol: 'tcp', reason: 'link_local' },
      { host: PRIVATE, port: 5353, protocol: 'udp', reason: 'private' },
      { host: PRIVATE, port: 5432, protocol: 'tcp', reason: 'private' },
    ].sort(byHost));
    // The kernel limits its ICMP errors, to 6 at once for each address; a connection without one sends its SYN again.
    const twice = told.refusals.find(({ port }) => port === 5432);
    assert.ok(twice.count >= 2, String(twice.count));
    for (const { first_at: first, last_at: last } of told.refusals) {
      assert.match(first, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
      assert.ok(first <= last, `${first} ${last}`);
    }
  });

  it('are not shown to other users', async () => {
    const stranger = await newUser();
    assert.equal((await call('GET', path(), { key: stranger.key })).status, 404);
    assert.equal((await call('GET', path(), { key: null })).status, 401);
    assert.equal((await call('GET', `/api/conversations/${randomUUID()}/egress_refusals`)).status, 404);
  });

  it('are shown to a tenant for its own sandboxes only', async (t) => {
    const name = `refusals ${randomUUID()}`;
    const key = execFileSync(DEFT, ['key', '--runtime', name], { encoding: 'utf8' }).trim().split(/\s+/).pop();
    t.after(() => execFileSync(DEFT, ['key', '--revoke', name]));
    const ask = (method, route, json) => call(method, `/runtime-api${route}`, { url: APP_URL, key: null, headers: { 'x-api-key': key }, json });
    assert.equal((await ask('GET', `/egress_refusals/${id}`)).status, 404);
    const { json: own } = await ask('POST', '/start', { image: 'deft-sandbox:1', session_id: 'refusals', command: 'x', environment: {}, wait_ms: 100000 });
    t.after(() => ask('POST', '/stop', { runtime_id: own.runtime_id }));
    assert.equal(own.status, 'running', own.status_detail);
    assert.deepEqual((await ask('GET', `/egress_refusals/${own.runtime_id}`)).json, { logged: true, detail: null, refusals: [] });
  });
});

describe('two instances on one host', { skip }, () => {
  let one;
  let two;
  let first;
  let second;
  const tag = (house) => createHash('sha256').update(house.instance).digest('hex').slice(0, 4);
  const told = async (house, runtime) => (await house.get(`/egress_refusals/${runtime.runtime_id}`)).json;
  const shows = (house, chain) => { try { return iptables('-S', `${chain}-${tag(house)}`).includes('NFLOG'); } catch { return false; } };

  before(async () => {
    [one, two] = await Promise.all([House.open(), House.open()]);
    [{ json: first }, { json: second }] = await Promise.all([one.sandbox('r-1'), two.sandbox('r-2')]);
    for (const runtime of [first, second]) assert.equal(runtime.status, 'running', runtime.status_detail);
  });
  after(async () => {
    await one?.close();
    await two?.close();
    for (const house of [one, two]) for (const chain of ['DEFT-IN', 'DEFT-OUT']) assert.equal(house !== undefined && iptables('-S').includes(`${chain}-${tag(house)}`), false);
  });

  it('log only the packets of their own sandboxes', async () => {
    const { hostname } = new URL(second.url);
    await one.look(first.runtime_id, ['sh', '-c', TCP([hostname, 8000])]);
    const heard = await waitUntil(async () => { const { refusals } = await told(one, first); return refusals.length > 0 && refusals; }, DEADLINE_MS, 'the refusal');
    assert.deepEqual(heard.map(pick), [{ host: hostname, port: 8000, protocol: 'tcp', reason: 'sandbox' }]);
    assert.deepEqual(await told(two, second), { logged: true, detail: null, refusals: [] });
    assert.equal((await one.get(`/egress_refusals/${second.runtime_id}`)).status, 404);
  });

  it('log a bounded number of packets in a flood', async () => {
    const SENT = 30000;
    await one.look(first.runtime_id, ['sh', '-c', UDP(PRIVATE, 10000, SENT)]);
    const refusals = await waitUntil(async () => { const seen = await told(one, first); return seen.refusals.length > 1 && seen.refusals; }, DEADLINE_MS, 'some of it is heard');
    assert.ok(refusals.length <= 100, String(refusals.length));
    const sum = refusals.reduce((total, { count }) => total + count, 0);
    assert.ok(sum < SENT / 5, String(sum));
    await two.look(second.runtime_id, ['sh', '-c', TCP([PRIVATE, 5432])]);
    await waitUntil(async () => (await told(two, second)).refusals.length === 1, DEADLINE_MS, 'the other one is heard');
  });

  it('restore emptied logging rules, before the rules that drop packets', async () => {
    iptables('-F', `DEFT-OUT-${tag(one)}`);
    removeHostRule();
    await waitUntil(() => {
      const jumps = iptables('-S', 'INPUT').split('\n').map((line) => line.split(' -j ')[1]);
      const refusing = jumps.indexOf('DEFT-IN');
      return shows(one, 'DEFT-OUT') && refusing > jumps.indexOf(`DEFT-IN-${tag(one)}`) && refusing > jumps.indexOf(`DEFT-IN-${tag(two)}`);
    }, DEADLINE_MS, 'the rules are back');
  });

  it('report if packets cannot be logged', async () => {
    await two.stop();
    two.settings = { DEFT_NETWORK_RULES: '0' };
    await two.start();
    const { logged, detail, refusals } = await told(two, second);
    assert.deepEqual([logged, detail, refusals.length], [false, 'there are no packet filter rules', 1]);
    two.settings = {};
  });
});
