// Runs the tasks, a few at a time, and prints a line for each, then the totals.
//
//   node tests/tasks/tasks.mjs [TASK] [--json]
//
// Exit status: 0 all were solved, 1 some were not, 2 nothing could be run.
import { readSettings } from './settings.mjs';
import { readTasks } from './task_list.mjs';
import { runTask } from './task_run.mjs';
import { showResult, showTotals, sumUp } from './task_report.mjs';

const part = process.argv.slice(2).find((argument) => !argument.startsWith('--')) ?? '';
const asJson = process.argv.includes('--json');

function refuse(message) {
  console.error(message);
  process.exit(2);
}

function settingsOrRefuse() {
  try {
    return readSettings(process.env);
  } catch (error) {
    return refuse(`deft: ${error.message}`);
  }
}

const settings = settingsOrRefuse();
const all = readTasks();
const queue = all.filter(({ name }) => name.includes(part));
if (queue.length === 0) refuse(`deft: no task is named like '${part}': ${all.map(({ name }) => name).join(', ')}`);

const results = [];

async function work() {
  for (let task = queue.shift(); task !== undefined; task = queue.shift()) {
    const result = await runTask(task, settings);
    results.push(result);
    console.log(asJson ? JSON.stringify(result) : showResult(result));
  }
}

const began = performance.now();
await Promise.all(Array.from({ length: settings.atOnce }, work));
const totals = sumUp(results, (performance.now() - began) / 1000);
console.log(asJson ? JSON.stringify(totals) : showTotals(totals, settings.model));
process.exit(totals.solved + totals.skipped === totals.tasks && totals.solved > 0 ? 0 : 1);
