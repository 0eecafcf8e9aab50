// What tests/run does beside the suites: the result of the tests stays theirs, and nothing outlives them.
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

/** Runs a script as tests/run would, with a `make` of the test's; gives its code and what it printed. */
const runBeside = async (t, make, script) => {
  const dir = await mkdtemp(join(tmpdir(), 'deft-beside-test-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const text = `TMPDIR=$1 BUILD=$1; make() { ${make}; }; . "$2/tests/beside.sh"; beside_begin; ${script}`;
  const shell = spawn('sh', ['-euc', text, 'sh', dir, HOME], { stdio: ['ignore', 'pipe', 'inherit'] });
  let printed = '';
  shell.stdout.on('data', (piece) => (printed += piece));
  const [code] = await within(once(shell, 'close'), 'the run ends');
  return { dir, code, printed };
};

test('a run whose tests are green ends with 0, though nothing is at work beside it any more', async (t) => {
  const { code, printed } = await runBeside(t, 'echo "made $*"', 'beside_report lint');
  assert.equal(code, 0);
  assert.match(printed, /^made .* lint\ntook [0-9]+ s/);
});

test('what failed beside the suites fails in its own suite, with its words', async (t) => {
  const { code, printed } = await runBeside(t, 'echo "line 7: wrong"; return 2', 'beside_report lint || echo "result $?"');
  assert.equal(code, 0);
  assert.match(printed, /^line 7: wrong\n(.*\n)*result 2\n$/);
});

test('a run that ends early ends what is at work beside it, and keeps its result', async (t) => {
  const make = 'sh -c \'echo $$ >"$TMPDIR/pid.new"; mv "$TMPDIR/pid.new" "$TMPDIR/pid"; exec sleep 1000\'';
  const wait = 'export TMPDIR; until [ -f "$TMPDIR/pid" ]; do sleep 0.1; done; read -r made <"$TMPDIR/pid"; echo "$made"; exit 3';
  const { code, printed } = await runBeside(t, `export TMPDIR; ${make}`, wait);
  assert.equal(code, 3);
  const isThere = () => readFile(`/proc/${printed.trim()}/stat`, 'utf8').then((stat) => !/ Z /.test(stat), () => false);
  await waitUntil(async () => !(await isThere()), DEADLINE_MS);
});
