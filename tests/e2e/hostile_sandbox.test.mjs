// Answers of a hostile sandbox on the page's origin: they reach a browser as a file, or as a document of an origin of
// its own, with listed headers, or not at all.
import assert from 'node:assert/strict';
import net from 'node:net';
import { after, before, describe, test } from 'node:test';
import { call } from './support/api.mjs';
import { Hostile, answerOf } from './support/hostile.mjs';
import { API_KEY, APP_URL } from './support/instance.mjs';
import { signIn } from './support/session.mjs';
import { within } from './support/wait.mjs';

const SCRIPT = '<!doctype html><script>document.title = "ran"</script>';
const EVIL_HEADERS = ['Set-Cookie: deft_session=evil; Path=/', 'Service-Worker-Allowed: /', 'Clear-Site-Data: "*"', 'Refresh: 0; url=/', 'Link: </x>; rel=preload',
  'Access-Control-Allow-Origin: *', 'Access-Control-Allow-Credentials: true', 'Location: https://evil.example/', 'Content-Security-Policy: default-src *',
  'X-Content-Type-Options: off', 'X-Accel-Redirect: /x', 'Content-Disposition: inline', 'Status: 200 OK', 'WWW-Authenticate: Basic realm="x"', 'Content-Encoding: x'];
const PASSED = new Set(['server', 'date', 'content-type', 'content-length', 'connection', 'keep-alive', 'transfer-encoding', 'cache-control', 'x-content-type-options',
  'referrer-policy', 'content-security-policy', 'x-request-id', 'content-disposition', 'etag', 'last-modified', 'accept-ranges', 'content-range', 'vary', 'retry-after']);
const TYPES = ['text/html', 'image/svg+xml', 'application/pdf', 'multipart/x-mixed-replace; boundary=b', 'text/html\x01; x', 'text', `text/${'x'.repeat(300)}`, 'application/xhtml+xml', 'text/xml'];
const REFUSED = [0, 99, 101, 301, 302, 307, 308, 600, 700, 999];
const PASSED_STATUSES = [200, 206, 400, 403, 404, 500, 503];

const evil = (status, headers) => answerOf(status, headers, SCRIPT);

