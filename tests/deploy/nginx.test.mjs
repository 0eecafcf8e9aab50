// nginx's own rules: its errors, and the headers of the page.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import http from 'node:http';
import { test } from 'node:test';
import { start, stop } from '../e2e/support/processes.mjs';
import { parse, request, sendRaw, waitUntil } from './http.mjs';
import { within } from '../e2e/support/wait.mjs';

const APP = process.env.DEFT_APP_URL;
const AGENT = process.env.DEFT_AGENT_URL;

for (const origin of [APP, AGENT]) {
  test(`an unknown host is refused with 421 at ${origin}`, async () => {
    for (const host of ['evil.example', 'localhost.evil.example', '0.0.0.0', '']) {
      const reply = await request(origin, 'GET', '/health', [`Host: ${host}`]);
      assert.ok([400, 421].includes(reply.status), `${host}: ${reply.status}`);
    }
  });

  test(`configured names are answered at ${origin}`, async () => {
    const { port } = new URL(origin);
    for (const host of ['localhost', '127.0.0.1', '[::1]']) {
      const reply = await request(origin, 'GET', '/health', [`Host: ${host}:${port}`]);
      assert.equal(reply.status, 200, host);
    }
  });

  test(`requests of two lengths or two hosts are refused at ${origin}`, async () => {
    const cases = [
      ['Content-Length: 5', 'Content-Length: 6'],
      ['Content-Length: 5', 'Transfer-Encoding: chunked'],
      ['Host: localhost', 'Host: evil.example'],
      ['Transfer-Encoding: gzip, chunked'],
    ];
    for (const lines of cases) {
      const reply = await request(origin, 'POST', '/api/x', lines, '0\r\n\r\n');
      assert.ok([400, 501].includes(reply.status), `${lines}: ${reply.status}`);
    }
  });

  test(`the server does not reveal its version at ${origin}`, async () => {
    const reply = await request(origin, 'GET', '/health');
    assert.equal(reply.headers.get('server'), 'nginx');
  });

  test(`paths that leave the root are refused at ${origin}`, async () => {
    for (const path of ['/../../etc/passwd', '/assets/../../x', '/%2e%2e/%2e%2e/etc/passwd', '/assets%2f..%2f..%2f..%2fkeys', '/a%00b']) {
      const reply = await request(origin, 'GET', path);
      assert.doesNotMatch(reply.body, /root:|secret/, path);
      assert.ok(reply.status === 200 || reply.status >= 400, `${path}: ${reply.status}`);
    }
  });
}

const ANSWER_HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
};

/** Fails unless each of the headers that prevent an answer from running is present once. */
function assertHarmless(reply, what) {
  for (const [name, value] of Object.entries(ANSWER_HEADERS)) {
    assert.equal(reply.headers.get(name), value, `${what}: ${name}`);
    assert.equal(reply.names.filter((one) => one === name).length, 1, `${what}: ${name} comes more than once`);
  }
}

/** Fails unless the answer is an error of that status in the form of the API. */
function assertApiError(reply, status, what) {
  assertHarmless(reply, what);
  assert.equal(reply.status, status, `${what}: ${reply.body}`);
  assert.equal(reply.headers.get('content-type'), 'application/json', what);
  const { detail, exception } = JSON.parse(reply.body);
  assert.equal(typeof detail, 'string', what);
  if (status >= 500) assert.match(exception, new RegExp(`^${status}: `), what);
}

