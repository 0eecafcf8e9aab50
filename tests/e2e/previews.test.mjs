// Previews: web servers in a sandbox, on origins of their own, for the sandbox's owner only.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import net from 'node:net';
import { after, before, describe, it } from 'node:test';
import WebSocket from 'ws';
import { start as startModel } from '../fakes/openai.mjs';
import { engine, tar } from './runtime_house.mjs';
import { execute, query } from './support/database.mjs';
import { APP_URL, INSTANCE, WORKING_DIR } from './support/instance.mjs';
import { signIn } from './support/session.mjs';
import { OTHER_PORT, PORT, WORKER_PORT, signedIn, startSite } from './support/site.mjs';
import { newUser } from './support/users.mjs';
import { originOf, Visitor } from './support/visitor.mjs';
import { waitUntil, within } from './support/wait.mjs';

const SILENT_PORT = 4444;

/** Another user's browser. */
async function stranger() {
  const { id } = await newUser();
  return signedIn(await signIn(id));
}

const header = (said, name) => said.headers.filter(([one]) => one === name).map(([, value]) => value);

describe('previews', () => {
  let fake;
  let site;
  let visitor;

  before(async () => {
    fake = await startModel();
    site = await startSite(fake);
    visitor = await signedIn();
  });
  after(async () => {
    await site?.conversation.delete();
    await fake?.close();
  });

  it('a signed-in owner is admitted by a pass that works once', async () => {
    const page = await visitor.open(`${site.url}/hello?x=%2F&y=a%20b`);
    assert.equal(page.status, 200);
    assert.equal(page.url, `${site.url}/hello?x=%2F&y=a%20b`);
    assert.equal(page.json().path, '/hello?x=%2F&y=a%20b');
    assert.deepEqual(page.way.map((url) => new URL(url).host), [new URL(site.url).host, new URL(APP_URL).host, new URL(site.url).host, new URL(site.url).host]);
    assert.equal((await visitor.get(`${site.url}/again`)).json().path, '/again', 'the cookie does from now on');
    const again = await visitor.get(page.way[2]);
    assert.equal(again.status, 403);
    assert.match(again.text, /cannot be used again/);
  });

  it('the cookie belongs to one origin, and its pages cannot read it', async () => {
    const fresh = new Visitor();
    fresh.jar = new Map([...visitor.jar].filter(([host]) => host === 'localhost'));
    const left = await fresh.get(site.url);
    const entry = await fresh.get(left.headers.location);
    const entered = await fresh.get(entry.headers.location);
    assert.deepEqual([left.status, entry.status, entered.status], [303, 303, 303]);
    const [cookie] = entered.headers['set-cookie'];
    assert.match(cookie, /^deft_preview=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=43200$/);
    const other = new Visitor();
    other.keep(originOf(site.id, OTHER_PORT), cookie.split(';')[0]);
    assert.equal((await other.get(originOf(site.id, OTHER_PORT))).status, 303, 'another port is another origin');
  });

  it('a pass is not valid in another browser', async () => {
    const fresh = await signedIn(visitor.cookies(APP_URL));
    const left = await fresh.get(site.url);
    const { headers } = await fresh.get(left.headers.location);
    const stolen = await new Visitor().get(headers.location);
    assert.equal(stolen.status, 403);
    assert.equal(stolen.headers['set-cookie'], undefined);
    assert.equal((await fresh.get(headers.location)).status, 403, 'and is used up by the attempt');
  });

  it('a browser that is not signed in, or of another user, gets an explanation', async () => {
    const nobody = await new Visitor().open(site.url);
    assert.equal(nobody.status, 401);
    assert.match(nobody.text, /<h1>Sign in first<\/h1>/);
    const foreign = await (await stranger()).open(site.url);
    assert.equal(foreign.status, 404);
    assert.match(foreign.text, /None of your sandboxes/);
    const unknown = await visitor.open(originOf('a'.repeat(16), PORT));
    assert.deepEqual([unknown.status, unknown.text], [foreign.status, foreign.text], 'another user\'s is as one that is not there');
  });

  it('signing out also revokes access to previews', async () => {
    const fresh = await signedIn();
    assert.equal((await fresh.open(site.url)).status, 200);
    const out = await fresh.get(new URL('/api/v1/sign-out', APP_URL).href, { method: 'POST', headers: { origin: APP_URL } });
    assert.equal(out.status, 200);
    assert.equal((await fresh.get(site.url)).status, 303);
  });

  it('a program sees the host localhost, and no credentials of deft', async () => {
    visitor.keep(site.url, 'own=mine');
    const answer = await visitor.get(`${site.url}/data`, { method: 'POST', body: 'sent', headers: {
      origin: site.url, 'x-session-api-key': 'sk-deft-x', 'content-type': 'text/plain', 'content-length': 4,
      'x-forwarded-host': 'evil.example', 'x-deft-address': '127.0.0.1:22', cookie: `${visitor.cookies(site.url)}; deft_session_3000=s; oh_workspace_session_key=k; __Host-deft_x=1; last=1`,
    } });
    const said = answer.json();
    assert.deepEqual([said.method, said.body], ['POST', 'sent']);
    assert.deepEqual(header(said, 'host'), [`localhost:${PORT}`]);
    assert.deepEqual(header(said, 'origin'), [`http://localhost:${PORT}`]);
    assert.deepEqual(header(said, 'cookie'), ['own=mine; last=1']);
    for (const name of ['x-session-api-key', 'x-forwarded-host', 'x-forwarded-for', 'x-real-ip']) assert.deepEqual(header(said, name), [], name);
  });

  it('answers are streamed', async () => {
    const response = await visitor.send(`${site.url}/stream`);
    const pieces = response[Symbol.asyncIterator]();
    assert.equal(String((await pieces.next()).value), 'first\n\n');
    assert.equal((await visitor.get(`${site.url}/go`)).text, 'went');
    assert.equal(String((await pieces.next()).value), 'second\n\n');
    assert.equal((await pieces.next()).done, true);
  });

  it('WebSockets work for pages of the same sandbox', async () => {
    const open = (origin, cookie = visitor.cookies(site.url)) => within(new Promise((resolve) => {
      const socket = new WebSocket(`ws://127.0.0.1:${new URL(APP_URL).port}/socket`, { headers: { host: new URL(site.url).host, origin, cookie } });
      socket.on('open', () => socket.send('there'));
      socket.on('message', (data) => { socket.close(); resolve(String(data)); });
      socket.on('unexpected-response', (request, response) => { request.destroy(); resolve(response.statusCode); });
      socket.on('error', () => {});
    }), `the socket for ${origin} is answered`);
    assert.equal(await open(site.url), 'there');
    assert.equal(await open(originOf(site.id, OTHER_PORT)), 'there');
    assert.equal(await open(originOf('b'.repeat(16), PORT)), 403);
    assert.equal(await open(APP_URL), 403);
    assert.equal(await open(site.url, ''), 401);
  });

  it('a page of another sandbox cannot send authorized requests', async () => {
    const evil = originOf('b'.repeat(16), PORT);
    const refused = [
      { method: 'POST', headers: { origin: evil } },
      { method: 'POST', headers: { origin: 'null' } },
      { headers: { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script', referer: `${evil}/` } },
      { headers: { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' } },
      { method: 'POST', headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' } },
    ];
    for (const options of refused) {
      const { status, text } = await visitor.get(`${site.url}/data`, options);
      assert.equal(status, 403, JSON.stringify(options));
      assert.match(text, /Request from another origin/);
    }
    const own = { headers: { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image', referer: `${originOf(site.id, OTHER_PORT)}/x` } };
    assert.equal((await visitor.get(`${site.url}/data`, own)).status, 200);
    const link = { headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' } };
    assert.equal((await visitor.get(`${site.url}/data`, link)).status, 200);
  });

  it('cookies set by another preview do not block access', async () => {
    const tossed = `deft_preview=${'A'.repeat(43)}; deft_preview=short; ${visitor.cookies(site.url)}; deft_preview=${'B'.repeat(43)}`;
    assert.equal((await visitor.get(site.url, { headers: { cookie: tossed } })).status, 200);
    assert.equal((await new Visitor().get(site.url, { headers: { cookie: `deft_preview=${'A'.repeat(43)}` } })).status, 303);
  });

  it('X-Accel headers of a sandbox are ignored', async () => {
    const answer = await visitor.get(`${site.url}/accel`);
    assert.deepEqual([answer.status, answer.text], [200, 'mine']);
    assert.equal(answer.headers['x-accel-redirect'], undefined);
    assert.match(answer.headers['set-cookie'][0], new RegExp(`Domain=${new URL(site.url).hostname}`), 'its cookies are for its own host');
    const redirect = await visitor.get(`${site.url}/redirect`);
    assert.equal(redirect.headers.location, `${site.url}/there?x=1`, 'addresses of its own are put right');
  });

  it('an answer with an invalid status, or of another protocol, ends the connection', async () => {
    const { port } = new URL(APP_URL);
    const { host } = new URL(site.url);
    const second = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nSet-Cookie: a=b; Domain=localhost\r\nContent-Length: 5\r\n\r\nowned';
    const talk = (said, lines = []) => within(new Promise((resolve, reject) => {
      const socket = net.connect(port, '127.0.0.1', () => {
        const request = (path, more = []) => [`GET ${path} HTTP/1.1`, `Host: ${host}`, `Cookie: ${visitor.cookies(site.url)}`, ...more, '', ''].join('\r\n');
        socket.write(request(`/raw?${encodeURIComponent(said)}`, lines) + request('/hello'));
      });
      let text = '';
      socket.on('data', (data) => { text += data; }).on('close', () => resolve(text)).on('error', reject);
    }), `the connection ends after ${JSON.stringify(said)}`);
    for (const first of ['HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n', 'HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 999 High\r\n\r\n', 'HTTP/1.1 204 No Content\r\n\r\n', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}', 'HTTP/0.9 nothing\r\n\r\n']) {
      assert.doesNotMatch(await talk(first + second), /"path": "\/hello"/, `${JSON.stringify(first)}: the connection served another request`);
    }
    for (const lines of [['Connection: upgrade', 'Upgrade: h2c'], ['Connection: upgrade', 'Upgrade: websocket'], ['Connection: upgrade', 'Upgrade: websocket, x', 'Sec-WebSocket-Key: a']]) {
      const refused = await talk('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nraw', [...lines, 'Sec-WebSocket-Version: 13']);
      assert.match(refused, /^HTTP\/1\.1 400 /, lines.join());
      assert.doesNotMatch(refused, /raw/);
    }
    const cleared = await visitor.get(`${site.url}/raw?${encodeURIComponent('HTTP/1.1 200 OK\r\nClear-Site-Data: "*"\r\nContent-Length: 2\r\n\r\n{}')}`);
    assert.deepEqual([cleared.status, cleared.headers['clear-site-data']], [200, undefined]);
  });

  it('repeated headers are read once', async () => {
    const { port } = new URL(APP_URL);
    const cookie = visitor.cookies(site.url);
    const talk = (...lines) => within(new Promise((resolve, reject) => {
      const socket = net.connect(port, '127.0.0.1', () => socket.write(['GET /twice HTTP/1.1', ...lines, 'Connection: close', '', ''].join('\r\n')));
      let text = '';
      socket.on('data', (data) => { text += data; }).on('end', () => resolve(text)).on('error', reject);
    }), `the connection ends after ${lines.join(', ')}`);
    const { host } = new URL(site.url);
    assert.match(await talk(`Host: ${host}`, `Host: localhost:${port}`, `Cookie: ${cookie}`), /^HTTP\/1\.1 400 /);
    const twice = await talk(`Host: ${host}`, 'Cookie: a=1', `Cookie: ${cookie}`);
    assert.match(twice, /^HTTP\/1\.1 200 /);
    assert.match(twice, /\["cookie", "a=1; own=1"\]/, 'and nothing of ours passes in the second');
    const origins = await talk(`Host: ${host}`, `Cookie: ${cookie}`, 'Origin: http://evil.example', `Origin: ${site.url}`);
    assert.match(origins, /^HTTP\/1\.1 (400|403) /);
  });

  it('runtime 19: host names with a port\'s number or name reach that port of the sandbox only', async () => {
    assert.equal((await visitor.open(originOf(site.id, OTHER_PORT))).json().port, OTHER_PORT);
    assert.equal((await visitor.open(originOf(site.id, 'work-1'))).json().port, WORKER_PORT);
    assert.equal((await visitor.open(originOf(site.id, WORKER_PORT))).json().port, WORKER_PORT);
    for (const label of [8000, '05173', 70000, 'nothing']) {
      const { status, text } = await visitor.open(originOf(site.id, label));
      assert.equal(status, 404, label);
      assert.match(text, /cannot be shown/);
    }
    for (const name of [`5173-${site.id}.sandbox.localhost.evil.example`, `x.5173-${site.id}.sandbox.localhost`, `5173-${site.id}.localhost`]) {
      assert.equal((await visitor.get(site.url, { headers: { host: `${name}:${new URL(APP_URL).port}` } })).status, 421, name);
    }
    for (const path of ['/.deft/check', '/.deft/leave', '/.deft/x']) assert.equal((await visitor.get(site.url + path)).status, 404, path);
  });

  it('listening ports are listed with their URLs, and programs know the named ports', async () => {
    const { exposed_urls: urls, listening } = await site.conversation.must(200, 'GET', '/previews');
    assert.deepEqual(urls.map(({ name, port }) => [name, port]), [['AGENT_SERVER', 8000], ['VSCODE', 60001], ['WORKER_1', WORKER_PORT], ['WORKER_2', 12001], [`PORT_${OTHER_PORT}`, OTHER_PORT], [`PORT_${PORT}`, PORT]]);
    assert.deepEqual(listening, [OTHER_PORT, PORT, WORKER_PORT]);
    for (const { name, port, url } of urls.slice(1)) assert.equal(name === 'VSCODE' ? new URL(url).origin : url, originOf(site.id, port), name);
    const told = await visitor.get(new URL(`/agent${site.conversation.path}/previews`, APP_URL).href);
    assert.deepEqual(told.json().exposed_urls, urls, 'the page is told the same');
    assert.equal(await site.box.run('echo $VSCODE $WORKER_1 $WORKER_2'), '60001 12000 12001\n');
    await site.box.run('setsid python3 -m http.server --bind 127.0.0.1 7777 >/dev/null 2>&1 & until curl -s localhost:7777 >/dev/null; do :; done');
    assert.equal((await site.conversation.must(200, 'GET', '/previews')).listening.includes(7777), false, 'loopback alone is not shown');
  });

  it('the sandbox\'s editor is started by a request for its URL, with a token of its own', async () => {
    const { status, text } = await site.conversation.call('GET', '/vscode/url');
    assert.equal(status, 503, 'the image has none');
    assert.match(text, /has no editor/);
    const program = await readFile(new URL('support/openvscode-server', import.meta.url));
    const put = await engine('PUT', `/containers/${INSTANCE}-${site.id}/archive?path=/usr/local/bin`, { body: tar([{ name: 'openvscode-server', data: program }]), type: 'application/x-tar' });
    assert.equal(put.status, 200, put.text);
    assert.deepEqual(await site.conversation.must(200, 'GET', '/vscode/status'), { running: false, enabled: true });
    // The URL in exposed_urls opens it, too.
    const { exposed_urls: urls } = await site.conversation.must(200, 'GET', '/previews');
    const told = urls.find(({ name }) => name === 'VSCODE').url;
    assert.equal((await (await stranger()).open(told)).status, 404, 'a stranger starts nothing');
    assert.deepEqual(await site.conversation.must(200, 'GET', '/vscode/status'), { running: false, enabled: true });
    assert.equal((await visitor.open(told)).json().arguments.at(-1), new URL(told).searchParams.get('tkn'));
    assert.equal((await site.conversation.must(200, 'GET', '/vscode/url')).url, told);
    const { url } = await site.conversation.must(200, 'GET', '/vscode/url', { query: { workspace_dir: `${WORKING_DIR}/a b` } });
    const { origin, searchParams } = new URL(url);
    assert.equal(origin, originOf(site.id, 60001));
    assert.equal(searchParams.get('folder'), `${WORKING_DIR}/a b`);
    const token = searchParams.get('tkn');
    assert.match(token, /^[0-9a-f]{32}$/);
    const { session_api_key: key } = await site.conversation.must(200, 'POST', '/runtime/credentials', { json: {} });
    assert.equal(key.includes(token), false);
    assert.deepEqual(await site.conversation.must(200, 'GET', '/vscode/status'), { running: true, enabled: true });
    assert.equal((await site.conversation.must(200, 'GET', '/vscode/url')).url.includes(token), true, 'the one that runs is told again');
    const page = (await visitor.open(url)).json();
    assert.deepEqual(page.arguments, ['--host', '0.0.0.0', '--port', '60001', '--connection-token', token]);
    assert.equal(page.host, new URL(url).host, 'it makes addresses of the name that it hears');
    assert.equal((await visitor.open(`${origin}/?tkn=wrong`)).status, 403);
  });

  it('a preview request counts as use of the sandbox, recorded once in ten seconds', async () => {
    const used = async () => (await query("SELECT last_used_at::text AS at, last_used_at > now() - interval '5 minutes' AS is_recent FROM runtimes WHERE id = :'id'", { id: site.id }))[0];
    const set = (age) => execute("UPDATE runtimes SET last_used_at = now() - :'age'::interval WHERE id = :'id'", { id: site.id, age });
    await set('15 minutes');
    assert.equal((await visitor.open(`${site.url}/hello`)).status, 200);
    assert.equal((await used()).is_recent, true);
    // In the future, so that a slow test is as good as a fast one.
    await set('-5 minutes');
    const { at } = await used();
    for (let i = 0; i < 3; i++) assert.equal((await visitor.open(`${site.url}/hello`)).status, 200);
    assert.equal((await used()).at, at, 'no row is written for each request');
    await set('0');
  });

  it('a port without a listener gives an error page', async () => {
    const page = await visitor.open(originOf(site.id, SILENT_PORT));
    assert.equal(page.status, 502);
    assert.match(page.text, /responds on port 4444\. It must listen on 0\.0\.0\.0/);
    assert.match(page.headers['content-security-policy'], /default-src 'none'/);
  });

  it('a preview request resumes a paused sandbox; for a stopped one the answer says so', async () => {
    await execute("UPDATE runtimes SET desired = 'paused' WHERE id = :'id'", { id: site.id });
    await waitUntil(async () => (await query("SELECT status FROM runtimes WHERE id = :'id'", { id: site.id }))[0].status === 'paused', 'the sandbox is paused');
    const woken = await visitor.open(originOf(site.id, SILENT_PORT));
    assert.equal(woken.status, 502, 'awake, with nothing on that port');
    assert.equal((await query("SELECT status FROM runtimes WHERE id = :'id' AND desired = 'running'", { id: site.id }))[0].status, 'running');
    await site.conversation.must(204, 'DELETE', '/runtime');
    assert.deepEqual(await site.conversation.must(200, 'GET', '/previews'), { exposed_urls: null, listening: [] });
    const stopped = await visitor.open(site.url);
    assert.equal(stopped.status, 503);
    assert.match(stopped.text, /The sandbox is stopped/);
  });
});
