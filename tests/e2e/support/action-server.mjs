// The server of a sandbox, started on a free loopback port with a workspace of its
// own. Needs no container engine. DEFT_ACTION_BINARY names the binary.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import readline from "node:readline";
import { waitUntil, within } from "./wait.mjs";

// A call without data for this time counts as hung; commands of the tests end within a minute.
const SILENCE_MS = 180_000;

export const KEY = "test-key";

/** Members that are undefined are no headers: so a test leaves out the key. */
function withoutUndefined(headers) {
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
}

export function findBinary() {
  if (process.env.DEFT_ACTION_BINARY) return process.env.DEFT_ACTION_BINARY;
  const root = path.resolve(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), "../../..");
  const builds = fs.readdirSync(root).filter((name) => name.startsWith("build"));
  const found = builds.map((name) => path.join(root, name, "deft-action")).filter((file) => fs.existsSync(file));
  found.sort((a, b) => fs.statSync(b).mtimeMs - fs.statSync(a).mtimeMs);
  assert.ok(found.length > 0, "build deft-action first");
  return found[0];
}

export class ActionServer {
  constructor(env = {}) {
    this.dir = fs.mkdtempSync(path.join(os.tmpdir(), "deft-action-test-"));
    this.workspace = path.join(this.dir, "workspace");
    this.journal = path.join(this.dir, "journal");
    this.home = path.join(this.dir, "home");
    fs.mkdirSync(this.journal);
    fs.mkdirSync(this.home);
    this.env = env;
    this.fence = 1;
  }

  async start() {
    this.child = spawn(findBinary(), [], {
      env: {
        PATH: process.env.PATH,
        HOME: this.home,
        SESSION_API_KEY: KEY,
        OH_SESSION_API_KEYS_0: "scripts-key",
        DEFT_ACTION_PORT: "0",
        DEFT_ACTION_BIND: "127.0.0.1",
        DEFT_ACTION_WORKSPACE: this.workspace,
        DEFT_ACTION_JOURNAL: this.journal,
        ...this.env,
      },
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.ended = once(this.child, "exit");
    const lines = readline.createInterface({ input: this.child.stdout });
    const [line] = await within(Promise.race([once(lines, "line"), this.ended.then(([code, by]) => Promise.reject(new Error(`deft-action ended at once: ${code ?? by}`)))]), "deft-action says that it is ready");
    this.ready = JSON.parse(line);
    this.port = this.ready.port;
    this.agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
    return this;
  }

  async kill(signal = "SIGKILL") {
    this.child.kill(signal);
    const [code, by] = await within(this.ended, `deft-action ends by ${signal}`);
    this.agent.destroy();
    return { code, by };
  }

  async stop() {
    if (this.child.exitCode === null && this.child.signalCode === null) await this.kill("SIGTERM");
    fs.rmSync(this.dir, { recursive: true, force: true });
  }

  // Sends a request; body: text, Buffer, or a function that writes to the request.
  send(method, target, { headers = {}, body, onRequest } = {}) {
    return new Promise((resolve, reject) => {
      const data = body === undefined || typeof body === "function" ? undefined : Buffer.from(body);
      const request = http.request(
        {
          host: "127.0.0.1",
          port: this.port,
          method,
          path: target,
          agent: this.agent,
          timeout: SILENCE_MS,
          headers: withoutUndefined({ "X-Session-API-Key": KEY, ...(data ? { "Content-Length": data.length } : {}), ...headers }),
        },
        async (response) => {
          const chunks = [];
          for await (const chunk of response) chunks.push(chunk);
          const bytes = Buffer.concat(chunks);
          const isJson = (response.headers["content-type"] ?? "").startsWith("application/json");
          resolve({
            status: response.statusCode,
            headers: response.headers,
            bytes,
            json: isJson ? JSON.parse(bytes.toString()) : undefined,
          });
        },
      );
      request.on("timeout", () => request.destroy(new Error(`${method} ${target}: silence for ${SILENCE_MS} ms`)));
      request.on("error", reject);
      onRequest?.(request);
      if (typeof body === "function") body(request);
      else request.end(data);
    });
  }

  scope(conversation, fence = this.fence) {
    return { "X-Deft-Conversation": conversation, "X-Deft-Fence": String(fence) };
  }

  put(conversation, id, body, options = {}) {
    return this.send("PUT", `/actions/${id}`, {
      headers: this.scope(conversation, options.fence),
      body: JSON.stringify(body),
      onRequest: options.onRequest,
    });
  }
}

// A conversation with the server, as the worker has one.
export class Conversation {
  constructor(server) {
    this.server = server;
    this.id = randomUUID();
  }

  async run(tool, args, more = {}) {
    const reply = await this.server.put(this.id, randomUUID(), { tool, args, ...more });
    assert.equal(reply.status, 200, reply.bytes.toString());
    assert.equal(reply.json.state, "finished");
    return reply.json.observation;
  }

  async terminal(command, options = {}, more = {}) {
    const observation = await this.run("terminal", { command, ...options }, more);
    return { ...observation, text: observation.content[0].text };
  }

  async editor(args) {
    const observation = await this.run("file_editor", args);
    return { ...observation, text: observation.content[0].text };
  }

  interrupt() {
    return this.server.send("POST", `/conversations/${this.id}/interrupt`);
  }
}

// Waits until a file exists in the workspace, which a command creates when it has reached a point.
export async function seen(file) {
  const dir = path.dirname(file);
  const watcher = fs.watch(dir);
  try {
    while (!fs.existsSync(file)) await within(once(watcher, "change"), `${file} is there`);
  } finally {
    watcher.close();
  }
}

// When a process began, in the kernel's ticks since it booted; undefined if there is none of that number.
function beginning(pid) {
  try {
    return fs.readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1).split(" ")[19];
  } catch {
    return undefined;
  }
}

// Waits for the end of a process that is not a child. Its number may be another one's by then.
export function gone(pid) {
  const begun = beginning(pid);
  return waitUntil(() => beginning(pid) !== begun || begun === undefined, `process ${pid} is gone`);
}

// The processor time a process has used, in hundredths of a second.
export function cpuTicks(pid) {
  const fields = fs.readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return Number(fields[11]) + Number(fields[12]);
}

export function multipart(name, head = "") {
  const boundary = "----deftboundary7MA4YWxk";
  return {
    type: `multipart/form-data; boundary=${boundary}`,
    head: Buffer.from(
      `${head}--${boundary}\r\nContent-Disposition: form-data; name="${name}"; filename="x"\r\nContent-Type: application/octet-stream\r\n\r\n`,
    ),
    tail: Buffer.from(`\r\n--${boundary}--\r\n`),
  };
}

export function upload(server, file, bytes, name = "file") {
  const form = multipart(name);
  return server.send("POST", `/api/file/upload?path=${encodeURIComponent(file)}`, {
    headers: { "Content-Type": form.type },
    body: Buffer.concat([form.head, Buffer.from(bytes), form.tail]),
  });
}

export function residentKb(pid) {
  const status = fs.readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmHWM:\s+(\d+)/.exec(status)[1]);
}
