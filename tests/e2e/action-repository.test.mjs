// Preparing a repository in a sandbox: clone, branch, hook, and git's credential for it.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ForgeGit } from '../fakes/forge_git.mjs';
import { ActionServer, Conversation } from './support/action-server.mjs';
import { within } from './support/wait.mjs';

const files = { 'README.md': 'hello\n' };
const text = (observation) => observation.content[0].text;

const give = async (server, url, credential) => {
  const answer = await server.send('POST', '/git/credentials', { body: JSON.stringify({ url, ...credential }) });
  assert.deepEqual([answer.status, answer.json], [200, { success: true }]);
};

const places = [];
after(() => Promise.all(places.map((place) => place.end())));

class Place {
  static async start(vendor, env) {
    const place = new Place();
    place.forge = await ForgeGit.start(vendor);
    place.server = await new ActionServer({ GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@a.test', GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@a.test', ...env }).start();
    place.talk = new Conversation(place.server);
    places.push(place);
    return place;
  }

  async end() {
    if (this.ended) return;
    this.ended = true;
    await this.server.stop();
    await this.forge.stop();
  }

  async stop() {
    await this.end();
    assert.deepEqual(this.forge.violations, []);
  }

  give(more = {}) {
    return give(this.server, this.forge.origin, { username: 'x-access-token', password: this.forge.token, ...more });
  }

  clone(name, args = {}, talk = this.talk) {
    return talk.run('repository', { step: 'clone', url: this.forge.url(name), ...args }, { working_dir: this.server.workspace });
  }
}

