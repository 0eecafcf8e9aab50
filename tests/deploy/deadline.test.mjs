// tests/deadline.mjs, which tests/run loads into each test file: a file that hangs is ended with a message, and the next one runs.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { waitUntil, within } from '../e2e/support/wait.mjs';

const DEADLINE = fileURLToPath(new URL('../deadline.mjs', import.meta.url));
const HANGS = `import net from 'node:net';
import { describe, test } from 'node:test';
describe('some', () => {
  test('is done', () => {});
  test('waits for nobody', async () => { net.createServer().listen(0, '127.0.0.1'); await new Promise(() => {}); });
});`;

test('a file that hangs is ended with the name of its test, and the next file runs', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'deft-deadline-test-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  await writeFile(join(dir, 'a.test.mjs'), HANGS);
  await writeFile(join(dir, 'b.test.mjs'), "import { test } from 'node:test';\ntest('comes after it', () => {});\n");
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const runner = spawn(process.execPath, ['--test', '--import', DEADLINE, '--test-concurrency=1', '--test-reporter=spec', dir], {
    env: { ...env, DEFT_TEST_FILE_MAX_MS: '10000' }, stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => runner.kill('SIGKILL'));
  let said = '';
  runner.stdout.on('data', (piece) => { said += piece; });
  const [code] = await within(once(runner, 'close'), 'the runner ends');
  assert.equal(code, 1, said);
  assert.match(said, /takes longer than 10000 ms\. Tests that run: waits for nobody\. What the process waits for: .*TCPServerWrap/);
  assert.match(said, /✔ is done/);
  assert.match(said, /✔ comes after it/);
});

test('a wait that times out reports its condition and the last value', async () => {
  await assert.rejects(waitUntil(() => 0, 'there is one', 1), /not so after 1 ms: there is one; last seen: 0$/);
  await assert.rejects(waitUntil((saw) => saw('idle') === 'finished', 'it ends', 1), /: it ends; last seen: 'idle'$/);
});
