// Sandboxes of the app API: created, read, paused and deleted by their user, and usable through the agent origin.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { engine } from './runtime_house.mjs';
import { call } from './support/api.mjs';
import { Box } from './support/box.mjs';
import { Conversation, startRequest } from './support/conversation.mjs';
import { execute, query } from './support/database.mjs';
import { APP_URL, INSTANCE } from './support/instance.mjs';
import { signIn } from './support/session.mjs';
import { Socket, isSnapshot } from './support/socket.mjs';
import { newUser } from './support/users.mjs';
import { waitUntil, within } from './support/wait.mjs';

const SANDBOXES = '/api/v1/sandboxes';
const MEMBERS = ['id', 'created_by_user_id', 'sandbox_spec_id', 'status', 'session_api_key', 'exposed_urls', 'created_at', 'status_detail'];
const SUCCESS = { success: true };

/** A user's client. */
class Client {
  static async open() { return new Client(await newUser()); }

  constructor({ id, key }) {
    this.userId = id;
    this.key = key;
  }

  call(method, path, options = {}) {
    return call(method, path, { key: null, url: APP_URL, headers: { authorization: `Bearer ${this.key}` }, ...options });
  }

  async must(status, method, path, options) {
    const answer = await this.call(method, path, options);
    assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`);
    return answer.json;
  }

  async look(id) { return (await this.must(200, 'GET', SANDBOXES, { query: { id } }))[0]; }

  is(id, status) {
    return waitUntil(async () => {
      const info = await this.look(id);
      assert.ok(info?.status === status || info?.status !== 'ERROR', info?.status_detail);
      return info.status === status && info;
    }, `${id} is ${status}`);
  }

  /** A running sandbox, deleted at the end of the test. */
  async running(t, more) {
    const { id } = await this.must(200, 'POST', SANDBOXES, more);
    t.after(() => this.call('DELETE', `${SANDBOXES}/${id}`));
    return this.is(id, 'RUNNING');
  }
}

const box = ({ session_api_key: key }) => new Box('/api', { key });
const container = (id) => engine('GET', `/containers/${INSTANCE}-${id}/json`);

/** The process of a sandbox's server, as the host knows it. */
async function serverOf(id) {
  const { json: { Titles: titles, Processes: processes } } = await engine('GET', `/containers/${INSTANCE}-${id}/top?ps_args=-eo%20pid,args`);
  const server = processes.find((columns) => columns[titles.indexOf('COMMAND')].split(' ')[0].endsWith('deft-action'));
  return Number(server[titles.indexOf('PID')]);
}

describe('sandboxes of the app API', () => {
  it('runtime 30: a sandbox is created at once, and has its key and four URLs when it runs', async (t) => {
    const client = await Client.open();
    const made = await client.must(200, 'POST', SANDBOXES);
    t.after(() => client.call('DELETE', `${SANDBOXES}/${made.id}`));
    assert.deepEqual(Object.keys(made), MEMBERS);
    assert.deepEqual([made.status, made.session_api_key, made.exposed_urls, made.status_detail], ['STARTING', null, null, null]);
    assert.equal(made.created_by_user_id, client.userId);
    const info = await client.is(made.id, 'RUNNING');
    assert.deepEqual(Object.keys(info), MEMBERS);
    assert.deepEqual({ ...made, status: 'RUNNING', session_api_key: info.session_api_key, exposed_urls: info.exposed_urls }, info);
    assert.deepEqual(info.exposed_urls.map(({ name }) => name), ['AGENT_SERVER', 'VSCODE', 'WORKER_1', 'WORKER_2']);
    assert.deepEqual(info.exposed_urls.map(({ port }) => port), [8000, 60001, 12000, 12001]);
    const [agent, editor] = info.exposed_urls;
    assert.equal((await fetch(new URL('/health', agent.url))).status, 200);
    assert.equal(new URL(editor.url).hostname, `60001-${info.id}.sandbox.localhost`);
    const conversations = await call('GET', '/api/conversations/search', { key: info.session_api_key, url: agent.url });
    assert.deepEqual(conversations.json, { items: [], next_page_id: null });
    assert.equal(await box(info).run('echo here'), 'here\n');
    const { items } = await client.must(200, 'GET', `${SANDBOXES}/search`);
    assert.deepEqual(items, [info]);
  });

  it('runtime 32, 39: a pause freezes its programs, and calls with its key are told that it does not run', async (t) => {
    const client = await Client.open();
    const info = await client.running(t);
    const secrets = `${SANDBOXES}/${info.id}/settings/secrets`;
    const ask = (path = secrets, key = info.session_api_key) => call('GET', path, { key, url: APP_URL });
    assert.equal((await call('PUT', '/api/settings/secrets', { key: client.key, json: { name: 'MY_KEY', value: 'v"1\n', description: 'mine' } })).status, 200);
    assert.deepEqual((await ask()).json, { secrets: [{ name: 'MY_KEY', description: 'mine' }] });
    const value = await ask(`${secrets}/MY_KEY`);
    assert.deepEqual([value.status, value.text, value.headers.get('content-type')], [200, 'v"1\n', 'text/plain; charset=utf-8']);
    assert.deepEqual([(await ask(`${secrets}/OTHER`)).status, (await ask(`${secrets}/OTHER`)).json], [404, { detail: 'Secret not found' }]);
    const pid = (await box(info).run('setsid sleep 300 >/dev/null 2>&1 & echo $!')).trim();

    assert.deepEqual(await client.must(200, 'POST', `${SANDBOXES}/${info.id}/pause`, { json: {} }), SUCCESS);
    const paused = await client.look(info.id);
    assert.deepEqual([paused.status, paused.session_api_key, paused.exposed_urls], ['PAUSED', null, null]);
    for (const path of [secrets, `${secrets}/MY_KEY`]) {
      const refused = await ask(path);
      assert.deepEqual([refused.status, refused.json], [401, { detail: 'Sandbox is not running' }]);
    }
    assert.deepEqual(await client.must(200, 'POST', `${SANDBOXES}/${info.id}/pause`), SUCCESS, 'twice is no harm');

    assert.deepEqual(await client.must(200, 'POST', `${SANDBOXES}/${info.id}/resume`, { json: {} }), SUCCESS);
    assert.deepEqual(await client.is(info.id, 'RUNNING'), info, 'with the key that it had');
    assert.equal(await box(info).run(`kill -0 ${pid} && echo lives`), 'lives\n');
    assert.equal((await ask()).status, 200);
  });

  it('runtime 33: a sandbox beyond the limit pauses the oldest', async (t) => {
    const client = await Client.open();
    const made = [];
    for (let i = 0; i < 5; i++) made.push((await client.running(t)).id);
    const statuses = async () => {
      const { items } = await client.must(200, 'GET', `${SANDBOXES}/search`);
      return items.reverse().map(({ status }) => status);
    };
    assert.deepEqual(await statuses(), Array(5).fill('RUNNING'));
    made.push((await client.running(t)).id);
    assert.deepEqual(await statuses(), ['PAUSED', ...Array(5).fill('RUNNING')]);
    await client.must(200, 'POST', `${SANDBOXES}/${made[0]}/resume`);
    await client.is(made[0], 'RUNNING');
    assert.deepEqual(await statuses(), ['RUNNING', 'PAUSED', ...Array(4).fill('RUNNING')], 'the one that was resumed is not its own victim');
    assert.deepEqual(await client.must(200, 'POST', `${SANDBOXES}/${made[0]}/resume`), SUCCESS);
    assert.deepEqual(await statuses(), ['RUNNING', 'PAUSED', ...Array(4).fill('RUNNING')], 'nor does it take another place');
  });

  it('runtime 34: a deleted sandbox leaves neither container nor volume, and is a 404', async (t) => {
    const client = await Client.open();
    const info = await client.running(t);
    const [{ home }] = await query("SELECT spec ->> 'home' AS home FROM runtimes WHERE id = :'id'", info);
    const left = async () => {
      const seen = [await container(info.id)];
      for (const kind of ['ws', 'j']) seen.push(await engine('GET', `/volumes/${INSTANCE}-${kind}-${home}`));
      return seen.map(({ status }) => status);
    };
    assert.deepEqual(await left(), [200, 200, 200]);
    assert.deepEqual(await client.must(200, 'DELETE', `${SANDBOXES}/${info.id}`, { query: { sandbox_id: info.id } }), SUCCESS);
    assert.deepEqual(await left(), [404, 404, 404]);
    for (const [method, path] of [['DELETE', ''], ['POST', '/pause'], ['POST', '/resume']]) {
      const again = await client.call(method, `${SANDBOXES}/${info.id}${path}`);
      assert.deepEqual([again.status, again.json], [404, { detail: 'Not Found' }], path);
    }
    assert.equal(await client.look(info.id), null);
    assert.equal((await call('GET', '/api/conversations/search', { key: info.session_api_key })).status, 401);
  });

  it('sockets opened with a sandbox\'s key are closed when it is deleted, not when it is paused', async (t) => {
    const client = await Client.open();
    const info = await client.running(t);
    const conversation = await Conversation.create(startRequest({ model: 'scripted/hello', usage_id: 'agent' }), { key: info.session_api_key });
    t.after(() => call('DELETE', conversation.path, { key: client.key }));
    const events = `/sockets/events/${conversation.id}`;
    const open = async (path, key) => {
      const socket = await Socket.open(path, { key });
      t.after(() => socket.cut());
      return socket;
    };
    const own = [await open(events, info.session_api_key), await open('/sockets/bash-events', info.session_api_key)];
    const users = await open(events, client.key);
    const served = async (socket, nth) => {
      socket.send({ foo: 1 });
      await socket.until((frames) => frames.filter(({ kind }) => kind === 'ServerErrorEvent').length === nth, 'an answer');
    };
    for (const socket of [own[0], users]) await socket.frame(isSnapshot, 'the first snapshot');
    await client.must(200, 'POST', `${SANDBOXES}/${info.id}/pause`, { json: {} });
    await served(own[0], 1);
    await client.must(200, 'DELETE', `${SANDBOXES}/${info.id}`);
    for (const socket of own) {
      assert.deepEqual(await within(socket.closed, 'the server closes the socket'), { code: 4001, reason: 'Authentication failed' });
    }
    await served(users, 1);
  });

  it('runtime 35, 36: a batch has null for unknown and other users\' sandboxes, and is refused above a hundred', async (t) => {
    const [client, other] = [await Client.open(), await Client.open()];
    const info = await client.running(t);
    assert.deepEqual(await client.must(200, 'GET', SANDBOXES, { query: { id: ['nope', info.id, 'a'.repeat(16)] } }), [null, info, null]);
    assert.deepEqual(await other.must(200, 'GET', SANDBOXES, { query: { id: info.id } }), [null]);
    for (const [method, path] of [['DELETE', ''], ['POST', '/pause'], ['POST', '/resume']]) {
      assert.equal((await other.call(method, `${SANDBOXES}/${info.id}${path}`)).status, 404, path);
    }
    const many = await client.call('GET', SANDBOXES, { query: { id: Array(101).fill(info.id) } });
    assert.deepEqual([many.status, many.json], [400, { detail: 'Cannot request more than 100 sandboxes at once, got 101' }]);
    assert.deepEqual(await client.must(200, 'GET', SANDBOXES, { query: { id: Array(100).fill(info.id) } }), Array(100).fill(info));
  });

  it('runtime 31: a sandbox that does not answer is starting for fifteen seconds, then in error until it answers', async (t) => {
    const client = await Client.open();
    const info = await client.running(t);
    const pid = await serverOf(info.id);
    const since = (sql) => execute(`UPDATE runtimes SET since = ${sql} WHERE id = :'id'`, info);
    process.kill(pid, 'SIGSTOP');
    await since("now() + interval '45 s'");
    const young = await client.look(info.id);
    await since("now() - interval '15 s'");
    const old = await client.look(info.id);
    process.kill(pid, 'SIGCONT');
    assert.deepEqual([young.status, young.session_api_key, young.exposed_urls], ['STARTING', null, null]);
    assert.deepEqual([old.status, old.session_api_key, old.exposed_urls], ['ERROR', null, null]);
    assert.match(old.status_detail, /does not respond/);
    await waitUntil(async () => (await client.look(info.id)).status === 'RUNNING', 'it runs again');
  });

  it('runtime 37: a sandbox whose container was removed externally is missing, and can be started again with its files', async (t) => {
    const client = await Client.open();
    const info = await client.running(t);
    await box(info).run('echo kept > kept.txt');
    await engine('DELETE', `/containers/${INSTANCE}-${info.id}?force=1`);
    const missing = await waitUntil(async () => {
      const seen = await client.look(info.id);
      return seen.status === 'MISSING' && seen;
    }, 'it is missing');
    assert.deepEqual([missing.session_api_key, missing.exposed_urls], [null, null]);
    assert.match(missing.status_detail, /was removed/);
    await client.must(200, 'POST', `${SANDBOXES}/${info.id}/resume`);
    await waitUntil(async () => (await client.look(info.id)).status === 'RUNNING', 'it runs again');
    assert.equal(await box(info).run('cat kept.txt'), 'kept\n');
  });

  it('a sandbox keeps its image, whichever call resumes it', async (t) => {
    const client = await Client.open();
    const { items: [usual] } = await client.must(200, 'GET', '/api/v1/sandbox-specs/search');
    const image = `deft-spec-${client.userId.slice(0, 8)}:1`;
    assert.equal((await engine('POST', `/images/${usual.id}/tag?repo=${image.split(':')[0]}&tag=1`)).status, 201);
    t.after(() => engine('DELETE', `/images/${image}`));
    await execute("INSERT INTO warm_configs (name, image, memory_bytes, nano_cpus, count, config) VALUES (:'image', :'image', 536870912, 1000000000, 0, '{}')", { image });
    t.after(() => execute("DELETE FROM warm_configs WHERE name = :'image'", { image }));
    const [spec, none] = await client.must(200, 'GET', '/api/v1/sandbox-specs', { query: { id: [image, 'nope'] } });
    assert.deepEqual([spec, none], [{ ...usual, id: image }, null]);
    const info = await client.running(t, { query: { sandbox_spec_id: image } });
    assert.equal(info.sandbox_spec_id, image);
    await client.must(200, 'POST', `${SANDBOXES}/${info.id}/pause`);
    assert.equal(await box(info).run('echo awake'), 'awake\n');
    assert.deepEqual(await client.look(info.id), info);
    assert.deepEqual((await client.call('POST', SANDBOXES, { query: { sandbox_spec_id: 'nope' } })).json, { detail: 'Sandbox Spec not found' });
  });

  it('only the page can use them by its cookie', async () => {
    const cookie = await signIn();
    const own = { key: null, url: APP_URL, headers: { cookie } };
    const { status, json } = await call('GET', `${SANDBOXES}/search`, own);
    assert.equal(status, 200);
    assert.ok(Array.isArray(json.items));
    assert.equal((await call('POST', SANDBOXES, { ...own, headers: { cookie, origin: 'http://elsewhere.test' } })).status, 403);
    assert.equal((await call('POST', SANDBOXES, own)).status, 403);
    const made = await call('POST', SANDBOXES, { ...own, headers: { cookie, origin: APP_URL } });
    assert.equal(made.status, 200, made.text);
    assert.equal((await call('DELETE', `${SANDBOXES}/${made.json.id}`, { ...own, headers: { cookie, origin: APP_URL } })).status, 200);
    assert.equal((await call('GET', `${SANDBOXES}/search`, { key: null, url: APP_URL })).status, 401);
    assert.equal((await call('GET', `${SANDBOXES}/search`)).status, 404, 'it is not the agent origin\'s');
  });
});
