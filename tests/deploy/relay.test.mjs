// deft-relay between a process and its logger: a logger that waits for its disk does not block the process.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { within } from '../e2e/support/wait.mjs';

const { DEFT_BIN, DEFT_SERVICES } = process.env;
const RELAY = `${DEFT_BIN}/deft-relay`;

/** A relay whose command copies its input to its output; with `waits` only once `release()` is called. */
function relay(t, { waits = false } = {}) {
  const script = waits ? 'read -r go <&3 && exec cat' : 'exec cat';
  const child = spawn(RELAY, ['sh', '-c', script], { stdio: ['pipe', 'pipe', 'inherit', 'pipe'] });
  t.after(() => child.kill('SIGKILL'));
  const chunks = [];
  child.stdout.on('data', (chunk) => chunks.push(chunk));
  return {
    child,
    release: () => child.stdio[3].write('go\n'),
    write: (text) => new Promise((resolve, reject) => child.stdin.write(text, (error) => (error ? reject(error) : resolve()))),
    async end() {
      child.stdin.end();
      await within(once(child, 'close'), 'the relay ends');
      return Buffer.concat(chunks).toString();
    },
  };
}

test('lines are passed on unchanged, also a last one without a newline', async (t) => {
  const { write, end } = relay(t);
  const lines = Array.from({ length: 1000 }, (_, n) => `line ${n} ${'x'.repeat(n)}\n`).join('');
  await write(lines);
  await write('half');
  await write(' a line');
  assert.ok((await end()) === `${lines}half a line`);
});

test('a blocked logger does not block writers, and is told how many lines were dropped', async (t) => {
  const { write, release, end } = relay(t, { waits: true });
  const total = 50_000;
  for (let n = 0; n < total; n += 1000) {
    const part = Array.from({ length: 1000 }, (_, i) => `line ${n + i} ${'x'.repeat(80)}\n`).join('');
    await within(write(part), 'the relay takes the lines');
  }
  await within(write(`${'y'.repeat(200_000)}\n`), 'the relay takes a line that is longer than it can keep');
  release();
  const lines = (await end()).trimEnd().split('\n');
  const kept = lines.filter((line) => /^line \d+ x{80}$/.test(line)).length;
  const notes = lines.map((line) => /^deft-relay: (\d+) lines dropped/.exec(line)).filter(Boolean);
  assert.ok(kept > 0 && kept < total, `${kept} kept`);
  assert.equal(kept + notes.length, lines.length, 'whole lines only');
  assert.equal(kept + notes.reduce((sum, note) => sum + Number(note[1]), 0), total + 1);
});

test('a relay ends with its logger, so that both are restarted', async (t) => {
  const child = spawn(RELAY, ['true'], { stdio: ['pipe', 'ignore', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  child.stdin.on('error', () => {});
  const [code] = await within(once(child, 'exit'), 'the relay ends');
  assert.equal(code, 0);
});

test('every process logs through the relay', async () => {
  for (const name of ['nginx', 'gateway', 'fcgi', 'worker', 'runtime', 'resolver', 'postgres']) {
    assert.match(await readFile(`${DEFT_SERVICES}/${name}/log/run`, 'utf8'), /deft-relay svlogd/, name);
  }
});
