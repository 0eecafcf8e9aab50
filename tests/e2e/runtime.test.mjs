// The runtime service with a real container engine: the life cycle of a sandbox, and failures.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';

import { call, engine, findBinary, House, IMAGE, tar, waitUntil } from './runtime_house.mjs';

const alive = async (runtime) => {
  const { hostname, port } = new URL(runtime.url);
  return (await call({ host: hostname, port }, 'GET', '/alive')).json?.status === 'ok';
};

/** The output of a command that runs in the sandbox as a user's command. */
async function run(runtime, command) {
  const { hostname, port } = new URL(runtime.url);
  const answer = await call({ host: hostname, port }, 'POST', '/api/bash/execute_bash_command', {
    body: { command }, headers: { 'X-Session-API-Key': runtime.call_key },
  });
  assert.equal(answer.status, 200, answer.text);
  return answer.json.stdout;
}

const spares = { containers: 0, networks: 1, volumes: 3 }; // one network, one home of two, deft-action's

async function assertNoLeaks(house, homes = 0) {
  let seen = {};
  try {
    await waitUntil(async () => {
      const [containers, networks, volumes] = await Promise.all(['containers', 'networks', 'volumes'].map((kind) => house.ours(kind)));
      const left = containers.filter((c) => c.Labels['deft.role'] === 'sandbox');
      seen = { containers: left.map((c) => c.Names), networks: networks.map((n) => n.Name), volumes: volumes.map((v) => v.Name) };
      return left.length === spares.containers && networks.length === spares.networks && volumes.length === spares.volumes + 2 * homes;
    }, 120000, 'nothing is left over'); // a helper of a service that was killed goes after 20 s
  } catch (error) {
    throw new Error(`${error.message}: ${JSON.stringify(seen)}`);
  }
}

