// Workspace files in a browser, and archives of folders and conversations.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { start as startModel } from '../fakes/openai.mjs';
import { call } from './support/api.mjs';
import { Box } from './support/box.mjs';
import { Conversation, startRequest } from './support/conversation.mjs';
import { API_KEY } from './support/instance.mjs';
import { newUser } from './support/users.mjs';

const shared = new Box();
/** Not the folder of conversations, which is a repository. */
const DIR = `/workspace/box-files-${randomUUID().slice(0, 8)}`;
const model = { model: 'scripted/hello', usage_id: 'agent' };
const detail = (answer) => [answer.status, answer.json?.detail];

let scratch;
before(async () => {
  scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'box-files-'));
  await shared.run(`mkdir -p ${DIR}`, { cwd: '/workspace' });
});
after(() => fs.rmSync(scratch, { recursive: true, force: true }));

describe('a workspace file in a browser', () => {
  let one;
  const show = (file, options = {}) => one.call('GET', `/workspace${file}`, options);

  before(async () => {
    one = await Conversation.create(startRequest(model, { workspace: { kind: 'LocalWorkspace', working_dir: DIR } }));
    await shared.run(`cd ${DIR} && mkdir -p site empty && printf '<b>hi</b>' > site/index.html && printf 'a{}' > site/a.css && printf '\\211PNG' > p.png && printf x > noname && ln -sfn /etc out && ln -sfn /etc/passwd site/secret.html`);
  });
  after(() => one.delete());

  test('has the media type of its name; a folder serves its index.html', async () => {
    for (const [file, type, body] of [['/site/index.html', 'text/html; charset=utf-8', '<b>hi</b>'], ['/site', 'text/html; charset=utf-8', '<b>hi</b>'],
      ['/site/a.css', 'text/css; charset=utf-8', 'a{}'], ['/p.png', 'image/png', '\x89PNG'], ['/noname', 'application/octet-stream', 'x']]) {
      const answer = await show(file);
      assert.deepEqual([answer.status, answer.headers.get('content-type'), answer.bytes.toString('latin1')], [200, type, body], file);
      assert.equal(answer.headers.get('content-disposition'), null);
    }
  });

  test('its scripts run in an origin of their own', async () => {
    const policy = (await show('/site/index.html')).headers.get('content-security-policy');
    assert.match(policy, /^sandbox /);
    assert.ok(!policy.includes('allow-same-origin'));
  });

  test('is not served from outside the workspace, and a missing one is a 404', async () => {
    assert.deepEqual(detail(await show('/none')), [404, 'File not found']);
    assert.deepEqual(detail(await show('/empty')), [404, 'No index.html in directory']);
    assert.deepEqual(detail(await show('')), [404, 'No index.html in directory']);
    for (const file of ['/site/..%2f..%2f..%2fetc/passwd', '/out/passwd', '/site/secret.html']) {
      assert.deepEqual(detail(await show(file)), [400, 'Path is outside the workspace'], file);
    }
  });

  test('can be opened with the cookie of workspace links, not with another user\'s key', async () => {
    const cookie = (key) => ({ key: null, headers: { cookie: `oh_workspace_session_key=${key}` } });
    assert.equal((await show('/noname', cookie(API_KEY))).text, 'x');
    assert.equal((await show('/noname', cookie('wrong'))).status, 401);
    assert.equal((await show('/noname', { key: null })).status, 401);
    assert.equal((await show('/noname', { key: (await newUser()).key })).status, 404);
  });
});

