// Memory of a worker per conversation that waits for its model over TLS: the slope over 500.
import { spawn } from 'node:child_process';
import { start } from '../../fakes/openai.mjs';
import { api, conversationBody, env, message, pssKb, service } from '../support.mjs';

const FIRST = 100;
const MORE = 500;

async function waitUntil(isTrue, deadlineMs) {
  const deadline = Date.now() + deadlineMs;
  while (!isTrue()) {
    if (Date.now() > deadline) throw new Error('not within its deadline');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function park(model, n, ids) {
  const body = conversationBody({ model: 'openai/park', base_url: model.url, api_key: 'sk-test', timeout: 3600 }, { initial_message: message('wait') });
  for (let i = 0; i < n; i++) ids.push((await api('POST', '/api/conversations', body)).id);
}

export async function parked() {
  const model = await start({ key: 'sk-test', tls: true });
  const ids = [];
  await service('down', 'worker');
  const worker = spawn('chpst', ['-e', `${env('DEFT_SERVICES')}/worker/env`, `${env('DEFT_BIN')}/deft-worker`], {
    stdio: 'ignore',
    env: { ...process.env, DEFT_WORKER_CONVERSATIONS: String(FIRST + MORE + 10), DEFT_CA_FILE: model.ca },
  });
  try {
    await park(model, FIRST, ids);
    await waitUntil(() => model.n_parked >= FIRST, 120000);
    const before = pssKb(worker.pid);
    await park(model, MORE, ids);
    await waitUntil(() => model.n_parked >= FIRST + MORE, 300000);
    const value = (pssKb(worker.pid) - before) / MORE;
    return [{ figure: 'worker_memory_parked_call', value, unit: 'KB', baseline: null, goal: '<= 256', ok: value <= 256 }];
  } finally {
    worker.kill('SIGKILL');
    await service('up', 'worker');
    for (const id of ids) await api('DELETE', `/api/conversations/${id}`).catch(() => {});
    await model.close();
  }
}
