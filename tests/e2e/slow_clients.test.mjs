// Slow clients: they occupy only their own slots.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { after, before, describe, test } from 'node:test';
import { call } from './support/api.mjs';
import { Hostile } from './support/hostile.mjs';
import { AGENT_URL, API_KEY } from './support/instance.mjs';
import { Slow, assertOthersServed, headOf } from './support/slow.mjs';
import { waitUntil, within } from './support/wait.mjs';

const N_SLOW = 40;
const N_SILENT = 9000;

describe('slow clients', { concurrency: true }, () => {
  let hostile;
  const open = [];
  const start = (...slow) => { open.push(...slow); return slow; };

  before(async () => { hostile = await Hostile.start(); });
  after(async () => {
    for (const { socket } of open) socket.destroy();
    await hostile?.close();
  });

  test('uploads that send nothing delay no other requests, and end with 408', async () => {
    const head = headOf('POST', '/api/file/upload?path=/workspace/slow', API_KEY, ['Content-Type: multipart/form-data; boundary=b', 'Content-Length: 1000000']);
    const uploads = start(...Array.from({ length: N_SLOW }, () => new Slow(head).read()));
    await within(Promise.all(uploads.map(({ socket }) => (socket.connecting ? once(socket, 'connect') : undefined))), 'the uploads are connected');
    await assertOthersServed();
    assert.ok(uploads.every(({ socket }) => !socket.destroyed), 'they were all there meanwhile');
    await within(Promise.all(uploads.map(({ closed }) => closed)), 'the silent uploads are closed');
    for (const { text } of uploads) assert.match(text, /^(HTTP\/1\.1 408 |$)/);
    assert.match(uploads.find(({ text }) => text).text, /The request body timed out/);
  });

  test('uploads below the minimum rate end, too', async () => {
    const head = headOf('POST', '/api/file/upload?path=/workspace/slow', API_KEY, ['Content-Type: multipart/form-data; boundary=b', 'Content-Length: 1000000']);
    const uploads = start(...Array.from({ length: 8 }, () => new Slow(head).read()));
    const pulse = setInterval(() => uploads.forEach(({ socket }) => socket.writable && socket.write('-')), 1000);
    await assertOthersServed();
    await within(Promise.race(uploads.map(({ closed }) => closed)), 'an upload of a byte a second is closed').finally(() => clearInterval(pulse));
    assert.match(uploads.find(({ text }) => text).text, /^HTTP\/1\.1 408 [^]*less than \d+ bytes a second/);
    for (const { socket } of uploads) socket.destroy();
  });

  test('downloads that are not read delay no other requests, and are closed', async () => {
    const ends = [];
    // More than all buffers on the path hold.
    hostile.answers.set('/api/file/download', (socket) => {
      const piece = Buffer.alloc(1 << 16, 'x');
      ends.push(new Promise((resolve) => { socket.on('close', resolve); }));
      socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: 10000000000\r\n\r\n');
      const more = () => { while (!socket.destroyed && socket.write(piece)); };
      socket.on('drain', more);
      more();
    });
    const downloads = start(...Array.from({ length: N_SLOW }, () => new Slow(headOf('GET', '/api/file/download?path=/x', hostile.user.key))));
    await waitUntil(() => ends.length >= 10, 'ten downloads come to the sandbox');
    await assertOthersServed();
    await within(ends[0], 'the first download is given up');
    for (const { socket } of downloads) socket.destroy();
  });

  test('connections with endless heads are closed', async () => {
    const heads = start(...Array.from({ length: N_SLOW }, () => new Slow('GET /api/conversations/count HTTP/1.1\r\nHost: x\r\n').read()));
    await assertOthersServed();
    await within(Promise.all(heads.map(({ closed }) => closed)), 'the heads that never end are closed');
  });

  test('a slow sandbox delays its own callers only', async () => {
    const asked = [];
    hostile.answers.set('/api/bash/bash_events/search', (socket) => { asked.push(socket); });
    const calls = start(...Array.from({ length: N_SLOW }, () => new Slow(headOf('GET', '/api/bash/bash_events/search', hostile.user.key))));
    await waitUntil(() => asked.length >= 30, 'thirty calls come to the sandbox');
    await assertOthersServed();
    for (const { socket } of calls) socket.destroy();
    for (const socket of asked) socket.destroy();
  });
});

test('thousands of connections without a request do not block others', async () => {
  const { hostname, port } = new URL(AGENT_URL);
  const sockets = [];
  try {
    for (let i = 0; i < N_SILENT; i += 1) {
      const socket = net.connect(port, hostname).on('error', () => {});
      sockets.push(socket);
      if (i % 100 === 99) await once(socket, 'connect');
      socket.write('GET /alive HTTP/1.1\r\nHost: x\r\n');
    }
    await assertOthersServed();
  } finally {
    for (const socket of sockets) socket.destroy();
  }
});

test('a slow client\'s slot becomes free again', async () => {
  const form = new FormData();
  form.append('file', new Blob(['there']), 'any');
  const answer = await call('POST', '/api/file/upload', { query: { path: '/workspace/after-slow' }, body: form });
  assert.equal(answer.status, 200, answer.text);
  assert.equal((await call('GET', '/api/file/download', { query: { path: '/workspace/after-slow' } })).text, 'there');
});
