// Clients of the older remote runtime: a sandbox of the Runtime API, and actions at its URL.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { call } from './support/api.mjs';
import { AGENT_URL, APP_URL, DEFT } from './support/instance.mjs';

const IMAGE = process.env.DEFT_SANDBOX_IMAGE ?? 'deft-sandbox:1';
const tenant = `test-${randomUUID()}`;
let runtime;

const service = (method, path, json) => call(method, `/runtime-api${path}`, { url: APP_URL, key: null, json, headers: { 'x-api-key': service.key } });

before(async () => {
  service.key = execFileSync(DEFT, ['key', '--runtime', tenant]).toString().trim();
  const started = await service('POST', '/start', {
    image: IMAGE, command: 'python -m openhands.runtime.action_execution_server 60000', working_dir: '/openhands/code/', environment: { NO_CHANGE_TIMEOUT_SECONDS: '1' },
    session_id: randomUUID(), wait_ms: 100000,
  });
  assert.equal(started.json?.status, 'running', started.text);
  runtime = started.json;
});

after(async () => {
  if (runtime) await service('POST', '/stop', { runtime_id: runtime.runtime_id });
  execFileSync(DEFT, ['key', '--revoke', tenant]);
});

const send = (method, path, options = {}) => call(method, path, { url: runtime.url, key: runtime.session_api_key, ...options });

async function act(action, args, more = {}) {
  const answer = await send('POST', '/execute_action', { json: { action: { action, args, timeout: 60, ...more } } });
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

const run = (command, more = {}) => act('run', { command, blocking: true, ...more });

test('a runtime\'s URL and key give access to its shell, other keys do not', async () => {
  assert.equal((await send('GET', '/alive', { key: null })).json.status, 'ok');
  for (const key of [null, 'wrong', service.key]) {
    for (const [method, path] of [['POST', '/execute_action'], ['POST', '/list_files'], ['GET', '/download_files?path=/workspace'], ['POST', '/upload_file?destination=/tmp']]) {
      assert.equal((await send(method, path, { key, json: method === 'POST' ? {} : undefined })).status, 401, `${path} ${key}`);
    }
  }
  assert.equal(runtime.url, AGENT_URL);
  await run('cd /workspace && export COLOUR=blue');
  const observation = await run('echo "$COLOUR"; id -u; false');
  assert.match(observation.content, /^blue\n[2-6]\d{4}$/);
  assert.deepEqual([observation.success, observation.extras.metadata.exit_code], [false, 1]);
  const silent = await run('sleep 600', { blocking: false });
  assert.match(silent.extras.metadata.suffix, /no new output after 1 seconds/, 'the environment of the start is that of its actions');
  assert.equal((await run('C-c', { is_input: true })).extras.metadata.exit_code, 130);
});

test('files are written, read, edited, listed, uploaded and downloaded', async () => {
  const path = '/workspace/older/a.txt';
  assert.equal((await act('write', { path, content: 'x'.repeat(3 << 20) })).observation, 'write', 'a body of some megabytes');
  await act('write', { path, content: 'one\ntwo' });
  assert.equal((await act('edit', { path, command: 'str_replace', old_str: 'two', new_str: 'three' })).extras.new_content, 'one\nthree\n');
  assert.equal((await act('read', { path })).content, 'one\nthree\n');
  const form = new FormData();
  form.append('file', new Blob([Buffer.alloc(2 << 20, 7)]), 'b.bin');
  const sent = await send('POST', '/upload_file?destination=/workspace/older&recursive=false', { body: form });
  assert.deepEqual([sent.status, sent.json], [200, { filename: 'b.bin', destination: '/workspace/older', recursive: false }]);
  assert.deepEqual((await send('POST', '/list_files', { json: { path: '/workspace/older' } })).json, ['a.txt', 'b.bin']);
  const fetched = await send('GET', '/download_files?path=/workspace/older');
  assert.equal(fetched.status, 200);
  assert.equal(fetched.headers.get('content-type'), 'application/zip');
  const again = new FormData();
  again.append('file', new Blob([fetched.bytes]), 'older.zip');
  assert.equal((await send('POST', '/upload_file?destination=/workspace/again&recursive=true', { body: again })).status, 200);
  assert.match((await run('cmp /workspace/older/b.bin /workspace/again/b.bin && cat /workspace/again/a.txt')).content, /^one\nthree$/);
  assert.deepEqual((await send('GET', '/download_files?path=/nowhere')).json, { detail: '404: File not found' });
});
