// The protocol's own reference server, over HTTP.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { waitUntil } from './wait.mjs';

// The server needs it; Node 18 has it behind a flag.
const FLAGS = globalThis.crypto === undefined ? ['--experimental-global-webcrypto'] : [];
const PROGRAM = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js');

async function freePort() {
  const server = createServer();
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address();
  await new Promise((closed) => server.close(closed));
  return port;
}

/** Starts it for a test, with that transport; gives its origin. */
export async function startEverything(t, transport) {
  const port = await freePort();
  const server = spawn(process.execPath, [...FLAGS, PROGRAM, transport], { env: { ...process.env, PORT: String(port) }, stdio: 'ignore' });
  t.after(() => server.kill());
  const origin = `http://127.0.0.1:${port}`;
  await waitUntil(() => fetch(origin).then(() => true, () => false), 'the server listens');
  return origin;
}
