// Processes return the memory of large requests, events and answers. What else they hold depends on the requests that
// their threads have served before: ./deft bench load limits it.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { test } from 'node:test';
import { must } from './support/api.mjs';
import { Conversation, startRequest, text } from './support/conversation.mjs';
import { AGENT_URL, API_KEY } from './support/instance.mjs';
import { pidOf } from './support/processes.mjs';
import { Socket } from './support/socket.mjs';
import { waitUntil, within } from './support/wait.mjs';

const CONNECTIONS = 4;
const KEPT_MAX_MB = 20;
const LARGE_EVENT_BYTES = 900_000;
const LARGE_EVENTS = 16;
const LARGE_OUTPUT_BYTES = 15 << 20;

/** Megabytes of the process; with VmHWM, the maximum since forgetPeak(). */
function memoryOf(name, field = 'VmRSS') {
  return Number(readFileSync(`/proc/${pidOf(name)}/status`, 'utf8').match(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm'))[1]) / 1024;
}

/** Private memory of the process in megabytes. */
function privateMemoryOf(name) {
  const rollup = readFileSync(`/proc/${pidOf(name)}/smaps_rollup`, 'utf8');
  return [...rollup.matchAll(/^Private_\w+:\s+(\d+) kB$/gm)].reduce((sum, [, kb]) => sum + Number(kb), 0) / 1024;
}

const forgetPeak = (name) => writeFileSync(`/proc/${pidOf(name)}/clear_refs`, '5');

/** Sends a body; resolves with the status, or with undefined if the server disconnects before its end. */
function post(path, body, headers) {
  return within(new Promise((resolve) => {
    const request = http.request(new URL(path, AGENT_URL), { method: 'POST', headers: { 'content-length': body.length, ...headers } }, (answer) => {
      answer.resume();
      answer.on('end', () => resolve(answer.statusCode));
      answer.on('error', () => resolve(undefined));
    });
    request.on('error', () => resolve(undefined));
    request.end(body);
  }), `POST ${path} is answered`);
}

const atOnce = (send) => Promise.all(Array.from({ length: CONNECTIONS }, send));

/** Before the first large request. */
const held = new Map(['fcgi', 'gateway', 'worker'].map((name) => [name, privateMemoryOf(name)]));
const isSmallAgain = (name = 'fcgi') => {
  const most = held.get(name) + KEPT_MAX_MB;
  return waitUntil((seen) => seen(privateMemoryOf(name)) < most, `${name} holds less than ${most.toFixed(1)} MB again`);
};

test('memory is returned after unauthenticated uploads', async () => {
  const body = Buffer.alloc(60 << 20, 'x');
  const statuses = await atOnce(() => post('/api/file/upload?path=/tmp/x', body, { 'content-type': 'multipart/form-data; boundary=x' }));
  for (const status of statuses) assert.ok(status === 401 || status === undefined, `${status}`);
  await isSmallAgain();
});

test('memory is returned after large texts', async () => {
  const items = '{"a":[{},""]},'.repeat(90_000);
  const body = Buffer.from(`{"tags":[${items}{}],"agent":5}`);
  const statuses = await atOnce(() => post('/api/conversations', body, { 'content-type': 'application/json', 'x-session-api-key': API_KEY }));
  assert.deepEqual(statuses, Array(CONNECTIONS).fill(422));
  await isSmallAgain();
});

test('a body with too many values is refused before it takes memory', async () => {
  forgetPeak('fcgi');
  const before = memoryOf('fcgi');
  const body = Buffer.from(`{"tags":[${'{},'.repeat(2_400_000)}{}]}`);
  const statuses = await atOnce(() => post('/api/conversations', body, { 'content-type': 'application/json', 'x-session-api-key': API_KEY }));
  assert.deepEqual(statuses, Array(CONNECTIONS).fill(422));
  const mostMb = before + 4 * CONNECTIONS * body.length / 2 ** 20;
  assert.ok(memoryOf('fcgi', 'VmHWM') < mostMb, `${memoryOf('fcgi', 'VmHWM')} MB of ${mostMb} MB`);
});

test('memory is returned after large events are stored, listed and streamed', async () => {
  const { id, path } = await Conversation.create(startRequest({ model: 'scripted/hello', usage_id: 'agent' }));
  for (let i = 0; i < LARGE_EVENTS; i++)
    await must(200, 'POST', `${path}/events`, { json: { ...text('x'.repeat(LARGE_EVENT_BYTES)), run: false } });
  await atOnce(async () => {
    const { items } = await must(200, 'GET', `${path}/events/search?limit=100`);
    assert.ok(items.length >= LARGE_EVENTS);
    const socket = await Socket.open(`/sockets/session/${id}`, { query: { after_seq: -1 } });
    const isLarge = ({ event }) => event?.kind === 'MessageEvent';
    await waitUntil(() => socket.frames.filter(isLarge).length >= LARGE_EVENTS, 'all events are there');
    socket.cut();
  });
  for (const name of ['fcgi', 'gateway', 'worker']) await isSmallAgain(name);
  await must(200, 'DELETE', path);
});

test('memory is returned after large output is streamed', async () => {
  const socket = await Socket.open('/sockets/bash-events');
  socket.send({ command: `head -c ${LARGE_OUTPUT_BYTES} /dev/zero | tr '\\0' x`, timeout: 60 });
  await socket.frame(({ kind, exit_code: code }) => kind === 'BashOutput' && code !== null, 'the command ends');
  socket.cut();
  const again = await Socket.open('/sockets/bash-events', { query: { resend_mode: 'all' } });
  await again.frame(({ kind, exit_code: code }) => kind === 'BashOutput' && code !== null, 'the last piece');
  again.cut();
  await isSmallAgain('gateway');
});