describe('a hostile sandbox', () => {
  let hostile;

  before(async () => { hostile = await Hostile.start(); });
  after(() => hostile?.close());

  const shown = (path) => call('GET', `/agent${path}`, { key: hostile.user.key, url: APP_URL });

  function assertHarmless(got, what) {
    for (const name of got.headers.keys()) assert.ok(PASSED.has(name) || name.startsWith('x-archive-'), `${what}: ${name} passed`);
    assert.equal(got.headers.get('x-content-type-options'), 'nosniff', what);
    const policy = got.headers.get('content-security-policy');
    for (const directive of [/object-src 'none'/, /base-uri/, /form-action 'none'/, /frame-ancestors/]) assert.match(policy, directive, what);
    if (got.status === 502) return;
    assert.match(policy, /^sandbox/, what);
    assert.doesNotMatch(policy, /allow-same-origin/, what);
    if (!what.includes('/workspace/x.html')) {
      const type = got.headers.get('content-type');
      assert.ok(type.startsWith('application/json') || got.headers.get('content-disposition')?.startsWith('attachment'), `${what}: ${type} is shown`);
    }
  }

  test('no answer\'s script runs on the page\'s origin, whatever its status', async () => {
    for (const path of hostile.routes) {
      for (const status of [...PASSED_STATUSES, ...REFUSED]) {
        hostile.answer = evil(status, ['Content-Type: text/html', ...EVIL_HEADERS]);
        const got = await shown(path);
        assert.equal(got.status, PASSED_STATUSES.includes(status) ? status : 502, `${path} ${status}: ${got.text}`);
        if (got.status === 502) assert.match(got.json.exception, /\w+ \w+ \w+/);
        assertHarmless(got, `${path} ${status}`);
      }
    }
  });

  test('no answer\'s script runs on the page\'s origin, whatever its type', async () => {
    for (const path of hostile.routes) {
      for (const type of TYPES) {
        hostile.answer = evil(200, [`Content-Type: ${type}`, ...EVIL_HEADERS]);
        const got = await shown(path);
        assertHarmless(got, `${path} ${type}`);
        assert.doesNotMatch(got.headers.get('content-type') ?? '', /multipart|\x01|x{200}/);
      }
    }
  });

  test('a body that looks like a second answer is not read as one', async () => {
    const second = evil(200, ['Content-Type: text/html']);
    for (const first of ['HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(100), 'junk\r\n', 'HTTP/1.1 204 No Content\r\n\r\n', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}']) {
      hostile.answer = first + second;
      for (const headers of [{}, { connection: 'close, upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' }]) {
        const text = await raw(`/agent${hostile.routes[0]}`, headers);
        assert.doesNotMatch(text, /^HTTP\/1\.1 101/);
        assert.doesNotMatch(text, /document\.title/, first);
        assert.equal(text.match(/HTTP\/1\.1 /g).length, 1, text);
      }
    }
  });

  test('a header value cannot inject another header', async () => {
    hostile.answer = evil(200, ['Content-Type: application/json\rX-Evil: 1', 'ETag: "a\rSet-Cookie: a=b"', 'Last-Modified: x\x0bX-Evil: 1', 'Content-Disposition: attachment; filename="a\rX-Evil: 1"']);
    const got = await shown(hostile.routes[0]);
    assert.equal(got.headers.get('x-evil'), null);
    assert.equal(got.headers.get('set-cookie'), null);
  });

  /** All bytes that come back on a connection. */
  function raw(path, headers) {
    const { hostname, port, host } = new URL(APP_URL);
    const lines = [`GET ${path} HTTP/1.1`, `Host: ${host}`, `X-Session-API-Key: ${hostile.user.key}`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)];
    if (!headers.connection) lines.push('Connection: close');
    const answered = new Promise((resolve, reject) => {
      const socket = net.connect(port, hostname, () => socket.write(`${lines.join('\r\n')}\r\n\r\n`));
      let text = '';
      socket.on('data', (data) => { text += data; }).on('end', () => resolve(text)).on('error', reject);
    });
    return within(answered, `the connection of ${lines[0]} ends`);
  }
});

describe('a request body', () => {
  const send = (type, options = {}) => call('POST', '/api/profiles/csrf-test', { body: Buffer.from('{"llm": {"model": "x"}}'), headers: type ? { 'content-type': type } : {}, ...options });

  test('is read as JSON if its type says so; other types are refused with a message', async () => {
    for (const type of ['text/plain', 'text/plain;charset=UTF-8', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=b', 'application/jsonp', 'text/json', 'json', 'application/octet-stream', 'x/application/json', 'text/plain; application/json']) {
      for (const url of [undefined, APP_URL]) {
        const got = await call('POST', `${url ? '/agent' : ''}/api/profiles/csrf-test`, { body: Buffer.from('{"llm": {"model": "x"}}'), headers: { 'content-type': type }, ...(url ? { url } : {}) });
        assert.equal(got.status, 415, `${type}: ${got.text}`);
        assert.match(got.json.detail, /application\/json/);
      }
    }
    for (const type of ['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset=utf-8', 'application/merge-patch+json', undefined]) {
      const got = await send(type);
      assert.notEqual(got.status, 415, `${type}: ${got.text}`);
    }
    await call('DELETE', '/api/profiles/csrf-test');
  });

  test('without a type is refused if the request is authorized by a cookie', async () => {
    const cookie = await signIn();
    const options = { key: null, url: APP_URL, body: Buffer.from('{"llm": {"model": "x"}}') };
    for (const [type, status] of [[undefined, 415], ['text/plain', 415], ['application/json', undefined]]) {
      const headers = { cookie, origin: APP_URL, ...(type ? { 'content-type': type } : {}) };
      const got = await call('POST', '/agent/api/profiles/csrf-test', { ...options, headers });
      if (status) assert.equal(got.status, status, `${type}: ${got.text}`);
      else assert.notEqual(got.status, 415, got.text);
    }
    await call('DELETE', '/api/profiles/csrf-test', { key: API_KEY });
  });
});