/** Requests that nginx itself refuses: the lines after the host, or the whole request. */
const REFUSALS = [
  ['a NUL in the path', 400, { path: '/api/a%00b' }],
  ['an incomplete escape in the path', 400, { path: '/api/%4' }],
  ['a path that leaves the root', 400, { path: '/api/../../../x' }],
  ['two lengths', 400, { method: 'POST', lines: ['Content-Length: 5', 'Content-Length: 6'] }],
  ['a length and chunks', 400, { method: 'POST', lines: ['Content-Length: 5', 'Transfer-Encoding: chunked'] }],
  ['two hosts', 400, { lines: ['Host: localhost', 'Host: localhost'] }],
  ['an invalid host', 400, { lines: ['Host: a/b'] }],
  ['an unknown host', 421, { lines: ['Host: evil.example'] }],
  ['an unknown transfer coding', 501, { method: 'POST', lines: ['Transfer-Encoding: gzip, chunked'] }],
  ['a long path', 414, { path: `/api/${'x'.repeat(70_000)}` }],
  ['a long header', 431, { lines: [`X-Long: ${'x'.repeat(70_000)}`] }],
  ['many headers', 431, { lines: Array.from({ length: 100 }, (_, n) => `X-${n}: ${'x'.repeat(1000)}`) }],
  ['a large body', 413, { method: 'POST', lines: [`Content-Length: ${2 * 1024 ** 3}`] }],
  ['no host', 400, { raw: 'GET /api/x HTTP/1.1\r\nConnection: close\r\n\r\n' }],
  ['no request line', 400, { raw: 'hello\r\n\r\n' }],
  ['an unknown version', 505, { raw: 'GET /api/x HTTP/7.0\r\nHost: localhost\r\n\r\n' }],
];

for (const [name, origin] of Object.entries({ app: APP, agent: AGENT })) {
  for (const [what, status, { raw, method = 'GET', path = '/api/x', lines = [] }] of REFUSALS) {
    test(`${what} is refused with ${status} in the form of the API at the ${name} origin`, async () => {
      const reply = raw === undefined ? await request(origin, method, path, lines) : parse(await sendRaw(origin, raw));
      assertApiError(reply, status, what);
    });
  }
}

const PREVIEW_HOST = `Host: 5173-${'a'.repeat(16)}.sandbox.localhost:${new URL(APP).port}`;
const PREVIEW = [PREVIEW_HOST];
/** A request for each location of the configuration: the file, the location, the path, the lines that select it, and the status for a body that is too large. */
const LOCATIONS = [
  ['app', '/', '/'], ['app', '/assets/', '/assets/x.js'], ['app', '/api/', '/api/v1/me'], ['app', '= /api/v1/sign-in', '/api/v1/sign-in'],
  ['app', '/runtime-api/', '/runtime-api/list'], ['app', '~ ^/(alive|health|ready)$', '/health'],
  ...[['agent', ''], ['app', '/agent']].flatMap(([name, prefix]) => [
    [name, '@PREFIX@/', `${prefix}/api/x`], [name, '@PREFIX@/api/conversations', `${prefix}/api/conversations`], [name, '~ ^@PREFIX@/(alive|health|ready|server_info)$', `${prefix}/alive`],
    [name, '= @PREFIX@/execute_action', `${prefix}/execute_action`], [name, '~ ^@PREFIX@/(api/(conversations/[^/]+/)?file/upload|upload_file$)', `${prefix}/api/file/upload`],
    [name, '~ ^@PREFIX@/(api/(conversations/[^/]+/)?file/download|download_files$)', `${prefix}/api/file/download`],
    [name, '~ ^@PREFIX@/(api/(conversations/[^/]+/)?(bash|file|git)/|api/conversations/[^/]+/workspace(/|$)|list_files$|update_mcp_server$)', `${prefix}/api/bash/x`],
    [name, '~ ^@PREFIX@/(docs|redoc)$', `${prefix}/docs`], [name, '@PREFIX@/docs/', `${prefix}/docs/x`], [name, '@PREFIX@/v1/', `${prefix}/v1/models`], [name, '= @PREFIX@/sockets', `${prefix}/sockets`], [name, '@PREFIX@/sockets/', `${prefix}/sockets/events/x`], [name, '= @PREFIX@/.deft/socket', `${prefix}/.deft/socket`, [], 404],
  ]),
  ['preview', '/', '/', PREVIEW], ['preview', '= /.deft/check', '/.deft/check', PREVIEW, 404], ['preview', '= /.deft/enter', '/.deft/enter', PREVIEW], ['preview', '/.deft/', '/.deft/x', PREVIEW],
];

