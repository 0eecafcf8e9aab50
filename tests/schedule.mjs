// Runs files of tests on several instances at once, each file alone on its instance, the longest first.
//
//   node tests/schedule.mjs [--test-name-pattern=TEXT] FILES...
//
// The first instance is the environment's; the environments of the others are files DEFT_TEST_INSTANCES/N, which appear
// when these are up (deploy/lib/trial.sh). Prints the output of a file when the file ends, whole; then for each suite
// (the file's folder) its failed tests and the sums of the runner's closing lines. Appends a line `RESULT SUITE SECONDS`
// to TMPDIR/suites for each suite, and `SECONDS FILE` to DEFT_TEST_TIMES for each file, as DEFT_TEST_TIMES_KNOWN holds
// those of earlier runs. Ends with 1 if a file failed.
// Decision: docs/decisions/0075-tests-on-several-instances.md
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const FILE_MAX_MS = Number(process.env.DEFT_TEST_FILE_MAX_MS ?? 900_000);
/** tests/deadline.mjs ends a file earlier, and reports what it waited for. */
const RUNNER_MAX_MS = FILE_MAX_MS + 60_000;
/** A file that takes longer keeps an instance busy when the others have ended. */
const FILE_SLOW_S = 60;
const LOOK_AGAIN_MS = 100;
const { DEFT_TEST_ITEMS: ITEMS, DEFT_TEST_TIMES: TIMES, DEFT_TEST_TIMES_KNOWN: KNOWN, DEFT_TEST_INSTANCES: INSTANCES, TMPDIR } = process.env;

/** `e2e/files.test.mjs` of `tests/e2e/files.test.mjs`, and `e2e` of both. */
const nameOf = (file) => file.replace(/^tests\//, '');
const suiteOf = (file) => nameOf(file).split('/')[0];

/** Seconds of each file's last run; files without one are estimated by their size. */
function expectedSeconds(files) {
  const known = new Map();
  if (existsSync(KNOWN)) {
    for (const line of readFileSync(KNOWN, 'utf8').split('\n')) known.set(line.slice(line.indexOf(' ') + 1), parseFloat(line));
  }
  return new Map(files.map((file) => [file, known.get(nameOf(file)) ?? statSync(file).size / 500]));
}

/** Splits a runner's report: the output, its closing lines as numbers, and the failed tests. */
function parseReport(text) {
  const [head, failures] = text.split(/^(?=✖ failing tests:)/m);
  const sums = {};
  const lines = head.split('\n').filter((line) => {
    const [, name, value] = /^ℹ (\w+) ([0-9.]+)$/.exec(line) ?? [];
    if (name !== undefined) sums[name] = (sums[name] ?? 0) + Number(value);
    return name === undefined;
  });
  return { head: lines.join('\n').trimEnd(), sums, failures };
}

function runFile(file, environment, options) {
  const items = join(ITEMS, `${nameOf(file).replaceAll('/', '-')}.items`);
  const runner = spawn(process.execPath, [
    '--test', '--import', './tests/deadline.mjs', '--test-reporter=spec', '--test-reporter-destination=stdout',
    '--test-reporter=./tests/conformance/reporter.mjs', `--test-reporter-destination=${items}`, ...options, file,
  ], { env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
  const pieces = [];
  for (const stream of [runner.stdout, runner.stderr]) stream.on('data', (piece) => pieces.push(piece));
  const timer = setTimeout(() => {
    pieces.push(Buffer.from(`The runner takes longer than ${RUNNER_MAX_MS} ms.\n`));
    runner.kill('SIGKILL');
  }, RUNNER_MAX_MS);
  return new Promise((resolve) => {
    runner.on('close', (code) => {
      clearTimeout(timer);
      resolve({ code, ...parseReport(Buffer.concat(pieces).toString()) });
    });
  });
}

async function runAndReport(file, instance, { options, results }) {
  const start = Date.now();
  const result = await runFile(file, instance.environment, options);
  const seconds = (Date.now() - start) / 1000;
  appendFileSync(TIMES, `${seconds.toFixed(1)} ${nameOf(file)}\n`);
  results.push({ file, seconds, ...result });
  process.stdout.write(`\n-- ${nameOf(file)}: ${result.code === 0 ? 'ok' : 'FAILED'}, ${seconds.toFixed(1)} s, instance ${instance.name}\n${result.head}\n`);
}

/** Takes files from the queue until it is empty. */
async function work(instance, queue, run) {
  for (let file = queue.shift(); file !== undefined; file = queue.shift()) await runAndReport(file, instance, run);
}

const parseEnvironment = (text) => Object.fromEntries(text.split('\0').filter((line) => line !== '').map((line) => {
  const at = line.indexOf('=');
  return [line.slice(0, at), line.slice(at + 1)];
}));

/** Gives work to each further instance as soon as it runs. */
async function workOnFurther(queue, run) {
  const workers = new Map();
  while (queue.length > 0) {
    for (const name of INSTANCES && existsSync(INSTANCES) ? readdirSync(INSTANCES) : []) {
      if (!/^\d+$/.test(name) || workers.has(name)) continue;
      const environment = { ...process.env, ...parseEnvironment(readFileSync(join(INSTANCES, name), 'utf8')) };
      workers.set(name, work({ name, environment }, queue, run));
    }
    await pause(LOOK_AGAIN_MS);
  }
  await Promise.all(workers.values());
}

function reportSuite(suite, results) {
  const sums = {};
  for (const result of results) {
    for (const [name, value] of Object.entries(result.sums)) sums[name] = (sums[name] ?? 0) + value;
  }
  const failed = results.filter(({ code }) => code !== 0);
  const seconds = Math.round(results.reduce((sum, result) => sum + result.seconds, 0));
  process.stdout.write(`\n== ${suite}\n`);
  for (const { failures } of failed) process.stdout.write(failures ?? '');
  for (const [name, value] of Object.entries(sums)) process.stdout.write(`ℹ ${name} ${value}\n`);
  for (const { file, seconds: taken } of results.filter((one) => one.seconds > FILE_SLOW_S)) {
    process.stdout.write(`slow: ${nameOf(file)} takes ${taken.toFixed(0)} s, more than ${FILE_SLOW_S}\n`);
  }
  if (failed.length > 0) process.stdout.write(`failed files: ${failed.map(({ file }) => nameOf(file)).join(', ')}\n`);
  process.stdout.write(`== ${suite}: ${failed.length === 0 ? 'ok' : 'FAILED'}, ${seconds} s in ${results.length} files\n`);
  appendFileSync(join(TMPDIR, 'suites'), `${failed.length === 0 ? 'ok' : 'FAILED'} ${suite} ${seconds}\n`);
}

const options = process.argv.slice(2).filter((one) => one.startsWith('-'));
const files = process.argv.slice(2).filter((one) => !one.startsWith('-'));
const expected = expectedSeconds(files);
const queue = [...files].sort((a, b) => expected.get(b) - expected.get(a));
const run = { options, results: [] };
const own = { name: '1', environment: process.env };

mkdirSync(ITEMS, { recursive: true });
await Promise.all([work(own, queue, run), workOnFurther(queue, run)]);
for (const suite of new Set(files.map(suiteOf))) reportSuite(suite, run.results.filter(({ file }) => suiteOf(file) === suite));
process.exit(run.results.every(({ code }) => code === 0) ? 0 : 1);
