// The gateway's sockets against a bare libwebsockets server: memory of idle ones, and how long an event is under way.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { api, conversationBody, env, percentile, program, psql, pssKb, run } from '../support.mjs';

const IDLE = 10000;
const SUBSCRIBERS = 1000;
const ROUNDS = 200;
const SETTLE_MS = 15000; // a stream without news lets go of what it keeps

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function serve(folder, name, command, args, more = {}) {
  const socket = `${folder}/${name}.sock`;
  const child = spawn(command, args(socket), { stdio: 'ignore', ...more, env: { ...process.env, ...(more.env?.(socket) ?? {}) } });
  for (let i = 0; i < 200 && !existsSync(socket); i++) await sleep(50);
  if (!existsSync(socket)) throw new Error(`${name} does not listen`);
  return { child, socket };
}

const bare = (folder) => serve(folder, 'bare', program('sockets_bare'), (socket) => [socket]);

/** A gateway of the bench's own: without the limit of sockets per conversation. */
const gateway = (folder) => serve(folder, 'gateway', 'chpst', () => ['-e', `${env('DEFT_SERVICES')}/gateway/env`, 'env', `DEFT_GATEWAY_SOCKET=${folder}/gateway.sock`, `DEFT_GATEWAY_SUBSCRIBERS=${SUBSCRIBERS}`, `${env('DEFT_BIN')}/deft-gateway`]);

/** The environment of a client that opens sockets as nginx does after its check. */
async function withCredential() {
  const hash = await psql("SELECT key_hash FROM api_keys WHERE revoked_at IS NULL ORDER BY created_at LIMIT 1");
  return { ...process.env, SOCKETS_CREDENTIAL: `key ${hash}` };
}

async function kilobytesPerSocket({ child, socket }, paths) {
  const before = pssKb(child.pid);
  const client = spawn(program('sockets_client'), ['idle', socket], { stdio: ['pipe', 'pipe', 'inherit'], env: await withCredential() });
  client.stdin.end(paths.map((path) => `${path}\n`).join(''));
  const [opened] = await once(client.stdout, 'data');
  if (Number(opened) !== paths.length) throw new Error(`${opened} sockets of ${paths.length}`);
  await sleep(SETTLE_MS);
  const after = pssKb(child.pid);
  client.kill('SIGKILL');
  return (after - before) / paths.length;
}

/** As many conversations as there are sockets: copies of one, with its events. */
async function manyConversations() {
  const { id } = await api('POST', '/api/conversations', conversationBody({ model: 'scripted/hello' }));
  const columns = await psql(`SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns
    WHERE table_name = 'conversations' AND column_name <> 'id' AND is_generated = 'NEVER'`);
  return (await psql(`INSERT INTO conversations (id, ${columns}) SELECT gen_random_uuid(), ${columns} FROM conversations, generate_series(1, ${IDLE}) WHERE id = '${id}' RETURNING id`)).split('\n');
}

async function memory(folder) {
  const servers = [await bare(folder), await gateway(folder)];
  try {
    const ids = await manyConversations();
    const theirs = await kilobytesPerSocket(servers[0], ids.map(() => '/'));
    const ours = await kilobytesPerSocket(servers[1], ids.map((id) => `/sockets/session/${id}`));
    const value = ours / theirs;
    return { figure: 'gateway_memory_idle_socket', value, unit: 'x bare', baseline: theirs, goal: '<= 1.5', ok: value <= 1.5 };
  } finally {
    for (const { child } of servers) child.kill('SIGKILL');
  }
}

async function lastFrameMs(args) {
  const { stdout } = await run(program('sockets_client'), args, { maxBuffer: 1 << 24, env: await withCredential() });
  return percentile(stdout.trim().split('\n').map(Number), 99);
}

async function broadcast(folder) {
  const servers = [await bare(folder), await gateway(folder)];
  try {
    const { id } = await api('POST', '/api/conversations', conversationBody({ model: 'scripted/hello' }));
    const n = [String(SUBSCRIBERS), String(ROUNDS)];
    const theirs = await lastFrameMs(['relay', servers[0].socket, '/', ...n]);
    const ours = await lastFrameMs(['store', servers[1].socket, `/sockets/session/${id}`, ...n, env('DEFT_DATABASE_URL'), id]);
    const value = ours / theirs;
    return { figure: 'event_at_1000th_socket_p99', value, unit: 'x bare', baseline: theirs, goal: '<= 3', ok: value <= 3 };
  } finally {
    for (const { child } of servers) child.kill('SIGKILL');
  }
}

export async function sockets() {
  const lines = [];
  for (const measure of [memory, broadcast]) {
    const folder = mkdtempSync('/tmp/deft-sockets-');
    try {
      lines.push(await measure(folder));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  return lines;
}