test('every location of the configuration is in the table', async () => {
  const known = new Set(LOCATIONS.map(([, location]) => location));
  for (const file of ['app', 'agent', 'agent-api', 'preview']) {
    const text = await readFile(new URL(`../../nginx/${file}.conf.in`, import.meta.url), 'utf8');
    for (const [, location] of text.matchAll(/^ *location ([^@{][^{]*|@PREFIX@[^{]*) \{$/gm)) assert.ok(known.has(location), `${file}: ${location}`);
  }
});

for (const [name, location, path, lines = [], tooLarge = 413] of LOCATIONS) {
  const origin = name === 'agent' ? AGENT : APP;
  test(`nginx's errors for ${path} (${name}, ${location}) run no script`, async () => {
    assertApiError(await request(origin, 'POST', path, [...lines, `Content-Length: ${2 * 1024 ** 3}`]), tooLarge, path);
    assertApiError(await request(origin, 'GET', `${path}?${'x'.repeat(70_000)}`, lines), 414, path);
  });
  test(`answers for ${path} (${name}, ${location}) have nosniff`, async () => {
    const reply = await request(origin, 'GET', path, lines);
    assert.deepEqual(reply.names.filter((one) => one === 'x-content-type-options'), ['x-content-type-options'], `${path}: ${reply.status}`);
    assert.equal(reply.headers.get('x-content-type-options'), 'nosniff');
    assert.equal(reply.names.filter((one) => one === 'content-security-policy').length, 1);
    assert.match(reply.headers.get('content-security-policy'), /default-src 'none'[^,]*form-action 'none'/);
  });
}

test('the locations of error answers cannot be requested', async () => {
  assertApiError(await request(AGENT, 'GET', '/.refused/version'), 404, 'from outside');
});

test('a stopped deft-fcgi is answered with 503 in the form of the API', async (t) => {
  stop('fcgi');
  t.after(() => start('fcgi'));
  for (const [origin, path] of [[APP, '/api/v1/me'], [AGENT, '/api/conversations/count'], [APP, '/agent/api/conversations/count']]) {
    const reply = await request(origin, 'GET', path);
    assertApiError(reply, 503, path);
    assert.equal(reply.headers.get('retry-after'), '1');
  }
});

test('a stopped gateway or runtime is answered with 503 in the form of the API', async (t) => {
  for (const [name, path] of [['gateway', '/sockets/events/x'], ['runtime', '/runtime-api/list']]) {
    stop(name);
    t.after(() => start(name));
    assertApiError(await request(APP, 'GET', name === 'gateway' ? `/agent${path}` : path), 503, path);
  }
});

test('the page may load its own files only', async () => {
  const reply = await request(APP, 'GET', '/');
  const policy = reply.headers.get('content-security-policy');
  assert.equal(reply.status, 200);
  assert.match(policy, /default-src 'none'/);
  assert.match(policy, /img-src 'self' data: blob:/);
  assert.match(policy, /connect-src 'self'/);
  assert.match(policy, /frame-ancestors 'none'/);
  assert.doesNotMatch(policy, /unsafe/);
  assert.equal(reply.headers.get('x-content-type-options'), 'nosniff');
  assert.equal(reply.headers.get('referrer-policy'), 'no-referrer');
  assert.equal(reply.headers.get('cache-control'), 'no-cache');
});

test('any path of the app origin serves the page', async () => {
  const root = await request(APP, 'GET', '/');
  const deep = await request(APP, 'GET', '/conversations/5f0c');
  assert.equal(deep.status, 200);
  assert.equal(deep.body, root.body);
});

test('files with a hash in their name are cached for a year', async () => {
  const page = await request(APP, 'GET', '/');
  const file = /\/assets\/[^"]+\.js/.exec(page.body)?.[0];
  assert.ok(file, 'the page names a script');
  const reply = await request(APP, 'GET', file, ['Accept-Encoding: gzip']);
  assert.match(reply.headers.get('cache-control'), /max-age=31536000, immutable/);
  assert.equal(reply.headers.get('content-encoding'), 'gzip');
  assert.equal((await request(APP, 'GET', '/assets/none.js')).status, 404);
});

test('bodies over the limit are refused in the form of the API', async () => {
  const cases = [
    [AGENT, '/api/events', 2 * 1024 ** 2],
    [AGENT, '/api/conversations', 16 * 1024 ** 2],
    [APP, '/agent/api/conversations', 16 * 1024 ** 2],
    [AGENT, '/api/file/upload', 1025 * 1024 ** 2],
  ];
  for (const [origin, path, limit] of cases) {
    const reply = await request(origin, 'POST', path, [`Content-Length: ${limit + 1}`, 'Content-Type: application/json']);
    assert.equal(reply.status, 413, path);
    assert.equal(typeof JSON.parse(reply.body).detail, 'string', path);
  }
});

test('a path that becomes /agent/ only when decoded reaches nothing', async () => {
  const reply = await request(APP, 'GET', '/%61gent/api/conversations/count', [`X-Session-API-Key: ${process.env.DEFT_API_KEY}`]);
  assert.ok([400, 401, 404].includes(reply.status), String(reply.status));
});

test('the log contains no query string', async () => {
  const mark = `mark${process.pid}`;
  await request(APP, 'GET', `/api/v1/me?key=${mark}`);
  await request(AGENT, 'GET', `/sockets/events/x?session_api_key=${mark}`);
  const file = `${process.env.DEFT_LOG}/nginx/current`;
  await waitUntil(async () => (await readFile(file, 'utf8')).includes('"path":"/sockets/events/x"'), 60_000);
  const log = await readFile(file, 'utf8');
  assert.doesNotMatch(log, new RegExp(mark));
});

/** The large files with that suffix that the page loads. */
async function assetsOf(ending) {
  const { body } = await request(APP, 'GET', '/');
  return [...body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path).filter((path) => path.startsWith('/assets/') && path.endsWith(ending));
}

test('scripts, styles and large JSON are compressed, also through another proxy', async () => {
  const [script] = await assetsOf('.js');
  const [style] = await assetsOf('.css');
  for (const [origin, path] of [[APP, script], [APP, style], [AGENT, '/openapi.json']]) {
    for (const via of [[], ['Via: 1.1 proxy.example']]) {
      const reply = await request(origin, 'GET', path, ['Accept-Encoding: gzip', ...via]);
      assert.equal(reply.status, 200, path);
      assert.equal(reply.headers.get('content-encoding'), 'gzip', `${path} ${via}`);
      assert.ok(reply.body.includes('\x1f\x8b'), 'the bytes of gzip');
    }
    const plain = await request(origin, 'GET', path);
    assert.equal(plain.headers.get('content-encoding'), undefined, path);
  }
});

test('a socket is not compressed by nginx', async () => {
  const headers = {
    Connection: 'Upgrade', Upgrade: 'websocket', 'Accept-Encoding': 'gzip',
    'Sec-WebSocket-Version': 13, 'Sec-WebSocket-Key': Buffer.alloc(16).toString('base64'),
  };
  const answer = await within(new Promise((resolve, reject) => {
    http.get(new URL('/sockets/events/00000000-0000-4000-8000-000000000000', AGENT), { headers })
      .on('upgrade', (reply, socket) => resolve(reply) ?? socket.destroy())
      .on('response', (reply) => reject(new Error(`no socket: ${reply.statusCode}`)))
      .on('error', reject);
  }), 'the socket is answered');
  assert.equal(answer.statusCode, 101);
  assert.equal(answer.headers['content-encoding'], undefined);
});
