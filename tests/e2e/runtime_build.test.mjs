// Images built from a posted context: by the real engine, confined, with messages.
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { randomUUID } from 'node:crypto';

import { call, engine, House, IMAGE, tar, waitUntil } from './runtime_house.mjs';
import { within } from './support/wait.mjs';

const DEADLINE_MS = 120000;

/** A form as Python's requests sends it: the archive as base64 text, and the names. */
function form(archive, names, { encode = true } = {}) {
  const boundary = randomUUID();
  const parts = names.map((name, i) => `--${boundary}\r\nContent-Disposition: form-data; name="${i === 0 ? 'target_image' : 'tags'}"\r\n\r\n${name}\r\n`);
  const bytes = Buffer.concat([
    Buffer.from(parts.join('')),
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="context"; filename="context.tar.gz"\r\n\r\n`),
    encode ? Buffer.from(archive.toString('base64')) : archive,
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ]);
  return { body: bytes, type: `multipart/form-data; boundary=${boundary}` };
}

const context = (dockerfile, files = []) => gzipSync(tar([{ name: 'Dockerfile', data: dockerfile.join('\n') }, ...files]));

/** A listener on loopback that counts connections. */
async function listen(t) {
  let n = 0;
  const server = http.createServer((request, response) => response.end());
  server.on('connection', () => { n += 1; });
  await new Promise((resolve) => { server.listen(0, '127.0.0.1', resolve); });
  t.after(() => server.close());
  return { port: server.address().port, n: () => n };
}

describe('images from a posted context', () => {
  let house;
  let prefix;
  const post = (archive, names, options) => {
    const { body, type } = form(archive, names, options);
    return call({ socketPath: house.nginx.socket }, 'POST', '/build', { body, type, headers: { 'X-API-Key': house.key } });
  };
  const status = async (id) => (await house.get(`/build_status?build_id=${id}`)).json;
  const ended = (id) => waitUntil(async () => {
    const seen = await status(id);
    return !['QUEUED', 'BUILDING'].includes(seen.status) && seen;
  }, DEADLINE_MS, `the end of build ${id}`);
  const built = async (archive, names, options) => {
    const answer = await post(archive, names, options);
    assert.equal(answer.status, 200, answer.text);
    return { id: answer.json.build_id, ...await ended(answer.json.build_id) };
  };
  const ours = async () => {
    const filters = encodeURIComponent(JSON.stringify({ label: [`deft.image_of=${house.instance}`] }));
    return (await engine('GET', `/images/json?filters=${filters}`)).json;
  };
  /** A Dockerfile whose step runs until it is ended, and the text that identifies it. */
  const endless = () => {
    const mark = randomUUID();
    return { mark, archive: context([`FROM ${IMAGE}`, `RUN exec sleep 1000 # ${mark}`]) };
  };
  const stepOf = async (mark) => (await engine('GET', '/containers/json')).json.find(({ Command }) => Command.includes(mark));
  const isRunning = async (mark) => (await stepOf(mark)) !== undefined;
  const begun = (mark) => waitUntil(() => isRunning(mark), DEADLINE_MS, 'the step runs');
  const gone = (mark) => waitUntil(async () => !await isRunning(mark) && (await house.ours('networks')).length === 1, DEADLINE_MS, 'nothing is left of the build');

  before(async () => {
    house = await House.open({ DEFT_BUILD_MAX_UNPACKED_BYTES: '1048576', DEFT_BUILD_MAX_BYTES: '65536' });
    prefix = (await house.get('/registry_prefix')).json.registry_prefix;
  });
  after(async () => {
    await house?.close();
    assert.deepEqual(await ours(), [], 'no image is left');
  });

  it('runtime 13: an image is built once, gets all its names, and sandboxes run in it', async () => {
    const archive = context([
      `FROM ${IMAGE}`, 'USER 0', 'COPY words.txt /words.txt',
      'RUN cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null > /memory; cat /proc/net/route > /route; chmod 644 /memory /route',
    ], [{ name: 'words.txt', data: 'from the context', mode: 0o644 }]);
    const names = [`${prefix}/runtime:one`, `${prefix}/runtime:two`];
    assert.deepEqual((await house.get(`/image_exists?image=${names[0]}`)).json, { exists: false });
    const done = await built(archive, names);
    assert.deepEqual(done, { id: done.id, status: 'SUCCESS', image: names[0], error: null });
    for (const name of names) assert.equal((await house.get(`/image_exists?image=${name}`)).json.exists, true, name);
    assert.equal((await post(archive, names)).json.build_id, done.id, 'the same again is built already');
    const { json: runtime } = await house.sandbox('built', { image: names[1] });
    assert.equal(runtime.status, 'running', runtime.status_detail);
    const { text } = await house.look(runtime.runtime_id, ['cat', '/words.txt', '/memory', '/route']);
    assert.match(text, /^from the context/);
    assert.match(text, new RegExp(`context${512 << 20}\\s`), 'a step has the memory of a sandbox');
    assert.match(text, /^eth0\s+0000C90A|^eth0\s+[0-9A-F]{4}C90A/m, 'and its kind of network');
    await house.post('/stop', { runtime_id: runtime.runtime_id });
  });

  it('a failed build reports its output, and leaves nothing', async () => {
    const mark = randomUUID();
    const failed = await built(context([`FROM ${IMAGE}`, `RUN echo made > /tmp/${mark}`, 'RUN echo the reason; exit 7']), [`${prefix}/runtime:fails`]);
    assert.equal(failed.status, 'FAILURE');
    assert.match(failed.error, /the reason/);
    assert.match(failed.error, /returned a non-zero code: 7/);
    assert.equal((await house.get(`/image_exists?image=${prefix}/runtime:fails`)).json.exists, false);
    for (const [archive, words] of [
      [context(['NONSENSE here']), /unknown instruction: NONSENSE/i],
      [gzipSync(tar([{ name: 'other', data: '' }])), /Dockerfile/],
      [gzipSync(Buffer.from('no archive at all')), /./],
    ]) {
      const { status: end, error } = await built(archive, [`${prefix}/runtime:fails`]);
      assert.equal(end, 'FAILURE');
      assert.match(error, words);
    }
    for (const { Id } of (await engine('GET', '/images/json?all=1')).json) {
      assert.equal((await engine('GET', `/images/${Id}/history`)).text.includes(mark), false, 'no step is left');
    }
    await waitUntil(async () => (await house.ours('networks')).length === 1, DEADLINE_MS, 'the networks of the builds are gone');
  });

  it('a failed build with long output reports the end of it, in whole characters, without delaying others', async () => {
    const failed = await built(context([`FROM ${IMAGE}`, 'RUN i=0; while [ $i -lt 9000 ]; do printf "━"; i=$((i + 1)); done; exit 3']), [`${prefix}/runtime:loud`]);
    assert.equal(failed.status, 'FAILURE');
    // The engine sends its output as text: if a piece of it ends within a character, which depends on how busy
    // the machine is, it sends U+FFFD for each half.
    assert.match(failed.error, /^[━\ufffd]+/);
    assert.ok(failed.error.split('━').length > 100 * failed.error.split('\ufffd').length, failed.error);
    assert.match(failed.error, /returned a non-zero code: 3/);
    assert.equal((await built(context([`FROM ${IMAGE}`, 'ENV NEXT=one']), [`${prefix}/runtime:next`])).status, 'SUCCESS');
  });

  it('while a name is being built it is not built from another context', async () => {
    const name = `${prefix}/runtime:slow`;
    const mark = randomUUID();
    const slow = context([`FROM ${IMAGE}`, `RUN until [ -e /tmp/${mark} ]; do sleep 0.1; done`]);
    const { json: first } = await post(slow, [name]);
    await begun(mark);
    const refused = await post(context([`FROM ${IMAGE}`, 'ENV OTHER=one']), [name]);
    assert.equal(refused.status, 409, refused.text);
    assert.match(refused.json.detail, /is being built from another context/);
    assert.equal((await post(slow, [name])).json.build_id, first.build_id);
    const go = tar([{ name: mark, data: '' }]);
    assert.equal((await engine('PUT', `/containers/${(await stepOf(mark)).Id}/archive?path=/tmp`, { body: go, type: 'application/x-tar' })).status, 200);
    assert.equal((await built(slow, [name])).id, first.build_id);
  });

  it('invalid builds are refused at once', async () => {
    const fine = context([`FROM ${IMAGE}`]);
    const name = `${prefix}/runtime:x`;
    for (const [ask, code, words] of [
      [() => post(fine, ['elsewhere/runtime:x']), 400, /registry_prefix/],
      [() => post(fine, [name, `${IMAGE}`]), 400, /registry_prefix/],
      [() => post(fine, [`${prefix}/../x`]), 400, /not an image name/],
      [() => post(Buffer.from('!'), [name]), 400, /gzip/],
      [() => post(fine.subarray(0, fine.length - 9), [name]), 400, /gzip/],
      [() => post(Buffer.from('not base64!'), [name], { encode: false }), 400, /base64/],
      [() => post(gzipSync(Buffer.alloc(2 << 20)), [name]), 413, /unpacks to more than 1048576/],
      [() => post(Buffer.alloc(100000), [name]), 413, /larger/],
      [() => post(Buffer.alloc(200000), [name]), 413, /larger/],
      [() => house.post('/build', {}), 400, /multipart/],
    ]) {
      const { status: seen, json } = await ask();
      assert.equal(seen, code, JSON.stringify(json));
      assert.match(json.detail, words);
    }
    assert.equal((await house.get('/build_status?build_id=nobodys')).status, 404);
    assert.equal((await house.get('/build_status')).status, 404);
  });

  it('a build fetches only images of listed registries', async (t) => {
    const { port, n } = await listen(t);
    const image = `127.0.0.1:${port}/x`;
    const base = `deft-test/base-${randomUUID().slice(0, 8)}:1`;
    const { json: { Id: container } } = await engine('POST', '/containers/create', { body: { Image: IMAGE, Cmd: ['true'] } });
    t.after(() => engine('DELETE', `/containers/${container}?force=1`));
    const trigger = encodeURIComponent(`ONBUILD ADD http://127.0.0.1:${port}/x /x`);
    assert.equal((await engine('POST', `/commit?container=${container}&repo=${base.split(':')[0]}&tag=1&changes=${trigger}`, { body: {} })).status, 201);
    t.after(() => engine('DELETE', `/images/${base}?force=1`));
    for (const [lines, words] of [
      [[`FROM ${IMAGE}`, `ADD http://127.0.0.1:${port}/x /x`], /ADD cannot fetch URLs here .* use RUN curl/],
      [[`FROM ${IMAGE}`, 'ADD \\', '  # a comment', `  "http"://127.0.0.1:${port}/x /x`], /ADD cannot fetch URLs here/],
      [[`FROM ${IMAGE}`, `ONBUILD ADD http://127.0.0.1:${port}/x /x`], /ADD cannot fetch URLs here/],
      [[`FROM ${image}`], /not on the list of registries/],
      [[`ARG HOST=127.0.0.1:${port}`, 'FROM ${HOST}/x'], /not on the list of registries/],
      [['# escape=`', 'FROM `', image], /not on the list of registries/],
      [[`FROM ${IMAGE}`, `COPY --from=${image} /a /b`], /not on the list of registries/],
      [[`FROM localhost:${port}/x AS one`, `FROM ${IMAGE}`], /not on the list of registries/],
      [[`FROM ${base}`], /ONBUILD of .*ADD cannot fetch URLs here/],
    ]) {
      const { status: end, error } = await built(context(lines), [`${prefix}/runtime:fetches`]);
      assert.equal(end, 'FAILURE', lines.join());
      assert.match(error, words, lines.join());
    }
    const hidden = gzipSync(tar([{ name: 'Dockerfile', data: `FROM ${IMAGE}` }, { name: './a/../Dockerfile', data: `FROM ${image}` }]));
    const { status: end, error } = await built(hidden, [`${prefix}/runtime:fetches`]);
    assert.deepEqual([end, /two files Dockerfile/.test(error)], ['FAILURE', true], error);
    assert.equal(n(), 0, 'nobody came');
  });

  it('results of old builds are deleted, except those of existing images', async () => {
    const name = (tag) => `${prefix}/runtime:${tag}`;
    const [older, newer] = [await built(context([`FROM ${IMAGE}`, 'LABEL n=1']), [name('kept')]), await built(context([`FROM ${IMAGE}`, 'LABEL n=2']), [name('kept')])];
    const [old, recent] = [await built(context(['NONSENSE']), [name('old')]), await built(context(['NONSENSE']), [name('recent')])];
    const left = () => house.sql(`SELECT string_agg(id, ',' ORDER BY id) FROM image_builds WHERE id IN ('${[older, newer, old, recent].map(({ id }) => id).join("','")}')`);
    house.sql(`UPDATE image_builds SET updated_at = now() - interval '8 days' WHERE id IN ('${older.id}', '${newer.id}', '${old.id}')`);
    await waitUntil(() => left() === [newer.id, recent.id].sort().join(), DEADLINE_MS, 'the old ones are forgotten');
    assert.equal((await house.get(`/build_status?build_id=${old.id}`)).status, 404);
    assert.equal((await status(newer.id)).status, 'SUCCESS');
  });

  it('an unfinished upload takes no build slot', async () => {
    const name = (tag) => `${prefix}/runtime:${tag}`;
    const slow = await within(Promise.all(Array.from({ length: 4 }, (_, i) => new Promise((resolve, reject) => {
      const { body, type } = form(context([`FROM ${IMAGE}`, `LABEL slow=${i}`]), [name(`slow-${i}`)]);
      const request = http.request({ socketPath: house.nginx.socket, method: 'POST', path: '/build', headers: { 'X-API-Key': house.key, 'Content-Type': type, 'Content-Length': body.length } });
      request.on('error', reject);
      request.write(body.subarray(0, body.length - 9), () => resolve(request));
    }))), 'most of the forms is sent');
    assert.equal((await built(context([`FROM ${IMAGE}`, 'LABEL quick=1']), [name('quick')])).status, 'SUCCESS');
    for (const request of slow) {
      request.removeAllListeners('error').on('error', () => {});
      request.destroy();
    }
  });

  it('few builds wait at a time, each name once; a killed service reports its builds as failed', async () => {
    const first = endless();
    const name = (tag) => `${prefix}/runtime:${tag}`;
    const under = (await post(first.archive, [name('a')])).json.build_id;
    await begun(first.mark);
    assert.equal((await status(under)).status, 'BUILDING');
    const waits = (await post(context([`FROM ${IMAGE}`]), [name('b')])).json.build_id;
    const refused = await post(context([`FROM ${IMAGE}`]), [name('c')]);
    assert.equal(refused.status, 429);
    assert.match(refused.json.detail, /try again later/);
    assert.equal((await status(waits)).status, 'QUEUED');
    await house.stop('SIGKILL');
    await house.start();
    for (const id of [under, waits]) {
      const { status: end, error } = await ended(id);
      assert.equal(end, 'INTERNAL_ERROR');
      assert.match(error, /post it again/);
    }
    await gone(first.mark);
    assert.equal((await built(context([`FROM ${IMAGE}`]), [name('b')])).status, 'SUCCESS');
    const same = endless();
    const [one, two] = [await post(same.archive, [name('d')]), await post(same.archive, [name('d')])];
    assert.equal(one.json.build_id, two.json.build_id);
    await begun(same.mark);
    await house.stop();
    await house.start();
    assert.equal((await ended(one.json.build_id)).status, 'INTERNAL_ERROR');
    await gone(same.mark);
  });

  // An engine that was killed during a build leaves the step, and does not remember it.
  it('remaining steps of an interrupted build are removed with their images; others\' are kept', async () => {
    const make = async (url, body) => (await engine('POST', url, { body })).json.Id;
    const tag = (await house.ours('networks'))[0].Name.split('-').pop().slice(0, 4);
    const step = (instance, Image) => make('/containers/create', { Image, Cmd: ['true'], HostConfig: { NetworkMode: `${instance}-net-${tag}00000000` } });
    // One that nothing removes, as the first step may be gone before it is committed.
    const source = await make('/containers/create', { Image: IMAGE, Cmd: ['true'] });
    const image = await make(`/commit?container=${source}&changes=${encodeURIComponent(`ENV MARK=${randomUUID()}`)}`);
    await engine('DELETE', `/containers/${source}?force=1`);
    const second = await step(house.instance, image);
    const first = await step(house.instance, IMAGE);
    const strangers = await step(`${house.instance}x`, IMAGE);
    try {
      const isGone = async (kind, id) => (await engine('GET', `/${kind}/${id}/json`)).status === 404;
      await waitUntil(async () => await isGone('containers', first) && await isGone('containers', second) && await isGone('images', image), DEADLINE_MS, 'the steps are swept');
      assert.ok(!await isGone('containers', strangers));
      assert.ok(!await isGone('images', IMAGE));
    } finally {
      await engine('DELETE', `/containers/${strangers}?force=1`);
    }
  });

  it('images of a revoked key are removed at once, those in use with their sandboxes', async () => {
    await house.stop();
    house.settings = { ...house.settings, DEFT_RECONCILE_MS: '3600000' };
    await house.start();
    const names = ['free', 'used'].map((tag) => `${prefix}/runtime:${tag}`);
    const ids = [];
    for (const name of names) {
      const { id, status: end } = await built(context([`FROM ${IMAGE}`, `LABEL whose=${name}`]), [name]);
      assert.equal(end, 'SUCCESS');
      ids.push(id);
    }
    const { json: runtime } = await house.sandbox('revoked', { image: names[1] });
    assert.equal(runtime.status, 'running', runtime.status_detail);
    house.sql(`WITH owner AS (INSERT INTO users (email) VALUES ('revoked@example.test') RETURNING id),
      key AS (INSERT INTO runtime_keys (user_id, name, key_hash) SELECT id, 'revoked', 'y' FROM owner RETURNING id),
      builds AS (UPDATE image_builds SET tenant_id = key.id FROM key WHERE image_builds.id IN ('${ids.join("', '")}'))
      UPDATE runtimes SET tenant_id = key.id FROM key WHERE runtimes.id = '${runtime.runtime_id}'`);
    // The same as ./deft key --revoke, with its hint.
    house.sql(`WITH r AS (UPDATE runtime_keys SET revoked_at = now() WHERE name = 'revoked' RETURNING id),
      s AS (UPDATE runtimes SET desired = 'deleted' FROM r WHERE tenant_id = r.id RETURNING runtimes.id)
      SELECT pg_notify('deft_runtime', '') FROM r`);
    for (const name of names) await waitUntil(async () => (await engine('GET', `/images/${name}/json`)).status === 404, DEADLINE_MS, `${name} is gone`);
    for (const id of ids) await waitUntil(() => house.sql(`SELECT status FROM image_builds WHERE id = '${id}'`) === 'EXPIRED', DEADLINE_MS, 'its row says so');
    house.settings = { ...house.settings, DEFT_RECONCILE_MS: '1000' };
  });

  it('a build ends at its time limit; images of a revoked key are removed; DEFT_BUILDS=0 disables builds', async () => {
    await house.stop();
    house.settings = { ...house.settings, DEFT_BUILD_MS: '2000' };
    await house.start();
    const { mark, archive } = endless();
    assert.equal((await built(archive, [`${prefix}/runtime:slow`])).status, 'TIMEOUT');
    await gone(mark);
    await house.stop();
    house.settings = { ...house.settings, DEFT_BUILD_MS: '120000' };
    await house.start();
    const name = `${prefix}/runtime:theirs`;
    const { id, status: end } = await built(context([`FROM ${IMAGE}`, 'LABEL whose=theirs']), [name]);
    assert.equal(end, 'SUCCESS');
    house.sql(`WITH owner AS (INSERT INTO users (email) VALUES ('gone@example.test') RETURNING id),
      key AS (INSERT INTO runtime_keys (user_id, name, key_hash, revoked_at) SELECT id, 'gone', 'x', now() FROM owner RETURNING id)
      UPDATE image_builds SET tenant_id = key.id FROM key WHERE image_builds.id = '${id}'`);
    await waitUntil(async () => (await engine('GET', `/images/${name}/json`)).status === 404, DEADLINE_MS, 'the image is gone');
    await waitUntil(() => house.sql(`SELECT status FROM image_builds WHERE id = '${id}'`) === 'EXPIRED', DEADLINE_MS, 'its row says so');
    await house.stop();
    house.settings = { ...house.settings, DEFT_BUILDS: '0' };
    await house.start();
    const refused = await post(archive, [name]);
    assert.equal(refused.status, 501);
    assert.match(refused.json.detail, /image builds are disabled/);
  });
});

it('the answer for an unlisted registry does not reveal whether a server listens there', async (t) => {
  const puller = await House.open({ DEFT_SANDBOX_PULL: '1' });
  t.after(() => puller.close());
  const { port, n } = await listen(t);
  const shut = await new Promise((resolve) => {
    const probe = http.createServer().listen(0, '127.0.0.1', () => {
      const { port: free } = probe.address();
      probe.close(() => resolve(free));
    });
  });
  const answers = [];
  for (const host of [`127.0.0.1:${port}`, `127.0.0.1:${shut}`, `localhost:${port}`, '169.254.169.254']) {
    const exists = await puller.get(`/image_exists?image=${host}/x:1`);
    const { status: code, json } = await puller.post('/start', { image: `${host}/x:1`, session_id: randomUUID(), wait_ms: 30000 });
    const words = (json.detail ?? json.status_detail ?? '').replaceAll(host, 'HOST');
    answers.push(JSON.stringify([exists.json, code, words]));
    assert.match(words, /its registry is not on the list/);
  }
  assert.equal(new Set(answers).size, 1, answers.join('\n'));
  assert.equal(n(), 0, 'nobody came');
});