describe('a repository', () => {
  let place;
  before(async () => (place = await Place.start('github')));
  after(() => place.stop());

  test('is cloned on a new branch; the agent can push, and the remote\'s URL contains no credentials', async () => {
    const commit = place.forge.commit('acme/web', files);
    await place.give();
    const made = await place.clone('acme/web');
    assert.equal(made.is_error, false, text(made));
    assert.deepEqual([made.path, made.commit, made.was_there, made.has_setup], [`${place.server.workspace}/web`, commit, false, false]);
    assert.match(made.branch, /^openhands-workspace-[0-9A-Za-z]{22}$/);
    const pushed = await place.talk.terminal(`cd ${made.path} && echo more >> README.md && git commit -qam more && git push -q origin HEAD:work && git remote -v`);
    assert.equal(pushed.exit_code, 0, pushed.text);
    assert.equal(pushed.text, `origin\t${place.forge.url('acme/web')} (fetch)\norigin\t${place.forge.url('acme/web')} (push)`);
    assert.equal(place.forge.ask('acme/web', 'log', '-1', '--format=%s', 'work'), 'more');
    assert.ok(place.forge.requests.some(({ user }) => user === 'x-access-token'));

    const again = await place.clone('acme/web');
    assert.deepEqual([again.is_error, again.was_there, again.branch], [false, true, made.branch]);
  });

  test('is checked out on the requested branch; a missing branch is reported, and the clone is kept', async () => {
    place.forge.commit('acme/tools', files);
    place.forge.ask('acme/tools', 'branch', 'feature/x', 'main');
    await place.give();
    const made = await place.clone('acme/tools', { branch: 'feature/x' });
    assert.deepEqual([made.is_error, made.branch], [false, 'feature/x'], text(made));
    const other = await place.clone('acme/tools', { branch: 'no-such', name: 'other' });
    assert.deepEqual([other.is_error, other.path], [true, `${place.server.workspace}/other`]);
    assert.match(text(other), /no-such/);
  });

  test('replaces the workspace\'s empty repository', async () => {
    const commit = place.forge.commit('acme/site', files);
    await place.give();
    const folder = `${place.server.dir}/site-home`;
    const talk = new Conversation(place.server);
    await talk.run('repository', { step: 'init' }, { working_dir: folder });
    const made = await talk.run('repository', { step: 'clone', url: place.forge.url('acme/site'), name: '.' }, { working_dir: folder });
    assert.deepEqual([made.is_error, made.path, made.commit], [false, folder, commit], text(made));
    fs.mkdirSync(`${place.server.dir}/full`);
    fs.writeFileSync(`${place.server.dir}/full/mine`, 'x');
    const refused = await talk.run('repository', { step: 'clone', url: place.forge.url('acme/site'), name: '.' }, { working_dir: `${place.server.dir}/full` });
    assert.match(text(refused), /contains other files/);
    assert.deepEqual(fs.readdirSync(`${place.server.dir}/full`), ['mine']);
  });

  test('an empty workspace becomes a repository that git considers safe', async () => {
    const folder = `${place.server.dir}/empty one`;
    for (let i = 0; i < 2; i++) {
      const made = await place.talk.run('repository', { step: 'init' }, { working_dir: folder });
      assert.deepEqual([made.is_error, made.branch], [false, 'main'], text(made));
    }
    const config = fs.readFileSync(`${place.server.home}/.gitconfig`, 'utf8');
    assert.deepEqual(config.match(/directory = .*/g).filter((line) => line.endsWith('empty one')).length, 1);
  });

  test('invalid addresses, names and branches are refused', async () => {
    const wrong = {
      'not the URL': [{ url: 'ext::sh -c touch% /tmp/x' }, { url: 'file:///etc' }, { url: '/etc' }, { url: '-u./x' }, { url: '--upload-pack=x' }, { url: 'https://' }, { url: 'https://-x/y' }, { url: '' }, { url: 'a b' }],
      'a password': [{ url: `http://me:secret@127.0.0.1/x.git` }],
      'repository name': [{ url: `${place.forge.origin}/..git` }, { url: `${place.forge.origin}/a/-x` }, { url: `${place.forge.origin}/a/..` }],
      'a single folder': [{ name: '../x' }, { name: '-x' }, { name: '.git' }, { name: 'a/b' }],
      'branch name': [{ branch: '--detach' }, { branch: 'a..b' }, { branch: 'a b' }],
    };
    for (const [words, list] of Object.entries(wrong)) {
      for (const args of list) {
        const refused = await place.clone('acme/web', args);
        assert.equal(refused.is_error, true, JSON.stringify(args));
        assert.match(text(refused), new RegExp(words), JSON.stringify(args));
      }
    }
    const answer = await place.server.put(randomUUID(), randomUUID(), { tool: 'repository', args: { step: 'burn' } });
    assert.equal(answer.status, 400);
  });

  test('with hostile names and submodules stays in its folder and fetches nothing else', async () => {
    const hostile = ['$(touch pwned)', '`touch pwned`', ';touch pwned', '-rf', "it's", 'new\nline', 'ü ü'];
    place.forge.commit('acme/evil', {
      ...Object.fromEntries(hostile.map((name) => [name, name])), link: { link: '/etc/passwd' },
      '.gitmodules': `[submodule "x"]\n\tpath = sub\n\turl = ${place.forge.origin}/elsewhere.git\n[submodule "y"]\n\tpath = y\n\turl = ext::sh -c pwned\n`,
    });
    await place.give();
    const from = place.forge.requests.length;
    const made = await place.clone('acme/evil');
    assert.equal(made.is_error, false, text(made));
    assert.deepEqual(fs.readdirSync(made.path).sort(), [...hostile, '.git', '.gitmodules', 'link'].sort());
    assert.ok(place.forge.requests.slice(from).every(({ url }) => url.startsWith('/acme/evil.git/')));
    assert.ok(!fs.existsSync(`${place.server.workspace}/pwned`));
  });

  test('after a kill the incomplete clone is removed, and the repository is cloned once', async () => {
    place.forge.commit('acme/late', files);
    await place.give();
    const left = `${place.server.workspace}/.deft-clone-late`;
    fs.mkdirSync(`${left}/.git/objects`, { recursive: true });
    const [one, two] = await Promise.all([place.clone('acme/late'), place.clone('acme/late', {}, new Conversation(place.server))]);
    assert.deepEqual([one.is_error, two.is_error, one.was_there !== two.was_there, one.branch], [false, false, true, two.branch]);
    assert.ok(!fs.existsSync(left));
  });
});

