// The Runtime API of the instance that is measured.
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { env, psql } from './support.mjs';

const DEADLINE_MS = 180000;

const agent = new http.Agent({ keepAlive: true });

export function runtimeApi(method, path, body) {
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

export async function waitUntil(check, what) {
  const end = performance.now() + DEADLINE_MS;
  while (!(await check())) {
    if (performance.now() > end) throw new Error(`not within ${DEADLINE_MS} ms: ${what}`);
    await sleep(100);
  }
}

export async function forget(...ids) {
  const list = ids.map((id) => `'${id}'`).join(',');
  await psql(`UPDATE runtimes SET desired = 'deleted' WHERE id IN (${list})`);
  await waitUntil(async () => (await psql(`SELECT count(*) FROM runtimes WHERE id IN (${list})`)).trim() === '0', `${ids.length} runtimes are forgotten`);
}

export const closeRuntimeApi = () => agent.destroy();
