// The program that runs the tasks for agents (./deft bench tasks) says what became of them.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readSettings } from '../tasks/settings.mjs';
import { TASKS } from '../tasks/task_list.mjs';
import { strictModel } from './support/model.mjs';

const KEY = 'sk-test';
const fake = await strictModel();

/** Runs the program with these settings; resolves with {code, stdout, stderr}. */
function runTasks(args, settings) {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('DEFT_TASKS_')));
  const child = spawn(process.execPath, [join(TASKS, 'tasks.mjs'), ...args], { env: { ...env, ...settings }, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) child[name].on('data', (data) => { output[name] += data; });
  return new Promise((resolve) => {
    child.on('close', (code) => resolve({ code, ...output }));
  });
}

const settings = (model, more = {}) => ({ DEFT_TASKS_MODEL: `openai/${model}`, DEFT_TASKS_BASE_URL: fake.url, DEFT_TASKS_API_KEY: KEY, ...more });
const saidBy = (role, body) => body.messages.filter((message) => message.role === role);
const textOf = (message) => [message.content].flat().map((part) => part?.text ?? part).join('');
const finish = { calls: [{ name: 'finish', arguments: { message: 'done', summary: 'report' } }] };

/** The command of a solution that is one line. */
const solutionOf = (name) => readFileSync(join(TASKS, name, 'solution/apply'), 'utf8').trim().split('\n').at(-1);

// Solves one of two tasks, and says of the other one that it is done.
fake.setScenario('half', (body) => {
  const isSolvable = textOf(saidBy('user', body).at(-1)).includes('ring.c');
  if (!isSolvable || saidBy('assistant', body).length > 0) return finish;
  return { calls: [{ name: 'terminal', arguments: { command: solutionOf('c-ring-buffer'), security_risk: 'LOW', summary: 'mend it' } }] };
});

test('a task that is solved and one that only says so are told apart, with what they took', async () => {
  const { code, stdout, stderr } = await runTasks(['c-r', '--json'], settings('half'));
  assert.equal(code, 0, stderr);
  const [solved, totals, ...more] = stdout.trim().split('\n').map((line) => JSON.parse(line));
  assert.deepEqual(more, []);
  assert.deepEqual([solved.task, solved.state, solved.status, solved.why, solved.steps], ['c-ring-buffer', 'solved', 'finished', '', 2]);
  assert.ok(solved.tokens >= 2040 && solved.seconds > 0, stdout);
  assert.deepEqual([totals.tasks, totals.solved, totals.steps, totals.tokens], [1, 1, 2, solved.tokens]);

  const both = await runTasks(['c-'], settings('half', { DEFT_TASKS_AT_ONCE: '4' }));
  assert.equal(both.code, 1, both.stderr);
  const lines = both.stdout.trim().split('\n');
  assert.equal(lines.length, 5, both.stdout);
  assert.match(lines.find((line) => line.includes('c-ring-buffer')), /^ok {3}c-ring-buffer +2 steps +2,\d\d\d tokens +- +\d+ s$/);
  assert.match(lines.find((line) => line.includes('c-base64')), /^FAIL c-base64 +1 steps .* s {2}\"Zg==\" is not decoded into a buffer of its size, and refused by a smaller one$/);
  assert.match(lines.at(-1), /^1 of 4 solved by openai\/half, 3 failed: 5 steps /);
  for (const said of [stdout, stderr, both.stdout, both.stderr]) assert.ok(!said.includes(KEY), 'the key is not printed');
});

test('a task whose model refuses, and one for which the sandbox lacks a program, are reported with the reason', async () => {
  const refused = await runTasks(['makefile'], settings('status-401'));
  assert.equal(refused.code, 1);
  assert.match(refused.stdout, /^FAIL makefile .*the run ended as error: Your LLM API key .*; make -j8 from a clean tree fails/m);
  const skipped = await runTasks(['page-'], settings('half'));
  assert.equal(skipped.code, 1, 'nothing was solved');
  assert.match(skipped.stdout, /^skip page-dashboard .*the sandbox has no chromium$/m);
});

test('a run that takes too long is ended', async () => {
  fake.setScenario('endless', [{ park: true }]);
  const { code, stdout } = await runTasks(['makefile'], settings('endless', { DEFT_TASKS_SECONDS: '2' }));
  assert.equal(code, 1);
  assert.match(stdout, /^FAIL makefile .*the run took longer than 2 seconds; /m);
});

test('without a model or a task nothing is run, and the exit status is 2', async () => {
  for (const [args, own, message] of [
    [[], {}, /DEFT_TASKS_MODEL is not set/],
    [[], { DEFT_TASKS_MODEL: 'a/b' }, /DEFT_TASKS_API_KEY is not set/],
    [[], settings('half', { DEFT_TASKS_AT_ONCE: 'x' }), /DEFT_TASKS_AT_ONCE=x is not a number from 1 to 100/],
    [['no-such-task'], settings('half'), /no task is named like 'no-such-task': c-base64, /],
  ]) {
    const { code, stdout, stderr } = await runTasks(args, own);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, message);
  }
});

test('settings have defaults, and a key is not needed for a server of one\'s own', () => {
  const { llm, ...others } = readSettings({ DEFT_TASKS_MODEL: 'ollama/x', DEFT_TASKS_BASE_URL: 'http://localhost:11434', DEFT_SANDBOX_BROWSER: '1' });
  assert.deepEqual(llm, { model: 'ollama/x', usage_id: 'agent', base_url: 'http://localhost:11434' });
  assert.deepEqual(others, { model: 'ollama/x', atOnce: 3, seconds: 1800, steps: 100, hasBrowser: true });
});
