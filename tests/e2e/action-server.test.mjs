// The server of a sandbox, from outside: started on a free loopback port with a workspace of its
// own. Needs no container engine. DEFT_ACTION_BINARY names the binary.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import fs from "node:fs";
import http from "node:http";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import readline from "node:readline";
import { after, before, describe, test } from "node:test";

const KEY = "test-key";

function findBinary() {
  if (process.env.DEFT_ACTION_BINARY) return process.env.DEFT_ACTION_BINARY;
  const root = path.resolve(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), "../..");
  const builds = fs.readdirSync(root).filter((name) => name.startsWith("build"));
  const found = builds.map((name) => path.join(root, name, "deft-action")).filter((file) => fs.existsSync(file));
  found.sort((a, b) => fs.statSync(b).mtimeMs - fs.statSync(a).mtimeMs);
  assert.ok(found.length > 0, "build deft-action first");
  return found[0];
}

class ActionServer {
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
    const [line] = await once(lines, "line");
    this.ready = JSON.parse(line);
    this.port = this.ready.port;
    this.agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
    return this;
  }

  async kill(signal = "SIGKILL") {
    this.child.kill(signal);
    const [code, by] = await this.ended;
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
          headers: { "X-Session-API-Key": KEY, ...(data ? { "Content-Length": data.length } : {}), ...headers },
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
class Conversation {
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

// Waits until a file of the workspace is there: what a command does when it has come so far.
async function seen(file) {
  const dir = path.dirname(file);
  const watcher = fs.watch(dir);
  try {
    while (!fs.existsSync(file)) await once(watcher, "change");
  } finally {
    watcher.close();
  }
}

function multipart(name, head = "") {
  const boundary = "----deftboundary7MA4YWxk";
  return {
    type: `multipart/form-data; boundary=${boundary}`,
    head: Buffer.from(
      `${head}--${boundary}\r\nContent-Disposition: form-data; name="${name}"; filename="x"\r\nContent-Type: application/octet-stream\r\n\r\n`,
    ),
    tail: Buffer.from(`\r\n--${boundary}--\r\n`),
  };
}

function upload(server, file, bytes, name = "file") {
  const form = multipart(name);
  return server.send("POST", `/api/file/upload?path=${encodeURIComponent(file)}`, {
    headers: { "Content-Type": form.type },
    body: Buffer.concat([form.head, Buffer.from(bytes), form.tail]),
  });
}

function residentKb(pid) {
  const status = fs.readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmHWM:\s+(\d+)/.exec(status)[1]);
}

describe("terminal", () => {
  let server;
  let talk;
  before(async () => {
    server = await new ActionServer({ DEFT_ACTION_NO_CHANGE_MS: "1000" }).start();
    talk = new Conversation(server);
  });
  after(() => server.stop());

  test("an observation has its exact shape", async () => {
    const reply = await server.put(talk.id, randomUUID(), { tool: "terminal", args: { command: "echo hi" } });
    const { metadata } = reply.json.observation;
    assert.deepEqual(reply.json, {
      state: "finished",
      observation: {
        content: [{ type: "text", text: "hi", cache_prompt: false }],
        is_error: false,
        command: "echo hi",
        exit_code: 0,
        timeout: false,
        metadata: {
          exit_code: 0,
          pid: -1,
          username: metadata.username,
          hostname: os.hostname(),
          working_dir: server.workspace,
          py_interpreter_path: metadata.py_interpreter_path,
          prefix: "",
          suffix: "\n[The command completed with exit code 0.]",
        },
        kind: "TerminalObservation",
      },
    });
  });

  for (const [command, code] of [
    ["false", 1],
    ["(exit 3)", 3],
    ["no-such-command-here", 127],
    ["sh -c 'kill -9 $$'", 137],
    ["echo 'unclosed", 2],
    ["if then fi", 2],
  ]) {
    test(`exit code of ${command}`, async () => {
      const seenOnce = await talk.terminal(command);
      assert.equal(seenOnce.exit_code, code);
      assert.equal(seenOnce.is_error, false);
      assert.equal((await talk.terminal("echo $?")).text, String(code));
    });
  }

  test("directory, variables, functions and aliases persist", async () => {
    await talk.terminal("mkdir -p sub && cd sub && export A=1 && f() { echo f$A; } && alias g='echo g'");
    const later = await talk.terminal("pwd; f; umask 077");
    assert.equal(later.text, `${server.workspace}/sub\nf1`);
    assert.equal(later.metadata.working_dir, `${server.workspace}/sub`);
    assert.equal((await talk.terminal("g; umask")).text, "g\n0077");
    await talk.terminal("cd ..; umask 022");
  });

  test("one statement on many lines runs", async () => {
    for (const [command, text] of [
      ["for i in 1 2; do\n  echo $i\ndone", "1\n2"],
      ["cat <<'X'\na $HOME\nX", "a $HOME"],
      ["echo a \\\n b", "a b"],
      ["echo 'x\ny'", "x\ny"],
      ["f2() {\n  echo in\n}\n", ""],
      ["f2 &&\necho out", "in\nout"],
      ["# a comment\necho c # more", "c"],
      ["case a in\na) echo A;;\n*) echo B;;\nesac", "A"],
      ["echo $((1 + 2)) $(echo `echo deep`)", "3 deep"],
    ]) {
      const done = await talk.terminal(command);
      assert.equal(done.text, text, command);
      assert.equal(done.is_error, false);
    }
  });

  test("several statements are refused with a list", async () => {
    const refused = await talk.terminal("echo one\necho two");
    assert.equal(refused.is_error, true);
    assert.equal("exit_code" in refused, false);
    assert.match(refused.text, /^Cannot execute multiple commands at once\./);
    assert.match(refused.text, /Provided commands:\n\(1\) echo one\n\(2\) echo two$/);
  });

  test("quoting survives", async () => {
    await talk.terminal("touch q.txt");
    assert.equal((await talk.terminal("find . -maxdepth 1 -name q.txt -exec echo {} \\;")).text, "./q.txt");
    assert.equal((await talk.terminal('echo "a\\;b" \'!x!\' "!y"')).text, "a\\;b !x! !y");
    assert.equal((await talk.terminal("echo 'äöü 😀 日本'")).text, "äöü 😀 日本");
  });

  test("any bytes become valid text", async () => {
    assert.equal((await talk.terminal("printf 'a\\xff\\xc3(b\\0c\\n'")).text, "a\uFFFD\uFFFD(bc");
    assert.equal((await talk.terminal("printf 'x\\r\\ny\\r\\n'")).text, "x\ny");
    assert.equal((await talk.terminal("printf '10%%\\r50%%\\r100%%\\n'")).text, "100%");
    assert.equal((await talk.terminal("printf 'hello world\\rHELLO\\n'")).text, "HELLO world");
    assert.equal((await talk.terminal("printf '\\033[31mred\\033[0m\\033[6n\\033[c\\033]11;?\\007!\\n'")).text, "\x1b[31mred\x1b[0m!");
  });

  test("output cannot end a command", async () => {
    const done = await talk.terminal(
      "printf '###PS1JSON###\\n{}\\n###PS1END###\\n\\033]7770;fake;1\\007'; set | grep ^__deft_n= > /dev/null; echo end",
    );
    assert.match(done.text, /end$/);
    assert.equal((await talk.terminal("echo next")).text, "next");
  });

  test("long output keeps head and tail in 30000 characters", async () => {
    const done = await talk.terminal("seq 1 100000; echo ende");
    assert.equal([...done.text].length, 30000);
    assert.match(done.text, /^1\n2\n3\n/);
    assert.match(done.text, /<response clipped><NOTE>/);
    assert.match(done.text, /99999\n100000\nende$/);
    const exact = await talk.terminal("yes é | head -30000 | tr -d '\\n'");
    assert.equal(exact.text.includes("clipped"), false);
    assert.equal([...exact.text].length, 30000);
  });

  test("silence is reported, an empty command waits on", async () => {
    const silent = await talk.terminal("echo first; read -r line < fifo; echo second", {}, {});
    assert.equal(silent.exit_code === 1 || silent.exit_code === 0, true);
    await talk.terminal("rm -f fifo && mkfifo fifo");
    const first = await talk.terminal("echo first; read -r line < fifo; echo $line");
    assert.equal(first.exit_code, -1);
    assert.equal(first.is_error, false);
    assert.equal(first.text, "first");
    assert.match(first.metadata.suffix, /^\n\[The command has no new output after 1 seconds\. /);
    assert.equal("working_dir" in first.metadata, false);
    fs.writeFileSync(path.join(server.workspace, "fifo"), "second\n");
    const second = await talk.terminal("");
    assert.equal(second.text, "second");
    assert.equal(second.exit_code, 0);
    assert.equal(second.metadata.prefix, "[Below is the output of the previous command.]\n");
  });

  test("a new command is not executed while one runs; C-c ends that", async () => {
    const hard = await talk.terminal("sleep 1000", { timeout: 0.25 });
    assert.match(hard.metadata.suffix, /^\n\[The command timed out after 0\.25 seconds\. /);
    const refused = await talk.terminal("touch must-not-be");
    assert.equal(refused.is_error, true);
    assert.equal(refused.exit_code, -1);
    assert.match(refused.metadata.suffix, /^\n\[Your command "touch must-not-be" is NOT executed\. The previous command is still running - /);
    const ended = await talk.terminal("C-c", { is_input: true });
    assert.equal(ended.exit_code, 130);
    assert.equal(ended.metadata.suffix, "\n[The command completed with exit code 130. CTRL+C was sent.]");
    assert.equal(fs.existsSync(path.join(server.workspace, "must-not-be")), false);
  });

  test("C-z stops and C-d ends input", async () => {
    await talk.terminal("cat", { timeout: 0.1 });
    const stopped = await talk.terminal("ctrl+z", { is_input: true });
    assert.equal(stopped.exit_code, 148);
    assert.match(stopped.metadata.suffix, /CTRL\+Z was sent\.\]$/);
    await talk.terminal("kill -9 %1; wait; true");
    await talk.terminal("wc -c", { timeout: 0.1 });
    await talk.terminal("12345", { is_input: true, timeout: 0.1 });
    const counted = await talk.terminal("C-d", { is_input: true });
    assert.match(counted.text, /^6/);
    assert.equal(counted.exit_code, 0);
  });

  test("programs that read get their input", async () => {
    await talk.terminal('read -r -p "Name: " name; read -rs -p "Word: " word; echo "$name/$word"', { timeout: 0.1 });
    assert.match((await talk.terminal("Ann", { is_input: true, timeout: 0.1 })).text, /^Word:/);
    assert.equal((await talk.terminal("s3cret", { is_input: true })).text, "Ann/s3cret");
  });

  test("a python prompt is talked to", async (t) => {
    if ((await talk.terminal("command -v python3")).exit_code !== 0) return t.skip("no python3");
    // Newer ones edit the line with escape sequences unless told otherwise.
    const greeted = await talk.terminal("PYTHON_BASIC_REPL=1 python3 -q", { timeout: 5 });
    if (!greeted.text.includes(">>>")) await talk.terminal("", { timeout: 5 });
    assert.match((await talk.terminal("6 * 7", { is_input: true, timeout: 1 })).text, /^42\n>>>/);
    assert.equal((await talk.terminal("exit()", { is_input: true })).exit_code, 0);
  });

  test("nothing runs: nothing to read or type", async () => {
    const empty = await talk.terminal("");
    assert.equal(empty.text, "No previous running command to retrieve logs from.");
    assert.equal(empty.is_error, true);
    assert.equal("exit_code" in empty, false);
    const input = await talk.terminal("C-c", { is_input: true });
    assert.equal(input.text, "No previous running command to interact with.");
  });

  test("literals are refused", async () => {
    for (const command of ['{"a": 1}', "['ls']", '[{"x": 1}]', "[[1, 2]]"])
      assert.equal((await talk.terminal(command)).is_error, true, command);
    assert.equal((await talk.terminal("[[ -d / ]]")).exit_code, 0);
  });

  test("background jobs return at once and outlive a reset", async () => {
    const job = await talk.terminal("sleep 1000 &");
    assert.equal(job.exit_code, 0);
    assert.ok(job.metadata.pid > 0);
    await talk.terminal("A=2", { reset: true });
    assert.equal((await talk.terminal(`kill -0 ${job.metadata.pid} && echo lives; echo $A`)).text, "lives\n2");
    await talk.terminal(`kill ${job.metadata.pid}`);
  });

  test("reset begins anew", async () => {
    await talk.terminal("B=3");
    const reset = await talk.terminal("", { reset: true });
    assert.equal(reset.command, "[RESET]");
    assert.equal(reset.exit_code, 0);
    assert.match(reset.text, /^Terminal session has been reset\./);
    const again = await talk.terminal("echo b=$B", { reset: true });
    assert.equal(again.command, "[RESET] echo b=$B");
    assert.match(again.text, /cleared\.\n\nb=$/);
    assert.equal((await talk.terminal("x", { reset: true, is_input: true })).is_error, true);
  });

  test("a shell that ends is replaced", async () => {
    const ended = await talk.terminal("echo bye; exit 7");
    assert.equal(ended.exit_code, 7);
    assert.match(ended.text, /^bye/);
    assert.match(ended.metadata.suffix, /^\n\[The command completed with exit code 7\.\]\n\[The shell itself has ended/);
    assert.equal((await talk.terminal("kill -9 $$")).exit_code, 137);
    assert.equal((await talk.terminal("echo new")).text, "new");
  });

  test("a user's prompt does not spoil anything", async () => {
    fs.writeFileSync(path.join(server.home, ".bashrc"), 'PS1="prompt> "\nPROMPT_COMMAND="echo noise;$PROMPT_COMMAND"\nalias ll=ls\n');
    await talk.terminal("source ~/.bashrc; true");
    await talk.terminal("true");
    assert.equal((await talk.terminal("PS1='evil$ '; PROMPT_COMMAND=; set -u; echo calm")).text, "calm");
    assert.equal((await talk.terminal("echo still")).text, "still");
    fs.rmSync(path.join(server.home, ".bashrc"));
    await talk.terminal("", { reset: true });
  });

  test("a big command arrives whole", async () => {
    const text = "x".repeat(300000);
    assert.equal((await talk.terminal(`cat <<'END' | wc -c\n${text}\nEND`)).text, "300001");
    const lines = Array.from({ length: 3000 }, (_, i) => `line ${i}`).join("\n");
    assert.equal((await talk.terminal(`cat <<'END' | tail -1\n${lines}\nEND`)).text, "line 2999");
  });

  test("exports come before the command and are not reported", async () => {
    const done = await talk.terminal('echo "$SECRET"', {}, { env: { SECRET: "it's $HOME `x`\n2" } });
    assert.equal(done.text, "it's $HOME `x`\n2");
    assert.equal(done.command, 'echo "$SECRET"');
  });

  test("keys of the server are out of reach", async () => {
    assert.equal((await talk.terminal("env | grep -c -e KEY -e DEFT_")).text, "0");
    const peek = await talk.terminal(`cat /proc/${server.child.pid}/environ | tr '\\0' '\\n' | grep -c ${KEY}`);
    assert.match(peek.text, /0$/);
  });

  test("a full screen program takes keys", async (t) => {
    if ((await talk.terminal("command -v vi")).exit_code !== 0) return t.skip("no vi");
    await talk.terminal("vi -u NONE note.txt", { timeout: 0.5 });
    await talk.terminal("ihello", { is_input: true, timeout: 0.2 });
    await talk.terminal("ESC", { is_input: true, timeout: 0.2 });
    const left = await talk.terminal(":wq", { is_input: true, timeout: 5 });
    assert.equal(left.exit_code, 0);
    assert.equal(fs.readFileSync(path.join(server.workspace, "note.txt"), "utf8").startsWith("hello"), true);
  });

  test("many conversations have shells of their own", async () => {
    const all = Array.from({ length: 8 }, () => new Conversation(server));
    await Promise.all(all.map((each, i) => each.terminal(`X=${i}`)));
    const texts = await Promise.all(all.map((each) => each.terminal("echo $X")));
    assert.deepEqual(texts.map((each) => each.text), all.map((_, i) => String(i)));
    await Promise.all(all.map((each) => server.send("DELETE", `/conversations/${each.id}`)));
  });
});

describe("terminal without bash", () => {
  test("a plain sh serves", async (t) => {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), "deft-sh-"));
    const root = path.join(dir, "root");
    const prepared = await new Promise((resolve) => {
      const script = `set -e; mkdir -p ${root}/bin ${root}/w ${root}/proc ${root}/dev/pts
        for p in sh cat sleep; do f=$(command -v $p); cp -L $f ${root}/bin/$p
        for l in $(ldd $f | grep -o '/[^ ]*'); do mkdir -p ${root}$(dirname $l); cp -L $l ${root}$l; done; done`;
      spawn("sh", ["-c", script], { stdio: "ignore" }).on("exit", (code) => resolve(code === 0));
    });
    if (!prepared || process.getuid() !== 0) return t.skip("needs root for a chroot");
    fs.copyFileSync(findBinary(), path.join(root, "deft-action"));
    const child = spawn("unshare", ["-m", "sh", "-c", `mount --bind /dev ${root}/dev && mount --bind /dev/pts ${root}/dev/pts && exec chroot ${root} /deft-action`], {
      env: { SESSION_API_KEY: KEY, DEFT_ACTION_PORT: "0", DEFT_ACTION_BIND: "127.0.0.1", DEFT_ACTION_WORKSPACE: "/w", DEFT_ACTION_JOURNAL: "/none" },
      stdio: ["ignore", "pipe", "ignore"],
    });
    const lines = readline.createInterface({ input: child.stdout });
    const line = await Promise.race([once(lines, "line"), once(child, "exit").then(() => [null])]);
    if (line[0] === null) return t.skip("no mount namespaces here");
    const server = Object.assign(new ActionServer(), { port: JSON.parse(line[0]).port, agent: new http.Agent({ keepAlive: true }) });
    const talk = new Conversation(server);
    assert.equal((await talk.terminal("echo hi; cd /bin")).text, "hi");
    assert.equal((await talk.terminal("pwd; (exit 5)")).exit_code, 5);
    assert.equal((await talk.terminal("echo $?")).text, "5");
    await talk.terminal("sleep 1000", { timeout: 0.1 });
    assert.equal((await talk.terminal("C-c", { is_input: true })).exit_code, 130);
    assert.equal((await talk.terminal("for i in 1 2; do\necho $i\ndone")).text, "1\n2");
    const exited = await talk.terminal("exit 3");
    assert.equal(exited.exit_code, 3);
    assert.equal((await talk.terminal("echo again")).text, "again");
    child.kill();
    await once(child, "exit");
    fs.rmSync(dir, { recursive: true, force: true });
  });
});

describe("interrupt", () => {
  let server;
  before(async () => (server = await new ActionServer().start()));
  after(() => server.stop());

  test("a running command ends as after Ctrl-C, queued ones are interrupted", async () => {
    const talk = new Conversation(server);
    const running = talk.terminal("echo begun; touch begun; sleep 1000");
    await seen(path.join(server.workspace, "begun"));
    const queued = server.put(talk.id, randomUUID(), { tool: "terminal", args: { command: "touch late" } });
    const probe = await server.send("GET", "/alive");
    assert.equal(probe.status, 200);
    assert.equal((await talk.interrupt()).status, 200);
    const done = await running;
    assert.equal(done.exit_code, 130);
    assert.equal(done.text, "begun");
    const late = (await queued).json;
    assert.equal(late.state === "interrupted" || late.state === "finished", true);
    assert.equal((await talk.terminal("echo on")).text, "on");
  });

  test("a program that ignores Ctrl-C and SIGTERM is killed", async () => {
    const talk = new Conversation(server);
    const running = talk.terminal("(trap '' INT TERM; touch deaf; while :; do sleep 0.1; done)");
    await seen(path.join(server.workspace, "deaf"));
    await talk.interrupt();
    assert.equal((await running).exit_code, 137);
  });
});

describe("journal", () => {
  test("a second request for a running action gets the same result; it runs once", async () => {
    const server = await new ActionServer().start();
    const conversation = randomUUID();
    const id = randomUUID();
    const fifo = path.join(server.workspace, "go");
    const talk = new Conversation(server);
    await talk.terminal("mkfifo go");
    const body = { tool: "terminal", args: { command: "echo run >> runs; touch begun; read -r x < go; echo got $x" } };
    const first = server.put(conversation, id, body);
    await seen(path.join(server.workspace, "begun"));
    const second = server.put(conversation, id, body);
    const waiting = server.send("GET", `/actions/${id}?wait=1`, { headers: server.scope(conversation) });
    const state = await server.send("GET", `/actions/${id}`, { headers: server.scope(conversation) });
    assert.deepEqual(state.json, { state: "running" });
    fs.writeFileSync(fifo, "it\n");
    const replies = await Promise.all([first, second, waiting]);
    for (const reply of replies) assert.equal(reply.json.observation.content[0].text, "got it");
    const kept = await server.put(conversation, id, body);
    assert.deepEqual(kept.json, replies[0].json);
    assert.equal(fs.readFileSync(path.join(server.workspace, "runs"), "utf8"), "run\n");
    await server.stop();
  });

  test("a client that hangs up loses nothing", async () => {
    const server = await new ActionServer().start();
    const talk = new Conversation(server);
    await talk.terminal("mkfifo go");
    const id = randomUUID();
    let request;
    const lost = server.put(talk.id, id, { tool: "terminal", args: { command: "touch begun; read -r x < go; echo $x" } }, { onRequest: (r) => (request = r) });
    await seen(path.join(server.workspace, "begun"));
    request.destroy();
    await assert.rejects(lost);
    fs.writeFileSync(path.join(server.workspace, "go"), "done\n");
    const reply = await server.send("GET", `/actions/${id}?wait=1`, { headers: server.scope(talk.id) });
    assert.equal(reply.json.observation.content[0].text, "done");
    await server.stop();
  });

  test("a killed server: finished is kept, started is interrupted, unknown runs", async () => {
    const server = await new ActionServer().start();
    const talk = new Conversation(server);
    const [finished, started, unknown] = [randomUUID(), randomUUID(), randomUUID()];
    const first = await server.put(talk.id, finished, { tool: "terminal", args: { command: "echo kept" } });
    const running = server.put(talk.id, started, { tool: "terminal", args: { command: "touch begun; sleep 1000" } });
    await seen(path.join(server.workspace, "begun"));
    await Promise.all([server.kill("SIGKILL"), assert.rejects(running)]);
    await server.start();
    const again = await server.put(talk.id, finished, { tool: "terminal", args: { command: "echo kept" } });
    assert.deepEqual(again.json, first.json);
    const lost = await server.put(talk.id, started, { tool: "terminal", args: { command: "touch begun; sleep 1000" } });
    assert.equal(lost.json.state, "interrupted");
    assert.match(lost.json.reason, /restarted/);
    const state = await server.send("GET", `/actions/${unknown}`, { headers: server.scope(talk.id) });
    assert.deepEqual(state.json, { state: "unknown" });
    const ran = await server.put(talk.id, unknown, { tool: "terminal", args: { command: "echo ran" } });
    assert.equal(ran.json.observation.content[0].text, "ran");
    await server.stop();
  });

  test("an older fence is refused, also after a restart; other arguments too", async () => {
    const server = await new ActionServer().start();
    const talk = new Conversation(server);
    const id = randomUUID();
    const body = { tool: "terminal", args: { command: "echo x" } };
    assert.equal((await server.put(talk.id, id, body, { fence: 5 })).status, 200);
    assert.equal((await server.put(talk.id, id, body, { fence: 4 })).status, 409);
    assert.equal((await server.send("GET", `/actions/${id}`, { headers: server.scope(talk.id, 9) })).status, 200);
    assert.equal((await server.put(talk.id, randomUUID(), body, { fence: 8 })).status, 409);
    assert.equal((await server.put(talk.id, id, { tool: "terminal", args: { command: "echo y" } }, { fence: 9 })).status, 409);
    assert.equal((await server.put(randomUUID(), id, body, { fence: 9 })).status, 409);
    assert.equal((await server.put(talk.id, id, { ...body, env: { A: "1" } }, { fence: 9 })).status, 200);
    await server.kill();
    await server.start();
    assert.equal((await server.put(talk.id, randomUUID(), body, { fence: 8 })).status, 409);
    assert.equal((await server.put(talk.id, randomUUID(), body, { fence: 9 })).status, 200);
    await server.stop();
  });

  test("bad requests are told apart", async () => {
    const server = await new ActionServer().start();
    const talk = new Conversation(server);
    const put = (body, headers = server.scope(talk.id), id = randomUUID()) =>
      server.send("PUT", `/actions/${id}`, { headers, body }).then((reply) => reply.status);
    const good = JSON.stringify({ tool: "terminal", args: { command: "echo" } });
    assert.equal(await put("{"), 400);
    assert.equal(await put("[]"), 400);
    assert.equal(await put(""), 400);
    assert.equal(await put("[".repeat(100000)), 400);
    assert.equal(await put(JSON.stringify({ tool: "other", args: {} })), 400);
    assert.equal(await put(JSON.stringify({ tool: "terminal", args: {} })), 400);
    assert.equal(await put(JSON.stringify({ tool: "terminal", args: { command: "x", timeout: -1 } })), 400);
    assert.equal(await put(JSON.stringify({ tool: "terminal", args: { command: "x" }, env: { "A B": "1" } })), 400);
    assert.equal(await put(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])), 400);
    assert.equal(await put(good, {}), 400);
    assert.equal(await put(good, { ...server.scope(talk.id), "X-Deft-Fence": "x" }), 400);
    assert.equal(await put(good, server.scope(talk.id), "a%20b"), 400);
    assert.equal(await put(good, server.scope(talk.id), "x".repeat(200)), 400);
    const bare = await server.send("PUT", `/actions/${randomUUID()}`, { headers: { "X-Session-API-Key": "wrong" }, body: good });
    assert.equal(bare.status, 401);
    assert.deepEqual(bare.json, { detail: "Unauthorized" });
    assert.equal((await server.send("GET", "/nowhere")).status, 404);
    assert.equal((await server.send("POST", "/alive")).status, 405);
    assert.equal((await server.send("GET", "/alive", { headers: { "X-Session-API-Key": "" } })).status, 200);
    const info = await server.send("GET", "/server_info");
    assert.equal(info.json.title, "deft-action");
    await server.stop();
  });

  test("acknowledged and forgotten results", async () => {
    const server = await new ActionServer().start();
    const talk = new Conversation(server);
    const id = randomUUID();
    await server.put(talk.id, id, { tool: "terminal", args: { command: "echo x" } });
    assert.deepEqual((await server.send("POST", "/actions/acknowledge", { body: JSON.stringify({ ids: [id, "none"] }) })).json, { success: true });
    assert.equal((await server.send("DELETE", `/actions/${id}`)).status, 200);
    assert.equal((await server.send("DELETE", `/conversations/${talk.id}`)).status, 200);
    const state = await server.send("GET", `/actions/${id}`, { headers: server.scope(talk.id) });
    assert.deepEqual(state.json, { state: "unknown" });
    await server.stop();
  });
});

