// Runs the figures, one after the other: machines are small, and a figure must not disturb the next.
import { action } from './figures/action.mjs';
import { append } from './figures/append.mjs';
import { burst } from './figures/burst.mjs';
import { coldStart } from './figures/cold_start.mjs';
import { firstEvent } from './figures/first_event.mjs';
import { firstShell } from './figures/first_shell.mjs';
import { fleet } from './figures/fleet.mjs';
import { history } from './figures/history.mjs';
import { idle } from './figures/idle.mjs';
import { list } from './figures/list.mjs';
import { load } from './figures/load.mjs';
import { messages } from './figures/messages.mjs';
import { page } from './figures/page.mjs';
import { parked } from './figures/parked.mjs';
import { pause } from './figures/pause.mjs';
import { sockets } from './figures/sockets.mjs';
import { steps } from './figures/steps.mjs';
import { warmClaim } from './figures/warm_claim.mjs';
import { run } from './support.mjs';

// Each gives lines {figure, value, unit, baseline, goal, ok}. `idle` comes first: nothing has run yet.
const FIGURES = { idle, first_event: firstEvent, first_shell: firstShell, warm_claim: warmClaim, cold_start: coldStart, pause, action, burst, append, page, list, sockets, parked, steps, messages, history, fleet, load };

const wanted = process.argv.slice(2).find((argument) => !argument.startsWith('--')) ?? '';
const asJson = process.argv.includes('--json');

const number = (value) => (value === null ? '-' : value.toPrecision(3).replace(/\.?0+$/, (zeros) => (zeros.startsWith('.') ? '' : zeros)));

function show(line) {
  if (asJson) {
    console.log(JSON.stringify(line));
    return;
  }
  const { figure, value, unit, baseline, goal, ok } = line;
  console.log(`${ok ? 'ok  ' : 'MISS'} ${figure.padEnd(34)} ${number(value).padStart(8)} ${unit.padEnd(10)} goal ${goal.padEnd(10)} baseline ${number(baseline)}`);
}

let allMet = true;
const names = Object.keys(FIGURES).filter((name) => name.includes(wanted));
if (names.length === 0) {
  console.error(`no figure is named like '${wanted}': ${Object.keys(FIGURES).join(', ')}`);
  process.exit(2);
}
for (const name of names) {
  try {
    // Data that earlier steps left unwritten would slow down the commits measured here.
    await run('sync');
    for (const line of await FIGURES[name]()) {
      show(line);
      allMet &&= line.ok;
    }
  } catch (error) {
    console.error(`${name}: ${error.stack}`);
    allMet = false;
  }
}
process.exit(allMet ? 0 : 1);
