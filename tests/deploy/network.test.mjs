// ./deft down removes its packet filter rules, except those of sandboxes that keep running.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { dirname } from 'node:path';
import { after, before, test } from 'node:test';

const skip = process.getuid() !== 0 && 'needs root';
const HOME = dirname(process.env.DEFT);
const INSTANCE = `test-${process.pid}`;
const SPACE = `deftn${process.pid}`;
const TAG = createHash('sha256').update(INSTANCE).digest('hex').slice(0, 4);
const OTHER = TAG === '0000' ? '0001' : '0000';
const BRIDGE = `dsb${TAG}00000001`;

const here = (script) => execFileSync('ip', ['netns', 'exec', SPACE, 'sh', '-euc', script], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
const remove = (what) => here(`DEFT_INSTANCE=${INSTANCE}; . ${HOME}/deploy/lib/network.sh; ${what}`);
const chains = () => here('{ iptables -S; iptables -t nat -S; } | sed -n "s/^-N //p"').trim().split('\n').filter((name) => name.startsWith('DEFT-'));
const jumps = () => here('{ iptables -S; iptables -t nat -S; ip6tables -S; } | sed -n "s/^-A [A-Z-]* -i dsb.* -j //p"').trim();

const OWN = { filter: [['INPUT', 'DEFT-IN'], ['DOCKER-USER', 'DEFT-OUT'], ['INPUT', 'DEFT-ASK'], ['DOCKER-USER', 'DEFT-GO']], nat: [['PREROUTING', 'DEFT-DNS']] };
const makeOwn = (tag) => Object.entries(OWN).flatMap(([table, ways]) => ways.map(([from, name]) => `iptables -t ${table} -N ${name}-${tag}; iptables -t ${table} -I ${from} -i dsb${tag}+ -j ${name}-${tag}`)).join('\n');

before(() => {
  if (skip) return;
  execFileSync('ip', ['netns', 'add', SPACE]);
  here(`iptables -N DOCKER-USER
    ${makeOwn(TAG)}
    ${makeOwn(OTHER)}
    iptables -N DEFT-P0-${TAG}; iptables -N DEFT-P12-${TAG}; iptables -A DEFT-GO-${TAG} -g DEFT-P12-${TAG}
    iptables -N DEFT-P0-${OTHER}
    for tag in ${TAG} ${OTHER}; do iptables -t nat -N DEFT-NAMES-$tag; iptables -t nat -A DEFT-DNS-$tag -g DEFT-NAMES-$tag; done
    iptables -N DEFT-IN; iptables -I INPUT -i dsb+ -j DEFT-IN; iptables -N DEFT-OUT; iptables -I DOCKER-USER -i dsb+ -j DEFT-OUT
    ip link add ${BRIDGE} type bridge; ip link add v1 type veth peer name v2; ip link set v1 master ${BRIDGE}`);
});

after(() => {
  if (!skip) execFileSync('ip', ['netns', 'del', SPACE]);
});

test('the redirection of DNS queries to the resolver is detected', { skip }, () => {
  const leads = () => here(`DEFT_INSTANCE=${INSTANCE} DEFT_RUNTIME=docker; . ${HOME}/deploy/lib/network.sh; if network_leads_names; then echo yes; else echo no; fi`).trim();
  assert.equal(leads(), 'no');
  here(`iptables -t nat -A DEFT-NAMES-${TAG} -d 192.0.2.0/24 -p udp --dport 53 -j REDIRECT --to-ports 1053`);
  assert.equal(leads(), 'yes');
});

test('down keeps the list of a running sandbox, and removes the logging rules', { skip }, () => {
  remove('network_remove_own');
  const left = chains().filter((name) => name.endsWith(TAG)).sort();
  assert.deepEqual(left, ['ASK', 'DNS', 'GO', 'NAMES', 'P0', 'P12'].map((name) => `DEFT-${name}-${TAG}`));
});

test('down removes its own rules if no sandbox is left, and no other instance\'s', { skip }, () => {
  here('ip link del v1');
  remove('network_remove_own');
  assert.deepEqual(chains().filter((name) => name.endsWith(TAG)), []);
  assert.equal(jumps().includes(TAG), false);
  assert.equal(chains().filter((name) => name.endsWith(OTHER)).length, 7);
  remove('network_remove_own');
});

test('shared rules are removed with the last instance and the last network', { skip }, () => {
  const shared = () => chains().filter((name) => name === 'DEFT-IN' || name === 'DEFT-OUT').length;
  remove('engine_has_users() { false; }; network_remove_shared');
  assert.equal(shared(), 2, 'a network is left');
  here(`ip link del ${BRIDGE}`);
  remove('engine_has_users() { true; }; network_remove_shared');
  assert.equal(shared(), 2, 'an instance is left');
  remove('engine_has_users() { false; }; network_remove_shared');
  assert.equal(shared(), 0);
});
