// POST /start at the Runtime API → a running sandbox, when one waits: the claim of a row and the handing over of the key.
// Baseline: the same percentile of small writes to the disk in the meantime; a claim waits for two of them.
import { randomUUID } from 'node:crypto';
import { watchDisk } from '../disk.mjs';
import { closeRuntimeApi, forget, waitUntil } from '../runtime_api.mjs';
import { nMaking, nWaiting, setWarm, startSandbox } from '../sandboxes.mjs';
import { percentile, psql } from '../support.mjs';

const ROUNDS = 60;
const WAITING = 2;

async function claim() {
  const [waiting] = (await psql('SELECT id FROM warm_sandboxes WHERE is_ready ORDER BY created_at LIMIT 1')).split('\n');
  const { ms, runtime } = await startSandbox(`bench-${randomUUID()}`);
  if (runtime.runtime_id !== waiting.trim()) throw new Error(`no warm start: ${JSON.stringify(runtime)}`);
  return { ms, id: runtime.runtime_id };
}

async function claims() {
  const times = [];
  for (let round = -1; round < ROUNDS; round++) {
    await waitUntil(async () => (await nWaiting()) === WAITING && (await nMaking()) === 0, `${WAITING} sandboxes wait`);
    const { ms, id } = await claim();
    await forget(id);
    if (round >= 0) times.push(ms); // the first one warms caches
  }
  return times;
}

// One claim at a time, and none while another sandbox is being made or removed: the pool is full again before each.
export async function warmClaim() {
  await setWarm(WAITING);
  const disk = watchDisk();
  try {
    const times = await claims();
    const writes = await disk.stop();
    const line = (p, goal) => {
      const value = percentile(times, p);
      return { figure: `warm_claim_p${p}`, value, unit: 'ms', baseline: percentile(writes, p), goal: `<= ${goal}`, ok: value <= goal };
    };
    return [line(50, 20), line(99, 100)];
  } finally {
    await disk.stop();
    closeRuntimeApi();
    await setWarm(undefined);
  }
}
