// A conversation's repository through the API: cloned in its sandbox, set up in its shell, pushed from there.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { engine } from './runtime_house.mjs';
import { call } from './support/api.mjs';
import { Box } from './support/box.mjs';
import { Conversation, isResult, llmOf, observed, startRequest } from './support/conversation.mjs';
import { query } from './support/database.mjs';
import { GitServer } from './support/git_server.mjs';
import { DATABASE_URL, SERVICES, WORKING_DIR } from './support/instance.mjs';
import { strictModel } from './support/model.mjs';
import { killAndAwait } from './support/processes.mjs';
import { newUser } from './support/users.mjs';
import { waitUntil } from './support/wait.mjs';

const box = new Box();
const tag = randomUUID().slice(0, 8);
const LOGS = path.join(SERVICES, '../log');
const TOKEN = `tok-${randomUUID()}`;
const ALL = ['PREPARING_REPOSITORY', 'RUNNING_SETUP_SCRIPT', 'SETTING_UP_GIT_HOOKS'];
const fake = await strictModel();
const command = (text) => ({ name: 'terminal', arguments: { command: text, summary: 'x', security_risk: 'LOW' } });
const credentials = { provider: 'gitlab', token: TOKEN };

let git;
before(async () => { git = await GitServer.start(box, `oauth2:${TOKEN}`); });
after(() => git.stop());

const urlOf = (name) => `${git.url}/private/${name}-${tag}.git`;
async function commit(name, files) {
  const made = await git.commit(`private/${name}-${tag}`, files);
  await box.run(`git -C ${git.root}/private/${name}-${tag}.git config http.receivepack true`);
  return made;
}
const begin = async (t, scenario = 'hello', more = {}) => {
  const conversation = await Conversation.create(startRequest(scenario === 'hello' ? { model: 'scripted/hello', usage_id: 'agent' } : llmOf(fake, scenario), { workspace: { working_dir: `${WORKING_DIR}/${randomUUID()}` }, ...more }));
  t.after(() => conversation.delete());
  return conversation;
};
const prepare = (conversation, wish) => conversation.must(200, 'POST', '/git/repository', { json: wish });
const stepsOf = (made) => made.steps.map(({ status, is_error: failed }) => (failed ? `${status}!` : status));

