// OpenHands' own page, Agent Canvas, as published: its prebuilt folder and deft's agent origin at one address.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { createServer, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { extname, join, normalize } from 'node:path';
import { promisify } from 'node:util';
import { carryRequests, launchBrowser } from './browser.mjs';

const run = promisify(execFile);

const NAME = '@openhands/agent-canvas';
const VERSION = '1.20.0';
const DIGEST = 'uq28bmdMapsDN0ltp5ZHYm9xfuk7cHktNkd0NY38w/UTq25wJTqSKSPya+2+ky0+HpGX2vmn0uF3mHuNCoOb2w==';
/** Paths of the agent server; all others are the page's. */
const SERVED = /^\/(api|sockets|server_info|health|ready|alive|docs|redoc|openapi\.json)(\/|\?|$)/;
const TYPES = {
  '.css': 'text/css', '.html': 'text/html', '.js': 'text/javascript', '.json': 'application/json', '.svg': 'image/svg+xml',
  '.png': 'image/png', '.woff2': 'font/woff2', '.webmanifest': 'application/manifest+json', '.wasm': 'application/wasm',
};

/** The folder of the built page; fetched once, and kept next to deft's builds. */
export async function fetchCanvas() {
  const home = join(process.env.DEFT_BUILD, `canvas-${VERSION}`);
  if (existsSync(home)) return join(home, 'build');
  const work = await mkdtemp(`${home}.`);
  const { stdout } = await run('npm', ['pack', `${NAME}@${VERSION}`, '--silent', '--pack-destination', work]);
  const archive = join(work, stdout.trim());
  const digest = createHash('sha512').update(readFileSync(archive)).digest('base64');
  if (digest !== DIGEST) throw new Error(`${archive} is another one: ${digest}`);
  await mkdir(join(work, 'page'));
  await run('tar', ['-xzf', archive, '-C', join(work, 'page'), '--strip-components=1', 'package/build']);
  await rename(join(work, 'page'), home).catch((error) => {
    if (!existsSync(home)) throw error; // another trial was first
  });
  await rm(work, { recursive: true, force: true });
  return join(home, 'build');
}

/** The page's document, with the key in it as its own server would put it there. */
function documentOf(folder, key) {
  const told = `window.__AGENT_CANVAS_SESSION_API_KEY__=${JSON.stringify(key)};window.__AGENT_CANVAS_DO_NOT_TRACK__=true;`;
  return readFileSync(join(folder, 'index.html'), 'utf8').replace('<head>', `<head><script>${told}</script>`);
}

async function sendFile(folder, path, page, response) {
  const file = join(folder, normalize(decodeURIComponent(path)));
  const found = path !== '/' && file.startsWith(folder) && (await stat(file).catch(() => undefined))?.isFile();
  if (!found) {
    response.writeHead(200, { 'content-type': 'text/html' }).end(page);
    return;
  }
  response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' });
  createReadStream(file).pipe(response);
}

function passOn(agent, request, response) {
  const { hostname, port } = new URL(agent);
  const options = { hostname, port, path: request.url, method: request.method, headers: request.headers, agent: false };
  const onward = httpRequest(options, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
    answer.on('close', () => answer.complete || response.destroy());
  });
  onward.on('error', () => {
    if (response.headersSent || response.destroyed) response.destroy();
    else response.writeHead(502).end();
  });
  request.pipe(onward);
}

function passSocket(agent, request, socket, head) {
  const { hostname, port } = new URL(agent);
  const onward = connect(Number(port), hostname, () => {
    const lines = request.rawHeaders.flatMap((word, i, words) => (i % 2 ? [] : [`${word}: ${words[i + 1]}`]));
    onward.write(`${[`GET ${request.url} HTTP/1.1`, ...lines].join('\r\n')}\r\n\r\n`);
    onward.write(head);
    onward.pipe(socket).pipe(onward);
  });
  for (const [one, other] of [[onward, socket], [socket, onward]]) {
    one.on('error', () => other.destroy());
    one.on('close', () => other.destroy());
  }
}

/** Resolves with {url, close}: the page of that folder, and the agent server's paths, at one address. */
export async function serveCanvas(folder, { agent, key }) {
  const page = documentOf(folder, key);
  const server = createServer((request, response) => {
    if (SERVED.test(request.url)) passOn(agent, request, response);
    else sendFile(folder, new URL(request.url, 'http://x').pathname, page, response).catch(() => response.destroy());
  });
  server.keepAliveTimeout = 0; // it never closes a connection that the page may be about to use
  server.on('upgrade', (request, socket, head) => passSocket(agent, request, socket, head));
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://localhost:${server.address().port}`,
    close: () => new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    }),
  };
}

/** Failures that the page expects, with the original server too. */
const TOLERATED = [/\/api\/llm\/balance$/, /PLAN\.md$/];
const STEP_DEADLINE_MS = 60_000;

/** Records the page's temporary notifications. */
function watchToasts() {
  window.toasts = [];
  new MutationObserver(() => {
    for (const { innerText } of document.querySelectorAll('[role="status"]')) {
      if (innerText && !window.toasts.includes(innerText)) window.toasts.push(innerText);
    }
  }).observe(document, { childList: true, subtree: true });
}

/**
 * A browser at the page, {browser, page, faults, sent}: its faults, and the frames that it sent. Other hosts are
 * unreachable.
 */
export async function openCanvas(site) {
  const browser = await launchBrowser();
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  context.setDefaultTimeout(STEP_DEADLINE_MS);
  await context.addInitScript(watchToasts);
  await context.route((url) => url.origin !== site.url, (route) => route.abort());
  await carryRequests(context, site.url);
  const page = await context.newPage();
  const faults = [];
  const sent = [];
  page.on('pageerror', (error) => faults.push(`exception: ${error.message}`));
  page.on('response', (answer) => {
    const { pathname, search } = new URL(answer.url());
    if (answer.status() < 400 || TOLERATED.some((pattern) => pattern.test(pathname + search))) return;
    faults.push(`${answer.status()} ${answer.request().method()} ${pathname}${search}`);
  });
  page.on('websocket', (socket) => socket.on('framesent', ({ payload }) => sent.push(String(payload))));
  return { browser, page, faults, sent };
}
