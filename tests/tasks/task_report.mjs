// Results of tasks as lines.

const MARKS = { solved: 'ok  ', failed: 'FAIL', skipped: 'skip', broken: 'BAD ' };

/** Dollars; models without a known price cost nothing that could be said. */
const dollars = (cost) => (cost > 0 ? `$${cost.toFixed(cost < 1 ? 4 : 2)}` : '-');

const duration = (seconds) => (seconds < 120 ? `${seconds.toFixed(0)} s` : `${(seconds / 60).toFixed(1)} min`);

const figures = ({ steps, tokens, cost, seconds }) =>
  `${String(steps).padStart(4)} steps ${tokens.toLocaleString('en').padStart(11)} tokens ${dollars(cost).padStart(8)} ${duration(seconds).padStart(9)}`;

export function showResult(result) {
  const head = `${MARKS[result.state]} ${result.task.padEnd(20)} ${figures(result)}`;
  return result.why === '' ? head : `${head}  ${result.why}`;
}

/** {tasks, solved, failed, skipped, broken, steps, tokens, cost, seconds}; seconds: of all, as they ran at once. */
export function sumUp(results, seconds) {
  const nOf = (state) => results.filter((result) => result.state === state).length;
  const sum = (key) => results.reduce((total, result) => total + result[key], 0);
  return {
    tasks: results.length, solved: nOf('solved'), failed: nOf('failed'), skipped: nOf('skipped'), broken: nOf('broken'),
    steps: sum('steps'), tokens: sum('tokens'), cost: sum('cost'), seconds,
  };
}

export function showTotals(totals, model) {
  const others = ['failed', 'skipped', 'broken'].filter((state) => totals[state] > 0).map((state) => `, ${totals[state]} ${state}`);
  return `${totals.solved} of ${totals.tasks} solved by ${model}${others.join('')}: ${figures(totals).trim().replace(/ +/g, ' ')}`;
}
