// The report on the checklists: its counts, and the results that it reads.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { judge, parseList, ranges, readLists, readResults } from './report.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));

test('each list contains all items of its document', () => {
  const numbers = Object.fromEntries(readLists().map(({ name, items }) => [name, [...items.keys()]]));
  const upTo = (length) => Array.from({ length }, (_, i) => i + 1);
  assert.deepEqual(numbers, { 'agent-loop': upTo(52), 'agent-server': upTo(104), runtime: upTo(74) });
});

test('a list with an item twice, or with a line of another form, is refused', () => {
  assert.throws(() => parseList('1 one\n1 again\n'), /not an item: 1 again/);
  assert.throws(() => parseList('one\n'), /not an item: one/);
});

test('numbers are printed as ranges', () => {
  assert.equal(ranges([1, 2, 3, 7, 9, 10]), '1-3, 7, 9-10');
  assert.equal(ranges([]), '');
});

test('one failure outweighs any pass, and a skipped test counts as missing, or next to a pass as partial', () => {
  const list = { name: 'x', items: parseList('1 a\n2 b\n3 c\n') };
  const result = (number, what) => ({ document: 'x', number, result: what });
  const verdict = judge(list, [result(1, 'passed'), result(1, 'failed'), result(2, 'passed'), result(2, 'skipped'), result(3, 'skipped'), result(9, 'passed'), { document: 'y', number: 2, result: 'failed' }]);
  assert.deepEqual(verdict, { passed: [2], failed: [1], missing: [3], partial: [2], unknown: [9] });
});

test('the reporter records the test runner\'s results', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'conformance-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'sample.test.mjs');
  writeFileSync(
    file,
    `import { describe, it, test } from 'node:test';
    test('x 1: good', () => {});
    test('x 2: later', { todo: true }, () => { throw new Error('not yet'); });
    test('x 3, 5: left out', { skip: 'why' }, () => {});
    test('no item', () => {});
    describe('group', () => { it('x 4: inner', () => {}); });`,
  );
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  execFileSync(process.execPath, ['--test', `--test-reporter=${join(HERE, 'reporter.mjs')}`, `--test-reporter-destination=${join(folder, 'run.items')}`, file], { env });
  assert.deepEqual(
    readResults(folder).map(({ number, result }) => [number, result]),
    [[1, 'passed'], [2, 'skipped'], [3, 'skipped'], [5, 'skipped'], [4, 'passed']],
  );
});
