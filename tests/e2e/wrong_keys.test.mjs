// Wrong keys are counted per address; valid keys are not affected.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import http from 'node:http';
import { randomInt } from 'node:crypto';
import { after, test } from 'node:test';
import WebSocket from 'ws';
import { AGENT_URL, API_KEY, APP_URL, DEADLINE_MS, DEFT } from './support/instance.mjs';
import { newLink } from './support/session.mjs';
import { within } from './support/wait.mjs';

const PER_MINUTE = 20;
/** An address of this machine that no other test uses. */
const anAddress = () => `127.${randomInt(1, 255)}.${randomInt(255)}.${randomInt(2, 255)}`;

/** A GET from an address; resolves with {status, retryAfter}. */
const ask = (from, url, headers = {}) => new Promise((resolve, reject) => {
  const request = http.get(url, { localAddress: from, family: 4, agent: false, headers, timeout: DEADLINE_MS }, (response) => {
    response.resume();
    response.on('end', () => resolve({ status: response.statusCode, retryAfter: response.headers['retry-after'] }));
  });
  request.on('timeout', () => request.destroy(new Error(`${url}: silence for ${DEADLINE_MS} ms`)));
  request.on('error', reject);
});

/** The result of a socket opened from an address: the status of a refusal, or the close code. */
const openSocket = (from, key, frame) => within(new Promise((resolve) => {
  const url = new URL('/sockets/bash-events', AGENT_URL.replace('http', 'ws'));
  if (key) url.searchParams.set('session_api_key', key);
  const socket = new WebSocket(url, { localAddress: from, family: 4 });
  socket.on('open', () => (frame ? socket.send(JSON.stringify(frame)) : socket.close(1000)));
  socket.on('unexpected-response', (request, response) => { request.destroy(); resolve(response.statusCode); });
  socket.on('close', (code) => resolve(code));
  socket.on('error', () => {});
}), 'the socket is refused or closed');

const names = [];
after(() => { for (const name of names) execFileSync(DEFT, ['key', '--revoke', name]); });

for (const [what, url, headersOf, right] of [
  ['the agent API', new URL('/api/conversations/count', AGENT_URL), (key) => ({ 'x-session-api-key': key }), () => API_KEY],
  ['the app API', new URL('/api/v1/sandboxes/search', APP_URL), (key) => ({ authorization: `Bearer ${key}` }), () => API_KEY],
  ['the Runtime API', new URL('/runtime-api/list', APP_URL), (key) => ({ 'x-api-key': key }), () => {
    names.push(`wrong keys ${process.pid}`);
    return execFileSync(DEFT, ['key', '--runtime', names.at(-1)], { encoding: 'utf8' }).trim().split(/\s+/).pop();
  }],
]) {
  test(`${what} accepts twenty wrong keys per address and minute, and any number of valid ones`, async () => {
    const [from, other] = [anAddress(), anAddress()];
    const key = right();
    for (let i = 0; i < PER_MINUTE; i++) assert.equal((await ask(from, url, headersOf(`wrong-${i}`))).status, 401);
    // The limit recovers one attempt in three seconds, which a slow machine may need for the others.
    let refused;
    for (let i = 0; i < PER_MINUTE && refused?.status !== 429; i++) refused = await ask(from, url, headersOf('wrong'));
    assert.equal(refused.status, 429);
    assert.match(refused.retryAfter, /^[1-9]\d*$/);
    assert.equal((await ask(from, url, headersOf(key))).status, 200, 'a right key is not locked out');
    assert.equal((await ask(from, url)).status, 401, 'no key is no wrong key');
    assert.equal((await ask(other, url, headersOf('wrong'))).status, 401, 'another address has its own count');
    assert.equal((await ask(other, url, { ...headersOf('wrong'), 'x-forwarded-for': from, 'x-real-ip': from })).status, 401, 'what a client says of its address is not believed');
  });
}

/** A POST to the page's sign-in from an address; resolves with {status, retryAfter, detail}. */
const openLink = (from, token) => new Promise((resolve, reject) => {
  const body = JSON.stringify({ token });
  const request = http.request(new URL('/api/v1/sign-in', APP_URL), { method: 'POST', localAddress: from, family: 4, agent: false, timeout: DEADLINE_MS,
    headers: { 'content-type': 'application/json', 'content-length': body.length, origin: APP_URL } }, async (response) => {
    let text = '';
    for await (const chunk of response) text += chunk;
    resolve({ status: response.statusCode, retryAfter: response.headers['retry-after'], detail: JSON.parse(text).detail });
  });
  request.on('error', reject);
  request.end(body);
});

test('many users of one address can sign in, and their invalid links are counted', async () => {
  const from = anAddress();
  const links = [];
  for (let i = 0; i < 2 * PER_MINUTE + 1; i++) links.push(await newLink());
  const last = links.pop();
  for (const { status, detail } of await Promise.all(links.map((link) => openLink(from, link)))) assert.equal(status, 200, detail);
  let refused;
  for (let i = 0; i < 2 * PER_MINUTE && refused?.status !== 429; i++) {
    refused = await openLink(from, `wrong-${i}`);
    assert.ok(refused.status === 429 || refused.status === 401, String(refused.status));
    assert.ok(i < PER_MINUTE ? refused.status === 401 : true, `wrong link ${i} is one too many`);
  }
  assert.equal(refused.status, 429);
  assert.match(refused.retryAfter, /^[1-9]\d*$/);
  assert.match(refused.detail, /try again in a minute/);
  assert.equal((await openLink(from, links[0])).status, 429, 'a used link is a wrong one');
  assert.equal((await openLink(from, last)).status, 200, 'a right one is never held up');
  assert.equal((await openLink(anAddress(), 'wrong')).status, 401);
});

test('sockets accept twenty wrong keys per address and minute, in every form', async () => {
  const from = anAddress();
  const ends = new Set();
  for (let i = 0; i < 2 * PER_MINUTE && !(ends.has(429) && ends.has(1013)); i++) {
    ends.add(await openSocket(from, 'wrong'));
    ends.add(await openSocket(from, undefined, { type: 'auth', session_api_key: 'wrong' }));
  }
  assert.deepEqual([...ends].sort((a, b) => a - b), [403, 429, 1013, 4001]);
  assert.equal(await openSocket(from, API_KEY), 1000, 'a right key is not locked out');
  assert.equal(await openSocket(anAddress(), 'wrong'), 403);
});