describe('the pre-commit hook', () => {
  let place;
  before(async () => (place = await Place.start('github')));
  after(() => place.stop());

  const commit = (folder) => place.talk.terminal(`cd ${folder} && echo x >> f && git add -A && git commit -qm try`);

  test('runs the repository\'s script after an existing hook', async () => {
    place.forge.commit('public/hooked', { ...files, '.openhands/pre-commit.sh': 'echo ours >&2; test ! -e stop\n' });
    const made = await place.clone('public/hooked');
    const hooks = path.join(made.path, '.git/hooks');
    fs.writeFileSync(`${hooks}/pre-commit`, '#!/bin/sh\necho theirs >&2\n', { mode: 0o755 });
    for (let i = 0; i < 2; i++) {
      const hooked = await place.talk.run('repository', { step: 'hooks' }, { working_dir: made.path });
      assert.deepEqual([hooked.is_error, hooked.is_installed], [false, true], text(hooked));
    }
    assert.match(fs.readFileSync(`${hooks}/pre-commit`, 'utf8'), /This hook was installed by OpenHands/);
    assert.match(fs.readFileSync(`${hooks}/pre-commit.local`, 'utf8'), /theirs/);
    const went = await commit(made.path);
    assert.deepEqual([went.exit_code, went.text], [0, 'theirs\nours']);
    fs.writeFileSync(`${made.path}/stop`, '');
    assert.equal((await commit(made.path)).exit_code, 1);
    fs.rmSync(`${made.path}/stop`);
    fs.writeFileSync(`${hooks}/pre-commit.local`, '#!/bin/sh\necho never >&2\nexit 3\n');
    const stopped = await commit(made.path);
    assert.deepEqual([stopped.exit_code, stopped.text], [1, 'never']);
  });

  test('is not installed without a script, and keeps existing hooks', async () => {
    place.forge.commit('public/bare', files);
    const made = await place.clone('public/bare');
    const none = await place.talk.run('repository', { step: 'hooks' }, { working_dir: made.path });
    assert.deepEqual([none.is_error, none.is_installed], [false, false]);
    const hooks = path.join(made.path, '.git/hooks');
    fs.mkdirSync(`${made.path}/.openhands`);
    fs.writeFileSync(`${made.path}/.openhands/pre-commit.sh`, 'true\n');
    fs.writeFileSync(`${hooks}/pre-commit`, 'one');
    fs.writeFileSync(`${hooks}/pre-commit.local`, 'two');
    const refused = await place.talk.run('repository', { step: 'hooks' }, { working_dir: made.path });
    assert.match(text(refused), /pre-commit.local already/);
    assert.equal(fs.readFileSync(`${hooks}/pre-commit`, 'utf8'), 'one');
  });
});

/* Every file below a folder, as bytes. */
function* contents(folder) {
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const file = path.join(folder, entry.name);
    if (entry.isDirectory()) yield* contents(file);
    else if (entry.isFile()) yield [file, fs.readFileSync(file)];
  }
}

/* The processes of this user whose arguments or environment contain a text. */
function holders(needle) {
  const found = [];
  for (const pid of fs.readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name) && Number(name) !== process.pid)) {
    for (const what of ['environ', 'cmdline']) {
      try {
        if (fs.readFileSync(`/proc/${pid}/${what}`).includes(needle)) found.push(`${pid} ${what}`);
      } catch { /* gone, or not ours to see */ }
    }
  }
  return found;
}

