// The server in a sandbox as a process: start, end, and invalid input.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { ActionServer, Conversation, findBinary, KEY, multipart, upload } from "./support/action-server.mjs";
import { proofKeyOf, proofOf } from "./support/sandbox_key.mjs";
import { waitUntil, within } from "./support/wait.mjs";

const LARGEST_BYTES = 3e6;

describe("process", () => {
  test("the binary is small: neither a TLS library nor ciphers are linked into it", () => {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), "deft-action-size-"));
    const stripped = path.join(dir, "deft-action");
    try {
      execFileSync("strip", ["-o", stripped, findBinary()]);
      const { size } = fs.statSync(stripped);
      assert.ok(size <= LARGEST_BYTES, `${size} bytes`);
    } finally {
      fs.rmSync(dir, { recursive: true });
    }
  });

  test("SIGTERM ends the server cleanly; orphans are reaped", async () => {
    const server = await new ActionServer().start();
    const talk = new Conversation(server);
    const pid = (await talk.terminal("(setsid sh -c 'echo $$ > orphan; exec sleep 0.05' &) ; while [ ! -s orphan ]; do :; done; cat orphan")).text;
    await talk.terminal(`while [ -d /proc/${pid} ]; do sleep 0.05; done`, { timeout: 60 });
    assert.equal(fs.existsSync(`/proc/${pid}`), false);
    assert.deepEqual(await server.kill("SIGTERM"), { code: 0, by: null });
    await server.stop();
  });

  test("commands inherit no descriptor of the server", async () => {
    const server = await new ActionServer().start();
    const list = "for fd in /proc/$$/fd/*; do readlink $fd; done";
    const told = (await server.send("POST", "/api/bash/execute_bash_command", { body: JSON.stringify({ command: list }) })).json.stdout;
    assert.match(told, /^\/dev\/null\npipe:\[\d+\]\npipe:\[\d+\]\n$/);
    // The shell's own three: the command's text, the report of its end, the terminal.
    const inShell = (await new Conversation(server).terminal(`sh -c '${list}'`)).text;
    assert.match(inShell, /^(\/dev\/pts\/\d+\s+){3}\/memfd:deft-command \(deleted\)\s+pipe:\[\d+\]\s+\/dev\/pts\/\d+$/);
    await server.stop();
  });

  test("the server starts without a journal, but not without a key", async () => {
    const memory = await new ActionServer({ DEFT_ACTION_JOURNAL: "/nonexistent/dir", LOG_LEVEL: "error" }).start();
    assert.equal((await new Conversation(memory).terminal("echo x")).text, "x");
    await memory.stop();
    const child = spawn(findBinary(), [], { env: { DEFT_ACTION_PORT: "0" }, stdio: ["ignore", "ignore", "pipe"] });
    const [text] = await within(once(child.stderr, "data"), "deft-action says why it does not start");
    assert.match(text.toString(), /SESSION_API_KEY is not set/);
    const [code] = child.exitCode === null ? await within(once(child, "exit"), "deft-action ends") : [child.exitCode];
    assert.equal(code, 78);
  });

  test("invalid user settings (one missing, root, or both equal) are refused with a message", async () => {
    for (const [server, command, gid] of [[5, 0, 6], [0, 5, 6], [5, 5, 6], [5, 6, 0], [5, 2 ** 31, 6]]) {
      const env = { SESSION_API_KEY: KEY, DEFT_ACTION_PORT: "0", DEFT_ACTION_SERVER_UID: `${server}`, DEFT_ACTION_COMMAND_UID: `${command}`, DEFT_ACTION_GID: `${gid}` };
      const child = spawn(findBinary(), [], { env, stdio: ["ignore", "ignore", "pipe"] });
      const [[text], [code]] = await Promise.all([once(child.stderr, "data"), once(child, "exit")]);
      assert.match(text.toString(), /DEFT_ACTION_COMMAND_UID.*two different users/);
      assert.equal(code, 78);
    }
  });

  test("a server started as root drops all privileges, and its commands run as another user", { skip: process.getuid() !== 0 && "needs root" }, async () => {
    const server = new ActionServer({ DEFT_ACTION_SERVER_UID: "20003", DEFT_ACTION_COMMAND_UID: "20002", DEFT_ACTION_GID: "10001" });
    fs.writeFileSync(path.join(server.journal, "journal"), "");
    fs.chmodSync(server.dir, 0o755);
    fs.chmodSync(server.journal, 0o700);
    fs.mkdirSync(server.workspace);
    for (const folder of [server.workspace, server.home]) fs.chownSync(folder, 20002, 10001);
    await server.start();
    const talk = new Conversation(server);
    const status = fs.readFileSync(`/proc/${server.ready.pid}/status`, "utf8");
    for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]) assert.match(status, new RegExp(`^${set}:\\s+0+$`, "m"));
    assert.match(status, /^Uid:\t20003\t20002\t20003\t20002$/m);
    assert.match(status, /^Groups:\t10001 ?$/m);
    assert.equal((await talk.terminal("id -u; id -G; touch made; stat -c %u:%g made")).text, "20002\n10001\n20002:10001");
    assert.match((await talk.terminal(`kill -0 ${server.ready.pid}`)).text, /not permitted/);
    assert.match((await talk.terminal(`cat ${server.journal}/journal`)).text, /Permission denied/);
    assert.ok(fs.statSync(path.join(server.journal, "journal")).size > 0, "the server itself writes its journal");
    // Files created by the server belong to the commands' user, and files of root are closed to it.
    assert.equal((await server.send("POST", "/api/bash/execute_bash_command", { body: JSON.stringify({ command: "id -u; exit 3" }) })).json.exit_code, 3);
    assert.equal((await upload(server, `${server.workspace}/up`, Buffer.from("x"))).status, 200);
    assert.deepEqual([fs.statSync(`${server.workspace}/up`).uid, fs.statSync(`${server.workspace}/up`).gid], [20002, 10001]);
    assert.equal((await server.send("GET", `/api/file/download?path=${server.journal}/journal`)).status >= 400, true);
    assert.deepEqual(await server.kill("SIGTERM"), { code: 0, by: null });
    await server.stop();
  });

  test("without a session key the server is dormant until POST /api/init, which works once", async () => {
    const server = await new ActionServer({ SESSION_API_KEY: "", DEFT_ACTION_INIT_KEY: "once" }).start();
    const init = (body, key = "once") => server.send("POST", "/api/init", { headers: { "X-Init-API-Key": key }, body });
    const home = (key) => server.send("GET", "/api/file/home", { headers: { "X-Session-API-Key": key } });
    assert.deepEqual((await server.send("GET", "/api/init")).json, { state: "dormant", error: null });
    assert.equal((await server.send("GET", "/alive")).status, 200);
    for (const key of ["", "once", KEY]) {
      const refused = await home(key);
      assert.equal(refused.status, 503);
      assert.match(refused.json.detail, /^server is in deferred-init state 'dormant'/);
    }
    assert.equal((await init('{"session_api_keys":["k"]}', "")).status, 401);
    assert.equal((await init('{"session_api_keys":["k"]}', "twice")).status, 401);
    for (const body of ["", "[]", "{", "{}", '{"session_api_keys":[]}', '{"session_api_keys":[""]}', '{"session_api_keys":"k"}', '{"session_api_keys":["k"],"other":1}', '{"session_api_keys":["k"],"env":[]}', '{"session_api_keys":["k"],"env":{"A":1}}', '{"session_api_keys":["k"],"env":{"A=B":"x"}}'])
      assert.equal((await init(body)).status, 422, body);
    assert.equal((await home("k")).status, 503);
    assert.deepEqual((await init('{"session_api_keys":["k"]}')).json, { state: "ready", error: null });
    assert.equal((await home("k")).status, 200);
    assert.equal((await home("once")).status, 401);
    assert.equal((await init('{"session_api_keys":["other"]}')).status, 400);
    assert.equal((await home("other")).status, 401);
    await server.stop();
  });

  test("the server proves its identity with the init key, later with the proof key, for its own address and each fresh nonce", async () => {
    const server = await new ActionServer({ SESSION_API_KEY: "", DEFT_ACTION_INIT_KEY: "once" }).start();
    const nonce = "0123456789abcdef".repeat(4);
    const prove = (value) => server.send("GET", "/prove", { headers: value === undefined ? {} : { "X-Deft-Nonce": value } });
    const address = `127.0.0.1:${server.port}`;
    const tell = (body) => server.send("POST", "/api/init", { headers: { "X-Init-API-Key": "once" }, body: JSON.stringify(body) });
    assert.deepEqual((await prove(nonce)).json, { proof: proofOf(proofKeyOf("once"), nonce, address) });
    for (const bad of [undefined, "", "00", `${nonce}0`, nonce.toUpperCase(), "x".repeat(64)]) assert.equal((await prove(bad)).status, 400, bad);
    for (const proof_key of ["", 1, null]) assert.equal((await tell({ session_api_keys: ["k"], proof_key })).status, 422);
    assert.equal((await tell({ session_api_keys: ["k"], proof_key: "p" })).status, 200);
    assert.deepEqual((await prove(nonce)).json, { proof: proofOf("p", nonce, address) });
    await server.stop();
    const open = await new ActionServer({ SESSION_API_KEY: "", DEFT_ACTION_OPEN: "1" }).start();
    assert.equal((await open.send("GET", "/prove", { headers: { "X-Deft-Nonce": nonce } })).status, 404, "it has no key");
    await open.stop();
    const own = await new ActionServer({ SESSION_API_KEY: "k" }).start();
    assert.deepEqual((await own.send("GET", "/prove", { headers: { "X-Deft-Nonce": nonce } })).json, { proof: proofOf(proofKeyOf("k"), nonce, `127.0.0.1:${own.port}`) });
    await own.stop();
  });

  test("every shell and command has the environment of POST /api/init", async () => {
    const server = await new ActionServer({ SESSION_API_KEY: "", DEFT_ACTION_INIT_KEY: "once", COLOUR: "red" }).start();
    const env = { COLOUR: "blue", "ODD_TEXT": "a \"b\" ü\n$c", OH_RUNTIME_IDLE_TIMEOUT_SECONDS: "100" };
    const done = await server.send("POST", "/api/init", { headers: { "X-Init-API-Key": "once" }, body: JSON.stringify({ session_api_keys: [KEY], env }) });
    assert.equal(done.status, 200, done.text);
    assert.equal((await new Conversation(server).terminal('printf %s "$COLOUR:$ODD_TEXT"')).text, `blue:${env.ODD_TEXT}`);
    assert.equal((await server.send("GET", "/server_info")).json.max_foreground_terminal_timeout_seconds, 90);
    await server.stop();
  });

  test("time-outs close to the idle limit are refused", async () => {
    const server = await new ActionServer({ OH_RUNTIME_IDLE_TIMEOUT_SECONDS: "100" }).start();
    const talk = new Conversation(server);
    const refused = await talk.terminal("echo x", { timeout: 91 });
    assert.equal(refused.is_error, true);
    assert.match(refused.text, /91\.0 seconds.*100\.0 seconds.*90\.0 seconds/);
    assert.equal((await talk.terminal("echo x", { timeout: 89 })).text, "x");
    assert.equal((await server.send("GET", "/server_info")).json.max_foreground_terminal_timeout_seconds, 90);
    await server.stop();
  });
});

