// POST /pause and POST /resume at the Runtime API against the engine's own pause and unpause of the same container.
// Rounds alternate; a resume that is answered is a sandbox that runs.
import { randomUUID } from 'node:crypto';
import { engine, median, psql } from '../support.mjs';
import { closeRuntimeApi, forget, runtimeApi } from '../runtime_api.mjs';

const ROUNDS = 40;
const DEADLINE_MS = 60000;

async function timed(what) {
  const began = performance.now();
  const answer = await what();
  return { ms: performance.now() - began, answer };
}

async function ours(id, verb, status) {
  const { ms, answer } = await timed(() => runtimeApi('POST', `/${verb}`, { runtime_id: id }));
  if (answer.status !== status) throw new Error(`${verb}: ${JSON.stringify(answer)}`);
  return ms;
}

const theirs = async (container, verb) => (await timed(() => engine('POST', `/containers/${container}/${verb}`))).ms;

export async function pause() {
  const runtime = await runtimeApi('POST', '/start', { session_id: `bench-${randomUUID()}`, wait_ms: DEADLINE_MS });
  if (runtime.status !== 'running') throw new Error(`no sandbox: ${JSON.stringify(runtime)}`);
  const id = runtime.runtime_id;
  const container = await psql(`SELECT container_id FROM runtimes WHERE id = '${id}'`);
  const times = { pause: [], resume: [], barePause: [], bareResume: [] };
  for (let round = -1; round < ROUNDS; round++) {
    const took = { pause: await ours(id, 'pause', 'paused'), resume: await ours(id, 'resume', 'running'),
      barePause: await theirs(container, 'pause'), bareResume: await theirs(container, 'unpause') };
    if (round >= 0) for (const name of Object.keys(times)) times[name].push(took[name]); // the first one warms caches
  }
  await forget(id);
  closeRuntimeApi();
  const line = (verb, bare) => {
    const value = median(times[verb]) / median(bare);
    return { figure: `${verb}_p50`, value, unit: '× bare', baseline: median(bare), goal: '<= 1.5', ok: value <= 1.5 };
  };
  return [line('pause', times.barePause), line('resume', times.bareResume)];
}
