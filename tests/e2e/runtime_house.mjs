// A deft-runtime for a test: with PostgreSQL, nginx, and the real container engine.
//
// Where: the programs in DEFT_BIN, or DEFT_RUNTIME_BINARY and DEFT_ACTION_BINARY, else the newest
// build; DEFT_DOCKER_SOCKET; DEFT_SANDBOX_IMAGE; PG_BINDIR.
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const SOCKET = process.env.DEFT_DOCKER_SOCKET ?? '/var/run/docker.sock';
export const IMAGE = process.env.DEFT_SANDBOX_IMAGE ?? 'deft-sandbox:1';

// A build with sanitizers is not static, so it runs in this image only.
function isStatic(file) {
  const head = Buffer.alloc(4096);
  const fd = fs.openSync(file);
  fs.readSync(fd, head);
  fs.closeSync(fd);
  return !head.includes('/ld-linux');
}

export function findBinary(name, setting) {
  if (process.env[setting]) return process.env[setting];
  if (process.env.DEFT_BIN) return path.join(process.env.DEFT_BIN, name);
  const built = fs.readdirSync(ROOT).filter((entry) => entry.startsWith('build'))
    .map((entry) => path.join(ROOT, entry, name))
    .filter((file) => fs.existsSync(file) && (name !== 'deft-action' || isStatic(file)));
  built.sort((a, b) => fs.statSync(b).mtimeMs - fs.statSync(a).mtimeMs);
  if (built.length === 0) throw new Error(`${name} is not built; set ${setting}`);
  return built[0];
}

