// Answers of programs in previews: a browser gets HTTP with a valid status, or a 502 with a message.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import http from 'node:http';
import net from 'node:net';
import { after, before, describe, it } from 'node:test';
import WebSocket from 'ws';
import { start as startModel } from '../fakes/openai.mjs';
import { APP_URL, DEADLINE_MS, SERVICES } from './support/instance.mjs';
import { signedIn, startSite } from './support/site.mjs';
import { waitUntil, within } from './support/wait.mjs';

const BODY = 'Content-Type: text/html\r\nContent-Length: 5\r\n\r\nowned';
const FINAL = `HTTP/1.1 200 OK\r\n${BODY}`;
const UPGRADE = ['Connection: upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='];
const SWITCHING = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n';
const LARGE_MIB = 40;

const gateway = async () => `/proc/${(await readFile(`${SERVICES}/gateway/supervise/pid`, 'utf8')).trim()}`;
/** Of memory of its own; pages of its program and libraries come with their first use. */
const gatewayKb = async () => Number(/RssAnon:\s+(\d+)/.exec(await readFile(`${await gateway()}/status`, 'utf8'))[1]);
const gatewayFds = async () => (await readdir(`${await gateway()}/fd`)).length;

describe('answers of previews', () => {
  let fake;
  let site;
  let visitor;

  before(async () => {
    fake = await startModel();
    site = await startSite(fake);
    visitor = await signedIn();
    assert.equal((await visitor.open(site.url)).status, 200);
  });
  after(async () => {
    await site?.conversation.delete();
    await fake?.close();
  });

  /** All bytes returned on a connection of one request. */
  const talk = (path, lines = ['Connection: close']) => new Promise((resolve, reject) => {
    const { host } = new URL(site.url);
    const socket = net.connect(new URL(APP_URL).port, '127.0.0.1', () => socket.write([`GET ${path} HTTP/1.1`, `Host: ${host}`, `Cookie: ${visitor.cookies(site.url)}`, ...lines, '', ''].join('\r\n')));
    let text = '';
    socket.setTimeout(DEADLINE_MS, () => socket.destroy(new Error(`${path}: silence after ${text}`)));
    socket.on('data', (data) => { text += data; }).on('close', () => resolve(text)).on('error', reject);
  });
  const raw = (said, lines) => talk(`/raw?${encodeURIComponent(said)}`, lines);

  function assertRefused(text, what) {
    assert.match(text, /^HTTP\/1\.1 502 Bad Gateway\r\n/, what);
    assert.doesNotMatch(text, /owned/, what);
    assert.match(text, /<h1>[A-Z][\w ]+<\/h1>/, what);
    assert.match(text, /^content-security-policy: default-src 'none'/mi, what);
    assert.match(text, /^x-content-type-options: nosniff/mi, what);
    assert.equal(text.match(/HTTP\/1\.1 /g).length, 1, what);
  }

  it('an invalid status is refused with a message, with and without an upgrade', async () => {
    for (const status of ['000', '001', '099', '600', '601', '700', '999']) {
      for (const lines of [undefined, UPGRADE]) {
        const text = await raw(`HTTP/1.1 ${status} Words\r\n${BODY}`, lines);
        assertRefused(text, status);
        assert.match(text, /cannot be shown/, status);
        if (status !== '000') assert.match(text, new RegExp(`status is ${status}`));
      }
    }
  });

  it('every valid status passes', async () => {
    for (const status of [200, 201, 226, 300, 400, 403, 404, 413, 418, 451, 499, 500, 502, 599]) {
      const text = await raw(`HTTP/1.1 ${status} Words\r\n${BODY}`);
      assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} `), String(status));
      assert.match(text, /owned$/, String(status));
    }
    assert.match(await raw(`HTTP/1.0 200 OK\r\n${BODY}`), /owned$/);
    assert.match(await raw(`HTTP/1.1 200\nContent-Length: 5\n\nowned`), /owned$/);
  });

  it('an answer without an HTTP head is refused with a message', async () => {
    for (const head of ['hello', '<script>owned</script>', 'HTTP/0.9 200 OK\r\n', 'HTTP/2 200\r\n', 'HTTP/1.1  200 OK\r\n', 'HTTP/1.1 20 OK\r\n', 'HTTP/1.1 2000 OK\r\n', 'HTTP/1.1 2x0 OK\r\n', 'ICY 200 OK\r\n', '\r\nHTTP/1.1 200 OK\r\n', '\0\0\0', 'HTTP/1.1 -1 OK\r\n', 'HTTP/1.1 +20 OK\r\n'])
      assertRefused(await raw(`${head}${BODY}`), JSON.stringify(head));
    assertRefused(await raw(''), 'nothing');
    assertRefused(await raw('HTTP/1.1 20'), 'a part of a status');
  });

  it('101 passes only if an upgrade was requested', async () => {
    assertRefused(await raw(`${SWITCHING}owned`), 'not asked for');
    assertRefused(await raw(`${SWITCHING}${FINAL}`), 'not asked for, with an answer after it');
    assertRefused(await raw(`HTTP/1.1 100 Continue\r\n\r\n${SWITCHING}owned`), 'after another one');
    assert.match(await raw(`${SWITCHING}raw bytes`, UPGRADE), /^HTTP\/1\.1 101 [^]*raw bytes$/);
    assert.match(await raw(`HTTP/1.1 103 Early Hints\r\n\r\n${SWITCHING}raw bytes`, UPGRADE), /^HTTP\/1\.1 101 [^]*raw bytes$/);
    assert.match(await raw(FINAL, UPGRADE), /^HTTP\/1\.1 200 [^]*owned$/, 'a program may say no to an upgrade');
  });

  it('informational answers are dropped, and the final one is passed on', async () => {
    for (const before of ['HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 102 Processing\r\n\r\n', 'HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n', 'HTTP/1.1 199 X\n\n', 'HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n'.repeat(20)]) {
      const text = await raw(before + FINAL);
      assert.match(text, /^HTTP\/1\.1 200 OK\r\n[^]*owned$/, before);
      assert.doesNotMatch(text, /preload/);
    }
    assertRefused(await raw(`HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 999 High\r\n${BODY}`), 'a status that is none after one');
  });

  it('an answer may arrive in pieces of any size', async () => {
    const pieces = (text) => talk(`/pieces?${[...text].map(encodeURIComponent).join('~')}`);
    assert.match(await pieces(`HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n${FINAL}`), /^HTTP\/1\.1 200 OK\r\n[^]*owned$/);
    assertRefused(await pieces(`HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 999 OK\r\n${BODY}`), 'in pieces');
  });

  it('an endless head is refused, and the connection to its program closed', async () => {
    for (const path of ['/endless', '/endless-line', '/endless-early', '/endless-hint']) {
      assertRefused(await talk(path), path);
      assert.equal((await visitor.get(`${site.url}/ended`)).text, 'yes', `${path}: it still writes`);
    }
  });

  it('a program does not see the header with its address', async () => {
    const said = (await visitor.get(`${site.url}/data`, { headers: { 'x-deft-address': '127.0.0.1:22' } })).json();
    assert.deepEqual(said.headers.filter(([name]) => name.startsWith('x-deft')), []);
  });

  it('large bodies pass in both directions at any speed, without being buffered', async () => {
    const kb = await gatewayKb();
    const body = Buffer.alloc(LARGE_MIB << 20, 'large');
    const sent = visitor.get(`${site.url}/sink`, { method: 'POST', body, headers: { 'content-length': body.length } });
    const slow = await visitor.send(`${site.url}/large?${LARGE_MIB}`);
    slow.pause();
    assert.ok(await gatewayKb() - kb < 8192, 'what is not taken is not read');
    assert.equal((await visitor.get(`${site.url}/go`)).text, 'went');
    assert.equal((await sent).text, createHash('sha256').update(body).digest('hex'));
    const got = createHash('sha256');
    for await (const chunk of slow) got.update(chunk);
    assert.equal(got.digest('hex'), createHash('sha256').update(Buffer.alloc(LARGE_MIB << 20, Buffer.from(Array.from({ length: 256 }, (_, i) => i)))).digest('hex'));
    assert.ok(await gatewayKb() - kb < 8192, `the gateway grew from ${kb} to ${await gatewayKb()} KB`);
  });

  it('after a client disconnects its program is not read any more', async () => {
    const slow = await visitor.send(`${site.url}/large?${LARGE_MIB}`);
    slow.destroy();
    assert.equal((await visitor.get(`${site.url}/ended`)).text, 'yes');
  });

  it('a program may answer before it has read the request', async () => {
    const { host } = new URL(site.url);
    const answer = await new Promise((resolve, reject) => {
      const request = http.request({ host: '127.0.0.1', port: new URL(APP_URL).port, path: '/early', method: 'POST', headers: { host, cookie: visitor.cookies(site.url), 'content-length': 1 << 20 } }, resolve);
      request.on('error', reject);
      request.flushHeaders();
    });
    assert.equal(answer.statusCode, 413);
    answer.destroy();
  });

  it('many idle sockets take a few KB each', { timeout: 4 * DEADLINE_MS }, async () => {
    const kb = await gatewayKb();
    const fds = await gatewayFds();
    const n = 150;
    const open = () => within(new Promise((resolve, reject) => {
      const socket = new WebSocket(`ws://127.0.0.1:${new URL(APP_URL).port}/socket`, { headers: { host: new URL(site.url).host, origin: site.url, cookie: visitor.cookies(site.url) } });
      socket.on('open', () => resolve(socket)).on('error', reject);
    }), 'a socket opens');
    const sockets = [];
    // The site accepts five queued connections.
    while (sockets.length < n) sockets.push(...await Promise.all([open(), open(), open()]));
    for (const socket of sockets) {
      const back = new Promise((resolve) => { socket.once('message', resolve); });
      socket.send('hello');
      assert.equal(String(await within(back, 'the echo')), 'hello');
    }
    const grown = await gatewayKb() - kb;
    assert.ok(grown < n * 4, `${grown} KB for ${n} sockets`);
    for (const socket of sockets) socket.terminate();
    await waitUntil(async () => (await gatewayFds()) < fds + n, 'the connections to their programs are closed', DEADLINE_MS);
  });
});
