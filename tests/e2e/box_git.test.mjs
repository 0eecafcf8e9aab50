// git in a sandbox, through both forms of the routes.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { call } from './support/api.mjs';
import { Box } from './support/box.mjs';
import { Conversation, startRequest } from './support/conversation.mjs';
import { WORKING_DIR } from './support/instance.mjs';

const shared = new Box();
const REPO = `${WORKING_DIR}/box-git-${randomUUID().slice(0, 8)}`;
const git = `git -C ${REPO} -c user.name=Tess -c user.email=tess@example.test`;
const model = { model: 'scripted/hello', usage_id: 'agent' };

const changes = async (box, query) => (await box.must(200, 'GET', '/git/changes', { query })).map(({ status, path }) => `${status} ${path}`);
const detail = (answer) => [answer.status, answer.json?.detail];

describe('git', () => {
  before(() => shared.run(`mkdir -p ${REPO} && git init -q -b main ${REPO}`, { cwd: '/workspace' }));

  test('agent-server 55: a new file in a fresh repository is ADDED, and has no original', async () => {
    await shared.run(`printf 'Hello, world!\\n' > '${REPO}/with space.txt'`);
    assert.deepEqual(await shared.must(200, 'GET', '/git/changes', { query: { path: REPO } }), [{ status: 'ADDED', path: 'with space.txt' }]);
    assert.deepEqual(await shared.must(200, 'GET', '/git/diff', { query: { path: `${REPO}/with space.txt` } }), { modified: 'Hello, world!', original: '' });
    assert.deepEqual(await shared.must(200, 'GET', '/git/commits', { query: { path: REPO } }), { commits: [], has_more: false });
  });

  test('agent-server 55: outside of a repository there are no changes and no versions', async () => {
    assert.deepEqual(await changes(shared, { path: '/tmp' }), []);
    assert.deepEqual(await changes(shared, { path: '/no/such/folder' }), []);
    assert.deepEqual(await shared.must(200, 'GET', '/git/diff', { query: { path: '/etc/passwd' } }), { modified: null, original: null });
    assert.deepEqual(await shared.must(200, 'GET', '/git/commits', { query: { path: '/tmp' } }), { commits: [], has_more: false });
  });

  test('agent-server 55: a missing file, an unknown revision, and ref together with commit are refused', async () => {
    assert.deepEqual(detail(await shared.call('GET', '/git/diff', { query: { path: `${REPO}/none` } })), [400, `File does not exist: ${REPO}/none`]);
    assert.equal((await shared.call('GET', '/git/diff', { query: { path: `${REPO}/with space.txt`, ref: 'none' } })).status, 400);
    assert.equal((await shared.call('GET', '/git/diff', { query: { path: `${REPO}/with space.txt`, ref: 'HEAD', commit: 'abcd' } })).status, 400);
    assert.equal((await shared.call('GET', '/git/changes', { query: { path: REPO, ref: '--output=/tmp/x' } })).status, 400);
    assert.equal((await shared.call('GET', '/git/changes')).status, 422);
    assert.deepEqual(detail(await shared.call('GET', '/git/changes', { query: { path: 'relative' } })), [400, 'Path must be absolute']);
    for (const limit of ['0', '201', 'x']) {
      assert.equal((await shared.call('GET', '/git/commits', { query: { path: REPO, limit } })).status, 422, limit);
    }
    for (const sha of ['abc', 'xyzw', 'a'.repeat(65)]) {
      const answer = await shared.call('GET', `/git/commits/${sha}/changes`, { query: { path: REPO } });
      assert.deepEqual([answer.status, answer.json.detail[0].loc], [422, ['path', 'sha']]);
    }
    assert.equal((await shared.call('GET', '/git/commits/0123456789/changes', { query: { path: REPO } })).status, 400);
  });

  test('commits, their changes, and files before and after them', async () => {
    await shared.run(`cd ${REPO} && printf 'one\\n' > a.txt && printf 'x\\n' > gone.txt && ${git} add -A && ${git} commit -qm 'First: "quoted"'`);
    await shared.run(`cd ${REPO} && printf 'two\\n' > a.txt && rm gone.txt && mkdir -p sub && printf 'new\\n' > sub/b.txt && ${git} add -A && ${git} commit -qm Second`);
    const page = await shared.must(200, 'GET', '/git/commits', { query: { path: REPO } });
    assert.deepEqual(page.commits.map(({ subject, author }) => [subject, author]), [['Second', 'Tess'], ['First: "quoted"', 'Tess']]);
    assert.equal(page.has_more, false);
    for (const commit of page.commits) {
      assert.match(commit.sha, /^[0-9a-f]{40}$/);
      assert.ok(commit.sha.startsWith(commit.short_sha));
      assert.ok(!Number.isNaN(Date.parse(commit.timestamp)), commit.timestamp);
    }
    const first = await shared.must(200, 'GET', '/git/commits', { query: { path: REPO, limit: 1 } });
    assert.deepEqual([first.commits.length, first.has_more], [1, true]);

    const [second, root] = page.commits;
    const of = async (sha) => (await shared.must(200, 'GET', `/git/commits/${sha}/changes`, { query: { path: REPO } })).map(({ status, path }) => `${status} ${path}`);
    assert.deepEqual(await of(second.short_sha), ['UPDATED a.txt', 'DELETED gone.txt', 'ADDED sub/b.txt']);
    assert.deepEqual(await of(root.sha), ['ADDED a.txt', 'ADDED gone.txt', 'ADDED with space.txt']);

    const diff = (query) => shared.must(200, 'GET', '/git/diff', { query });
    assert.deepEqual(await diff({ path: `${REPO}/a.txt`, commit: second.sha }), { modified: 'two', original: 'one' });
    assert.deepEqual(await diff({ path: `${REPO}/gone.txt`, commit: second.sha }), { modified: '', original: 'x' });
    assert.deepEqual(await diff({ path: `${REPO}/a.txt`, ref: root.sha }), { modified: 'two', original: 'one' });
    assert.deepEqual(await changes(shared, { path: REPO, ref: root.sha }), ['UPDATED a.txt', 'DELETED gone.txt', 'ADDED sub/b.txt']);
    assert.deepEqual(await changes(shared, { path: REPO }), []);
  });

  test('a branch is compared with its merge base; untracked files are included', async () => {
    await shared.run(`cd ${REPO} && ${git} checkout -qb work && printf 'three\\n' > a.txt && ${git} commit -qam Third && echo loose > loose.txt && echo '*.log' > .gitignore && touch x.log`);
    assert.deepEqual(await changes(shared, { path: REPO }), ['ADDED .gitignore', 'UPDATED a.txt', 'ADDED loose.txt']);
    assert.deepEqual(await shared.must(200, 'GET', '/git/diff', { query: { path: `${REPO}/a.txt` } }), { modified: 'three', original: 'two' });
    assert.deepEqual(await changes(shared, { path: REPO, ref: 'HEAD' }), ['ADDED .gitignore', 'ADDED loose.txt']);
    const clone = `${REPO}-clone`;
    await shared.run(`git clone -q -b work ${REPO} ${clone} && cd ${clone} && echo more >> a.txt`);
    assert.deepEqual(await changes(shared, { path: clone }), ['UPDATED a.txt']);
  });

  test('runtime 71, 72: added, deleted and renamed files are listed, also with spaces; a new file has no original', async () => {
    const moved = `${REPO}-moved`;
    const own = `git -C ${moved} -c user.name=Tess -c user.email=tess@example.test`;
    await shared.run(`git init -q -b main ${moved} && cd ${moved} && seq 50 > old.txt && touch gone.txt && ${own} add -A && ${own} commit -qm One && git mv old.txt 'new name.txt' && rm gone.txt && echo x > 'loose file.txt'`);
    assert.deepEqual((await changes(shared, { path: moved, ref: 'HEAD' })).sort(), ['ADDED loose file.txt', 'ADDED new name.txt', 'DELETED gone.txt', 'DELETED old.txt']);
    assert.equal((await shared.must(200, 'GET', '/git/diff', { query: { path: `${moved}/loose file.txt` } })).original, '');
    const { modified, original } = await shared.must(200, 'GET', '/git/diff', { query: { path: `${moved}/old.txt` } });
    assert.deepEqual([modified, original.split('\n').length], ['', 50], 'what a deleted file held');
    assert.deepEqual(detail(await shared.call('GET', '/git/diff', { query: { path: '/tmp/none' } })), [400, 'File does not exist: /tmp/none']);
    assert.deepEqual(await changes(shared, { path: '/tmp' }), []);
  });

  test('runtime 73: after a push, a clean branch is compared with the default branch', async () => {
    const [origin, clone] = [`${REPO}-origin.git`, `${REPO}-pushed`];
    const own = `git -C ${clone} -c user.name=Tess -c user.email=tess@example.test`;
    await shared.run(`git clone -q --bare ${REPO} ${origin} && git -C ${origin} symbolic-ref HEAD refs/heads/main && git clone -q ${origin} ${clone}`);
    await shared.run(`cd ${clone} && ${own} checkout -qb topic && echo topic > topic.txt && ${own} add -A && ${own} commit -qm Topic && ${own} push -q origin topic`);
    assert.deepEqual(await changes(shared, { path: clone }), ['ADDED topic.txt']);
  });

  test('older clients may put the path into the URL', async () => {
    const old = await call('GET', `/api/git/changes${REPO}`);
    assert.deepEqual(old.json.map(({ path }) => path), ['.gitignore', 'a.txt', 'loose.txt']);
    const encoded = await call('GET', `/api/git/diff/${encodeURIComponent(`${REPO}/a.txt`)}`);
    assert.deepEqual(encoded.json, { modified: 'three', original: 'two' });
  });

  test('without a token a provider\'s repositories are an empty list', async () => {
    const search = (query) => shared.call('GET', '/git/repositories/search', { query });
    assert.deepEqual((await search({ provider: 'github' })).json, { items: [], next_page_id: null, missing_token: true });
    assert.equal((await search({})).status, 422);
    assert.equal((await search({ provider: 'github', limit: 101 })).status, 422);
  });

  test('agent-server 71: the scoped routes work like the shared ones, inside the workspace', async (t) => {
    const one = await Conversation.create(startRequest(model));
    t.after(() => one.delete());
    const box = new Box(one.path);
    assert.deepEqual(await changes(box, { path: REPO, ref: 'HEAD' }), ['ADDED .gitignore', 'ADDED loose.txt']);
    assert.equal((await box.must(200, 'GET', '/git/diff', { query: { path: `${REPO}/a.txt` } })).modified, 'three');
    assert.equal((await box.must(200, 'GET', '/git/commits', { query: { path: REPO } })).commits.length, 3);
    await shared.run(`ln -sfn /etc ${REPO}/outward`);
    const outside = [422, 'path must be inside the conversation workspace'];
    for (const path of ['/etc', `${REPO}/outward`, `${WORKING_DIR}/../..`, 'relative']) {
      assert.deepEqual(detail(await box.call('GET', '/git/changes', { query: { path } })), outside, path);
    }
    assert.deepEqual(detail(await box.call('GET', '/git/diff', { query: { path: `${REPO}/outward/passwd` } })), outside);
    const unknown = randomUUID();
    assert.deepEqual(detail(await call('GET', `/api/conversations/${unknown}/git/changes`, { query: { path: REPO } })), [404, `Conversation not found: ${unknown}`]);
    const malformed = await call('GET', '/api/conversations/xyz/git/changes', { query: { path: REPO } });
    assert.deepEqual([malformed.status, malformed.json.detail[0].loc], [422, ['path', 'runtime_conversation_id']]);
  });

  test('links are followed only inside the workspace', async (t) => {
    const one = await Conversation.create(startRequest(model));
    t.after(() => one.delete());
    const box = new Box(one.path);
    await shared.run(`cd ${REPO} && ln -sfn a.txt alias && ln -sfn /tmp/box-new dangling && ln -sfn ${REPO} round && ln -sfn loop1 loop2 && ln -sfn loop2 loop1`);
    assert.equal((await box.download(`${REPO}/round/alias`)).text, 'three\n');
    assert.equal((await box.upload(`${REPO}/dangling`, 'x')).status, 422);
    assert.equal((await box.upload(`${REPO}/outward/../tmp/x`, 'x')).status, 422);
    assert.equal((await box.download(`${REPO}/loop1`)).status, 422);
    assert.equal((await shared.call('GET', '/file/download', { query: { path: '/tmp/box-new' } })).status, 404);
  });
});
