// deft's own processes: found by their supervisor's pid files, never by name.
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { call } from './api.mjs';
import { APP_URL, BIN, DEADLINE_MS, SERVICES } from './instance.mjs';
import { waitUntil, within } from './wait.mjs';

const ALL_BUT_THE_DATABASE = ['nginx', 'fcgi', 'gateway', 'worker', 'runtime'];

/** The pid of a process of the instance, or null while it is down. */
export function pidOf(name) {
  const text = readFileSync(join(SERVICES, name, 'supervise', 'pid'), 'utf8').trim();
  return text === '' ? null : Number(text);
}

/** Sends a signal and returns the pid that got it. */
export function signal(name, which) {
  const pid = pidOf(name);
  if (pid === null) throw new Error(`${name} is down`);
  process.kill(pid, which);
  return pid;
}

async function replaceProcess(name) {
  const old = signal(name, 'SIGKILL');
  return waitUntil(() => {
    const pid = pidOf(name);
    return pid !== null && pid !== old && pid;
  }, `${name} is started again`);
}

/** What shows that requests to a process are answered; the others take no requests of clients. */
const PROBES = {
  fcgi: '/ready', nginx: '/ready', postgres: '/ready', gateway: '/agent/sockets/events/none', runtime: '/runtime-api/list',
};

/** Resolves once the process answers requests, where it has clients: its supervisor knows no more than that it runs. */
export async function answers(name) {
  const path = PROBES[name];
  const isAnswered = () => call('GET', path, { url: APP_URL, key: null }).then(({ status }) => status < 500, () => false);
  if (path !== undefined) await waitUntil(isAnswered, `${name} answers`);
}

/** Kills a process and waits until its supervisor has restarted it and it answers. */
export async function killAndAwait(name) {
  const pid = await replaceProcess(name);
  await answers(name);
  return pid;
}

/** Kills every process of deft except the database at the same moment, and waits until each is restarted. */
export async function killEverything() {
  const old = ALL_BUT_THE_DATABASE.map((name) => [name, signal(name, 'SIGKILL')]);
  await waitUntil(() => old.every(([name, pid]) => pidOf(name) !== null && pidOf(name) !== pid), 'everything is started again');
  await Promise.all(ALL_BUT_THE_DATABASE.map(answers));
}

/** True once the supervisor's child has read its settings and become the program itself. */
function isItself(name) {
  try {
    return readlinkSync(`/proc/${pidOf(name)}/exe`).startsWith(BIN);
  } catch {
    return false; // it ended just now
  }
}

/** Restarts a process with additional settings, for that start only. It may not answer yet, or end with its first answer. */
export async function restartWith(name, settings) {
  const files = Object.entries(settings).map(([setting, value]) => [join(SERVICES, name, 'env', setting), value]);
  for (const [file, value] of files) writeFileSync(file, value);
  try {
    await replaceProcess(name);
    await waitUntil(() => isItself(name), `${name} has read its settings`);
    return pidOf(name);
  } finally {
    for (const [file] of files) rmSync(file);
  }
}

/** For one test: a gateway that closes sockets which accept no data for this time. */
export async function withSlowLimit(t, ms) {
  await restartWith('gateway', { DEFT_GATEWAY_SLOW_MS: String(ms) });
  t.after(() => killAndAwait('gateway'));
  await answers('gateway');
}

export function stop(name) {
  execFileSync('sv', ['-w', '60', 'down', join(SERVICES, name)]);
}

export async function start(name) {
  execFileSync('sv', ['-w', '60', 'up', join(SERVICES, name)]);
  await answers(name);
}

/** The lines of a process's log, of all its files: it may begin a new one at any time. */
export function logOf(name) {
  const folder = join(process.env.DEFT_LOG, name);
  return readdirSync(folder).sort().flatMap((file) => readFileSync(join(folder, file), 'utf8').split('\n'));
}

/** Proportional memory of a process in bytes. */
export function memoryOf(pid) {
  const line = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8').split('\n').find((one) => one.startsWith('Pss:'));
  return Number(/\d+/.exec(line)[0]) * 1024;
}

/** A worker of the test, in addition to or instead of the supervised one. */
export class Worker {
  constructor(settings = {}) {
    this.log = '';
    const user = process.getuid() === 0 ? ['setpriv', '--reuid=deft-worker', '--regid=deft-worker', '--groups=deft,deft-runtime'] : [];
    const own = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
    this.child = spawn('chpst', ['-e', join(SERVICES, 'worker', 'env'), 'env', ...own, ...user, join(BIN, 'deft-worker')], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream.on('data', (chunk) => {
        this.log += chunk;
      });
    }
    this.ended = new Promise((resolve) => this.child.once('close', (code, by) => resolve({ code, signal: by, at: Date.now() })));
  }

  /** Resolves once the worker looks for work. */
  static async start(settings = {}) {
    const worker = new Worker(settings);
    await waitUntil(() => {
      if (worker.log.includes('worker.started')) return true; // one with a crash point may have ended since
      if (worker.child.exitCode !== null) throw new Error(`the worker ended at once: ${worker.log}`);
      return false;
    }, 'the worker starts', DEADLINE_MS);
    return worker;
  }

  /** The conversations of the log's entries for one of these events, in order. */
  #named(...events) {
    const lines = this.log.split('\n').filter((line) => events.some((event) => line.includes(`"${event}"`)));
    return lines.map((line) => JSON.parse(line).conversation_id);
  }

  /** The conversations that this worker claimed, in order. */
  claimed() {
    return this.#named('run.claimed');
  }

  /** The conversations whose lease ended before their run did, as after a stall of the machine. */
  lost() {
    return this.#named('lease.lost', 'run.aborted');
  }

  signal(which) {
    this.child.kill(which);
  }

  async stop(which = 'SIGTERM') {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill(which);
    return within(this.ended, `the worker ends by ${which}`);
  }
}
