// What large requests leave behind in the process that serves them: nothing.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { test } from 'node:test';
import { AGENT_URL, API_KEY } from './support/instance.mjs';
import { pidOf } from './support/processes.mjs';
import { waitUntil } from './support/wait.mjs';

const CONNECTIONS = 4;
const KEPT_MAX_MB = 100;

/** Megabytes that the process holds; with VmHWM, held at most since forgetPeak(). */
function memoryOf(name, field = 'VmRSS') {
  return Number(readFileSync(`/proc/${pidOf(name)}/status`, 'utf8').match(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm'))[1]) / 1024;
}

const forgetPeak = (name) => writeFileSync(`/proc/${pidOf(name)}/clear_refs`, '5');

/** Sends a body; resolves with the status, or with undefined when the server hangs up while it comes. */
function post(path, body, headers) {
  return new Promise((resolve) => {
    const request = http.request(new URL(path, AGENT_URL), { method: 'POST', headers: { 'content-length': body.length, ...headers } }, (answer) => {
      answer.resume();
      answer.on('end', () => resolve(answer.statusCode));
      answer.on('error', () => resolve(undefined));
    });
    request.on('error', () => resolve(undefined));
    request.end(body);
  });
}

const atOnce = (send) => Promise.all(Array.from({ length: CONNECTIONS }, send));
const isSmallAgain = () => waitUntil(() => memoryOf('fcgi') < KEPT_MAX_MB, 'the memory is given back');

test('uploads of a stranger leave no memory behind', async () => {
  const body = Buffer.alloc(60 << 20, 'x');
  const statuses = await atOnce(() => post('/api/file/upload?path=/tmp/x', body, { 'content-type': 'multipart/form-data; boundary=x' }));
  for (const status of statuses) assert.ok(status === 401 || status === undefined, `${status}`);
  await isSmallAgain();
});

test('large texts leave no memory behind', async () => {
  const items = '{"a":[{},""]},'.repeat(90_000);
  const body = Buffer.from(`{"tags":[${items}{}],"agent":5}`);
  const statuses = await atOnce(() => post('/api/conversations', body, { 'content-type': 'application/json', 'x-session-api-key': API_KEY }));
  assert.deepEqual(statuses, Array(CONNECTIONS).fill(422));
  await isSmallAgain();
});

test('a text of more values than are read is refused before it takes memory', async () => {
  forgetPeak('fcgi');
  const before = memoryOf('fcgi');
  const body = Buffer.from(`{"tags":[${'{},'.repeat(2_400_000)}{}]}`);
  const statuses = await atOnce(() => post('/api/conversations', body, { 'content-type': 'application/json', 'x-session-api-key': API_KEY }));
  assert.deepEqual(statuses, Array(CONNECTIONS).fill(422));
  const mostMb = before + 4 * CONNECTIONS * body.length / 2 ** 20;
  assert.ok(memoryOf('fcgi', 'VmHWM') < mostMb, `${memoryOf('fcgi', 'VmHWM')} MB of ${mostMb} MB`);
});
