// A sandbox in any image: existing programs work, missing ones are reported. The images are made of
// programs on this machine (busybox-static, musl); nothing is fetched.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';

import { call, engine, House, IMAGE, tar } from './runtime_house.mjs';

const APPLETS = ['sh', 'ash', 'cat', 'echo', 'env', 'false', 'id', 'ls', 'mkdir', 'sleep', 'test', 'true', 'whoami'];
const folder = (name) => ({ name: `${name}/`, type: '5' });
const program = (name, file) => ({ name, data: fs.readFileSync(file) });

// The files that a shell needs.
function busybox() {
  const file = ['/bin/busybox', '/usr/bin/busybox'].find((one) => fs.existsSync(one));
  assert.ok(file, 'needs the package busybox-static');
  const script = (applet) => ({ name: `bin/${applet}`, type: '2', link: 'busybox' });
  return [folder('bin'), program('bin/busybox', file), ...APPLETS.map(script)];
}

// A program that prints its arguments, for musl: dynamic or static.
function hello(dir, kind) {
  const source = path.join(dir, 'hello.c');
  const file = path.join(dir, `hello-${kind}`);
  fs.writeFileSync(source, '#include <stdio.h>\nint main(int n, char **a) { printf("hello %s\\n", n > 1 ? a[1] : "there"); return n - 1; }\n');
  execFileSync('musl-gcc', ['-O1', ...(kind === 'static' ? ['-static'] : []), '-o', file, source]);
  return file;
}

function alpine(dir) {
  const loader = fs.readdirSync('/lib').find((name) => name.startsWith('ld-musl-'));
  return [
    ...busybox(), folder('lib'), program(`lib/${loader}`, fs.realpathSync(`/lib/${loader}`)), folder('usr'), folder('usr/bin'),
    program('usr/bin/hello', hello(dir, 'dynamic')), folder('etc'), { name: 'etc/alpine-release', data: '3.20.0\n', mode: 0o644 },
    { name: 'etc/passwd', data: 'root:x:0:0:root:/root:/bin/ash\n', mode: 0o644 },
  ];
}

// A sandbox as its callers have it: actions by id, files as streams, the older API.
class Box {
  constructor(runtime) {
    const { hostname, port } = new URL(runtime.url);
    this.where = { host: hostname, port };
    this.key = runtime.call_key;
    this.conversation = randomUUID();
  }

  send(method, url, options = {}) {
    return call(this.where, method, url, { ...options, headers: { 'X-Session-API-Key': this.key, ...options.headers } });
  }

  async act(tool, args) {
    const headers = { 'X-Deft-Conversation': this.conversation, 'X-Deft-Fence': '1' };
    const { status, json, text } = await this.send('PUT', `/actions/${randomUUID()}`, { body: { tool, args }, headers });
    assert.equal(status, 200, text);
    return { ...json.observation, text: json.observation.content[0].text };
  }

  run(command) { return this.act('terminal', { command }); }

  async older(command) {
    const { status, json, text } = await this.send('POST', '/execute_action', { body: { action: { action: 'run', args: { command, blocking: true } } } });
    assert.equal(status, 200, text);
    return json;
  }

  async bash(command) {
    const { status, json, text } = await this.send('POST', '/api/bash/execute_bash_command', { body: { command } });
    assert.equal(status, 200, text);
    return json;
  }
}

