// 2,000 conversations at once whose model takes two seconds and answers over TLS, each with a view of about 100 events:
// steps a second, memory of the worker for each conversation, and whether that grows. A condenser keeps the views at
// their size; its requests are answered as slowly, and are no steps. The calls are such that the worker itself executes.
import { spawn } from 'node:child_process';
import https from 'node:https';
import { once } from 'node:events';
import { makeCertificate } from '../../fakes/model_server.mjs';
import { api, conversationBody, env, message, pssKb, psql, service } from '../support.mjs';

const CONVERSATIONS = 2000;
const VIEW = 100; // events
const MODEL_MS = 2000;
const MINUTES = Number(process.env.DEFT_BENCH_FLEET_MINUTES ?? 10);
const STARTS = 16; // at a time
const GOAL_STEPS = 700;
const GOAL_KB = 192;
const GOAL_GROWTH = 1.1;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** The n-th answer: a call of a tool, or a summary for a request without tools. */
function answerOf(n, hasTools) {
  const call = { id: `call_${n}`, type: 'function', function: { name: 'think', arguments: JSON.stringify({ thought: `step ${n}` }) } };
  const words = hasTools ? { role: 'assistant', content: null, tool_calls: [call] } : { role: 'assistant', content: 'They went on.' };
  return JSON.stringify({ id: `chatcmpl-${n}`, object: 'chat.completion', created: 1, model: 'fleet', choices: [{ index: 0, message: words, finish_reason: hasTools ? 'tool_calls' : 'stop' }], usage: { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 } });
}

async function startModel() {
  const certificate = makeCertificate();
  const model = { n_steps: 0, n_open: 0, most_open: 0, ca: certificate.ca };
  let n = 0;
  const server = https.createServer(certificate, (request, response) => {
    let hasTools = false;
    let end = ''; // of what came, in which the word may begin
    request.on('data', (chunk) => {
      const text = end + chunk.toString('latin1');
      hasTools ||= text.includes('"tools":');
      end = text.slice(-'"tools"'.length);
    });
    request.on('end', () => {
      model.most_open = Math.max(model.most_open, ++model.n_open);
      setTimeout(() => {
        model.n_open--;
        if (hasTools) model.n_steps++;
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(answerOf(++n, hasTools));
      }, MODEL_MS);
    });
    request.on('error', () => {});
    response.on('error', () => {});
  });
  server.keepAliveTimeout = 60000;
  server.on('tlsClientError', () => {});
  server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 });
  await once(server, 'listening');
  model.url = `https://127.0.0.1:${server.address().port}/v1`;
  model.close = () => {
    server.closeAllConnections();
    server.close();
  };
  return model;
}

async function startAll(body, ids) {
  let n = 0;
  const one = async () => {
    while (n++ < CONVERSATIONS) ids.push((await api('POST', '/api/conversations', body)).id);
  };
  await Promise.all(Array.from({ length: STARTS }, one));
}

/** Until every conversation has that many events; a run that ended is an error. */
async function waitForEvents(most) {
  const deadline = Date.now() + 1200000;
  for (;;) {
    const [least, n, ended] = (await psql(`SELECT min(e.n), count(*), coalesce(string_agg(c.execution_status, ' ') FILTER (WHERE c.execution_status NOT IN ('idle', 'running')), '') FROM conversations c, LATERAL (SELECT max(seq) AS n FROM events WHERE conversation_id = c.id) e WHERE c.spec LIKE '%openai/fleet%'`)).split('|');
    if (ended !== '') throw new Error(`of ${n} runs some have ended: ${ended}`);
    if (Number(n) === CONVERSATIONS && Number(least) >= most) return;
    if (Date.now() > deadline) throw new Error(`${n} conversations have at least ${least} events, not ${most}`);
    await pause(1000);
  }
}

function startWorker(ca) {
  return spawn('chpst', ['-e', `${env('DEFT_SERVICES')}/worker/env`, `${env('DEFT_BIN')}/deft-worker`], {
    stdio: 'ignore',
    env: { ...process.env, DEFT_WORKER_CONVERSATIONS: String(CONVERSATIONS + 100), DEFT_CA_FILE: ca },
  });
}

async function measure(model, worker, idleKb) {
  const half = (MINUTES * 60000) / 2;
  const began = performance.now();
  const before = model.n_steps;
  await pause(half);
  const halfwayKb = pssKb(worker.pid);
  await pause(half);
  const rate = ((model.n_steps - before) * 1000) / (performance.now() - began);
  const kb = (pssKb(worker.pid) - idleKb) / CONVERSATIONS;
  const growth = pssKb(worker.pid) / halfwayKb;
  return [
    { figure: 'fleet_steps_per_second', value: rate, unit: 'steps/s', baseline: model.most_open, goal: `>= ${GOAL_STEPS}`, ok: rate >= GOAL_STEPS },
    { figure: 'fleet_memory', value: kb, unit: 'KB', baseline: null, goal: `<= ${GOAL_KB}`, ok: kb <= GOAL_KB },
    { figure: 'fleet_memory_growth', value: growth, unit: 'x half', baseline: null, goal: `<= ${GOAL_GROWTH}`, ok: growth <= GOAL_GROWTH },
  ];
}

export async function fleet() {
  const model = await startModel();
  const ids = [];
  const llm = { model: 'openai/fleet', base_url: model.url, api_key: 'sk-test', stream: false };
  const body = conversationBody(llm, { initial_message: message('go on'), stuck_detection: false, max_iterations: 100000 });
  body.agent.condenser = { kind: 'LLMSummarizingCondenser', llm: { usage_id: 'condenser', ...llm }, max_size: VIEW, keep_first: 2 };
  const slots = await psql('SELECT max(run_slots) FROM users');
  await service('down', 'worker');
  await psql(`UPDATE users SET run_slots = ${CONVERSATIONS + 100}`);
  const worker = startWorker(model.ca);
  try {
    await pause(1000);
    const idleKb = pssKb(worker.pid);
    await startAll(body, ids);
    await waitForEvents(VIEW);
    return await measure(model, worker, idleKb);
  } finally {
    worker.kill('SIGKILL');
    await psql(`UPDATE users SET run_slots = ${slots === '' ? 'NULL' : slots}`);
    for (const id of ids) await api('DELETE', `/api/conversations/${id}`).catch(() => {});
    await service('up', 'worker');
    model.close();
  }
}
