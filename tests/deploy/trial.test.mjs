// What ./deft test starts: the Python SDK's installation, and instances; an interrupted one ends all of it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { waitUntil } from './http.mjs';

const DEADLINE_MS = 60_000;
const HOME = dirname(process.env.DEFT);

/* A trial without an instance: `up` does nothing, and the tests are a script that waits with a child of its own. */
const TRIAL = `
DEFT_HOME=$1
cd "$2"
for part in say tasks trial; do . "$DEFT_HOME/deploy/lib/$part.sh"; done
DEFT_BUILD=$2
DEFT_LOG=$2
DEFT_BUILD_KIND=checked
exec 3>&1 9>lock
port_find_free() { echo 1; }
trial_deft() { mkdir -p "$TRIAL_VAR/var"; echo "$@" >>commands; }
trial_environment() { :; }
trial_run waits
`;
const WAITS = `#!/bin/sh
sleep 1000 &
echo $$ $! >"$(dirname "$0")/../pids.new"
mv "$(dirname "$0")/../pids.new" "$(dirname "$0")/../pids"
wait
`;

const isThere = (pid) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

// An instance that is purged under another one's name leaves its sandboxes in the engine.
test('each instance of a trial is removed under its own name', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'deft-trial-test-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const deft = '#!/bin/sh\necho "$1 $DEFT_VAR ${DEFT_INSTANCE-derived} ${DEFT_RUN-derived}" >>"$DEFT_HOME/commands"\n';
  await writeFile(join(dir, 'deft'), deft, { mode: 0o755 });
  for (const name of ['1', '1/2', '1/3']) await mkdir(join(dir, name, 'var'), { recursive: true });
  const script = `for part in say tasks trial; do . "$1/deploy/lib/$part.sh"; done
    DEFT_HOME=$2 TRIAL_VAR=$2/1 TRIAL_BUILD=$2 TRIAL_APP_PORT=1 TRIAL_AGENT_PORT=2 DEFT_LOG=$2 DEFT_BUILD_KIND=checked
    export DEFT_HOME DEFT_INSTANCE=the-first DEFT_RUN=/run/the-first
    exec 3>&1 9>"$2/lock"
    trial_end 0`;
  const { DEFT_KEEP: _, ...env } = process.env;
  const trial = spawn('sh', ['-euc', script, 'sh', HOME, dir], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  assert.deepEqual(await once(trial, 'exit'), [0, null]);
  const commands = (await readFile(join(dir, 'commands'), 'utf8')).trim().split('\n').sort();
  assert.deepEqual(commands, ['1/2', '1/3', '1'].map((name) => `down ${dir}/${name}/var derived derived`));
  assert.ok(!existsSync(join(dir, '1')));
});

// Its installation takes minutes; a trial that needs it starts with it.
test('the Python SDK is installed for files that use it, and for all files', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'deft-trial-test-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  await mkdir(join(dir, 'src/tests/e2e'), { recursive: true });
  await writeFile(join(dir, 'src/tests/e2e/plain.test.mjs'), "import { call } from './support/api.mjs';\n");
  await writeFile(join(dir, 'src/tests/e2e/python.test.mjs'), "import { Sdk } from './support/sdk.mjs';\n");
  const script = '. "$1/deploy/lib/trial.sh"; DEFT_BUILD=$2; shift 2; trial_needs_sdk "$@"';
  const needs = async (...pattern) => {
    const shell = spawn('sh', ['-uc', script, 'sh', HOME, dir, ...pattern], { stdio: ['ignore', 'ignore', 'inherit'] });
    return (await once(shell, 'exit'))[0] === 0;
  };
  assert.deepEqual(
    await Promise.all([needs('e2e/plain'), needs('a name of a test'), needs('e2e/python'), needs('e2e'), needs('--all'), needs()]),
    [false, false, true, true, true, true],
  );
});

test('bench tasks without a model starts nothing, says what to set, and ends with 2', async () => {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('DEFT_TASKS_')));
  for (const own of [{}, { DEFT_TASKS_MODEL: 'anthropic/a' }, { DEFT_TASKS_API_KEY: 'k' }]) {
    const bench = spawn(process.env.DEFT, ['bench', 'tasks'], { env: { ...env, ...own }, stdio: ['ignore', 'pipe', 'pipe'] });
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr']) bench[name].on('data', (data) => { output[name] += data; });
    assert.deepEqual(await once(bench, 'close'), [2, null]);
    assert.equal(output.stdout, '');
    assert.match(output.stderr, /no model is set, so nothing was run\n.*DEFT_TASKS_MODEL .*DEFT_TASKS_API_KEY/);
  }
});

