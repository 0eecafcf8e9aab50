// POST /start at the Runtime API → a running sandbox, when one waits: the claim of a row and the handing over of the key.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { env, percentile, psql } from '../support.mjs';
import { setTimeout as sleep } from 'node:timers/promises';

const ROUNDS = 60;
const DEADLINE_MS = 60000;

const agent = new http.Agent({ keepAlive: true });

function runtimeApi(method, path, body) {
  const bytes = body === undefined ? '' : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const request = http.request({
      agent, method, path, socketPath: `${env('DEFT_RUN')}/private/runtime-http.sock`,
      headers: { 'X-API-Key': readFileSync(`${env('DEFT_KEYS')}/runtime_api_key`, 'utf8').trim(), 'Content-Length': bytes.length },
    }, (response) => {
      let text = '';
      response.on('data', (chunk) => { text += chunk; });
      response.on('end', () => resolve(JSON.parse(text)));
    });
    request.on('error', reject);
    request.end(bytes);
  });
}

async function waitUntil(check, what) {
  const end = performance.now() + DEADLINE_MS;
  while (!(await check())) {
    if (performance.now() > end) throw new Error(`not within ${DEADLINE_MS} ms: ${what}`);
    await sleep(100);
  }
}

const nWaiting = async () => Number(await psql('SELECT count(*) FROM warm_sandboxes WHERE is_ready'));
const nMaking = async () => Number(await psql('SELECT count(*) FROM warm_sandboxes WHERE NOT is_ready'));

async function claim() {
  const session_id = `bench-${randomUUID()}`;
  const [waiting] = (await psql('SELECT id FROM warm_sandboxes WHERE is_ready ORDER BY created_at LIMIT 1')).split('\n');
  const began = performance.now();
  const runtime = await runtimeApi('POST', '/start', { session_id, wait_ms: DEADLINE_MS });
  const ms = performance.now() - began;
  if (runtime.status !== 'running' || runtime.runtime_id !== waiting.trim()) throw new Error(`no warm start: ${JSON.stringify(runtime)}`);
  return { ms, id: runtime.runtime_id };
}

async function forget(id) {
  await psql(`UPDATE runtimes SET desired = 'deleted' WHERE id = '${id}'`);
  await waitUntil(async () => (await psql(`SELECT count(*) FROM runtimes WHERE id = '${id}'`)).trim() === '0', `${id} is forgotten`);
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
  agent.destroy();
  const line = (p, goal) => {
    const value = percentile(times, p);
    return { figure: `warm_claim_p${p}`, value, unit: 'ms', baseline: null, goal: `<= ${goal}`, ok: value <= goal };
  };
  return [line(50, 20), line(99, 100)];
}
