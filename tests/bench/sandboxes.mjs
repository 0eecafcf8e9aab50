// Sandboxes in figures: starts, the pool, and the engine's bare create and start of the same container.
import { rmSync, writeFileSync } from 'node:fs';
import { runtimeApi, waitUntil } from './runtime_api.mjs';
import { engine, env, psql, service } from './support.mjs';

export const DEADLINE_MS = 120000;

export const nWaiting = async () => Number(await psql('SELECT count(*) FROM warm_sandboxes WHERE is_ready'));
export const nMaking = async () => Number(await psql('SELECT count(*) FROM warm_sandboxes WHERE NOT is_ready'));

/** A sandbox that runs, and how long that took. */
export async function startSandbox(session_id) {
  const began = performance.now();
  const runtime = await runtimeApi('POST', '/start', { session_id, wait_ms: DEADLINE_MS });
  if (runtime.status !== 'running') throw new Error(`no sandbox: ${JSON.stringify(runtime)}`);
  return { ms: performance.now() - began, runtime };
}

export async function containerOf(runtimeId) {
  const container = await psql(`SELECT container_id FROM runtimes WHERE id = '${runtimeId}'`);
  if (container === '') throw new Error(`no container of ${runtimeId}`);
  return engine('GET', `/containers/${container}/json`);
}

/** Starts the runtime service again with so many sandboxes waiting, no more and no less; undefined: as it is set up. */
export async function setWarm(count) {
  for (const name of ['DEFT_WARM_MOST', 'DEFT_WARM_LEAST']) {
    const setting = `${env('DEFT_SERVICES')}/runtime/env/${name}`;
    if (count === undefined) rmSync(setting, { force: true });
    else writeFileSync(setting, `${count}\n`);
  }
  await service('restart', 'runtime');
  if (count !== undefined) await waitUntil(async () => (await nWaiting()) === count && (await nMaking()) === 0, `${count} sandboxes wait`);
}

// A container as deft makes it, but for its name: same image, mounts and limits, in that network.
function bareBody(like, name, network) {
  const own = (mount) => (mount.ReadOnly ? mount : { ...mount, Source: `${name}-${mount.Target.replaceAll('/', '')}` });
  return { ...like.Config, Labels: {}, Hostname: '', HostConfig: { ...like.HostConfig, NetworkMode: network, Mounts: (like.HostConfig.Mounts ?? []).map(own) } };
}

/** The engine's bare create and start of a container like that one; gives the way to remove it, and how long it took. */
export async function bareStart(like, suffix, network = like.HostConfig.NetworkMode) {
  const name = `deft-bench-${process.pid}-${suffix}`;
  const body = bareBody(like, name, network);
  const began = performance.now();
  const { Id } = await engine('POST', `/containers/create?name=${name}`, body);
  await engine('POST', `/containers/${Id}/start`);
  const ms = performance.now() - began;
  const remove = async () => {
    await engine('DELETE', `/containers/${Id}?force=1&v=1`);
    for (const mount of body.HostConfig.Mounts)
      if (mount.Type === 'volume' && !mount.ReadOnly) await engine('DELETE', `/volumes/${mount.Source}?force=1`);
  };
  return { ms, remove };
}
