// The git side of GitHub, GitLab and Bitbucket: git's own HTTP back end behind Basic authentication, with the
// user name that each of them expects with a token. It records requests, and those that none of them would accept.
import { spawn } from 'node:child_process';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import zlib from 'node:zlib';

const USERS = { github: (name) => name !== '', gitlab: (name) => name === 'oauth2', bitbucket: (name) => name === 'x-token-auth' };

const quiet = { stdio: ['ignore', 'ignore', 'inherit'] };

export class ForgeGit {
  static async start(vendor = 'github', token = `tok_${randomUUID().replaceAll('-', '')}`) {
    const forge = Object.assign(new ForgeGit(), { vendor, token, requests: [], violations: [] });
    forge.root = fs.mkdtempSync(path.join(os.tmpdir(), 'deft-forge-'));
    forge.server = http.createServer((request, response) => forge.serve(request, response));
    forge.server.listen(0, '127.0.0.1');
    await once(forge.server, 'listening');
    forge.origin = `http://127.0.0.1:${forge.server.address().port}`;
    return forge;
  }

  async stop() {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
    fs.rmSync(this.root, { recursive: true, force: true });
  }

  url(name) {
    return `${this.origin}/${name}.git`;
  }

  /** Creates or changes a repository. files: by path; a text, or {text, mode}, or {link}. */
  commit(name, files, message = 'change') {
    const bare = path.join(this.root, `${name}.git`);
    const work = path.join(this.root, 'work', name);
    if (!fs.existsSync(bare)) {
      execFileSync('git', ['init', '-q', '--bare', '-b', 'main', bare], quiet);
      execFileSync('git', ['-C', bare, 'config', 'http.receivepack', 'true'], quiet);
      execFileSync('git', ['clone', '-q', bare, work], { stdio: 'ignore' });
    }
    for (const [file, what] of Object.entries(files)) {
      const place = path.join(work, file);
      fs.mkdirSync(path.dirname(place), { recursive: true });
      if (typeof what.link === 'string') fs.symlinkSync(what.link, place);
      else fs.writeFileSync(place, what.text ?? what, { mode: what.mode ?? 0o644 });
    }
    const git = (...args) => execFileSync('git', ['-C', work, '-c', 'user.name=t', '-c', 'user.email=t@t.test', ...args], quiet);
    git('add', '-A');
    git('commit', '-qm', message);
    git('push', '-q', 'origin', 'HEAD:main');
    return this.ask(name, 'rev-parse', 'main');
  }

  ask(name, ...args) {
    return execFileSync('git', ['-C', path.join(this.root, `${name}.git`), ...args], { encoding: 'utf8' }).trim();
  }

  serve(request, response) {
    const [where, query] = request.url.split('?');
    const header = request.headers.authorization;
    const [user, password] = header?.startsWith('Basic ') ? Buffer.from(header.slice(6), 'base64').toString().split(/:(.*)/s) : [];
    this.requests.push({ method: request.method, url: request.url, user, password });
    if (request.url.includes(this.token) || request.url.includes('@')) this.violations.push(`a credential in ${request.url}`);
    if (this.redirect?.(where)) return void response.writeHead(302, { location: this.redirect(where) + (query ? `?${query}` : '') }).end();
    if (!where.startsWith('/public/')) {
      const isRight = password === this.token || (this.vendor === 'github' && user === this.token);
      if (isRight && !USERS[this.vendor](user)) this.violations.push(`${this.vendor} knows no user ${user}`);
      if (!isRight || !USERS[this.vendor](user)) {
        response.writeHead(401, { 'www-authenticate': 'Basic realm="git"', 'content-type': 'text/plain; charset=utf-8' });
        return void response.end(password ? `your token ${password} is not known\n` : '');
      }
    }
    this.hold?.(where);
    this.run(request, response, where, query ?? '');
  }

  run(request, response, where, query) {
    const child = spawn('git', ['http-backend'], {
      env: {
        PATH: process.env.PATH, GIT_PROJECT_ROOT: this.root, GIT_HTTP_EXPORT_ALL: '1', REQUEST_METHOD: request.method, PATH_INFO: where, QUERY_STRING: query,
        CONTENT_TYPE: request.headers['content-type'] ?? '', GIT_PROTOCOL: request.headers['git-protocol'] ?? '', REMOTE_ADDR: '127.0.0.1', REMOTE_USER: 'someone',
        ...(request.headers['content-length'] && request.headers['content-encoding'] !== 'gzip' ? { CONTENT_LENGTH: request.headers['content-length'] } : {}),
      },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    (request.headers['content-encoding'] === 'gzip' ? request.pipe(zlib.createGunzip()) : request).pipe(child.stdin);
    child.stdin.on('error', () => {}); // it has read what it wants
    const chunks = [];
    child.stdout.on('data', (chunk) => chunks.push(chunk));
    child.on('close', () => {
      const out = Buffer.concat(chunks);
      const end = out.indexOf('\r\n\r\n');
      const fields = Object.fromEntries(out.subarray(0, end).toString().split('\r\n').map((line) => line.split(': ')));
      const { Status: status = '200 OK', ...headers } = fields;
      response.writeHead(Number(status.split(' ')[0]), headers).end(out.subarray(end + 4));
    });
  }
}
