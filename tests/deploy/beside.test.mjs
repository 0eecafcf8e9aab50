// Work that tests/run does next to the suites: it does not change their result, and ends with them.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { waitUntil } from './http.mjs';
import { within } from '../e2e/support/wait.mjs';

const DEADLINE_MS = 60_000;
const HOME = dirname(process.env.DEFT);

/** Runs a script like tests/run, with a lint of the test; returns its exit code and output. */
const runBeside = async (t, lint, script) => {
  const dir = await mkdtemp(join(tmpdir(), 'deft-beside-test-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const text = `TMPDIR=$1 BUILD=$1; . "$2/tests/beside.sh"; BESIDE_SUITES=lint; run_lint() { ${lint}; }; ${script}`;
  const shell = spawn('sh', ['-euc', text, 'sh', dir, HOME], { stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  shell.stdout.on('data', (piece) => (printed += piece));
  const [code] = await within(once(shell, 'close'), 'the run ends');
  return { dir, code, printed };
};

test('a run whose tests pass ends with 0, also when nothing runs next to it any more', async (t) => {
  const { code, printed } = await runBeside(t, 'echo "all is well"', 'beside_begin; beside_report lint');
  assert.equal(code, 0);
  assert.match(printed, /^all is well\ntook [0-9]+ s/);
});

test('a failure next to the suites is reported in its own suite, with its output', async (t) => {
  const { code, printed } = await runBeside(t, 'echo "line 7: wrong"; return 2', 'beside_begin; beside_report lint || echo "result $?"');
  assert.equal(code, 0);
  assert.match(printed, /^line 7: wrong\n(.*\n)*result 2\n$/);
});

test('each suite keeps its output and its result when another one failed before it', async (t) => {
  const { code, printed } = await runBeside(t, 'echo "lint is wrong"; return 1', `
    BESIDE_SUITES='lint asan'; run_asan() { echo "asan is well"; }; beside_begin; beside_report asan; beside_report lint || exit 4`);
  assert.equal(code, 4);
  assert.match(printed, /^asan is well\ntook .*\nlint is wrong\ntook .*\n$/);
});

test('a run that ends early ends what runs next to it, and keeps its result', async (t) => {
  const lint = 'sh -c \'echo $$ >"$TMPDIR/pid.new"; mv "$TMPDIR/pid.new" "$TMPDIR/pid"; exec sleep 1000\'';
  const wait = 'export TMPDIR; until [ -f "$TMPDIR/pid" ]; do sleep 0.1; done; read -r made <"$TMPDIR/pid"; echo "$made"; exit 3';
  const { code, printed } = await runBeside(t, `export TMPDIR; ${lint}`, `beside_begin; ${wait}`);
  assert.equal(code, 3);
  const isThere = () => readFile(`/proc/${printed.trim()}/stat`, 'utf8').then((stat) => !/ Z /.test(stat), () => false);
  await waitUntil(async () => !(await isThere()), DEADLINE_MS);
});
