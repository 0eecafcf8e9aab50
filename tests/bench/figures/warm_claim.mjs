// POST /start at the Runtime API → a running sandbox, when one waits: the claim of a row and the handing over of the key.
import { randomUUID } from 'node:crypto';
import { closeRuntimeApi, forget, waitUntil } from '../runtime_api.mjs';
import { nMaking, nWaiting, startSandbox } from '../sandboxes.mjs';
import { percentile, psql } from '../support.mjs';

const ROUNDS = 60;

async function claim() {
  const [waiting] = (await psql('SELECT id FROM warm_sandboxes WHERE is_ready ORDER BY created_at LIMIT 1')).split('\n');
  const { ms, runtime } = await startSandbox(`bench-${randomUUID()}`);
  if (runtime.runtime_id !== waiting.trim()) throw new Error(`no warm start: ${JSON.stringify(runtime)}`);
  return { ms, id: runtime.runtime_id };
}

// One claim at a time, and none while another sandbox is being made or removed.
export async function warmClaim() {
  const times = [];
  for (let round = -1; round < ROUNDS; round++) {
    await waitUntil(async () => (await nWaiting()) > 0 && (await nMaking()) === 0, 'a sandbox waits');
    const { ms, id } = await claim();
    await forget(id);
    if (round >= 0) times.push(ms); // the first one warms caches
  }
  closeRuntimeApi();
  const line = (p, goal) => {
    const value = percentile(times, p);
    return { figure: `warm_claim_p${p}`, value, unit: 'ms', baseline: null, goal: `<= ${goal}`, ok: value <= goal };
  };
  return [line(50, 20), line(99, 100)];
}