/* ./deft bench tasks without an instance: deft, and the tasks, are scripts that print their environment. */
const BENCH_TASKS = `
DEFT_HOME=$2 DEFT_LOG=$2 DEFT_BUILD=$2 DEFT_RUNTIME=docker DEFT_SANDBOX_IMAGE=deft-sandbox:1 DEFT_SANDBOX_BROWSER=0
for part in say tasks tree browser_image trial; do . "$1/deploy/lib/$part.sh"; done
for name in users_make users_prepare_var trial_ports trial_environment; do eval "$name() { :; }"; done
trial_packages() { env >"$DEFT_HOME/packages.env"; exec 9>"$DEFT_HOME/lock"; }
TRIAL_APP_PORT=1 TRIAL_AGENT_PORT=2
command_bench tasks c- --json
`;

test('the key of bench tasks is in the environment of the tasks only, and in no argument', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'deft-trial-test-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  await mkdir(join(dir, 'src/tests/tasks'), { recursive: true });
  await mkdir(join(dir, 'tests/tasks'), { recursive: true });
  await writeFile(join(dir, 'deft'), '#!/bin/sh\nenv >>"$DEFT_HOME/deft.env"\n', { mode: 0o755 });
  const script = '#!/bin/sh\nenv >"$DEFT_HOME/tasks.env"\necho "$@"\ntr "\\0" " " </proc/$$/cmdline\n';
  for (const folder of ['src/tests/tasks', 'tests/tasks']) await writeFile(join(dir, folder, 'run'), script, { mode: 0o755 });
  const { DEFT_KEEP: _, DEFT_TRIAL: __, ...env } = process.env;
  const own = { DEFT_TASKS_MODEL: 'anthropic/a', DEFT_TASKS_API_KEY: 'a-secret-key', DEFT_HOME: dir };
  const bench = spawn('sh', ['-euc', BENCH_TASKS, 'sh', HOME, dir], { env: { ...env, ...own }, stdio: ['ignore', 'pipe', 'inherit'] });
  let stdout = '';
  bench.stdout.on('data', (data) => { stdout += data; });
  assert.deepEqual(await once(bench, 'close'), [0, null]);
  assert.match(stdout, /^c- --json\n/);
  assert.ok(!stdout.includes('a-secret-key'), 'no argument');
  const [tasksEnv, deftEnv, packagesEnv] = await Promise.all(['tasks', 'deft', 'packages'].map((name) => readFile(join(dir, `${name}.env`), 'utf8')));
  assert.match(tasksEnv, /^DEFT_TASKS_API_KEY=a-secret-key$/m);
  assert.match(tasksEnv, /^DEFT_SANDBOX_BROWSER=1$/m);
  assert.match(deftEnv, /^DEFT_SANDBOX_IMAGE=deft-sandbox-browser:1$/m);
  for (const other of [deftEnv, packagesEnv]) assert.ok(!other.includes('a-secret-key'));
});

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  test(`tests end with their trial on ${signal}`, async (t) => {
    const dir = await mkdtemp(join(tmpdir(), 'deft-trial-test-'));
    t.after(() => rm(dir, { recursive: true, force: true }));
    await mkdir(join(dir, 'src'));
    await writeFile(join(dir, 'src', 'waits'), WAITS, { mode: 0o755 });
    const { DEFT_KEEP: _, ...env } = process.env; // who keeps this run does not mean those of its tests
    const trial = spawn('sh', ['-euc', TRIAL, 'sh', HOME, dir], { env, stdio: ['ignore', 'ignore', 'inherit'] });
    t.after(() => trial.kill('SIGKILL'));
    const ended = once(trial, 'exit');
    await waitUntil(() => existsSync(join(dir, 'pids')), DEADLINE_MS);
    const pids = (await readFile(join(dir, 'pids'), 'utf8')).trim().split(' ').map(Number);
    assert.ok(pids.every(isThere));
    trial.kill(signal);
    assert.deepEqual(await ended, [130, null]);
    await waitUntil(() => !pids.some(isThere), DEADLINE_MS);
    assert.equal(await readFile(join(dir, 'commands'), 'utf8'), 'up\ndown --purge --yes\n');
  });
}
