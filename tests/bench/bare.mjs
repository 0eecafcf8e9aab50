// Requests per second of one of our paths, against a bare FastCGI handler behind the same nginx.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:net';
import { env, key, median, program, run } from './support.mjs';

const ROUNDS = 8;
const SECONDS = 2;

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}

function nginxConf(folder, port, path) {
  const handler = (location, socket, extra) => `
    location = ${location} {
      fastcgi_pass unix:${socket};
      fastcgi_param REQUEST_METHOD $request_method;
      fastcgi_param QUERY_STRING $query_string;
      fastcgi_param REQUEST_URI $request_uri;
      fastcgi_param DEFT_ORIGIN agent;
      ${extra}
    }`;
  return `daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log;
user root;
events { worker_connections 512; }
http {
  access_log off;
  client_body_temp_path ${folder}/t1; fastcgi_temp_path ${folder}/t2; proxy_temp_path ${folder}/t3; scgi_temp_path ${folder}/t4; uwsgi_temp_path ${folder}/t5;
  server { listen 127.0.0.1:${port};
    ${handler('/bare', `${folder}/bare.sock`, '')}
    ${handler(path, `${env('DEFT_RUN')}/fcgi/fcgi.sock`, `fastcgi_param HTTP_X_SESSION_API_KEY ${key()};`)}
  }
}`;
}

async function requestsPerSecond(url, connections) {
  const { stdout } = await run('wrk', ['-t1', `-c${connections}`, `-d${SECONDS}s`, '-s', `${import.meta.dirname ?? new URL('.', import.meta.url).pathname}/fail.lua`, url]);
  if (/Non-2xx/.test(stdout)) throw new Error(`${url}: ${stdout}`);
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)[1]);
}

async function waitUntilServed(url) {
  for (let i = 0; i < 200; i++) {
    try {
      if ((await fetch(url)).ok) return;
    } catch {
      // not yet
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${url} is not served`);
}

/**
 * kind: what the bare handler answers (page_bare.c), of the conversation or the user `id`. Gives the median of our
 * share of its rate, and the median of its rate.
 */
export async function againstBare({ kind, id, path, query, connections }) {
  const folder = mkdtempSync(`/tmp/deft-bare-${randomUUID().slice(0, 8)}`);
  const port = await freePort();
  writeFileSync(`${folder}/nginx.conf`, nginxConf(folder, port, path));
  const children = [
    spawn(program('page_bare'), [`${folder}/bare.sock`, env('DEFT_DATABASE_URL'), kind, id], { stdio: 'ignore' }),
    spawn('nginx', ['-p', folder, '-c', `${folder}/nginx.conf`], { stdio: 'ignore' }),
  ];
  const ended = children.map((child) => once(child, 'exit'));
  const ours = `http://127.0.0.1:${port}${path}?${query}`;
  const theirs = `http://127.0.0.1:${port}/bare?${query}`;
  const theirRates = [];
  const ratios = [];
  try {
    await waitUntilServed(ours);
    await waitUntilServed(theirs);
    for (let round = 0; round < ROUNDS; round++) {
      const theirRate = await requestsPerSecond(theirs, connections);
      theirRates.push(theirRate);
      ratios.push((await requestsPerSecond(ours, connections)) / theirRate);
    }
  } finally {
    // Killed outright, nginx would leave its worker behind; libfcgi only notes a SIGTERM while its threads accept.
    const [bare, nginx] = children;
    bare.kill('SIGKILL');
    nginx.kill('SIGTERM');
    await Promise.all(ended);
    rmSync(folder, { recursive: true, force: true });
  }
  return { value: median(ratios), baseline: median(theirRates) };
}
