// POST → result of the first shell command at a client, in a sandbox that does not exist yet, against
// the engine's bare create and start of the same container. Rounds alternate.
import { start } from '../../fakes/openai.mjs';
import { api, conversationBody, engine, env, median, message, waitForEvent } from '../support.mjs';

const ROUNDS = 12;

async function throughDeft(model) {
  const began = performance.now();
  const body = conversationBody({ model: 'openai/true', base_url: model.url, api_key: 'sk-test' }, { conversation_runtime: 'docker', initial_message: message('go') });
  const { id } = await api('POST', '/api/conversations', body);
  const seen = await waitForEvent(id, (event) => event.kind === 'ObservationEvent' && event.tool_name === 'terminal');
  return { id, ms: seen - began };
}

async function containerOf(id) {
  const filters = JSON.stringify({ label: [`deft.instance=${env('DEFT_INSTANCE')}`] });
  const list = await engine('GET', `/containers/json?filters=${encodeURIComponent(filters)}`);
  const session = `c-${id.replaceAll('-', '')}`;
  const found = list.find((container) => Object.values(container.Labels).includes(session));
  if (!found) throw new Error(`no container of ${id}`);
  return engine('GET', `/containers/${found.Id}/json`);
}

// The same container again, but for its name: same image, mounts, limits and network.
async function bare(like, round) {
  const body = {
    ...like.Config,
    Labels: {},
    Hostname: '',
    HostConfig: { ...like.HostConfig, Mounts: (like.HostConfig.Mounts ?? []).map((mount) => (mount.ReadOnly ? mount : { ...mount, Source: `bench-${round}-${mount.Target.replaceAll('/', '')}` })) },
  };
  const began = performance.now();
  const { Id } = await engine('POST', `/containers/create?name=deft-bench-${process.pid}-${round}`, body);
  await engine('POST', `/containers/${Id}/start`);
  const ms = performance.now() - began;
  await engine('DELETE', `/containers/${Id}?force=1&v=1`);
  for (const mount of body.HostConfig.Mounts)
    if (mount.Type === 'volume' && !mount.ReadOnly) await engine('DELETE', `/volumes/${mount.Source}?force=1`);
  return ms;
}

export async function firstShell() {
  const model = await start({ key: 'sk-test' });
  const ours = [];
  const theirs = [];
  try {
    for (let round = -1; round < ROUNDS; round++) {
      const { id, ms } = await throughDeft(model);
      const theirMs = await bare(await containerOf(id), round);
      await api('DELETE', `/api/conversations/${id}`);
      if (round < 0) continue; // the first one warms caches on both sides
      ours.push(ms);
      theirs.push(theirMs);
    }
  } finally {
    await model.close();
  }
  const value = median(ours) / median(theirs);
  return [{ figure: 'post_to_first_shell_result_p50', value, unit: 'x bare', baseline: median(theirs), goal: '<= 1.3', ok: value <= 1.3 }];
}