// Independent of the image: the editor, uploads and downloads.
async function assertFiles(box) {
  const file = '/workspace/project/deep/er/a.txt';
  const made = await box.act('file_editor', { command: 'create', path: file, file_text: 'one\ntwö\n' });
  assert.equal(made.is_error, false, made.text);
  assert.match((await box.act('file_editor', { command: 'view', path: file })).text, /1\tone\n {5}2\ttwö\n/);
  const boundary = 'edge';
  const bytes = Buffer.from([0, 255, 1, 13, 10, 128]);
  const body = Buffer.concat([
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n`), bytes, Buffer.from(`\r\n--${boundary}--\r\n`),
  ]);
  const sent = await box.send('POST', '/api/file/upload?path=/workspace/project/up.bin', { body, type: `multipart/form-data; boundary=${boundary}` });
  assert.deepEqual([sent.status, sent.json], [200, { success: true, file_size: bytes.length }]);
  const back = await box.send('GET', '/api/file/download?path=/workspace/project/up.bin');
  assert.equal(back.status, 200);
  assert.equal(back.text, bytes.toString());
  const read = await box.send('POST', '/execute_action', { body: { action: { action: 'read', args: { path: file } } } });
  assert.equal(read.json.content, 'one\ntwö\n');
}

// A shell that keeps its state, reports exit codes, and can be interrupted.
async function assertShell(box) {
  assert.equal((await box.run('cd /workspace && export COLOUR=blue && echo begun')).text, 'begun');
  const kept = await box.run('echo "$COLOUR $PWD"');
  assert.equal(kept.text, 'blue /workspace');
  assert.equal(kept.metadata.working_dir, '/workspace');
  for (const [command, code] of [['false', 1], ['(exit 3)', 3], ['no-such-command', 127]]) assert.equal((await box.run(command)).exit_code, code, command);
  const home = await box.run('cd ~ && echo kept > .mark && cat .mark && id -u');
  assert.match(home.text, /^kept\n[2-6]\d{4}$/, 'a user of its own');
  assert.deepEqual([(await box.older('echo "a b"; false')).content, (await box.bash('echo $((40 + 2))')).stdout], ['a b', '42\n']);
}

describe('a sandbox in any image', () => {
  let house;
  let dir;
  const images = [];
  const boxes = {};

  async function makeImage(name, entries, changes = []) {
    const tag = `deft-test-${house.instance}:${name}`;
    const more = changes.map((change) => `&changes=${encodeURIComponent(change)}`).join('');
    images.push(tag);
    const { status, text } = await engine('POST', `/images/create?fromSrc=-&repo=${tag.replace(':', '&tag=')}${more}`, { body: tar(entries), type: 'application/x-tar' });
    assert.equal(status, 200, text);
    return tag;
  }

  async function open(name, image) {
    const { json: runtime } = await house.sandbox(`images-${name}`, { image });
    assert.equal(runtime.status, 'running', `${name}: ${runtime.status_detail}`);
    boxes[name] = new Box(runtime);
  }

  before(async () => {
    house = await House.open({ DEFT_SANDBOX_READ_ONLY: '1' });
    dir = fs.mkdtempSync('/tmp/deft-images-');
    await open('read-only', IMAGE);
    // It keeps running while the service restarts with other settings.
    await house.stop();
    house.settings = {};
    await house.start();
    await Promise.all([
      open('debian', IMAGE),
      makeImage('alpine', alpine(dir)).then((image) => open('alpine', image)),
      makeImage('busybox', busybox()).then((image) => open('busybox', image)),
      makeImage('empty', []).then((image) => open('empty', image)),
      makeImage('program', [program('hello', hello(dir, 'static'))], ['ENV PATH=/']).then((image) => open('program', image)),
      makeImage('user', [...busybox(), folder('tmp')], ['USER 4242', 'ENV HOME=/home/gone', 'WORKDIR /nowhere', 'ENTRYPOINT ["/missing"]']).then((image) => open('user', image)),
    ]);
  });

  after(async () => {
    await house?.close();
    for (const image of images) await engine('DELETE', `/images/${image}?force=1`);
    if (dir) fs.rmSync(dir, { recursive: true });
  });

  it('runtime 40: Debian: bash, and the image\'s certificates', async () => {
    await assertShell(boxes.debian);
    await assertFiles(boxes.debian);
    assert.match((await boxes.debian.run('echo $BASH_VERSION')).text, /^\d/);
    assert.equal((await boxes.debian.run('echo [$SSL_CERT_FILE]')).text, '[]');
  });

  it('runtime 40: Alpine: ash, and programs for musl', async () => {
    await assertShell(boxes.alpine);
    await assertFiles(boxes.alpine);
    const said = await boxes.alpine.run('hello musl');
    assert.deepEqual([said.text, said.exit_code], ['hello musl', 1]);
    assert.equal((await boxes.alpine.run('cat /etc/alpine-release')).text, '3.20.0');
  });

  it('runtime 40: BusyBox only: no user list, no home, no /tmp, no certificates', async () => {
    await assertShell(boxes.busybox);
    await assertFiles(boxes.busybox);
    const { metadata } = await boxes.busybox.run('echo x > /tmp/x && cat /tmp/x');
    assert.equal(metadata.username, (await boxes.busybox.run('id -u')).text);
    for (const name of ['SSL_CERT_FILE', 'CURL_CA_BUNDLE', 'GIT_SSL_CAINFO', 'REQUESTS_CA_BUNDLE', 'NODE_EXTRA_CA_CERTS']) {
      assert.equal((await boxes.busybox.run(`echo $${name}`)).text, '/.deft/ca.pem');
    }
    assert.match((await boxes.busybox.run('cat $SSL_CERT_FILE')).text, /^[^]*-----BEGIN CERTIFICATE-----/);
  });

  it('no git: there are no changes, and a fetch reports that git is missing', async () => {
    assert.deepEqual((await boxes.busybox.send('GET', '/api/git/changes?path=/workspace/project')).json, []);
    const fetched = await boxes.busybox.send('POST', '/repositories/fetch', { body: { source: 'https://localhost/a.git', folder: '/workspace/project/a' } });
    assert.deepEqual([fetched.status, fetched.json], [400, { detail: 'The sandbox has no git' }]);
  });

  it('runtime 40: a numeric user, a missing home and folder, an invalid entry point', async () => {
    await assertShell(boxes.user);
    await assertFiles(boxes.user);
    assert.equal((await boxes.user.run('echo $HOME')).text, '/workspace/project');
    assert.equal((await boxes.user.run('echo x > /tmp/x && cat /tmp/x')).text, 'x', 'a /tmp that is only root\'s in the image');
  });

  it('runtime 40: a read-only root file system', async () => {
    const box = boxes['read-only'];
    await assertShell(box);
    await assertFiles(box);
    const refused = await box.run('echo x > /x');
    assert.notEqual(refused.exit_code, 0);
    assert.match(refused.text, /Read-only file system/);
    assert.equal((await box.run('printf "#!/bin/sh\\necho ran" > /tmp/x && chmod +x /tmp/x && /tmp/x')).text, 'ran');
    assert.equal((await box.act('file_editor', { command: 'create', path: '/x', file_text: '' })).is_error, true);
  });

  for (const name of ['empty', 'program']) {
    it(`runtime 40: no shell (${name}): commands report it, files work`, async () => {
      const box = boxes[name];
      await assertFiles(box);
      const refused = await box.run('echo x');
      assert.deepEqual([refused.exit_code, refused.is_error], [127, true]);
      assert.match(refused.text, /^There is no shell in this sandbox/);
      const older = await box.older('echo x');
      assert.deepEqual([older.extras.metadata.exit_code, older.success], [127, false]);
      const bash = await box.bash('echo x');
      assert.equal(bash.exit_code, -1);
      assert.match(bash.stderr, /^Error executing command: /);
      assert.deepEqual((await box.send('POST', '/list_files', { body: { path: '/workspace/project' } })).json, ['.git/', 'deep/', 'up.bin']);
    });
  }
});