describe('a git credential', () => {
  test('runtime 74: the token appears in no remote, observation, output, file, journal, argument or environment', async () => {
    const place = await Place.start('gitlab', { GIT_CURL_VERBOSE: '1', GIT_TRACE: '1', GIT_TRACE_CURL: '1', GIT_TRACE_REDACT: '0' });
    const { forge, server, talk } = place;
    const basic = Buffer.from(`oauth2:${forge.token}`).toString('base64');
    const shown = [];
    const keep = (observation) => (shown.push(JSON.stringify(observation)), observation);
    forge.commit('group/app', files);
    let during = [];
    forge.hold = () => (during = [...during, ...holders(forge.token), ...holders(basic)]);
    await give(server, forge.origin, { username: 'oauth2', password: forge.token });
    fs.writeFileSync(`${server.home}/.gitconfig`, `[credential]\n\thelper = store --file ${server.home}/stored\n`);
    const made = keep(await place.clone('group/app'));
    assert.equal(made.is_error, false, text(made));
    for (const command of ['git remote -v', 'git config --list --show-origin', 'git fetch origin 2>&1', 'git commit --allow-empty -qm x && git push -q origin HEAD:w 2>&1',
      `printf 'protocol=http\\nhost=${new URL(forge.origin).host}\\n\\n' | git credential fill`, `printf 'protocol=http\\nhost=${new URL(forge.origin).host}\\n\\n' | git credential fill | sed -n 's/password=//p' | base64; env; cat /proc/self/environ`]) {
      const answer = keep(await talk.terminal(`cd ${made.path} && ${command}`));
      assert.ok(answer.exit_code === 0, `${command}: ${answer.text}`);
    }
    assert.ok(shown.some((observation) => observation.includes('password=<secret-hidden>')));
    assert.ok(shown.some((observation) => observation.includes('Authorization: Basic <secret-hidden>')));
    const bash = await server.send('POST', '/api/bash/execute_bash_command', { body: JSON.stringify({ command: 'git fetch origin 2>&1; git remote -v', cwd: made.path }) });
    shown.push(bash.bytes.toString());
    assert.match(bash.json.stdout, /<secret-hidden>/);
    // One that is split by the end of a piece.
    const straddle = `head -c 1048560 /dev/zero | tr '\\0' x; printf 'protocol=http\\nhost=${new URL(forge.origin).host}\\n\\n' | GIT_TRACE=0 GIT_TRACE_CURL=0 git credential fill | sed -n 's/password=//p'; head -c 100000 /dev/zero | tr '\\0' y`;
    await server.send('POST', '/api/bash/execute_bash_command', { body: JSON.stringify({ command: straddle, cwd: made.path }) });
    const events = await server.send('GET', '/api/bash/bash_events/search');
    const out = events.json.items.map(({ stdout }) => stdout ?? '').join('');
    assert.match(out, /x<secret-hidden>\ny/);
    shown.push(out);
    // At the cut in the middle, and at the cuts of an endless line.
    const fill = `printf 'protocol=http\nhost=${new URL(forge.origin).host}\n\n' | GIT_TRACE=0 GIT_TRACE_CURL=0 git credential fill | sed -n 's/password=//p' | tr -d '\n'`;
    for (const before of [14890, 14900, 14910, 32740, 32760]) {
      const long = keep(await talk.terminal(`head -c ${before} /dev/zero | tr '\\0' x; ${fill}; head -c 60000 /dev/zero | tr '\\0' y`));
      assert.ok(!text(long).includes(forge.token.slice(0, 12)) && !text(long).includes(forge.token.slice(-12)), String(before));
    }
    const older = await server.send('POST', '/execute_action', { body: JSON.stringify({ action: { action: 'run', args: { command: `cd ${made.path} && git fetch 2>&1` } } }) });
    shown.push(older.bytes.toString());
    assert.match(older.bytes.toString(), /<secret-hidden>/);
    for (const observation of shown) assert.ok(!observation.includes(forge.token) && !observation.includes(basic));
    for (const [file, bytes] of contents(server.dir)) assert.ok(!bytes.includes(forge.token) && !bytes.includes(basic), file);
    assert.ok(forge.requests.some(({ user, password }) => user === 'oauth2' && password === forge.token));
    assert.deepEqual([...during, ...holders(forge.token), ...holders(basic)], []);
    await place.stop();
  });

  test('of a fetched copy is not visible to other programs, neither during the fetch nor afterwards', async () => {
    const place = await Place.start('github');
    const { forge, server } = place;
    const commit = forge.commit('acme/skills', { 'SKILL.md': 'a skill\n' });
    const basic = Buffer.from(`someone:${forge.token}`).toString('base64');
    let during = [];
    forge.hold = () => (during = [...during, ...holders(forge.token), ...holders(basic)]);
    fs.writeFileSync(`${server.home}/.gitconfig`, `[credential]\n\thelper = store --file ${server.home}/stored\n`);
    const fetch = async (password) => (await server.send('POST', '/repositories/fetch', { body: JSON.stringify({ source: forge.url('acme/skills'), folder: `${server.dir}/copies/one`, credentials: { username: 'someone', password } }) })).json;
    const copied = await fetch(forge.token);
    assert.deepEqual([copied.resolved_ref, copied.files.map(({ text: words }) => words)], [commit, ['a skill\n']], JSON.stringify(copied));
    assert.ok(forge.requests.some(({ user, password }) => user === 'someone' && password === forge.token));
    assert.deepEqual(during, []);
    for (const [file, bytes] of contents(server.dir)) assert.ok(!bytes.includes(forge.token) && !bytes.includes(basic), file);
    const refused = await fetch('wrong-token-0123456789');
    assert.match(refused.unreachable, /Authentication failed/);
    assert.ok(!refused.unreachable.includes('wrong-token'));
    const asked = await place.talk.terminal(`printf 'protocol=http\\nhost=${new URL(forge.origin).host}\\n\\n' | GIT_TERMINAL_PROMPT=0 GIT_ASKPASS=true git credential fill; git -C ${server.dir}/copies/one config --list`);
    assert.ok(!asked.text.includes(forge.token) && !asked.text.includes('secret-hidden'), asked.text);
    await place.stop();
  });

  test('is used by submodules as well', async () => {
    const place = await Place.start('github', { GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@a.test', GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@a.test' });
    const { forge, server, talk } = place;
    forge.commit('acme/deep', { deep: 'deep\n' });
    forge.commit('acme/lib', { lib: 'lib\n' });
    forge.commit('acme/app', files);
    await place.give();
    const folder = `${server.dir}/with [stars]*`;
    const clone = async (repository, name) => {
      const made = await talk.run('repository', { step: 'clone', url: forge.url(repository), name, branch: 'main' }, { working_dir: folder });
      assert.equal(made.is_error, false, text(made));
      return made.path;
    };
    const must = async (command) => {
      const answer = await talk.terminal(command);
      assert.equal(answer.exit_code, 0, `${command}: ${answer.text}`);
      return answer.text;
    };
    const nest = async (path_, url) => must(`cd '${path_}' && git submodule add -q ${url} sub && git commit -qm sub && git push -q origin HEAD:main`);
    await nest(await clone('acme/lib', 'lib'), '../deep.git');
    await nest(await clone('acme/app', 'app'), forge.url('acme/lib'));
    const again = await clone('acme/app', 'again');
    assert.equal(await must(`cd '${again}' && git submodule --quiet update --init --recursive && cat sub/lib sub/sub/deep && git -C sub/sub fetch`), 'lib\ndeep');
    forge.commit('acme/deep', { deep: 'deeper\n' });
    await must(`cd '${again}/sub/sub' && git pull -q origin main && grep -q deeper deep`);
    for (const [file, bytes] of contents(server.dir)) assert.ok(!bytes.includes(forge.token), file);
    // Other repositories use their own helpers, not this one.
    const other = await talk.terminal(`cd ${server.dir} && GIT_TERMINAL_PROMPT=0 git clone -q ${forge.url('acme/lib')} plain`);
    assert.notEqual(other.exit_code, 0);
    await place.stop();
  });

  test('is sent with the user name that each forge expects', async () => {
    for (const [vendor, username] of [['github', 'x-access-token'], ['gitlab', 'oauth2'], ['bitbucket', 'x-token-auth']]) {
      const place = await Place.start(vendor);
      place.forge.commit('a/b', files);
      await place.give({ username });
      const made = await place.clone('a/b');
      assert.equal(made.is_error, false, text(made));
      await place.stop();
    }
  });

  test('that is wrong is reported without showing it; the right one works afterwards', async () => {
    const place = await Place.start('github');
    place.forge.commit('acme/web', files);
    await place.give({ password: 'wrong-token-0123456789' });
    const refused = await place.clone('acme/web');
    assert.deepEqual([refused.is_error, refused.path], [true, undefined]);
    assert.match(text(refused), /Authentication failed/);
    assert.ok(!text(refused).includes('wrong-token'));
    assert.deepEqual(fs.readdirSync(place.server.workspace), []);
    await place.give();
    assert.equal((await place.clone('acme/web')).is_error, false);
    await place.stop();
  });

  test('that has expired is reported as expired, and a new one works at once', async () => {
    const place = await Place.start('github');
    place.forge.commit('acme/web', files);
    await place.give();
    const made = await place.clone('acme/web');
    await place.give({ expires_in_s: 1 });
    let late = await place.talk.terminal(`cd ${made.path} && while git fetch 2>err; do :; done; cat err`);
    assert.match(late.text, /The credential for http:\/\/127\.0\.0\.1:[0-9]+ has expired; it must be renewed\./);
    await place.give();
    late = await place.talk.terminal('git fetch && echo fetched');
    assert.equal(late.text, 'fetched');
    await place.server.kill();
    await place.server.start();
    late = await place.talk.terminal(`cd ${made.path} && git fetch`);
    assert.match(late.text, /There is no credential for .* any more \(the sandbox was restarted\); it must be set again\./);
    await place.stop();
  });

  test('is not sent to another host', async (t) => {
    const place = await Place.start('github');
    const other = await ForgeGit.start('github', place.forge.token);
    t.after(() => other.stop());
    other.commit('acme/web', files);
    place.forge.redirect = (where) => (where.startsWith('/moved') ? other.origin + where.replace('/moved', '') : undefined);
    await place.give();
    const made = await place.clone('moved/acme/web');
    assert.equal(made.is_error, true);
    assert.ok(other.requests.length > 0);
    assert.ok(other.requests.every(({ password, user }) => password === undefined && user === undefined), JSON.stringify(other.requests));
    assert.equal((await place.clone('x', { url: other.url('acme/web') })).is_error, true);
    assert.ok(other.requests.every(({ password }) => password === undefined));
    await place.stop();
  });

  test('that git cannot transmit, or that cannot be masked, is refused', async () => {
    const server = await new ActionServer().start();
    for (const credential of [{ url: 'https://a.test' }, { url: 'https://a.test', password: 'short' }, { url: 'https://a.test', password: 'long enough\nhost=b' }, { url: 'https://me@a.test', password: 'long enough' },
      { url: 'ssh://a.test', password: 'long enough' }, { url: 'https://a=b', password: 'long enough' }, { url: 'https://a.test', password: 'long enough', username: 'a:b' }, { url: 'https://a.test', password: 'long enough', expires_in_s: 0 }, { url: 'https://a.test', password: 'long enough', expires_in_s: 86401 }]) {
      const answer = await server.send('POST', '/git/credentials', { body: JSON.stringify(credential) });
      assert.equal(answer.status, 400, JSON.stringify(credential));
    }
    await server.stop();
  });
});

