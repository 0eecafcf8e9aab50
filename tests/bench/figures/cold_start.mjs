// POST /start at the Runtime API → a running sandbox when none waits, against the engine's bare create and start
// of the same container. Rounds alternate.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { closeRuntimeApi, forget } from '../runtime_api.mjs';
import { bareStart, containerOf, setWarm, startSandbox } from '../sandboxes.mjs';
import { median } from '../support.mjs';

const ROUNDS = 20;
// After a start, networks and workspaces are created in advance; the next measurement waits for that.
const REFILL_MS = 1500;

export async function coldStart() {
  const ours = [];
  const theirs = [];
  await setWarm(0);
  try {
    for (let round = -1; round < ROUNDS; round++) {
      const { ms, runtime } = await startSandbox(`bench-${randomUUID()}`);
      const bare = await bareStart(await containerOf(runtime.runtime_id), round);
      await bare.remove();
      await forget(runtime.runtime_id);
      await sleep(REFILL_MS);
      if (round < 0) continue; // the first one warms caches on both sides
      ours.push(ms);
      theirs.push(bare.ms);
    }
  } finally {
    await setWarm(undefined);
    closeRuntimeApi();
  }
  const value = median(ours) / median(theirs);
  return [{ figure: 'cold_start_p50', value, unit: 'x bare', baseline: median(theirs), goal: '<= 1.3', ok: value <= 1.3 }];
}
