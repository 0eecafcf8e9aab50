// The scheduler of the node suites: files run concurrently, each on its own instance, with separate results and output.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { within } from '../e2e/support/wait.mjs';

const HOME = dirname(process.env.DEFT);
/** Ends when another file runs, too; prints where it runs. */
const MEETS = (own, other) => `import { existsSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
test('meets ${other}', async () => {
  writeFileSync(process.env.MEETING + '/${own}', '');
  while (!existsSync(process.env.MEETING + '/${other}')) await new Promise((resolve) => setTimeout(resolve, 10));
  console.log('${own} on ' + process.env.DEFT_INSTANCE);
});`;
const PLAIN = "import { test } from 'node:test';\ntest('is plain', () => { console.log('plain'); });\n";
const FAILS = "import { test } from 'node:test';\ntest('fails', () => { throw new Error('the reason'); });\n";

/** Runs files of a suite `made`, with one further instance; returns exit code, output, suites and times. */
async function schedule(t, files) {
  const dir = await mkdtemp(join(tmpdir(), 'deft-schedule-test-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  for (const folder of ['made', 'instances']) await mkdir(join(dir, folder));
  await writeFile(join(dir, 'instances', '2'), 'DEFT_INSTANCE=second\0');
  for (const [name, text] of Object.entries(files)) await writeFile(join(dir, 'made', `${name}.test.mjs`), text);
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const paths = Object.keys(files).map((name) => join(dir, 'made', `${name}.test.mjs`));
  const scheduler = spawn(process.execPath, ['tests/schedule.mjs', ...paths], {
    cwd: HOME,
    env: {
      ...env, DEFT_INSTANCE: 'first', DEFT_TEST_ITEMS: join(dir, 'items'), DEFT_TEST_TIMES: join(dir, 'times'), MEETING: dir,
      DEFT_TEST_TIMES_KNOWN: join(dir, 'known'), DEFT_TEST_INSTANCES: join(dir, 'instances'), TMPDIR: dir,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => scheduler.kill('SIGKILL'));
  let printed = '';
  scheduler.stdout.on('data', (piece) => { printed += piece; });
  const [code] = await within(once(scheduler, 'close'), 'the scheduler ends');
  return { code, printed, suites: await readFile(join(dir, 'suites'), 'utf8'), times: await readFile(join(dir, 'times'), 'utf8') };
}

test('two files run at once, each on its own instance', async (t) => {
  const { code, printed } = await schedule(t, { one: MEETS('one', 'two'), two: MEETS('two', 'one') });
  assert.equal(code, 0, printed);
  assert.deepEqual(printed.match(/on (first|second)/g).sort(), ['on first', 'on second']);
  assert.match(printed, /^ℹ tests 2$/m);
  assert.match(printed, /^ℹ pass 2$/m);
});

test('a failing file fails its suite, its failures are repeated at the end, and the other files run', async (t) => {
  const { code, printed, suites, times } = await schedule(t, { bad: FAILS, good: PLAIN });
  assert.equal(code, 1);
  assert.match(printed, /== .*\n✖ failing tests:[^]*the reason[^]*failed files: .*bad\.test\.mjs\n/);
  assert.match(printed, /✔ is plain/);
  assert.match(suites, /^FAILED /);
  assert.equal(times.trim().split('\n').length, 2);
});

test('a file that dies without output fails', async (t) => {
  const { code } = await schedule(t, { dies: 'process.kill(process.pid, "SIGKILL");' });
  assert.equal(code, 1);
});
