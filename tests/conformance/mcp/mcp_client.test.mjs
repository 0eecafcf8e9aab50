// The Model Context Protocol's own conformance suite, on deft as a client: for each scenario the suite starts a server,
// runs client.mjs with the server's address, and judges what the server was sent.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { DEADLINE_MS } from '../../e2e/support/instance.mjs';
import { DIFFERENCES } from './differences.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
// The suite needs it; Node 18 has it behind a flag.
const FLAGS = globalThis.crypto === undefined ? ['--experimental-global-webcrypto'] : [];
const PROGRAM = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/dist/index.js');

/** Runs the suite's program; resolves with what it printed, whatever its status is. */
function suite(...args) {
  const env = { ...process.env };
  delete env.NODE_TEST_CONTEXT;
  return new Promise((resolve) => {
    execFile(process.execPath, [...FLAGS, '--import', join(HERE, 'load.mjs'), PROGRAM, ...args], { env }, (_, stdout, stderr) => resolve(stdout + stderr));
  });
}

async function scenarios() {
  const printed = await suite('list', '--client');
  const names = [...printed.matchAll(/^ {2}- (\S+) \[/gm)].map(([, name]) => name);
  assert.ok(names.length >= 26, printed);
  return names;
}

/** How late a client reconnects depends on the machine's load; it must not be early. */
const isOnlyLate = ({ id, details }) => id === 'client-sse-retry-timing' && details?.tooEarly === false;

/** What the suite objects to, as texts. */
async function objections(t, scenario) {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-conformance-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const command = `${process.execPath} ${join(HERE, 'client.mjs')}`;
  const printed = await suite('client', '--scenario', scenario, '--command', command, '--output-dir', folder, '--timeout', String(DEADLINE_MS));
  const [results] = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('checks.json'));
  assert.ok(results, printed);
  const checks = JSON.parse(readFileSync(join(folder, results), 'utf8'));
  assert.ok(checks.some(({ status }) => status !== 'INFO'), printed);
  const ended = /^(Client exited with code .*|Client timed out .*)$/m.exec(printed)?.[1];
  // The suite does not mind if the client of these ends with an error.
  const mayEnd = ['auth/resource-mismatch', 'auth/scope-retry-limit'].includes(scenario) && ended?.startsWith('Client exited');
  return [
    ...checks.filter((check) => ['FAILURE', 'WARNING'].includes(check.status) && !isOnlyLate(check)).map(({ id, description, errorMessage }) => `${id}: ${errorMessage ?? description}`),
    ...(ended === undefined || mayEnd ? [] : [`${ended}\n${printed}`]),
  ];
}

const names = await scenarios();

test('each scenario that is listed as a difference exists', () => {
  assert.deepEqual(Object.keys(DIFFERENCES).filter((name) => !names.includes(name)), []);
});

describe('the protocol\'s conformance suite', { concurrency: 3 }, () => {
  for (const name of names) {
    test(name, async (t) => {
      const found = await objections(t, name);
      for (const words of found) t.diagnostic(words.split('\n')[0]);
      const difference = DIFFERENCES[name];
      if (difference === undefined) return assert.deepEqual(found, []);
      assert.notDeepEqual(found, [], `it passes, so it is no difference any more: ${difference.why}`);
      return assert.ok(found.some((words) => difference.said.test(words)), found.join('\n'));
    });
  }
});
