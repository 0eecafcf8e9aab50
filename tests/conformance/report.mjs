// The report on the checklists: passed, failed and missing items of each document.
//
//   node tests/conformance/report.mjs [--brief] FOLDER    FOLDER holds *.items, written by reporter.mjs
//
// --brief prints one line for each document; otherwise the items that failed, are missing or partial follow by name.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const LISTS = dirname(fileURLToPath(import.meta.url));

/** {name, items: Map number → title} of each list next to this file. */
export function readLists(folder = LISTS) {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.txt'))
    .sort()
    .map((file) => ({ name: file.slice(0, -'.txt'.length), items: parseList(readFileSync(join(folder, file), 'utf8')) }));
}

export function parseList(text) {
  const items = new Map();
  for (const line of text.split('\n').filter((one) => one !== '' && !one.startsWith('#'))) {
    const [, number, title] = /^(\d+) (.+)$/.exec(line) ?? [];
    if (number === undefined || items.has(Number(number))) throw new Error(`not an item: ${line}`);
    items.set(Number(number), title);
  }
  return items;
}

/** The lines that the reporter wrote. */
export function readResults(folder) {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.items'))
    .flatMap((file) => readFileSync(join(folder, file), 'utf8').split('\n'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

/**
 * An item failed when one of its tests did, passed when one passed and none failed; otherwise it is missing. An item
 * that passed is partial if another of its tests was skipped.
 */
export function judge({ name, items }, results) {
  const own = results.filter(({ document }) => document === name);
  const with_ = (result) => new Set(own.filter((one) => one.result === result).map(({ number }) => number));
  const failed = with_('failed');
  const passed = with_('passed');
  const skipped = with_('skipped');
  const numbers = [...items.keys()];
  return {
    passed: numbers.filter((number) => passed.has(number) && !failed.has(number)),
    failed: numbers.filter((number) => failed.has(number)),
    missing: numbers.filter((number) => !passed.has(number) && !failed.has(number)),
    partial: numbers.filter((number) => passed.has(number) && !failed.has(number) && skipped.has(number)),
    unknown: [...new Set(own.map(({ number }) => number))].filter((number) => !items.has(number)),
  };
}

/** "1-3, 7" */
export function ranges(numbers) {
  const runs = [];
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last !== undefined && last[1] === number - 1) last[1] = number;
    else runs.push([number, number]);
  }
  return runs.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(', ');
}

function summaryOf(list, verdict) {
  const parts = [`${verdict.passed.length} of ${list.items.size} passed`];
  for (const what of ['failed', 'missing', 'partial', 'unknown']) {
    if (verdict[what].length > 0) parts.push(`${verdict[what].length} ${what} (${ranges(verdict[what])})`);
  }
  return `conformance: ${list.name}: ${parts.join(', ')}`;
}

function detailsOf(list, verdict) {
  return ['failed', 'missing', 'partial'].flatMap((what) => verdict[what].map((number) => `  ${what} ${number}: ${list.items.get(number)}`));
}

function main() {
  const [folder] = process.argv.slice(2).filter((argument) => argument !== '--brief');
  const results = readResults(folder);
  let isGood = true;
  for (const list of readLists()) {
    const verdict = judge(list, results);
    console.log(summaryOf(list, verdict));
    if (!process.argv.includes('--brief')) {
      console.log(`  passed ${ranges(verdict.passed) || 'none'}`);
      for (const line of detailsOf(list, verdict)) console.log(line);
    }
    isGood &&= verdict.failed.length === 0 && verdict.unknown.length === 0;
  }
  process.exitCode = isGood ? 0 : 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