describe('runtime service', () => {
  let house;
  let n = 0;
  const session = () => `c-${process.pid}-${n++}`;
  const forget = (...runtimes) => house.forget(...runtimes);

  before(async () => { house = await House.open({ DEFT_SANDBOX_NANO_CPUS: '500000000', DEFT_SANDBOX_MAX_NANO_CPUS: '4000000000' }); });
  after(async () => { await house?.close(); });

  it('refuses a missing and a wrong key with a JSON error', async () => {
    for (const key of [null, 'wrong']) {
      for (const answer of [await house.get('/list', key), await house.post('/start', {}, key), await house.get('/nowhere', key)]) {
        assert.equal(answer.status, 401);
        assert.deepEqual(answer.json, { detail: 'provide a valid API key' });
      }
    }
    assert.equal((await house.get('/health', null)).status, 200);
  });

  it('answers invalid input with a message, never a 500', async () => {
    const bad = [
      ['POST', '/start', '{'], ['POST', '/start', '[]'], ['POST', '/start', '{"session_id": 5}'], ['POST', '/start', ''],
      ['POST', '/start', '{"session_id":"a","image":"no image name"}'], ['POST', '/start', '{"session_id":"a","session_id":"b"}'],
      ['POST', '/start', Buffer.from([0x22, 0xff, 0x22])], ['POST', '/stop', '{}'], ['POST', '/pause', '[]'], ['GET', '/start', ''],
    ];
    for (const [method, url, text] of bad) {
      const answer = await call({ socketPath: house.nginx.socket }, method, url, { body: Buffer.from(text), headers: { 'X-API-Key': house.key } });
      assert.equal(answer.status, 400, `${method} ${url} ${text}: ${answer.text}`);
      assert.equal(typeof answer.json.detail, 'string');
    }
    for (const url of ['/stop', '/pause', '/resume']) assert.equal((await house.post(url, { runtime_id: 'zzzzzzzzzzzzzzzz' })).status, 404);
    assert.equal((await house.get('/sessions/nobody')).status, 404);
    assert.equal((await house.get('/runtime/nobody')).status, 404);
  });

  it('starts, shows and stops a sandbox, and leaves only the workspace', async () => {
    const id = session();
    const { status, json: runtime } = await house.sandbox(id, { conversation_id: 'x-1' });
    assert.equal(status, 200);
    assert.equal(runtime.status, 'running', runtime.status_detail);
    assert.equal(runtime.pod_status, 'ready');
    assert.equal(runtime.session_id, id);
    assert.match(runtime.runtime_id, /^[a-z]{16}$/);
    assert.match(runtime.url, /^http:\/\/[0-9.]+:8000$/);
    assert.equal(await alive(runtime), true);
    assert.deepEqual((await house.get(`/sessions/${id}`)).json, runtime);
    assert.deepEqual((await house.get(`/runtime/${runtime.runtime_id}`)).json, runtime);
    assert.deepEqual((await house.get(`/sessions/batch?ids=${id}&ids=x`)).json, [runtime]);
    assert.ok((await house.get('/list')).json.runtimes.some((one) => one.runtime_id === runtime.runtime_id));
    assert.equal((await house.post('/stop', { runtime_id: runtime.runtime_id })).json.status, 'stopped');
    assert.equal((await house.post('/stop', { runtime_id: runtime.runtime_id })).status, 200);
    assert.equal((await house.get('/list')).json.runtimes.length, 0);
    await assertNoLeaks(house, 1);
    await forget(runtime);
    await assertNoLeaks(house);
  });

  it('ends a sandbox that hangs after a report, and no other', async () => {
    const id = session();
    const { json: runtime } = await house.sandbox(id);
    const container = () => engine('GET', `/containers/${house.instance}-${runtime.runtime_id}/json`).then(({ json }) => json.Id);
    const first = await container();
    assert.equal((await house.sandbox(id, { is_doubted: true })).json.status, 'running');
    assert.equal(await container(), first);
    // The engine is not involved: for it, and in the rows, the container runs.
    const { json: { Titles: titles, Processes: processes } } = await engine('GET', `/containers/${first}/top?ps_args=-eo%20pid,args`);
    const server = processes.find((columns) => columns[titles.indexOf('COMMAND')].split(' ')[0].endsWith('deft-action'));
    process.kill(Number(server[titles.indexOf('PID')]), 'SIGSTOP');
    const { json: again } = await house.sandbox(id, { is_doubted: true });
    assert.equal(again.status, 'running', again.status_detail);
    assert.equal(again.runtime_id, runtime.runtime_id);
    assert.equal(again.session_api_key, runtime.session_api_key);
    assert.notEqual(await container(), first);
    assert.equal(await alive(again), true);
    await forget(again);
  });

  it('confines the sandbox', async () => {
    const { json: runtime } = await house.sandbox(session());
    const { json: seen } = await engine('GET', `/containers/${house.instance}-${runtime.runtime_id}/json`);
    assert.equal(seen.Config.User, '0:0', 'the server gives up root before anything else');
    assert.equal(seen.HostConfig.PidsLimit, 512);
    const status = await house.look(runtime.runtime_id, ['cat', '/proc/1/status']);
    assert.match(status.text, /CapBnd:\s+0000000000000000/);
    assert.match(status.text, /NoNewPrivs:\s+1/);
    assert.match(status.text, /Seccomp:\s+2/);
    const written = await house.look(runtime.runtime_id, ['sh', '-c', 'touch /workspace/a /workspace/project/b /tmp/c && ! touch /.deft/d && ! touch /.deft/deft-action']);
    assert.equal(written.code, 0, written.text);
    await forget(runtime);
  });

  it('refuses system calls that a sandbox does not need', async () => {
    const { json: runtime } = await house.sandbox(session());
    const probe = `
import ctypes, errno, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *args):
    return 'ok' if libc.syscall(number, *args) >= 0 else errno.errorcode[ctypes.get_errno()]
def family(number, kind, protocol=0):
    try:
        socket.socket(number, kind, protocol).close()
        return 'ok'
    except OSError as error:
        return errno.errorcode[error.errno]
print('vsock', family(40, 1), 'packet', family(17, 3), 'netfilter', family(16, 3, 12))
print('unix', family(1, 1), 'inet', family(2, 1), 'route', family(16, 3, 0))
print('io_uring', call(425, 1, 0), 'unshare', call(272, 0x10000000), 'keyctl', call(250, 0, 0), 'bpf', call(321, 0, 0, 0), 'clone3', call(435, 0, 0))
`;
    const seen = await house.look(runtime.runtime_id, ['python3', '-c', probe]);
    assert.match(seen.text, /vsock EPERM packet EPERM netfilter EPERM/);
    assert.match(seen.text, /unix ok inet ok route ok/);
    assert.match(seen.text, /io_uring EPERM unshare EPERM keyctl EPERM bpf EPERM clone3 ENOSYS/);
    await forget(runtime);
  });

  it('concurrent starts of one session get the same sandbox', async () => {
    const id = session();
    const answers = await Promise.all(Array.from({ length: 8 }, () => house.sandbox(id)));
    assert.deepEqual(new Set(answers.map(({ json }) => json.runtime_id)).size, 1);
    for (const { json } of answers) assert.equal(json.status, 'running', json.status_detail);
    assert.equal((await house.ours('containers')).filter((c) => c.Labels['deft.session_id'] === id).length, 1);
    assert.equal(house.sql(`SELECT count(*) FROM runtimes WHERE session_id = '${id}'`), '1');
    await forget(answers[0].json);
    await assertNoLeaks(house);
  });

  it('concurrent starts of a session that is being stopped get the same new sandbox', async () => {
    const id = session();
    const { json: old } = await house.sandbox(id);
    house.sql(`UPDATE runtimes SET desired = 'deleted' WHERE id = '${old.runtime_id}'`);
    const answers = await Promise.all(Array.from({ length: 8 }, () => house.sandbox(id)));
    for (const { status, json } of answers) assert.deepEqual([status, json.status], [200, 'running'], json.detail ?? json.status_detail);
    assert.equal(new Set(answers.map(({ json }) => json.runtime_id)).size, 1);
    assert.notEqual(answers[0].json.runtime_id, old.runtime_id);
    await forget(answers[0].json);
    await assertNoLeaks(house);
  });

  // The state that an engine leaves if it ends during the creation of a workspace.
  it('ends a sandbox whose full workspace is in use', async () => {
    const { json: runtime } = await house.sandbox(session());
    const volume = `${house.instance}-ws-${house.sql(`SELECT spec->>'home' FROM runtimes WHERE id = '${runtime.runtime_id}'`)}`;
    const { json: helper } = await engine('POST', '/containers/create', {
      body: { Image: IMAGE, Labels: { 'deft.managed': '1', 'deft.instance': house.instance, 'deft.role': 'helper' }, HostConfig: { Binds: [`${volume}:/x`] } },
    });
    const { status, text } = await house.post('/stop', { runtime_id: runtime.runtime_id, forget: true });
    assert.equal(status, 200, text);
    assert.equal((await engine('GET', `/containers/${helper.Id}/json`)).status, 404);
    assert.equal((await engine('GET', `/volumes/${volume}`)).status, 404);
    await assertNoLeaks(house);
  });

  it('starts many sessions at once', async () => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => house.sandbox(session())));
    for (const { json } of answers) assert.equal(json.status, 'running', json.status_detail);
    assert.equal(new Set(answers.map(({ json }) => json.url)).size, 6);
    await forget(...answers.map(({ json }) => json));
    await assertNoLeaks(house);
  });

  it('waits for readiness only on request', async () => {
    const id = session();
    const { status, json: runtime } = await house.sandbox(id, { wait_ms: 0 });
    assert.equal(status, 200);
    assert.match(runtime.status, /^(starting|running)$/);
    await waitUntil(async () => (await house.get(`/sessions/${id}`)).json.status === 'running', 120000, 'running');
    await forget(runtime);
  });

  it('keeps files, key and id across pause and resume, and across stop and start', async () => {
    const id = session();
    const { json: runtime } = await house.sandbox(id, { environment: { COLOUR: 'blue' } });
    await house.look(runtime.runtime_id, ['sh', '-c', 'echo kept > /workspace/project/file']);
    assert.equal((await house.post('/pause', { runtime_id: runtime.runtime_id })).json.status, 'paused');
    assert.equal((await house.post('/pause', { runtime_id: runtime.runtime_id })).json.status, 'paused');
    assert.equal((await engine('GET', `/containers/${house.instance}-${runtime.runtime_id}/json`)).json.State.Status, 'paused');
    for (const again of [
      () => house.post('/resume', { runtime_id: runtime.runtime_id, wait_ms: 30000 }),
      async () => { await house.post('/stop', { runtime_id: runtime.runtime_id }); return house.sandbox(id); },
    ]) {
      const { json: resumed } = await again();
      assert.equal(resumed.status, 'running', resumed.status_detail);
      assert.equal(resumed.runtime_id, runtime.runtime_id);
      assert.equal(resumed.session_api_key, runtime.session_api_key);
      assert.equal(await run(resumed, 'cat /workspace/project/file; echo $COLOUR'), 'kept\nblue\n');
    }
    assert.equal((await house.post('/resume', { runtime_id: runtime.runtime_id })).json.status, 'running');
    await forget(runtime);
    await assertNoLeaks(house);
  });

  it('reports a missing image, and accepts another one for the session', async () => {
    const id = session();
    const { status, json: failed } = await house.sandbox(id, { image: 'no-such-image:1' });
    assert.equal(status, 200);
    assert.equal(failed.status, 'error');
    assert.equal(failed.pod_status, 'failed');
    assert.match(failed.status_detail, /image no-such-image:1 is not on this host/);
    assert.deepEqual(failed.restart_reasons, ['ImageNotFound']);
    const { json: runtime } = await house.sandbox(id);
    assert.equal(runtime.status, 'running', runtime.status_detail);
    await forget(runtime);
    await assertNoLeaks(house);
  });

  it('runtime 14: resource_factor multiplies memory and processors, up to what the host allows', async () => {
    const limits = async (more) => {
      const { json: runtime } = await house.sandbox(session(), { wait_ms: 60000, ...more });
      assert.equal(runtime.status, 'running', runtime.status_detail);
      const { json: { HostConfig: host } } = await engine('GET', `/containers/${house.instance}-${runtime.runtime_id}/json`);
      await forget(runtime);
      return [host.Memory, host.NanoCpus];
    };
    const [memory, cpus] = await limits({});
    assert.deepEqual(await limits({ resource_factor: 2 }), [2 * memory, 2 * cpus]);
    const refused = await house.sandbox(session(), { resource_factor: 64 });
    assert.equal(refused.status, 400);
    assert.match(refused.json.detail, /resource_factor/);
  });

  it('reports that an image is for another processor architecture', async () => {
    const image = `deft-test-${house.instance}:foreign`;
    const foreign = process.arch === 'arm64' ? 'amd64' : 'arm64';
    const layer = tar([]);
    const config = { architecture: foreign, os: 'linux', config: {}, rootfs: { type: 'layers', diff_ids: [`sha256:${createHash('sha256').update(layer).digest('hex')}`] } };
    const archive = tar([
      { name: 'manifest.json', data: JSON.stringify([{ Config: 'config.json', RepoTags: [image], Layers: ['layer.tar'] }]) },
      { name: 'config.json', data: JSON.stringify(config) }, { name: 'layer.tar', data: layer },
    ]);
    assert.equal((await engine('POST', '/images/load', { body: archive, type: 'application/x-tar' })).status, 200);
    try {
      const { json: failed } = await house.sandbox(session(), { image });
      assert.equal(failed.status, 'error');
      assert.match(failed.status_detail, new RegExp(`for ${foreign} processors, this host has`));
      assert.deepEqual([failed.pod_status, failed.restart_reasons], ['failed', ['ExecFormatError']]);
      await forget(failed);
    } finally {
      await engine('DELETE', `/images/${image}?force=1`);
    }
    await assertNoLeaks(house);
  });

  it('runtime 40: runs in an empty image, and in one with its own user and volumes', async () => {
    const empty = `deft-test-${house.instance}:empty`;
    const odd = `deft-test-${house.instance}:odd`;
    const changes = ['USER nobody-here', 'WORKDIR /nowhere', 'VOLUME /workspace /data', 'ENTRYPOINT ["/missing"]', 'HEALTHCHECK CMD /missing']
      .map((change) => `changes=${encodeURIComponent(change)}`).join('&');
    const files = tar([{ name: 'workspace/', type: '5' }, { name: 'workspace/theirs', data: 'x' }, { name: 'etc/', type: '5' }]);
    await engine('POST', `/images/create?fromSrc=-&repo=${empty.replace(':', '&tag=')}`, { body: tar([]), type: 'application/x-tar' });
    await engine('POST', `/images/create?fromSrc=-&repo=${odd.replace(':', '&tag=')}&${changes}`, { body: files, type: 'application/x-tar' });
    try {
      for (const image of [empty, odd]) {
        const { json: runtime } = await house.sandbox(session(), { image });
        assert.equal(runtime.status, 'running', `${image}: ${runtime.status_detail}`);
        assert.equal(await alive(runtime), true);
        await forget(runtime);
      }
    } finally {
      for (const image of [empty, odd]) await engine('DELETE', `/images/${image}?force=1`);
    }
    await assertNoLeaks(house);
  });

  it('runtime 15: detects a killed container, and starts it again on the same files', async () => {
    const id = session();
    const { json: runtime } = await house.sandbox(id);
    await house.look(runtime.runtime_id, ['sh', '-c', 'echo kept > /workspace/file']);
    await engine('POST', `/containers/${house.instance}-${runtime.runtime_id}/kill`);
    const dead = await waitUntil(async () => {
      const { json } = await house.get(`/sessions/${id}`);
      return json.status === 'error' && json;
    }, 120000, 'the row says error');
    assert.match(dead.status_detail, /killed \(exit code 137\)/);
    const { json: again } = await house.sandbox(id);
    assert.equal(again.status, 'running', again.status_detail);
    assert.equal(again.restart_count, 1);
    assert.match((await house.look(again.runtime_id, ['cat', '/workspace/file'])).text, /kept/);
    await engine('DELETE', `/containers/${house.instance}-${runtime.runtime_id}?force=1`);
    const { json: twice } = await waitUntil(async () => {
      const answer = await house.get(`/sessions/${id}`);
      return answer.json.status === 'error' && answer;
    }, 120000, 'the row says error');
    assert.deepEqual([twice.pod_status, twice.restart_count], ['crashloopbackoff', 1]);
    await forget(runtime);
    await assertNoLeaks(house);
  });

  it('records that a program ran out of memory', async () => {
    const id = session();
    const { json: runtime } = await house.sandbox(id, { memory_bytes: 64 << 20 });
    await house.look(runtime.runtime_id, ['python3', '-c', 'x = bytearray(300 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1']);
    const { json: seen } = await waitUntil(async () => {
      const answer = await house.get(`/sessions/${id}`);
      return answer.json.status_detail && answer;
    }, 120000, 'words about memory');
    assert.match(seen.status_detail, /ran out of memory/);
    assert.deepEqual(seen.restart_reasons, ['OOMKilled']);
    await forget(runtime);
  });

  it('leaks nothing and continues after a kill during starts', async () => {
    const ids = [session(), session(), session()];
    for (const delay of [5, 60, 250]) {
      const starts = ids.map((id) => house.sandbox(id).catch(() => null));
      await new Promise((resolve) => setTimeout(resolve, delay));
      await house.stop('SIGKILL');
      await Promise.all(starts);
      await house.start();
      for (const id of ids) {
        const { json: runtime } = await house.sandbox(id);
        assert.equal(runtime.status, 'running', runtime.status_detail);
        assert.equal(await alive(runtime), true);
        await house.post('/stop', { runtime_id: runtime.runtime_id });
      }
    }
    await assertNoLeaks(house, 3);
    house.sql("UPDATE runtimes SET desired = 'deleted'");
    await waitUntil(() => house.sql('SELECT count(*) FROM runtimes') === '0', 120000, 'no rows');
    await assertNoLeaks(house);
  });

  it('runtime 38: running sandboxes survive its restart', async () => {
    const id = session();
    const { json: runtime } = await house.sandbox(id);
    await house.stop('SIGTERM');
    await house.start();
    // Volumes without a row are gone when rows and containers have been compared.
    await engine('POST', '/volumes/create', { body: { Name: `${house.instance}-ws-nobodys`, Labels: { 'deft.instance': house.instance } } });
    await waitUntil(async () => !(await house.ours('volumes')).some(({ Name }) => Name.endsWith('-nobodys')), 120000, 'a comparison');
    const { json: same } = await house.sandbox(id);
    assert.equal(same.url, runtime.url);
    assert.equal(await alive(same), true);
    await forget(runtime);
    await assertNoLeaks(house);
  });

  it('removes a container without a row', async () => {
    const { json } = await engine('POST', `/containers/create?name=${house.instance}-orphan`, {
      body: { Image: IMAGE, Labels: { 'deft.managed': '1', 'deft.instance': house.instance, 'deft.runtime_id': 'orphanorphanorph', 'deft.role': 'sandbox' } },
    });
    await waitUntil(async () => (await engine('GET', `/containers/${json.Id}/json`)).status === 404, 120000, 'the orphan is gone');
  });

  it('prints its settings and its version', () => {
    const settings = execFileSync(findBinary('deft-runtime', 'DEFT_RUNTIME_BINARY'), ['--help-config']).toString();
    assert.match(settings, /DEFT_SANDBOX_MEMORY_BYTES/);
    assert.match(execFileSync(findBinary('deft-runtime', 'DEFT_RUNTIME_BINARY'), ['--version']).toString(), /^deft-runtime \d/);
    assert.throws(() => execFileSync(findBinary('deft-runtime', 'DEFT_RUNTIME_BINARY'), [], { env: {}, stdio: 'pipe' }), /DEFT_DATABASE_URL/);
  });
});
