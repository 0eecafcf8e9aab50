// A hundred POST /start at the Runtime API at once, while twenty sandboxes wait, until all run; against the engine's
// bare create and start of a hundred such containers at once, each in a network of its own.
import { randomUUID } from 'node:crypto';
import { closeRuntimeApi, forget } from '../runtime_api.mjs';
import { engine } from '../support.mjs';
import { bareStart, containerOf, setWarm, startSandbox } from '../sandboxes.mjs';

const STARTS = 100;
const WAITING = 20;

// A network of its own, as each sandbox has one, in an unused range.
async function bareNetwork(i) {
  const Name = `deft-bench-net-${process.pid}-${i}`;
  await engine('POST', '/networks/create', { Name, Driver: 'bridge', IPAM: { Config: [{ Subnet: `10.253.${i}.0/29` }] } });
  return Name;
}

async function bareSandbox(like, i) {
  const network = await bareNetwork(i);
  const { remove } = await bareStart(like, i, network);
  return async () => {
    await remove();
    await engine('DELETE', `/networks/${network}`);
  };
}

const all = (one) => Promise.all(Array.from({ length: STARTS }, (_, i) => one(i)));

async function timed(work) {
  const began = performance.now();
  const results = await work();
  return { ms: performance.now() - began, results };
}

export async function burst() {
  await setWarm(WAITING);
  try {
    const ours = await timed(() => all(() => startSandbox(`bench-${randomUUID()}`)));
    const ids = ours.results.map(({ runtime }) => runtime.runtime_id);
    if (new Set(ids).size !== STARTS) throw new Error('two starts share a sandbox');
    const like = await containerOf(ids.at(-1));
    await setWarm(0);
    await forget(...ids.slice(0, -1));
    const bare = await timed(() => all((i) => bareSandbox(like, i)));
    for (const remove of bare.results) await remove();
    await forget(ids.at(-1));
    const value = ours.ms / bare.ms;
    return [{ figure: 'burst_of_100_starts', value, unit: 'x bare', baseline: bare.ms, goal: '<= 1.3', ok: value <= 1.3 }];
  } finally {
    await setWarm(undefined);
    closeRuntimeApi();
  }
}
