// Idle memory of deft's own processes, before anything has run: proportional set size.
import { pidOf, pssKb } from '../support.mjs';

const PROCESSES = ['fcgi', 'gateway', 'worker', 'runtime', 'resolver'];

export async function idle() {
  const mb = PROCESSES.map((name) => pssKb(pidOf(name))).reduce((a, b) => a + b, 0) / 1024;
  return [{ figure: 'idle_memory', value: mb, unit: 'MB', baseline: null, goal: '<= 40', ok: mb <= 40 }];
}
