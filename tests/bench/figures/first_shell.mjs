// POST → result of the first shell command at a client, in a sandbox that does not exist yet, against
// the engine's bare create and start of the same container. Rounds alternate.
import { setTimeout as sleep } from 'node:timers/promises';
import { start } from '../../fakes/openai.mjs';
import { bareStart, setWarm } from '../sandboxes.mjs';
import { api, conversationBody, engine, median, message, psql, waitForEvent } from '../support.mjs';

const ROUNDS = 12;
const REFILL_MS = 1500;

async function throughDeft(model) {
  const began = performance.now();
  const body = conversationBody({ model: 'openai/true', base_url: model.url, api_key: 'sk-test' }, { conversation_runtime: 'docker', initial_message: message('go') });
  const { id } = await api('POST', '/api/conversations', body);
  const seen = await waitForEvent(id, (event) => event.kind === 'ObservationEvent' && event.tool_name === 'terminal');
  return { id, ms: seen - began };
}

async function containerOf(id) {
  const container = await psql(`SELECT r.container_id FROM runtimes r JOIN conversations c ON c.runtime_session = r.session_id WHERE c.id = '${id}'`);
  if (container === '') throw new Error(`no container of ${id}`);
  return engine('GET', `/containers/${container}/json`);
}

// deft answers a DELETE before the container, its network and volumes are gone, and makes spare ones
// afterwards. What is measured next has the engine to itself.
async function settle(container) {
  const [network] = Object.keys(container.NetworkSettings.Networks);
  const isThere = async () => (await engine('GET', `/networks?filters=${encodeURIComponent(JSON.stringify({ name: [network] }))}`)).length > 0;
  while (await isThere()) await sleep(50);
  await sleep(REFILL_MS);
}

export async function firstShell() {
  const model = await start({ key: 'sk-test' });
  const ours = [];
  const theirs = [];
  await setWarm(0);
  try {
    for (let round = -1; round < ROUNDS; round++) {
      const { id, ms } = await throughDeft(model);
      const container = await containerOf(id);
      const { ms: theirMs, remove } = await bareStart(container, round);
      await remove();
      await api('DELETE', `/api/conversations/${id}`);
      await settle(container);
      if (round < 0) continue; // the first one warms caches on both sides
      ours.push(ms);
      theirs.push(theirMs);
    }
  } finally {
    await model.close();
    await setWarm(undefined);
  }
  const value = median(ours) / median(theirs);
  return [{ figure: 'post_to_first_shell_result_p50', value, unit: 'x bare', baseline: median(theirs), goal: '<= 1.3', ok: value <= 1.3 }];
}
