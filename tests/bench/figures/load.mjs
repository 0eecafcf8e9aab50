// Memory that load leaves behind: the suites of the agent server's checklist run again and again, four files at a time,
// for DEFT_BENCH_LOAD_MINUTES; then the private memory of each process. Whether their tests pass is ./deft test's concern.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { pidOf, privateKb, run } from '../support.mjs';

const MINUTES = Number(process.env.DEFT_BENCH_LOAD_MINUTES ?? 8);
const GOAL_MB = 32;
const PROCESSES = ['fcgi', 'gateway', 'worker'];
const SUITES = 'tests/e2e';
const HAS_ITEM = /^\s*(test|it)\(\s*['"`]agent-server [\d$]/m;
// A process that a test starts anew forgets what it kept; the SDK needs a Python of its own.
const LEFT_OUT = /support\/(processes|sdk)\.mjs/;

function suites() {
  const files = readdirSync(SUITES).filter((name) => name.endsWith('.test.mjs')).map((name) => `${SUITES}/${name}`);
  return files.filter((file) => {
    const text = readFileSync(file, 'utf8');
    return HAS_ITEM.test(text) && !LEFT_OUT.test(text);
  });
}

async function runSuites(files) {
  const child = spawn('node', ['--test', '--test-concurrency=4', '--test-reporter=dot', ...files], { stdio: 'ignore' });
  await once(child, 'exit');
}

const privateMb = (pids) => pids.map((pid) => privateKb(pid) / 1024);

export async function load() {
  if (!existsSync('tests/node_modules')) await run('npm', ['--prefix', 'tests', 'ci', '--no-audit', '--no-fund', '--loglevel=error']);
  const files = suites();
  const pids = PROCESSES.map(pidOf);
  const end = performance.now() + MINUTES * 60000;
  const rounds = [];
  while (performance.now() < end || rounds.length < 2) {
    await runSuites(files);
    rounds.push(privateMb(pids));
    console.error(`load: round ${rounds.length} of ${files.length} suites, ${PROCESSES.map((name, i) => `${name} ${rounds.at(-1)[i].toFixed(1)} MB`).join(', ')}`);
  }
  if (PROCESSES.some((name, i) => pidOf(name) !== pids[i])) throw new Error('a process was started anew under load');
  const halfway = rounds[Math.ceil(rounds.length / 2) - 1];
  return PROCESSES.map((name, i) => {
    const value = rounds.at(-1)[i];
    return { figure: `${name}_memory_after_load`, value, unit: 'MB', baseline: halfway[i], goal: `<= ${GOAL_MB}`, ok: value <= GOAL_MB };
  });
}
