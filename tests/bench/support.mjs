// Shared by the figures: the API, sockets, processes, and sums.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { promisify } from 'node:util';
import WebSocket from 'ws';

const run = promisify(execFile);

export const env = (name) => {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run ./deft bench`);
  return value;
};

export const agentUrl = () => env('DEFT_AGENT_URL');
export const key = () => env('DEFT_API_KEY');
export const program = (name) => `${env('DEFT_BUILD')}/${env('DEFT_BUILD_KIND')}/tests/bench/${name}`;

export async function api(method, path, body) {
  const response = await fetch(agentUrl() + path, {
    method,
    headers: { 'X-Session-API-Key': key(), 'Content-Type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 300)}`);
  return text === '' ? null : JSON.parse(text);
}

export const conversationBody = (llm, more = {}) => ({
  agent: {
    kind: 'Agent',
    llm: { usage_id: 'agent', ...llm },
    tools: [{ name: 'terminal' }, { name: 'file_editor' }],
  },
  workspace: { working_dir: '/workspace/project' },
  autotitle: false,
  ...more,
});

export const message = (text) => ({ role: 'user', content: [{ type: 'text', text }], run: true });

// Waits on the conversation's socket for an event that `isIt` knows; all stored events are replayed
// first, so none can be missed. Gives the moment of its arrival (performance.now()).
export function waitForEvent(id, isIt, deadlineMs = 120000) {
  return new Promise((resolve, reject) => {
    const url = `${agentUrl().replace('http', 'ws')}/sockets/session/${id}?after_seq=-1&session_api_key=${key()}`;
    const socket = new WebSocket(url);
    const timer = setTimeout(() => end(reject, new Error(`no such event in ${id} within ${deadlineMs} ms`)), deadlineMs);
    function end(settle, value) {
      clearTimeout(timer);
      socket.terminate();
      settle(value);
    }
    socket.on('error', (error) => end(reject, error));
    socket.on('message', (data) => {
      const { type, event } = JSON.parse(data);
      if (type !== 'durable') return;
      if (event.kind === 'ConversationErrorEvent') end(reject, new Error(`${event.code}: ${event.detail}`));
      else if (isIt(event)) end(resolve, performance.now());
    });
  });
}

export const isStatus = (status) => (event) => event.key === 'execution_status' && event.value === status;

// The p-th percentile, 0 to 100.
export function percentile(values, p) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * p) / 100))];
}

export const median = (values) => percentile(values, 50);

export async function psql(sql) {
  const { stdout } = await run('psql', ['-qAtX', '-d', env('DEFT_DATABASE_URL'), '-c', sql], { maxBuffer: 1 << 24 });
  return stdout.trim();
}

// One call of the container engine over its Unix socket.
export function engine(method, path, body) {
  const socketPath = process.env.DEFT_DOCKER_SOCKET ?? '/var/run/docker.sock';
  return new Promise((resolve, reject) => {
    const request = http.request({ socketPath, method, path: `/v1.41${path}`, headers: { 'content-type': 'application/json' } }, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        if (response.statusCode >= 400) reject(new Error(`${method} ${path}: ${response.statusCode} ${text}`));
        else resolve(text === '' ? null : JSON.parse(text));
      });
    });
    request.on('error', reject);
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

// Process id of a supervised process.
export const pidOf = (name) => Number(readFileSync(`${env('DEFT_SERVICES')}/${name}/supervise/pid`, 'utf8'));

// Proportional set size in KB, of shared pages its share alone.
export const pssKb = (pid) => Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))[1]);

// Memory in KB that no other process has.
export function privateKb(pid) {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return [...rollup.matchAll(/^Private_\w+:\s+(\d+)/gm)].reduce((sum, [, kb]) => sum + Number(kb), 0);
}

// Processor time that a process has used, in ms.
export function cpuMs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

export const service = (command, name) => run('sv', ['-w', '30', command, `${env('DEFT_SERVICES')}/${name}`]);

export { run };
