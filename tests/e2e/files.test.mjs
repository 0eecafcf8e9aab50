// Large files are streamed through deft-fcgi, without being kept in its memory.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import http from 'node:http';
import { test } from 'node:test';
import { call, must } from './support/api.mjs';
import { AGENT_URL, API_KEY, WORKING_DIR } from './support/instance.mjs';
import { memoryOf, pidOf } from './support/processes.mjs';
import { within } from './support/wait.mjs';

const MIB = 1 << 20;
const SIZE = 200 * MIB;
const GROWTH_MAX = 8 * MIB;
const TRANSFER_MS = 120_000;
const PATH = `${WORKING_DIR}/large.bin`;

/** Watches the memory of deft-fcgi; peak() returns its maximum growth in bytes. */
function memoryWatch() {
  const pid = pidOf('fcgi');
  const before = memoryOf(pid);
  let most = before;
  return {
    look: () => {
      most = Math.max(most, memoryOf(pid));
    },
    peak: () => most - before,
  };
}

/** One request whose body comes from an iterator; resolves with the answer, whose body is not read yet. */
function send(method, path, headers, body) {
  return new Promise((resolve, reject) => {
    const request = http.request(new URL(path, AGENT_URL), { method, headers: { 'x-session-api-key': API_KEY, ...headers }, timeout: TRANSFER_MS }, resolve);
    request.on('timeout', () => request.destroy(new Error(`${method} ${path}: silence for ${TRANSFER_MS} ms`)));
    request.on('error', reject);
    const write = async () => {
      for (const chunk of body) {
        if (!request.write(chunk)) await new Promise((go) => request.once('drain', go));
      }
      request.end();
    };
    write().catch(reject);
  });
}

async function textOf(answer) {
  let text = '';
  for await (const chunk of answer) text += chunk;
  return text;
}

test('200 MB are uploaded and downloaded unchanged in constant memory', { timeout: 2 * TRANSFER_MS }, async (t) => {
  await must(200, 'GET', '/api/file/home');
  t.after(() => must(200, 'POST', '/api/bash/execute_bash_command', { json: { command: `rm -f ${PATH}` } }));
  const blocks = Array.from({ length: 16 }, () => randomBytes(MIB));
  const sent = createHash('sha256');
  const head = '--b\r\nContent-Disposition: form-data; name="file"; filename="large.bin"\r\nContent-Type: application/octet-stream\r\n\r\n';
  const tail = '\r\n--b--\r\n';
  const watch = memoryWatch();
  const body = function* () {
    yield head;
    for (let i = 0; i < SIZE / MIB; i++) {
      const block = blocks[i % blocks.length];
      sent.update(block);
      if (i % 20 === 0) watch.look();
      yield block;
    }
    yield tail;
  };
  const upload = await send('POST', `/api/file/upload?path=${PATH}`, {
    'content-type': 'multipart/form-data; boundary=b',
    'content-length': head.length + SIZE + tail.length,
  }, body());
  const text = await textOf(upload);
  assert.equal(upload.statusCode, 200, text);
  assert.deepEqual(JSON.parse(text), { success: true, file_size: SIZE });

  const download = await send('GET', `/api/file/download?path=${PATH}`, {}, []);
  assert.equal(download.statusCode, 200);
  assert.equal(download.headers['content-length'], String(SIZE));
  assert.equal(download.headers['content-type'], 'application/octet-stream');
  assert.match(download.headers['content-disposition'], /filename="large\.bin"/);
  const received = createHash('sha256');
  let n = 0;
  for await (const chunk of download) {
    if (Math.floor(n / (20 * MIB)) !== Math.floor((n + chunk.length) / (20 * MIB))) watch.look();
    n += chunk.length;
    received.update(chunk);
  }
  assert.equal(n, SIZE);
  assert.equal(received.digest('hex'), sent.digest('hex'));
  t.diagnostic(`deft-fcgi grew by ${Math.round(watch.peak() / 1024)} kB`);
  assert.ok(watch.peak() < GROWTH_MAX, `deft-fcgi grew by ${watch.peak()} bytes`);

  const part = await call('GET', '/api/file/download', { query: { path: PATH }, headers: { range: `bytes=${SIZE - 10}-` } });
  assert.equal(part.status, 206);
  assert.deepEqual(part.bytes, blocks[(SIZE / MIB - 1) % blocks.length].subarray(MIB - 10));
});

test('an interrupted upload keeps the old file', async () => {
  await must(200, 'POST', '/api/bash/execute_bash_command', { json: { command: `echo old > ${PATH}` } });
  await within(new Promise((resolve) => {
    const request = http.request(new URL(`/api/file/upload?path=${PATH}`, AGENT_URL), {
      method: 'POST',
      headers: { 'x-session-api-key': API_KEY, 'content-type': 'multipart/form-data; boundary=b', 'content-length': 10 * MIB },
    });
    request.on('error', () => {});
    request.on('close', resolve);
    request.write('--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n');
    request.write(Buffer.alloc(2 * MIB), () => request.destroy());
  }), 'the upload is broken off');
  const { stdout } = await must(200, 'POST', '/api/bash/execute_bash_command', { json: { command: `cat ${PATH}; rm -f ${PATH}` } });
  assert.equal(stdout, 'old\n');
});