describe("hostile input", () => {
  let server;
  before(async () => (server = await new ActionServer().start()));
  after(() => server.stop());

  // Writes bytes, ends the request, and waits until the connection is closed or answered.
  function poke(bytes) {
    return new Promise((resolve) => {
      const socket = net.connect(server.port, "127.0.0.1", () => socket.end(bytes));
      const chunks = [];
      socket.on("data", (chunk) => chunks.push(chunk));
      socket.on("error", () => {});
      socket.on("close", () => resolve(Buffer.concat(chunks).toString("latin1")));
      socket.setTimeout(5000, () => socket.destroy());
    });
  }

  test("the server survives invalid requests", async () => {
    const key = `X-Session-API-Key: ${KEY}\r\n`;
    for (const bytes of [
      "\r\n\r\n",
      "GET\r\n\r\n",
      "\0\0\0\0",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
      `GET /${"a".repeat(40000)} HTTP/1.1\r\n\r\n`,
      `GET /alive HTTP/1.1\r\n${"X: y\r\n".repeat(9000)}\r\n`,
      "GET /alive HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
      "GET /alive HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
      "GET /%00%ff/../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n",
      `PUT /actions/x HTTP/1.1\r\nHost: x\r\n${key}Content-Length: -5\r\n\r\n`,
      `PUT /actions/x HTTP/1.1\r\nHost: x\r\n${key}Content-Length: 99999999999999999999\r\n\r\nx`,
      `PUT /actions/x HTTP/1.1\r\nHost: x\r\n${key}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
      `PUT /actions/x HTTP/1.1\r\nHost: x\r\n${key}Content-Length: 10\r\n\r\nabc`,
      `POST /api/file/upload?path=/tmp/x HTTP/1.1\r\nHost: x\r\n${key}Content-Type: multipart/form-data; boundary=\r\nContent-Length: 3\r\n\r\nabc`,
      `GET /alive HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(50),
      Buffer.from(Array.from({ length: 20000 }, (_, i) => (i * 31) % 251)),
    ]) {
      await poke(bytes);
      assert.equal((await server.send("GET", "/alive")).status, 200);
    }
    assert.equal(server.child.exitCode, null);
  });

  test("an interrupted upload leaves no file", async () => {
    const form = multipart("file");
    const file = path.join(server.workspace, "torn");
    const head = `POST /api/file/upload?path=${file} HTTP/1.1\r\nHost: x\r\nX-Session-API-Key: ${KEY}\r\nContent-Type: ${form.type}\r\nContent-Length: 100000\r\n\r\n`;
    await poke(Buffer.concat([Buffer.from(head), form.head, Buffer.alloc(5000)]));
    assert.equal((await server.send("GET", "/alive")).status, 200);
    await waitUntil((saw) => saw(fs.readdirSync(server.workspace)).length === 0, "nothing is left of it");
  });

  test("a body above the limit is refused", async () => {
    const reply = await server.send("POST", "/api/bash/start_bash_command", { body: Buffer.alloc(3 * 1024 * 1024, 0x20) });
    assert.equal(reply.status, 413);
  });
});