describe("file_editor", () => {
  let server;
  let talk;
  const at = (name) => path.join(server.workspace, name);
  before(async () => {
    server = await new ActionServer().start();
    talk = new Conversation(server);
  });
  after(() => server.stop());

  test("create, view, replace, insert, undo", async () => {
    const file = at("deep/er/a.py");
    const made = await talk.editor({ command: "create", path: file, file_text: "a = 1\nb = 2\nc = 3\n" });
    assert.deepEqual(made.content, [{ type: "text", text: `File created successfully at: ${file}`, cache_prompt: false }]);
    assert.equal(made.prev_exist, false);
    assert.equal(made.new_content, "a = 1\nb = 2\nc = 3\n");
    assert.equal("old_content" in made, false);
    const viewed = await talk.editor({ command: "view", path: file });
    assert.equal(viewed.text, `Here's the result of running \`cat -n\` on ${file}:\n     1\ta = 1\n     2\tb = 2\n     3\tc = 3\n`);
    assert.equal(viewed.prev_exist, true);
    const part = await talk.editor({ command: "view", path: file, view_range: [2, 9] });
    assert.match(part.text, /:\n {5}2\tb = 2\n {5}3\tc = 3\nNOTE: /);
    fs.chmodSync(file, 0o755);
    const replaced = await talk.editor({ command: "str_replace", path: file, old_str: "b = 2", new_str: "b = 22" });
    assert.equal(replaced.old_content, "a = 1\nb = 2\nc = 3\n");
    assert.equal(replaced.new_content, "a = 1\nb = 22\nc = 3\n");
    assert.match(replaced.text, / {5}2\tb = 22\n/);
    assert.equal(fs.statSync(file).mode & 0o777, 0o755);
    await talk.editor({ command: "insert", path: file, insert_line: 0, new_str: "# top" });
    assert.equal(fs.readFileSync(file, "utf8"), "# top\na = 1\nb = 22\nc = 3\n");
    const undone = await talk.editor({ command: "undo_edit", path: file });
    assert.equal(undone.new_content, "a = 1\nb = 22\nc = 3\n");
    assert.equal(fs.readFileSync(file, "utf8"), "a = 1\nb = 22\nc = 3\n");
  });

  test("failures are observations", async () => {
    const file = at("f.txt");
    fs.writeFileSync(file, "x\nx\n");
    for (const [args, pattern] of [
      [{ command: "create", path: file, file_text: "" }, /already exists/],
      [{ command: "view", path: "f.txt" }, /not an absolute path.*\/f\.txt/],
      [{ command: "view", path: at("none") }, /does not exist/],
      [{ command: "str_replace", path: file, old_str: "x", new_str: "y" }, /more than once, in lines 1, 2/],
      [{ command: "str_replace", path: file, old_str: "q", new_str: "y" }, /did not appear verbatim/],
      [{ command: "str_replace", path: file, old_str: "x\nx", new_str: "x\nx" }, /the same/],
      [{ command: "str_replace", path: file }, /`old_str` is required for command: str_replace/],
      [{ command: "insert", path: file, insert_line: 9, new_str: "y" }, /\[0, 2\]/],
      [{ command: "insert", path: file, new_str: "y" }, /`insert_line` is required/],
      [{ command: "view", path: file, view_range: [3, 4] }, /\[1, 2\]/],
      [{ command: "view", path: file, view_range: [2, 1] }, /view_range/],
      [{ command: "view", path: server.workspace, view_range: [1, 2] }, /not allowed/],
      [{ command: "str_replace", path: server.workspace, old_str: "a" }, /is a directory/],
      [{ command: "undo_edit", path: file }, /No edit history/],
      [{ command: "paint", path: file }, /Unrecognized command/],
    ]) {
      const failed = await talk.editor(args);
      assert.equal(failed.is_error, true);
      assert.match(failed.text, pattern);
      assert.equal("path" in failed, false);
      assert.equal(failed.kind, "FileEditorObservation");
    }
  });

  test("white space around old_str is forgiven", async () => {
    fs.writeFileSync(at("w.txt"), "alpha\nbeta\n");
    await talk.editor({ command: "str_replace", path: at("w.txt"), old_str: "  beta  ", new_str: " gamma " });
    assert.equal(fs.readFileSync(at("w.txt"), "utf8"), "alpha\ngamma\n");
  });

  test("directories, images, binaries", async () => {
    fs.mkdirSync(at("d/e/f"), { recursive: true });
    fs.writeFileSync(at("d/.hidden"), "");
    fs.writeFileSync(at("d/one"), "");
    fs.writeFileSync(at("d/e/two"), "");
    const listed = await talk.editor({ command: "view", path: at("d") });
    assert.match(listed.text, new RegExp(`${at("d")}/\n${at("d/e")}/\n${at("d/e/f")}/\n${at("d/e/two")}\n${at("d/one")}\n\n1 hidden`));
    fs.writeFileSync(at("p.png"), Buffer.from([0x89, 0x50, 0x4e, 0x47]));
    const image = await talk.editor({ command: "view", path: at("p.png") });
    assert.deepEqual(image.content[1], { type: "image", image_urls: ["data:image/png;base64,iVBORw=="], cache_prompt: false });
    fs.writeFileSync(at("b.bin"), Buffer.from([1, 0, 2]));
    assert.match((await talk.editor({ command: "view", path: at("b.bin") })).text, /binary/);
    fs.writeFileSync(at("big.txt"), Buffer.alloc(11 * 1024 * 1024, 0x61));
    assert.match((await talk.editor({ command: "view", path: at("big.txt") })).text, /too large \(11\.0 MB\)/);
    fs.writeFileSync(at("long.txt"), "0123456789\n".repeat(4000));
    assert.match((await talk.editor({ command: "view", path: at("long.txt") })).text, /<response clipped>/);
  });

  test("encoding, line ends and links are kept", async () => {
    fs.writeFileSync(at("latin.txt"), Buffer.from("gr\xfc\xdfe\r\nb\r\n", "latin1"));
    const edited = await talk.editor({ command: "str_replace", path: at("latin.txt"), old_str: "grüße\nb", new_str: "süß\nc" });
    assert.equal(edited.is_error, false, edited.text);
    assert.deepEqual(fs.readFileSync(at("latin.txt")), Buffer.from("s\xfc\xdf\r\nc\r\n", "latin1"));
    assert.equal((await talk.editor({ command: "str_replace", path: at("latin.txt"), old_str: "c", new_str: "日" })).is_error, true);
    fs.writeFileSync(at("bom.txt"), "\uFEFFone\n");
    await talk.editor({ command: "str_replace", path: at("bom.txt"), old_str: "one", new_str: "two" });
    assert.equal(fs.readFileSync(at("bom.txt"), "utf8"), "\uFEFFtwo\n");
    fs.symlinkSync("bom.txt", at("link.txt"));
    await talk.editor({ command: "str_replace", path: at("link.txt"), old_str: "two", new_str: "three" });
    assert.equal(fs.lstatSync(at("link.txt")).isSymbolicLink(), true);
    assert.equal(fs.readFileSync(at("bom.txt"), "utf8"), "\uFEFFthree\n");
  });
});