describe('a folder as an archive', () => {
  const REPO = `${DIR}/repo`;
  const git = 'git -c user.name=T -c user.email=t@example.test';
  const archive = (query, box = shared) => box.call('GET', '/file/archive', { query });

  before(() => shared.run(`mkdir -p ${REPO} && cd ${REPO} && git init -qb main . && printf 'one\\n' > a.txt && ${git} add . && ${git} commit -qm One && git remote add origin https://user:s3cr3t@example.test/r.git
    git update-ref refs/remotes/origin/main HEAD && printf 'two\\n' > a.txt && printf '\\0\\1' > new.bin && mkdir -p node_modules/x build && echo no > node_modules/x/y && echo b > build/b`));

  test('contains git\'s changes as a patch that applies', async () => {
    const answer = await archive({ path: REPO });
    assert.equal(answer.status, 200);
    assert.match(answer.headers.get('content-type'), /^text\/x-patch/);
    assert.equal(decodeURIComponent(answer.headers.get('x-archive-repo-root')), REPO);
    assert.equal(decodeURIComponent(answer.headers.get('x-archive-repo-remote')), 'https://example.test/r.git');
    assert.equal(answer.headers.get('x-archive-branch'), 'main');
    assert.equal(answer.headers.get('x-archive-head-commit'), answer.headers.get('x-archive-base-commit'));
    assert.ok(!answer.text.includes('node_modules'));
    const copy = `${DIR}/copy-${randomUUID().slice(0, 8)}`;
    assert.equal((await shared.upload(`${DIR}/changes.patch`, answer.bytes)).status, 200);
    await shared.run(`git clone -q ${REPO} ${copy} && cd ${copy} && git apply ${DIR}/changes.patch && cmp a.txt ${REPO}/a.txt && cmp new.bin ${REPO}/new.bin && cmp build/b ${REPO}/build/b && test ! -e node_modules`);
    assert.equal(await shared.run(`cd ${REPO} && git status --porcelain -uno`), ' M a.txt\n', 'the index is as it was');
  });

  test('can exclude further patterns, and the default exclusions can be disabled', async () => {
    await shared.run(`cd ${REPO} && echo t > .netrc`);
    const less = await archive({ path: REPO, exclude: ['build', '*.bin'] });
    assert.deepEqual([...less.text.matchAll(/^diff --git a\/(\S+)/gm)].map((found) => found[1]), ['a.txt']);
    const all = await archive({ path: REPO, use_default_excludes: 'false' });
    assert.ok(all.text.includes('node_modules/x/y'));
  });

  test('finds the repository in a subfolder', async () => {
    const answer = await archive({ path: DIR });
    assert.equal(answer.status, 200);
    assert.ok(decodeURIComponent(answer.headers.get('x-archive-repo-root')).startsWith(DIR));
  });

  test('contains all files except those with keys', async () => {
    const answer = await archive({ path: REPO, format: 'tar.gz' });
    assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, 'application/gzip']);
    const file = path.join(scratch, 'all.tar.gz');
    fs.writeFileSync(file, answer.bytes);
    const names = execFileSync('tar', ['-tzf', file], { encoding: 'utf8' }).split('\n');
    for (const name of ['./a.txt', './new.bin', './build/b', './.git/HEAD']) assert.ok(names.includes(name), name);
    for (const name of ['./.git/config', './.netrc', './node_modules/']) assert.ok(!names.includes(name), name);
  });

  test('invalid requests are refused', async (t) => {
    assert.deepEqual(detail(await archive({ path: '/no/such' })), [404, 'Path not found']);
    assert.equal((await archive({ path: `${REPO}/a.txt` })).status, 400);
    assert.equal((await archive({ path: '/tmp' })).status, 400);
    assert.equal((await archive({ path: REPO, base_ref: 'none' })).status, 400);
    assert.equal((await archive({ path: REPO, format: 'rar' })).status, 422);
    assert.equal((await archive({})).status, 422);
    const one = await Conversation.create(startRequest(model, { workspace: { kind: 'LocalWorkspace', working_dir: DIR } }));
    t.after(() => one.delete());
    assert.equal((await archive({ path: REPO }, new Box(one.path))).status, 200);
    assert.equal((await archive({ path: '/etc' }, new Box(one.path))).status, 422);
  });
});

describe('a conversation as an archive', () => {
  test('agent-server 71: contains each event as a file, completely', async (t) => {
    const fake = await startModel();
    t.after(() => fake.close());
    const one = await Conversation.start(fake, 'hello', { secrets: { TOKEN: 'a-secret-value' } });
    t.after(() => one.delete());
    assert.equal(await one.ask('Create hello.txt'), 'finished');
    const events = await one.events();
    for (const url of [`/api/file/download-trajectory/${one.id}`, `${one.path}/file/download-trajectory/${one.id.replaceAll('-', '')}`]) {
      const answer = await call('GET', url);
      assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, 'application/octet-stream'], answer.text.slice(0, 300));
      assert.match(answer.headers.get('content-disposition'), new RegExp(`filename="${one.id.replaceAll('-', '')}\\.zip"`));
      const file = path.join(scratch, 'trajectory.zip');
      fs.writeFileSync(file, answer.bytes);
      const read = JSON.parse(execFileSync('python3', ['-c', `
import json, sys, zipfile
z = zipfile.ZipFile(sys.argv[1])
assert z.testzip() is None
print(json.dumps({n: json.loads(z.read(n)) for n in z.namelist()}))`, file], { encoding: 'utf8', maxBuffer: 64 << 20 }));
      const names = Object.keys(read);
      assert.equal(names[0], 'base_state.json');
      assert.deepEqual(names.slice(1), events.map((event, i) => `events/event-${String(i).padStart(5, '0')}-${event.id}.json`));
      assert.deepEqual(names.slice(1).map((name) => read[name]), events);
      assert.equal(read['base_state.json'].id, one.id);
      assert.ok(!JSON.stringify(read).includes('a-secret-value') && !JSON.stringify(read).includes('sk-test'));
    }
  });

  test('agent-server 71: contains that conversation only', async (t) => {
    const [one, two] = [await Conversation.create(startRequest(model)), await Conversation.create(startRequest(model))];
    t.after(() => Promise.all([one.delete(), two.delete()]));
    assert.deepEqual(detail(await one.call('GET', `/file/download-trajectory/${two.id}`)), [422, 'Trajectory must belong to the selected conversation']);
    assert.equal((await call('GET', `/api/file/download-trajectory/${randomUUID()}`)).status, 404);
    assert.equal((await call('GET', '/api/file/download-trajectory/xyz')).status, 422);
    assert.equal((await call('GET', `/api/file/download-trajectory/${one.id}`, { key: (await newUser()).key })).status, 404);
  });
});
