// The disk checks of ./deft doctor: deft's disk, and the engine's if that is another one.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import { test } from 'node:test';

const DEFT = process.env.DEFT;
const FOLDER = path.dirname(process.env.DEFT_LOG);

/** Its output, with an engine that keeps its files in `root`. Other checks may fail for such an engine. */
async function doctor(root) {
  const socket = `/tmp/deft-doctor-${randomUUID().slice(0, 8)}.sock`;
  const asked = [];
  const engine = http.createServer((request, response) => {
    asked.push(request.url);
    response.end(request.url === '/_ping' ? 'OK' : JSON.stringify({ ID: 'one', DockerRootDir: root, Driver: 'overlay2' }));
  });
  await new Promise((resolve) => engine.listen(socket, resolve));
  const child = spawn(DEFT, ['doctor'], { env: { ...process.env, DEFT_DOCKER_SOCKET: socket, DEFT_RUNTIME: 'docker' }, stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  for await (const piece of child.stdout) text += piece;
  engine.closeAllConnections?.();
  await new Promise((resolve) => engine.close(resolve));
  await rm(socket, { force: true });
  assert.ok(asked.includes('/info'), asked.join());
  return text.split('\n');
}

const aboutTheEngine = (lines) => lines.filter((line) => line.includes("the engine's files"));

test("doctor checks the engine's disk if that is another one than deft's", async (t) => {
  const folder = path.join(FOLDER, `engine-${randomUUID().slice(0, 8)}`);
  await mkdir(folder);
  t.after(() => rm(folder, { recursive: true }));
  // A file system that is always full.
  const full = await doctor('/proc');
  assert.deepEqual(aboutTheEngine(full), ["  BAD   at least 4000 MB free for the engine's files in /proc"]);
  assert.match(full[full.indexOf(aboutTheEngine(full)[0]) + 1], /docker system df -v/);
  for (const root of [folder, '/no/such/folder']) assert.deepEqual(aboutTheEngine(await doctor(root)), [], root);
  assert.match(full.join('\n'), new RegExp('MB free for (?!the engine)'));
});
