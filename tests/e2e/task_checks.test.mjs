// The checks of the tasks for agents: each fails on the untouched workspace, and passes on the reference solution.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { TASKS, readTasks } from '../tasks/task_list.mjs';
import { Box } from './support/box.mjs';

const run = promisify(execFile);
const VERIFY_MAX_S = 600;
const tasks = readTasks();

const assertVerified = (output, names) => {
  const lines = output.trim().split('\n');
  assert.deepEqual(lines.filter((line) => !line.startsWith('ok ')), [], 'every check is right');
  assert.deepEqual(lines.map((line) => line.split(/\s+/)[1]), names);
};

test('there are twenty tasks, each with a text, a check and a solution', () => {
  assert.equal(tasks.length, 20);
  for (const { name, text, folder } of tasks) {
    assert.ok(text.length > 50, name);
    for (const part of ['check', 'solution/apply']) assert.ok(readFileSync(join(folder, part), 'utf8').startsWith('#!'), `${name}/${part}`);
  }
});

// In a real sandbox, so that a task can need nothing that the image lacks.
test('in a sandbox each check fails on the untouched workspace, and passes on the solution', async () => {
  const names = tasks.filter(({ needs }) => needs.length === 0).map(({ name }) => name);
  const { stdout: packed } = await run('tar', ['-C', TASKS, '-cf', '-', 'verify', ...names], { encoding: 'buffer', maxBuffer: 1 << 26 });
  const box = new Box();
  assert.equal((await box.upload('/tmp/tasks.tar', packed)).status, 200);
  await box.run('mkdir /tmp/tasks && tar -xf /tmp/tasks.tar -C /tmp/tasks');
  const { stdout } = await box.must(200, 'POST', '/bash/execute_bash_command', {
    json: { command: `/tmp/tasks/verify ${names.join(' ')}`, timeout: VERIFY_MAX_S },
    timeoutMs: VERIFY_MAX_S * 1000,
  });
  await box.run('rm -rf /tmp/tasks /tmp/tasks.tar');
  assertVerified(stdout ?? '', names);
});

// The image of the tests has no browser; this machine has.
test('so do the checks of tasks that need a browser', async () => {
  const names = tasks.filter(({ needs }) => needs.includes('chromium')).map(({ name }) => name);
  const { stdout } = await run(join(TASKS, 'verify'), names).catch((error) => error);
  assertVerified(stdout, names);
});