describe("bash routes", () => {
  let server;
  before(async () => (server = await new ActionServer().start()));
  after(() => server.stop());
  const post = (route, body, headers = {}) => server.send("POST", `/api/bash/${route}`, { headers, body: JSON.stringify(body) });
  const search = (query, headers = {}) => server.send("GET", `/api/bash/bash_events/search?${new URLSearchParams(query)}`, { headers });

  test("execute answers with all output", async () => {
    const done = (await post("execute_bash_command", { command: "echo out; echo err >&2; exit 3" })).json;
    assert.equal(done.kind, "BashOutput");
    assert.equal(done.stdout, "out\n");
    assert.equal(done.stderr, "err\n");
    assert.equal(done.exit_code, 3);
    assert.equal(done.order, 0);
    assert.match(done.id, /^[0-9a-f]{32}$/);
    assert.match(done.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    assert.equal((await post("execute_bash_command", { command: "pwd", cwd: "/" })).json.stdout, "/\n");
    assert.equal((await post("execute_bash_command", { command: "true" })).json.stdout, null);
    assert.equal((await post("execute_bash_command", { command: "kill -9 $$" })).json.exit_code, -9);
    assert.equal((await post("execute_bash_command", { command: "echo $OH_SESSION_API_KEYS_0$SESSION_API_KEY" })).json.stdout, "scripts-key\n");
    const failed = (await post("execute_bash_command", { command: "true", cwd: "/no/such" })).json;
    assert.equal(failed.exit_code, -1);
    assert.match(failed.stderr, /^Error executing command: /);
  });

  test("2.5 MiB come in three pieces", async () => {
    const command = (await post("start_bash_command", { command: "head -c 2621440 /dev/zero | tr '\\0' x" })).json;
    const joined = await post("execute_bash_command", { command: "true" });
    assert.equal(joined.status, 200);
    let outputs = [];
    for (let order = -1; outputs.at(-1)?.exit_code !== 0; ) {
      const page = (await search({ command_id__eq: command.id, order__gt: String(order) })).json.items;
      outputs = outputs.concat(page);
      order = outputs.at(-1)?.order ?? -1;
    }
    assert.deepEqual(outputs.map((each) => each.order), [0, 1, 2]);
    assert.deepEqual(outputs.map((each) => each.exit_code), [null, null, 0]);
    assert.equal(outputs.map((each) => each.stdout).join("").length, 2621440);
    assert.equal(new Set(outputs.map((each) => each.id)).size, 3);
  });

  test("time-out ends the group and gives -1; stop gives the process's own code", async () => {
    const trap = (await post("execute_bash_command", { command: "trap 'echo trapped; exit 0' TERM; echo on; sleep 100 & wait", timeout: 1 })).json;
    assert.equal(trap.exit_code, -1);
    assert.equal(trap.stdout, "on\ntrapped\n");
    const started = (await post("start_bash_command", { command: "trap 'exit 7' TERM; touch trap-set; sleep 100 & wait" })).json;
    await seen(path.join(server.workspace, "trap-set"));
    assert.deepEqual((await post(`bash_commands/${started.id}/stop`, {})).json, { success: true });
    let last;
    while (!last) last = (await search({ command_id__eq: started.id })).json.items.at(-1);
    assert.equal(last.exit_code, 7);
    assert.equal((await post(`bash_commands/${started.id}/stop`, {})).status, 200);
    assert.equal((await post(`bash_commands/${randomUUID()}/stop`, {})).status, 404);
    assert.equal((await post("bash_commands/nonsense/stop", {})).status, 422);
  });

  test("search filters and pages, by scope", async () => {
    const scope = { "X-Deft-Scope": randomUUID() };
    for (const n of [1, 2, 3]) await post("execute_bash_command", { command: `echo ${n}` }, scope);
    const all = (await search({}, scope)).json;
    assert.deepEqual(all.items.map((each) => each.kind), ["BashCommand", "BashOutput", "BashCommand", "BashOutput", "BashCommand", "BashOutput"]);
    assert.equal(all.next_page_id, null);
    const first = (await search({ kind__eq: "BashOutput", limit: "2" }, scope)).json;
    assert.deepEqual(first.items.map((each) => each.stdout), ["1\n", "2\n"]);
    const rest = (await search({ kind__eq: "BashOutput", limit: "2", page_id: first.next_page_id }, scope)).json;
    assert.deepEqual(rest.items.map((each) => each.stdout), ["3\n"]);
    const down = (await search({ sort_order: "TIMESTAMP_DESC", kind__eq: "BashCommand" }, scope)).json;
    assert.deepEqual(down.items.map((each) => each.command), ["echo 3", "echo 2", "echo 1"]);
    const since = (await search({ timestamp__gte: all.items[4].timestamp }, scope)).json;
    assert.equal(since.items.length, 2);
    assert.equal((await search({ timestamp__lt: all.items[2].timestamp }, scope)).json.items.length, 2);
    assert.equal((await search({ order__gt: "0" }, scope)).json.items.length, 3);
    assert.equal((await search({ limit: "0" }, scope)).status, 422);
    assert.equal((await search({ kind__eq: "Nope" }, scope)).status, 422);
    const one = await server.send("GET", `/api/bash/bash_events/${all.items[0].id}`, { headers: scope });
    assert.deepEqual(one.json, all.items[0]);
    assert.equal((await server.send("GET", `/api/bash/bash_events/${all.items[0].id}`)).status, 404);
    const batch = await server.send("GET", "/api/bash/bash_events/", { headers: scope, body: JSON.stringify([all.items[1].id, randomUUID()]) });
    assert.deepEqual(batch.json, [all.items[1], null]);
    assert.deepEqual((await server.send("DELETE", "/api/bash/bash_events", { headers: scope })).json, { cleared_count: 6 });
    assert.deepEqual((await search({}, scope)).json.items, []);
  });

  test("a child that holds the pipe is waited for", async () => {
    const held = (await post("execute_bash_command", { command: "(read -r x < /dev/null; sleep 0.3; echo late) & echo early" })).json;
    assert.equal(held.stdout, "early\nlate\n");
    assert.equal((await post("execute_bash_command", { command: "" })).status, 200);
    assert.equal((await post("start_bash_command", {})).status, 422);
    assert.equal((await post("start_bash_command", { command: 5 })).status, 422);
    assert.equal((await server.send("POST", "/api/bash/start_bash_command", { body: "nonsense" })).status, 422);
  });
});

describe("file routes", () => {
  let server;
  before(async () => (server = await new ActionServer().start()));
  after(() => server.stop());
  const at = (name) => path.join(server.workspace, name);
  const download = (file, headers = {}, method = "GET") => server.send(method, `/api/file/download?path=${encodeURIComponent(file)}`, { headers });

  test("upload and download keep every byte", async () => {
    const bytes = Buffer.from(Array.from({ length: 70000 }, (_, i) => (i * 7) % 256));
    const file = at("new dir/ü & +.bin");
    assert.deepEqual((await upload(server, file, bytes)).json, { success: true, file_size: bytes.length });
    assert.deepEqual(fs.readFileSync(file), bytes);
    const back = await download(file);
    assert.deepEqual(back.bytes, bytes);
    assert.equal(back.headers["content-type"], "application/octet-stream");
    assert.equal(back.headers["content-length"], String(bytes.length));
    assert.equal(back.headers["content-disposition"], "attachment; filename*=utf-8''%C3%BC%20%26%20%2B.bin");
    assert.ok(back.headers.etag && back.headers["last-modified"]);
    const tricky = Buffer.from("\r\n------deftboundary7MA4YWx\r\n--\r\n\r\n------deftboundary");
    await upload(server, at("tricky"), tricky);
    assert.deepEqual(fs.readFileSync(at("tricky")), tricky);
    await upload(server, at("empty"), "");
    assert.equal((await download(at("empty"))).bytes.length, 0);
    assert.deepEqual(fs.readdirSync(server.workspace).filter((name) => name.endsWith(".tmp")), []);
  });

  test("ranges", async () => {
    fs.writeFileSync(at("r.txt"), "0123456789");
    const get = (range) => download(at("r.txt"), { Range: range });
    const middle = await get("bytes=2-4");
    assert.equal(middle.status, 206);
    assert.equal(middle.bytes.toString(), "234");
    assert.equal(middle.headers["content-range"], "bytes 2-4/10");
    assert.equal((await get("bytes=7-")).bytes.toString(), "789");
    assert.equal((await get("bytes=-3")).bytes.toString(), "789");
    assert.equal((await get("bytes=5-999")).bytes.toString(), "56789");
    assert.equal((await get("bytes=10-")).status, 416);
    assert.equal((await get("pages=1")).status, 200);
    assert.equal((await get("bytes=0-1,3-4")).status, 200);
    assert.equal((await download(at("r.txt"), { Range: "bytes=2-4", "If-Range": '"other"' })).status, 200);
    const head = await download(at("r.txt"), {}, "HEAD");
    assert.equal(head.headers["content-length"], "10");
    assert.equal(head.bytes.length, 0);
  });

  test("refusals", async () => {
    assert.deepEqual((await download(at("none"))).json, { detail: "File not found" });
    assert.deepEqual((await download(server.workspace)).json, { detail: "Path is not a file" });
    assert.deepEqual((await download("relative")).json, { detail: "Path must be absolute" });
    assert.equal((await server.send("GET", "/api/file/download")).status, 422);
    assert.deepEqual((await upload(server, "relative", "x")).json, { detail: "Path must be absolute" });
    assert.deepEqual((await upload(server, server.workspace, "x")).json, { detail: "Path is a directory" });
    fs.writeFileSync(at("plain"), "");
    assert.deepEqual((await upload(server, at("plain/below"), "x")).json, { detail: "A parent of the path is not a directory" });
    assert.equal((await upload(server, at("u"), "x", "other")).status, 422);
    assert.equal((await server.send("POST", `/api/file/upload?path=${at("u")}`, { body: "{}" })).status, 422);
    assert.equal(fs.existsSync(at("u")), false);
  });

  test("older path forms", async () => {
    const form = multipart("file");
    const reply = await server.send("POST", `/api/file/upload${at("old.txt")}`, {
      headers: { "Content-Type": form.type },
      body: Buffer.concat([form.head, Buffer.from("old"), form.tail]),
    });
    assert.equal(reply.status, 200);
    assert.equal((await server.send("GET", `/api/file/download${at("old.txt")}`)).bytes.toString(), "old");
    assert.equal((await server.send("GET", `/api/file/download/${encodeURIComponent(at("old.txt"))}`)).bytes.toString(), "old");
  });

  test("200 MB up and down in constant memory", async () => {
    const size = 200 * 1024 * 1024;
    const block = Buffer.alloc(1024 * 1024, "deft");
    const form = multipart("file");
    const file = at("huge");
    const reply = await server.send("POST", `/api/file/upload?path=${file}`, {
      headers: { "Content-Type": form.type, "Content-Length": form.head.length + size + form.tail.length },
      body: async (request) => {
        request.write(form.head);
        for (let sent = 0; sent < size; sent += block.length)
          if (!request.write(block)) await once(request, "drain");
        request.end(form.tail);
      },
    });
    assert.equal(reply.json.file_size, size);
    assert.equal(fs.statSync(file).size, size);
    const received = await new Promise((resolve, reject) => {
      http.get({ host: "127.0.0.1", port: server.port, path: `/api/file/download?path=${file}`, headers: { "X-Session-API-Key": KEY } }, async (response) => {
        let n = 0;
        for await (const chunk of response) n += chunk.length;
        resolve(n);
      }).on("error", reject);
    });
    assert.equal(received, size);
    assert.ok(residentKb(server.child.pid) < 12000 || process.env.DEFT_SANITIZED, `${residentKb(server.child.pid)} kB`);
    fs.rmSync(file);
  });

  test("directories", async () => {
    const make = (dir) => server.send("POST", `/api/file/create_directory?path=${encodeURIComponent(dir)}`);
    for (const name of ["tree/b", "tree/A", "tree/c/x", "tree/.h"]) assert.equal((await make(at(name))).status, 200);
    const list = async (query) => (await server.send("GET", `/api/file/search_subdirs?${new URLSearchParams(query)}`)).json;
    const page = await list({ path: at("tree"), limit: "2" });
    assert.deepEqual(page, { items: [{ name: "A", path: at("tree/A") }, { name: "b", path: at("tree/b") }], next_page_id: "c" });
    assert.deepEqual((await list({ path: at("tree"), page_id: "c" })).items.map((each) => each.name), ["c"]);
    assert.equal((await list({ path: at("tree"), include_hidden: "true" })).items[0].name, ".h");
    assert.equal((await server.send("GET", `/api/file/search_subdirs?path=${at("nope")}`)).status, 404);
    assert.equal((await make(at("plain/x"))).status, 400);
    assert.equal((await server.send("GET", "/api/file/home")).json.home, server.workspace);
  });
});

describe("hostile input", () => {
  let server;
  before(async () => (server = await new ActionServer().start()));
  after(() => server.stop());

  // Writes bytes, ends, and waits for the connection to be closed or answered.
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

  test("nonsense on the wire does not end the server", async () => {
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

  test("an upload that breaks off leaves nothing", async () => {
    const form = multipart("file");
    const file = path.join(server.workspace, "torn");
    const head = `POST /api/file/upload?path=${file} HTTP/1.1\r\nHost: x\r\nX-Session-API-Key: ${KEY}\r\nContent-Type: ${form.type}\r\nContent-Length: 100000\r\n\r\n`;
    await poke(Buffer.concat([Buffer.from(head), form.head, Buffer.alloc(5000)]));
    assert.equal((await server.send("GET", "/alive")).status, 200);
    assert.deepEqual(fs.readdirSync(server.workspace), []);
  });

  test("a body above the limit is refused", async () => {
    const reply = await server.send("POST", "/api/bash/start_bash_command", { body: Buffer.alloc(3 * 1024 * 1024, 0x20) });
    assert.equal(reply.status, 413);
  });
});

describe("process", () => {
  test("SIGTERM ends it in order; orphans are reaped", async () => {
    const server = await new ActionServer().start();
    const talk = new Conversation(server);
    const pid = (await talk.terminal("(setsid sh -c 'echo $$ > orphan; exec sleep 0.05' &) ; while [ ! -s orphan ]; do :; done; cat orphan")).text;
    await talk.terminal(`while [ -d /proc/${pid} ]; do sleep 0.05; done`, { timeout: 5 });
    assert.equal(fs.existsSync(`/proc/${pid}`), false);
    assert.deepEqual(await server.kill("SIGTERM"), { code: 0, by: null });
    await server.stop();
  });

  test("it starts without a journal and refuses to start without a key", async () => {
    const memory = await new ActionServer({ DEFT_ACTION_JOURNAL: "/nonexistent/dir", LOG_LEVEL: "error" }).start();
    assert.equal((await new Conversation(memory).terminal("echo x")).text, "x");
    await memory.stop();
    const child = spawn(findBinary(), [], { env: { DEFT_ACTION_PORT: "0" }, stdio: ["ignore", "ignore", "pipe"] });
    const [text] = await once(child.stderr, "data");
    assert.match(text.toString(), /SESSION_API_KEY is not set/);
    const [code] = child.exitCode === null ? await once(child, "exit") : [child.exitCode];
    assert.equal(code, 78);
  });

  test("the idle guard refuses long time-outs", async () => {
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
