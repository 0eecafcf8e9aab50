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
