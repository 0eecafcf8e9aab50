// A sandbox's key cannot be read inside it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call } from './support/api.mjs';
import { Box } from './support/box.mjs';
import { Conversation, startRequest } from './support/conversation.mjs';

const model = { model: 'scripted/hello', usage_id: 'agent' };

/** Everything of other programs and of the server's files that a program of the sandbox's user can read. */
const LOOK = `cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'; env; ls -la /.deft-j; cat /.deft-j/* 2>/dev/null; true`;

/** The init key stays readable in the environment of the container's first process; it is no longer valid. */
async function assertInitIsOver(box, seen) {
  const init = /^DEFT_ACTION_INIT_KEY=(.+)$/m.exec(seen)?.[1] ?? 'hidden';
  const tried = await box.run(`curl -s -w ' %{http_code}' -H 'X-Init-API-Key: ${init}' -d '{"session_api_keys":["mine"]}' http://localhost:8000/api/init`);
  assert.equal(tried, '{"detail":"server already in state: ready"} 400');
}

test('a sandbox\'s key cannot be read inside it, before and after a restart', async (t) => {
  const one = await Conversation.create(startRequest(model, { conversation_runtime: 'docker' }));
  t.after(() => one.delete());
  const box = new Box(one.path);
  const { session_api_key: key } = await one.must(200, 'POST', '/runtime/credentials', { json: {} });
  assert.ok(key.length >= 32);
  const own = new Box(one.path, { key });
  for (const start of ['first', 'second']) {
    const seen = await own.run(LOOK);
    assert.ok(seen.includes('OH_SESSION_API_KEYS_0='), 'what it prints is the environment');
    assert.ok(!seen.includes(key), `${start}: the key is readable`);
    await assertInitIsOver(box, seen);
    if (start === 'first') {
      await one.must(204, 'DELETE', '/runtime');
      assert.equal((await box.run('echo back')), 'back\n');
    }
  }
});

test('commands have a key for their sandbox\'s server, which is valid nowhere else', async (t) => {
  const one = await Conversation.create(startRequest(model, { conversation_runtime: 'docker' }));
  t.after(() => one.delete());
  const box = new Box(one.path);
  const ask = (path, method = 'GET') => box.run(`curl -s -o /dev/null -w '%{http_code}' -X ${method} -H "X-Session-API-Key: $OH_SESSION_API_KEYS_0" http://localhost:8000${path}`);
  assert.equal(await ask('/api/file/home'), '200');
  assert.equal(await ask('/actions/a'), '401');
  assert.equal(await ask('/conversations/00000000-0000-4000-8000-000000000000', 'DELETE'), '401');
  const key = (await box.run('printf %s "$OH_SESSION_API_KEYS_0"'));
  assert.equal((await call('GET', '/api/conversations/search', { key })).status, 401);
});
