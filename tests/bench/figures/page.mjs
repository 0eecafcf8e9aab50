// A page of 20 events of 1 KB through nginx, against a bare FastCGI handler behind the same nginx.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:net';
import { api, conversationBody, env, key, median, program, psql, run } from '../support.mjs';

const ROUNDS = 8;
const SECONDS = 2;
const CONNECTIONS = 16;

async function conversationWithEvents() {
  const { id } = await api('POST', '/api/conversations', conversationBody({ model: 'scripted/hello' }));
  const stamp = `'2026-01-15T10:30:00.' || lpad(n::text, 6, '0')`;
  await psql(`INSERT INTO events (conversation_id, seq, id, kind, source, timestamp, body)
    SELECT '${id}', n, i, 'PauseEvent', 'user', ${stamp},
      json_build_object('id', i, 'timestamp', ${stamp}, 'source', 'user', 'kind', 'PauseEvent', 'filler', repeat('x', 880))::text
    FROM (SELECT n, gen_random_uuid() AS i FROM generate_series(1, 100) n) numbered`);
  return id;
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}

function nginxConf(folder, port, id) {
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
    ${handler(`/api/conversations/${id}/events/search`, `${env('DEFT_RUN')}/fcgi/fcgi.sock`, `fastcgi_param HTTP_X_SESSION_API_KEY ${key()};`)}
  }
}`;
}

async function requestsPerSecond(url) {
  const { stdout } = await run('wrk', ['-t1', `-c${CONNECTIONS}`, `-d${SECONDS}s`, '-s', `${import.meta.dirname ?? new URL('.', import.meta.url).pathname}/../fail.lua`, url]);
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

export async function page() {
  const id = await conversationWithEvents();
  const folder = mkdtempSync(`/tmp/deft-page-${randomUUID().slice(0, 8)}`);
  const port = await freePort();
  writeFileSync(`${folder}/nginx.conf`, nginxConf(folder, port, id));
  const children = [
    spawn(program('page_bare'), [`${folder}/bare.sock`, env('DEFT_DATABASE_URL'), id], { stdio: 'ignore' }),
    spawn('nginx', ['-p', folder, '-c', `${folder}/nginx.conf`], { stdio: 'ignore' }),
  ];
  const ended = children.map((child) => once(child, 'exit'));
  const ours = `http://127.0.0.1:${port}/api/conversations/${id}/events/search?limit=20`;
  const theirs = `http://127.0.0.1:${port}/bare?limit=20`;
  const theirRates = [];
  const ratios = [];
  try {
    await waitUntilServed(ours);
    await waitUntilServed(theirs);
    for (let round = 0; round < ROUNDS; round++) {
      const theirRate = await requestsPerSecond(theirs);
      theirRates.push(theirRate);
      ratios.push((await requestsPerSecond(ours)) / theirRate);
    }
  } finally {
    // Killed outright, nginx would leave its worker behind; libfcgi only notes a SIGTERM while its threads accept.
    const [bare, nginx] = children;
    bare.kill('SIGKILL');
    nginx.kill('SIGTERM');
    await Promise.all(ended);
    rmSync(folder, { recursive: true, force: true });
  }
  const value = median(ratios);
  return [{ figure: 'page_of_20_events', value, unit: 'x bare', baseline: median(theirRates), goal: '>= 0.7', ok: value >= 0.7 }];
}