export async function waitUntil(condition, deadlineMs, what = 'condition') {
  const end = Date.now() + deadlineMs;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) throw new Error(`not within ${deadlineMs} ms: ${what}; last seen: ${inspect(value)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

// One HTTP call by a Unix socket or to an address; the body comes back parsed when it is JSON.
export function call(where, method, url, { body, headers = {}, type = 'application/json', timeoutMs = 130000 } = {}) {
  const bytes = body === undefined ? undefined : Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
  return new Promise((resolve, reject) => {
    const request = http.request({
      ...where, method, path: url, timeout: timeoutMs,
      headers: { ...headers, ...(bytes ? { 'Content-Type': type, 'Content-Length': bytes.length } : {}) },
    }, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        let json;
        try { json = JSON.parse(text); } catch { json = undefined; }
        resolve({ status: response.statusCode, text, json });
      });
    });
    request.on('timeout', () => request.destroy(new Error('timeout')));
    request.on('error', reject);
    request.end(bytes);
  });
}

export const engine = (method, url, options) => call({ socketPath: SOCKET }, method, `/v1.41${url}`, options);

// A tar archive in memory: [{name, mode, type, data, link}].
export function tar(entries) {
  const blocks = [];
  for (const { name, mode = 0o755, uid = 0, type = '0', data = '', link = '' } of entries) {
    const bytes = Buffer.from(data);
    const header = Buffer.alloc(512);
    const octal = (value, width, at) => header.write(`${value.toString(8).padStart(width - 1, '0')}\0`, at);
    header.write(name, 0);
    octal(mode, 8, 100);
    octal(uid, 8, 108);
    octal(uid, 8, 116);
    octal(bytes.length, 12, 124);
    octal(0, 12, 136);
    header.write('        ', 148);
    header.write(type, 156);
    header.write(link, 157);
    header.write('ustar\x0000', 257);
    octal(header.reduce((sum, byte) => sum + byte, 0), 7, 148);
    blocks.push(header, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512));
  }
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

const SERVER_USER = process.getuid() === 0 ? 'postgres' : undefined;

function asServer(program, args) {
  return SERVER_USER ? ['setpriv', ['--reuid', SERVER_USER, '--regid', SERVER_USER, '--clear-groups', program, ...args]] : [program, args];
}

function startDatabase(dir) {
  const bin = process.env.PG_BINDIR ?? fs.readdirSync('/usr/lib/postgresql').map((v) => `/usr/lib/postgresql/${v}/bin`).pop();
  const data = path.join(dir, 'pg');
  fs.mkdirSync(data, { mode: 0o700 });
  if (SERVER_USER) execFileSync('chown', [SERVER_USER, data]);
  execFileSync(`${ROOT}/tests/unit/cluster.sh`, [data], { stdio: ['ignore', 'ignore', 'inherit'] });
  const server = spawn(...asServer(`${bin}/postgres`, ['-D', `${data}/data`, '-k', data, '-c', 'listen_addresses=', '-c', 'fsync=off']),
    { stdio: 'ignore' });
  const psql = (database, args) => execFileSync('psql', ['-qAtX', '-v', 'ON_ERROR_STOP=1', '-h', data, '-U', 'deft', database, ...args], { stdio: ['ignore', 'pipe', 'pipe'] }).toString().trim();
  return { server, psql, url: `host=${data} user=deft dbname=deft` };
}

async function databaseAnswers(database) {
  await waitUntil(() => { try { database.psql('deft', ['-c', 'SELECT 1']); return true; } catch { return false; } }, 120000, 'PostgreSQL');
}

function startNginx(dir) {
  const config = path.join(dir, 'nginx.conf');
  const socket = path.join(dir, 'http.sock');
  const params = `fastcgi_pass unix:${dir}/runtime.sock; fastcgi_param REQUEST_METHOD $request_method; fastcgi_param QUERY_STRING $query_string;
    fastcgi_param CONTENT_TYPE $content_type; fastcgi_param CONTENT_LENGTH $content_length; fastcgi_read_timeout 300s;`;
  fs.writeFileSync(config, `
daemon off; pid ${dir}/nginx.pid; error_log ${dir}/nginx.log; ${process.getuid() === 0 ? 'user root;' : ''}
events { worker_connections 256; }
http { access_log off; client_body_temp_path ${dir}/nb; proxy_temp_path ${dir}/np; fastcgi_temp_path ${dir}/nf; uwsgi_temp_path ${dir}/nu; scgi_temp_path ${dir}/ns;
  map $request_uri $outside { "~^/runtime-api(?<rest>/.*)$" $rest; }
  server { listen unix:${socket}; location / { ${params} fastcgi_param REQUEST_URI $request_uri; }
    location /runtime-api/ { ${params} fastcgi_param REQUEST_URI $outside; fastcgi_param DEFT_ORIGIN outside; } } }
`);
  return { server: spawn('nginx', ['-c', config, '-e', `${dir}/nginx.log`], { stdio: 'ignore' }), socket };
}

/** Whether the socket accepts connections; its file exists a little earlier. */
function accepts(socket) {
  return new Promise((resolve) => {
    const connection = net.connect(socket, () => { connection.destroy(); resolve(true); });
    connection.on('error', () => resolve(false));
  });
}

const ended = (child) => child.exitCode !== null || child.signalCode !== null;

// What ./deft starts deft-runtime with: the capabilities that its kind of sandboxes needs.
export const asRuntime = (kind = 'docker') => execFileSync('sh', ['-euc', 'has_engine() { [ "$KIND" = docker ]; }; . "$1"; process_as runtime', 'sh', new URL('../../deploy/lib/users.sh', import.meta.url).pathname],
  { env: { ...process.env, KIND: kind }, encoding: 'utf8' }).trim().split(' ');

/** Removes the rule against connections to the host, which all instances of a host share: another one's test may just have removed it. */
export function removeHostRule() {
  try {
    execFileSync('iptables', ['-w', '5', '-D', 'INPUT', '-i', 'dsb+', '-j', 'DEFT-IN'], { stdio: 'ignore' });
  } catch { /* it is not there */ }
}

export class House {
  constructor(settings = {}) {
    this.dir = fs.mkdtempSync('/tmp/deft-rt-');
    fs.chmodSync(this.dir, 0o755);
    this.instance = `t${randomBytes(4).toString('hex')}`;
    this.key = randomBytes(16).toString('hex');
    this.settings = settings;
    this.nSessions = 0;
  }

  static async open(settings) {
    const house = new House(settings);
    try {
      house.database = startDatabase(house.dir);
      await databaseAnswers(house.database);
      house.nginx = startNginx(house.dir);
      await waitUntil(() => accepts(house.nginx.socket), 120000, 'nginx');
      await house.start();
    } catch (error) {
      // Its processes would keep the test from ending, and so the error from being reported.
      await house.close().catch(() => {});
      throw error;
    }
    return house;
  }

  environment() {
    return {
      PATH: process.env.PATH,
      DEFT_DATABASE_URL: this.database.url,
      DEFT_SECRET_KEY: 'ab'.repeat(32),
      DEFT_RUNTIME_API_KEY: this.key,
      DEFT_RUNTIME_LISTEN: `${this.dir}/runtime.sock`,
      DEFT_INSTANCE: this.instance,
      DEFT_SANDBOX_IMAGE: IMAGE,
      DEFT_DOCKER_SOCKET: SOCKET,
      DEFT_ACTION_BINARY: findBinary('deft-action', 'DEFT_ACTION_BINARY'),
      DEFT_SANDBOX_PULL: '0',
      DEFT_SANDBOX_SECCOMP: new URL('../../runtime/seccomp.json', import.meta.url).pathname,
      DEFT_SANDBOX_SPARES: '1',
      DEFT_WARM_MOST: '0',
      DEFT_SANDBOX_MEMORY_BYTES: String(512 << 20),
      DEFT_NETWORK_RULES: process.env.DEFT_NETWORK_RULES ?? '1',
      DEFT_ORPHAN_GRACE_MS: '0',
      DEFT_RECONCILE_MS: '1000',
      LOG_LEVEL: 'debug',
      ...this.settings,
    };
  }

  // Starts the service and waits until it can start sandboxes.
  async start({ ready = true } = {}) {
    const log = fs.openSync(`${this.dir}/runtime.log`, 'a');
    const [program, ...args] = [...(this.wrapper ?? asRuntime(this.environment().DEFT_RUNTIME)), findBinary('deft-runtime', 'DEFT_RUNTIME_BINARY')];
    this.service = spawn(program, args, { env: this.environment(), stdio: ['ignore', log, log] });
    fs.closeSync(log);
    if (ready) await this.ready();
  }

  // The resolver of this instance's sandboxes, without privileges, like its service.
  startResolver(settings = {}) {
    const log = fs.openSync(`${this.dir}/resolver.log`, 'a');
    const user = process.getuid() === 0 ? ['setpriv', '--reuid=nobody', '--regid=nogroup', '--clear-groups', '--no-new-privs', '--bounding-set=-all', '--inh-caps=-all', '--'] : [];
    const [program, ...args] = [...user, findBinary('deft-resolver', 'DEFT_RESOLVER_BINARY')];
    this.resolver = spawn(program, args, { env: { PATH: process.env.PATH, DEFT_INSTANCE: this.instance, ...settings }, stdio: ['ignore', log, log] });
    fs.closeSync(log);
  }

  async stopResolver(signal = 'SIGTERM') {
    const resolver = this.resolver;
    if (!resolver || ended(resolver)) return;
    resolver.kill(signal);
    await waitUntil(() => ended(resolver), 120000, 'the end of deft-resolver');
  }

  resolverLog() { return fs.readFileSync(`${this.dir}/resolver.log`, 'utf8'); }

  ready() {
    return waitUntil(async () => {
      if (ended(this.service)) throw new Error(`deft-runtime ended:\n${this.log()}`);
      const health = await this.get('/health');
      return health.status === 200 && health.json.sandboxes === 'available';
    }, 120000, 'sandboxes available');
  }

  async stop(signal = 'SIGTERM') {
    const service = this.service;
    if (!service || ended(service)) return;
    service.kill(signal);
    await waitUntil(() => ended(service), 120000, 'the end of deft-runtime');
  }

  // How the service ended.
  fate() {
    const { exitCode, signalCode } = this.service;
    return ended(this.service) ? `deft-runtime ended: ${exitCode ?? signalCode}` : 'deft-runtime runs';
  }

  // The local addresses of the service's UDP sockets, as the kernel writes them: hexadecimal, "address:port".
  udpSockets() {
    const folder = `/proc/${this.service.pid}`;
    const inodes = new Set(fs.readdirSync(`${folder}/fd`).map((fd) => {
      try { return fs.readlinkSync(`${folder}/fd/${fd}`).match(/^socket:\[(\d+)\]$/)?.[1]; } catch { return undefined; /* it was closed just now */ }
    }));
    return fs.readFileSync(`${folder}/net/udp`, 'utf8').trim().split('\n').slice(1).map((line) => line.trim().split(/\s+/))
      .filter((fields) => inodes.has(fields[9])).map((fields) => fields[1]);
  }

  log() { return fs.readFileSync(`${this.dir}/runtime.log`, 'utf8'); }

  post(url, body, key = this.key) {
    return call({ socketPath: this.nginx.socket }, 'POST', url, { body, headers: key ? { 'X-API-Key': key } : {} });
  }

  get(url, key = this.key) {
    return call({ socketPath: this.nginx.socket }, 'GET', url, { headers: key ? { 'X-API-Key': key } : {} });
  }

  /** A call through the public socket. */
  outside(method, url, { body, headers } = {}) {
    return call({ socketPath: this.nginx.socket }, method, `/runtime-api${url}`, { body, headers });
  }

  sandbox(session, more = {}) {
    return this.post('/start', { image: IMAGE, command: ['deft-action'], working_dir: '/workspace/project', environment: {}, session_id: session, wait_ms: 120000, ...more });
  }

  /** The id of a new session. */
  session() {
    this.nSessions += 1;
    return `c-${process.pid}-${this.nSessions}`;
  }

  sql(text) { return this.database.psql('deft', ['-c', text]); }

  /** Sets the desired state of these to deleted and sends the hint; resolves when they are gone. */
  async forget(...runtimes) {
    const ids = runtimes.map(({ runtime_id: id }) => `'${id}'`);
    if (ids.length === 0) return;
    this.sql(`UPDATE runtimes SET desired = 'deleted' WHERE id IN (${ids}); SELECT pg_notify('deft_runtime', '')`);
    const isGone = async ({ runtime_id: id }) => (await this.get(`/runtime/${id}`)).status === 404;
    await Promise.all(runtimes.map((runtime) => waitUntil(() => isGone(runtime), 120000, 'the runtime is forgotten')));
  }

  async ours(kind, ask = engine) {
    const filters = encodeURIComponent(JSON.stringify({ label: [`deft.instance=${this.instance}`] }));
    const { json } = await ask('GET', kind === 'containers' ? `/containers/json?all=1&filters=${filters}` : `/${kind}?filters=${filters}`);
    return kind === 'volumes' ? json.Volumes ?? [] : json;
  }

  // The user of a sandbox's commands, as configured at the engine.
  async userOf(runtimeId) {
    const { json } = await engine('GET', `/containers/${this.instance}-${runtimeId}/json`);
    return json.Config.Env.find((entry) => entry.startsWith('DEFT_ACTION_COMMAND_UID=')).split('=')[1];
  }

  // Runs a program in a sandbox by the engine, for inspection; returns both outputs as text.
  async look(runtimeId, command, user) {
    user ??= `${await this.userOf(runtimeId)}:10001`;
    const created = await engine('POST', `/containers/${this.instance}-${runtimeId}/exec`, { body: { AttachStdout: true, AttachStderr: true, Tty: true, User: user, Cmd: command } });
    const { text } = await engine('POST', `/exec/${created.json.Id}/start`, { body: { Detach: false, Tty: true } });
    const { json } = await engine('GET', `/exec/${created.json.Id}/json`);
    return { text, code: json.ExitCode };
  }

  // Removes everything of this instance from the engine.
  async reap(option = '--reap') {
    const reaper = spawn(findBinary('deft-runtime', 'DEFT_RUNTIME_BINARY'), [option], { env: this.environment(), stdio: 'ignore' });
    await waitUntil(() => ended(reaper), 120000, 'the end of deft-runtime --reap');
    if (reaper.exitCode !== 0) throw new Error(`deft-runtime ${option}: ${reaper.exitCode ?? reaper.signalCode}`);
  }

  async close() {
    await this.stop('SIGKILL');
    await this.stopResolver('SIGKILL');
    try {
      await this.reap();
    } finally {
      this.nginx?.server.kill();
      this.database?.server.kill('SIGINT');
      const servers = [this.database, this.nginx].filter(Boolean).map(({ server }) => server);
      await waitUntil(() => servers.every(ended), 120000, 'the end of the servers');
      if (!process.env.DEFT_TEST_KEEP) fs.rmSync(this.dir, { recursive: true, force: true });
    }
  }
}

/** Whether the server in a sandbox answers. */
export const alive = async (runtime) => {
  const { hostname, port } = new URL(runtime.url);
  return (await call({ host: hostname, port }, 'GET', '/alive')).json?.status === 'ok';
};

const spares = { containers: 0, networks: 1, volumes: 3 }; // one network, one home of two, deft-action's

/** The engine has nothing of this instance but spares and that many homes. */
export async function assertNoLeaks(house, homes = 0) {
  let seen = {};
  try {
    await waitUntil(async () => {
      const [containers, networks, volumes] = await Promise.all(['containers', 'networks', 'volumes'].map((kind) => house.ours(kind)));
      const left = containers.filter((c) => c.Labels['deft.role'] === 'sandbox');
      seen = { containers: left.map((c) => c.Names), networks: networks.map((n) => n.Name), volumes: volumes.map((v) => v.Name) };
      return left.length === spares.containers && networks.length === spares.networks && volumes.length === spares.volumes + 2 * homes;
    }, 120000, 'nothing is left over'); // a helper of a service that was killed goes after 20 s
  } catch (error) {
    throw new Error(`${error.message}: ${JSON.stringify(seen)}`);
  }
}
