// Steps per second of 50 conversations in one sandbox, each step a model call without delay and the
// command `true`; and processor time per step. The baseline does the same round trips and nothing
// else, with the same model server and the same deft-action.
import { callOf, DONE, startModelServer } from '../model_server.mjs';
import { callKeyOf } from '../../e2e/support/sandbox_key.mjs';
import { api, conversationBody, cpuMs, env, isStatus, message, pidOf, program, psql, run, waitForEvent } from '../support.mjs';

const CONVERSATIONS = 50;
const STEPS = 20;

// The n-th answer of a conversation is a call of the terminal, the last one text.
function startModel() {
  let n = 0;
  return startModelServer('steps', (text) => {
    const isDone = (text.match(/"role":"tool"/g) ?? []).length >= STEPS;
    return isDone ? DONE : callOf(`call_${++n}`, 'terminal', { command: 'true' });
  });
}

// The address and key of the shared sandbox, as the worker finds them.
async function sandbox() {
  await api('POST', '/api/bash/execute_bash_command', { command: 'true' });
  const id = (await api('POST', '/api/conversations', conversationBody({ model: 'scripted/hello' }, { conversation_runtime: 'docker' }))).id;
  await api('POST', `/api/conversations/${id}/runtime/reprovision`);
  const { session_api_key } = await api('POST', `/api/conversations/${id}/runtime/credentials`);
  const url = await psql(`SELECT r.url FROM runtimes r JOIN conversations c ON c.runtime_session = r.session_id WHERE c.id = '${id}' AND r.status = 'running'`);
  return { id, url, call_key: callKeyOf(session_api_key) };
}

async function ours(model) {
  const llm = { model: 'openai/steps', base_url: model.url, api_key: 'sk-test', stream: false };
  const ids = [];
  for (let i = 0; i < CONVERSATIONS; i++) ids.push((await api('POST', '/api/conversations', conversationBody(llm, { max_iterations: STEPS + 5, stuck_detection: false }))).id);
  const cpuBefore = cpuMs(pidOf('worker'));
  const began = performance.now();
  await Promise.all(ids.map((id) => api('POST', `/api/conversations/${id}/events`, message('go'))));
  await Promise.all(ids.map((id) => waitForEvent(id, isStatus('finished'), 300000)));
  const seconds = (performance.now() - began) / 1000;
  const n = CONVERSATIONS * STEPS;
  const result = { steps_per_s: n / seconds, cpu_ms_per_step: (cpuMs(pidOf('worker')) - cpuBefore) / n };
  for (const id of ids) await api('DELETE', `/api/conversations/${id}`);
  return result;
}

async function bare(model, { url, call_key }) {
  const { stdout } = await run(program('steps_bare'), [`${model.url}/chat/completions`, url, call_key, env('DEFT_DATABASE_URL'), String(CONVERSATIONS), String(STEPS)]);
  return JSON.parse(stdout);
}

export async function steps() {
  const model = await startModel();
  try {
    const box = await sandbox();
    await ours(model);
    const theirs = await bare(model, box);
    const mine = await ours(model);
    await api('DELETE', `/api/conversations/${box.id}`);
    const rate = mine.steps_per_s / theirs.steps_per_s;
    const cpu = theirs.cpu_ms_per_step / mine.cpu_ms_per_step;
    return [
      { figure: 'steps_per_second_50', value: rate, unit: 'x bare', baseline: theirs.steps_per_s, goal: '>= 0.5', ok: rate >= 0.5 },
      { figure: 'cpu_per_step', value: cpu, unit: 'x bare', baseline: theirs.cpu_ms_per_step, goal: '>= 0.5', ok: cpu >= 0.5 },
    ];
  } finally {
    model.close();
  }
}