describe('a repository', () => {
  test('runtime 74: is cloned, set up in the conversation\'s shell and pushed by its agent; the token appears nowhere', async (t) => {
    const first = await commit('app', { 'README.md': 'hi\n', '.openhands/setup.sh': 'export FROM_SETUP="set up in $PWD"\n', '.openhands/pre-commit.sh': 'echo checked >> .git/checked\n' });
    const scenario = `repository-${randomUUID()}`;
    const conversation = await begin(t, scenario);
    const { workspace } = await conversation.info();
    const made = await prepare(conversation, { url: urlOf('app'), credentials });
    const folder = `${workspace.working_dir}/app-${tag}`;
    assert.deepEqual([made.path, made.commit, made.was_there, stepsOf(made)], [folder, first, false, ALL]);
    assert.match(made.branch, /^openhands-workspace-/);
    fake.setScenario(scenario, [
      { calls: [command('echo "$FROM_SETUP; now in $PWD"')] },
      { calls: [command(`cd ${folder} && echo more >> README.md && git -c user.name=a -c user.email=a@a.test commit -qam more && cat .git/checked && GIT_CURL_VERBOSE=1 GIT_TRACE_CURL=1 GIT_TRACE_REDACT=0 git push origin HEAD:work 2>&1; git remote -v; git config -l`)] },
      { calls: [command(`printf 'protocol=http\\nhost=${new URL(git.url).host}\\n\\n' | git credential fill; cat .git/config`)] },
      { text: 'done' },
    ]);
    assert.equal(await conversation.ask('go'), 'finished');
    const results = (await conversation.events()).filter(isResult('terminal')).map(observed);
    assert.match(results[0], new RegExp(`^set up in ${folder}; now in ${workspace.working_dir}$`));
    assert.match(results[1], /^checked\n[^]*Authorization: Basic <secret-hidden>[^]*-> work/);
    assert.ok(results[1].includes(`origin\t${urlOf('app')} (push)`));
    assert.match(results[2], /password=<secret-hidden>/);
    assert.equal((await box.run(`git -C ${git.root}/private/app-${tag}.git log -1 --format=%s work`)).trim(), 'more');

    const basic = Buffer.from(`oauth2:${TOKEN}`).toString('base64');
    for (const [what, text] of [['events', JSON.stringify(await conversation.events())], ['answer', JSON.stringify(made)], ['info', JSON.stringify(await conversation.info())],
      ['database', execFileSync('pg_dump', ['--data-only', DATABASE_URL], { encoding: 'utf8', maxBuffer: 1 << 30 })], ['config', await box.run(`cat ${folder}/.git/config`)]]) {
      assert.ok(!text.includes(TOKEN) && !text.includes(basic), what);
    }
    for (const needle of [TOKEN, basic]) assert.throws(() => execFileSync('grep', ['-rqF', '--', needle, LOGS], { stdio: 'ignore' }), { status: 1 });
    assert.equal(await box.run(`grep -rlF ${basic} ${folder} ~ /tmp 2>/dev/null || true`), '');

    const again = await prepare(conversation, { url: urlOf('app'), credentials });
    assert.deepEqual(again, made);
  });

  test('its set-up runs once, whichever process is killed during it', async (t) => {
    await commit('slow', { '.openhands/setup.sh': `touch /tmp/begun-${tag}; until [ -e /tmp/go-${tag} ]; do sleep 0.1; done; echo ran >> ran\n` });
    const conversation = await begin(t);
    const lost = call('POST', `${conversation.path}/git/repository`, { json: { url: urlOf('slow'), credentials } }).catch(() => {});
    await waitUntil(() => box.run(`test -e /tmp/begun-${tag}`).then(() => true, () => false), 'the set-up runs');
    await killAndAwait('fcgi');
    await lost;
    const found = prepare(conversation, { url: urlOf('slow') });
    await box.run(`touch /tmp/go-${tag}`);
    const made = await found;
    assert.deepEqual(stepsOf(made), ALL);
    assert.equal(await box.run(`cat ${made.path}/ran`), 'ran\n');
  });

  test('a set-up interrupted by a restart of the sandbox is reported, and runs again on request', async (t) => {
    const user = await newUser();
    const place = new Box('/api', { key: user.key });
    const server = await GitServer.start(place);
    const name = `cut-${tag}`;
    await server.commit(name, { '.openhands/setup.sh': `touch /workspace/begun-${tag}; until [ -e /workspace/go-${tag} ]; do sleep 0.1; done; echo ran >> ran\n`, '.openhands/pre-commit.sh': 'true\n' });
    const conversation = await Conversation.create(startRequest({ model: 'scripted/hello', usage_id: 'agent' }, { workspace: { working_dir: `${WORKING_DIR}/${randomUUID()}` } }), { key: user.key });
    t.after(() => conversation.delete());
    const wish = { url: `${server.url}/${name}.git` };
    const cut = prepare(conversation, wish);
    await waitUntil(() => place.run(`test -e /workspace/begun-${tag}`).then(() => true, () => false), 'the set-up runs');
    const [{ container_id: container }] = await query("SELECT container_id FROM runtimes WHERE session_id = :'session' AND status = 'running'", { session: `u-${user.id.replaceAll('-', '')}` });
    assert.equal((await engine('POST', `/containers/${container}/kill`)).status, 204);
    const half = await cut;
    assert.deepEqual(stepsOf(half), ['PREPARING_REPOSITORY', 'RUNNING_SETUP_SCRIPT!', 'SETTING_UP_GIT_HOOKS']);
    assert.match(half.steps[1].text, /restarted while the action ran\. The set-up was interrupted\. Send the request again/);
    await place.run(`touch /workspace/go-${tag}; test ! -e ${half.path}/ran`);
    const whole = await prepare(conversation, wish);
    assert.deepEqual([whole.path, stepsOf(whole)], [half.path, ALL]);
    await prepare(conversation, wish);
    assert.equal(await place.run(`cat ${half.path}/ran`), 'ran\n');
  });

  test('a set-up that fails, or never ends, is reported with a message, and the conversation continues', async (t) => {
    await commit('bad', { '.openhands/setup.sh': 'echo trying; false\n' });
    await commit('stuck', { '.openhands/setup.sh': "trap '' INT; echo trying; while :; do sleep 1; done\n" });
    const scenario = `setup-${randomUUID()}`;
    const conversation = await begin(t, scenario);
    const bad = await prepare(conversation, { url: urlOf('bad'), credentials });
    assert.deepEqual(bad.steps[1], { status: 'RUNNING_SETUP_SCRIPT', is_error: true, text: 'trying\nThe set-up ended with exit code 1.' });
    const stuck = await prepare(conversation, { url: urlOf('stuck'), setup_timeout_s: 5 });
    assert.deepEqual(stuck.steps[1], { status: 'RUNNING_SETUP_SCRIPT', is_error: true, text: 'trying\nThe set-up took longer than 5 seconds and was stopped.' });
    assert.equal(stuck.steps[2].status, 'SETTING_UP_GIT_HOOKS');
    fake.setScenario(scenario, [{ calls: [command('echo alive')] }, { text: 'done' }]);
    assert.equal(await conversation.ask('go'), 'finished');
    assert.match(observed((await conversation.events()).find(isResult('terminal'))), /^alive/);
  });

  test('a failed clone is reported with a message; a working token is used at the next try, and can be renewed', async (t) => {
    await commit('late', { a: 'a\n' });
    const conversation = await begin(t);
    const refused = await prepare(conversation, { url: urlOf('late'), credentials: { provider: 'gitlab', token: 'wrong-0123456789' } });
    assert.deepEqual([refused.path, stepsOf(refused)], [null, ['PREPARING_REPOSITORY!']]);
    assert.match(refused.steps[0].text, /Authentication failed/);
    const made = await prepare(conversation, { url: urlOf('late'), credentials, branch: 'main' });
    assert.deepEqual([made.branch, stepsOf(made)], ['main', ['PREPARING_REPOSITORY', 'SETTING_UP_GIT_HOOKS']]);
    await conversation.must(200, 'POST', '/git/credentials', { json: { url: urlOf('late'), credentials: { ...credentials, expires_in_s: 1 } } });
    const late = await waitUntil(async () => {
      const said = await box.run(`cd ${made.path} && git fetch 2>&1 || true`);
      return said.includes('expired') && said;
    }, 'the credential expires');
    assert.match(late, /has expired; it must be renewed/);
    await conversation.must(200, 'POST', '/git/credentials', { json: { url: urlOf('late'), credentials } });
    await box.run(`cd ${made.path} && git fetch`);
  });

  test('without a URL the workspace becomes an empty repository', async (t) => {
    const conversation = await begin(t);
    const made = await prepare(conversation, {});
    const { workspace } = await conversation.info();
    assert.deepEqual([made.path, made.branch, made.commit, stepsOf(made)], [workspace.working_dir, 'main', null, ['PREPARING_REPOSITORY']]);
    await box.run(`git -C ${made.path} status`);
  });

  test('can be prepared by its user only, and invalid requests are refused', async (t) => {
    const conversation = await begin(t);
    for (const json of [{ url: 5 }, { url: 'https://a/b', more: 1 }, { url: 'https://a/b', credentials: {} }, { url: 'https://a/b', credentials: { token: '' } }, { url: 'https://a/b', setup_timeout_s: 0 }, { url: 'https://a/b', setup_timeout_s: 601 }, { credentials }, { url: 'https://a/b', credentials: { token: 'x'.repeat(10), provider: 'svn' } }]) {
      const answer = await conversation.call('POST', '/git/repository', { json });
      assert.ok([400, 422].includes(answer.status), `${JSON.stringify(json)}: ${answer.status}`);
    }
    assert.equal((await call('POST', `/api/conversations/${randomUUID()}/git/repository`, { json: {} })).status, 404);
    assert.equal((await call('POST', `${conversation.path}/git/repository`, { json: {}, key: 'wrong' })).status, 401);
    for (const url of ['ext::sh -c x', 'file:///etc', '/etc', '-x']) {
      const made = await conversation.call('POST', '/git/repository', { json: { url } });
      assert.ok(made.status === 422 || made.status === 400 || made.json.steps[0].is_error, `${url}: ${made.status}`);
    }
  });
});