describe('an interrupted preparation', () => {
  test('ends on an interrupt or at its time limit, and the shell waits for it', async () => {
    const place = await Place.start('github');
    place.forge.commit('acme/web', files);
    await place.give();
    place.forge.serve = () => {}; // never answers
    const slow = await place.clone('acme/web', { timeout_ms: 300 });
    assert.match(text(slow), /The work took longer than/);
    const asked = new Promise((resolve) => (place.forge.serve = resolve));
    const stuck = place.clone('acme/web');
    await within(asked, 'git asks the forge');
    const waiting = place.server.put(place.talk.id, 'later', { tool: 'terminal', args: { command: 'echo later' } });
    for (let state; state !== 'running';) state = (await place.server.send('GET', '/actions/later', { headers: place.server.scope(place.talk.id) })).json.state;
    await place.talk.interrupt();
    assert.match(text(await stuck), /interrupted/);
    assert.equal((await waiting).json.state, 'interrupted');
    assert.equal((await place.talk.terminal('echo now')).text, 'now');
    await place.stop();
  });

  test('is continued for a client that reconnects, and is reported as interrupted after a kill of the server', async () => {
    const place = await Place.start('github');
    place.forge.commit('acme/web', files);
    await place.give();
    const serve = place.forge.serve.bind(place.forge);
    let go;
    const asked = new Promise((resolve) => (place.forge.serve = (...args) => { go = () => ((place.forge.serve = serve), serve(...args)); resolve(); }));
    const id = randomUUID();
    const body = { tool: 'repository', args: { step: 'clone', url: place.forge.url('acme/web') }, working_dir: place.server.workspace };
    let request;
    const lost = place.server.put(place.talk.id, id, body, { onRequest: (r) => (request = r) });
    await within(asked, 'git asks the forge');
    request.destroy();
    await assert.rejects(lost);
    go();
    const found = await place.server.put(place.talk.id, id, body);
    assert.equal(found.json.observation.is_error, false);
    assert.equal(place.forge.requests.filter(({ url, password }) => url.includes('info/refs') && password).length, 1);

    const next = new Promise((resolve) => (place.forge.serve = resolve));
    const cut = place.server.put(place.talk.id, 'cut', { ...body, args: { ...body.args, name: 'cut' } });
    await within(next, 'git asks the forge');
    await Promise.all([place.server.kill(), assert.rejects(cut)]);
    await place.server.start();
    const told = await place.server.put(place.talk.id, 'cut', { ...body, args: { ...body.args, name: 'cut' } });
    assert.equal(told.json.state, 'interrupted');
    place.forge.serve = serve;
    await place.give();
    assert.equal((await place.clone('acme/web', { name: 'cut' })).is_error, false);
    await place.stop();
  });
});
