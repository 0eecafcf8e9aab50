// The terminal of the server in a sandbox: observations and interrupts.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import readline from "node:readline";
import { after, before, describe, test } from "node:test";
import { ActionServer, Conversation, cpuTicks, findBinary, gone, KEY, seen } from "./support/action-server.mjs";
import { waitUntil, within } from "./support/wait.mjs";

const DEADLINE_MS = 60_000;
/** Of silence, after which a call of the hasty server ends; only its calls with a time limit wait longer. */
const HASTY_MS = 1000;
const PATIENT = { timeout: 60 };
/** How long the server of the tests of jobs waits for a job's first output. */
const JOB_WAIT_MS = 120_000;
const CALLS_MAX = 60;

/** The output up to the given text: a call ends after a silence, the next one continues to wait. */
async function printed(talk, words, command, options) {
  let answer = await talk.terminal(command, options);
  let { text } = answer;
  for (let calls = 1; calls < CALLS_MAX && answer.exit_code === -1 && !words.test(text); calls++) {
    answer = await talk.terminal("");
    text += answer.text;
  }
  return text;
}

describe("terminal", () => {
  let server;
  let hasty;
  let curious;
  let talk;
  before(async () => {
    server = await new ActionServer().start();
    hasty = await new ActionServer({ DEFT_ACTION_NO_CHANGE_MS: String(HASTY_MS) }).start();
    curious = await new ActionServer({ DEFT_ACTION_JOB_WAIT_MS: String(JOB_WAIT_MS) }).start();
    talk = new Conversation(server);
  });
  after(async () => {
    await server?.stop();
    await hasty?.stop();
    await curious?.stop();
  });

  test("an observation has the exact shape", async () => {
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
    test(`runtime 49: exit code of ${command}`, async () => {
      const seenOnce = await talk.terminal(command);
      assert.equal(seenOnce.exit_code, code);
      assert.equal(seenOnce.is_error, false);
      assert.equal((await talk.terminal("echo $?")).text, String(code));
    });
  }

  test("runtime 50: directory, variables, functions and aliases persist", async () => {
    await talk.terminal("mkdir -p sub && cd sub && export A=1 && f() { echo f$A; } && alias g='echo g'");
    const later = await talk.terminal("pwd; f; umask 077");
    assert.equal(later.text, `${server.workspace}/sub\nf1`);
    assert.equal(later.metadata.working_dir, `${server.workspace}/sub`);
    assert.equal((await talk.terminal("g; umask")).text, "g\n0077");
    await talk.terminal("cd ..; umask 022");
  });

  test("a background job's first output is reported with the command that started it", async () => {
    const other = new Conversation(curious);
    const begun = await other.terminal("(sleep 1.5; echo ready; sleep 1000) &");
    assert.match(begun.text, /ready$/m);
    assert.equal(begun.exit_code, 0);
    assert.equal(begun.is_error, false);
    await other.terminal("kill %%; wait");
  });

  test("later output of a background job is returned by an empty command", async () => {
    await talk.terminal("(until [ -e go ]; do sleep 0.1; done; echo late; sleep 1000) &");
    fs.writeFileSync(path.join(server.workspace, "go"), "");
    let answer = await talk.terminal("");
    const until = Date.now() + DEADLINE_MS;
    while (!/late/.test(answer.text) && Date.now() < until) answer = await talk.terminal("");
    assert.match(answer.text, /^late$/m);
    assert.equal(answer.is_error, false);
    await talk.terminal("kill %%; wait");
  });

  test("jobs that end, or redirect their output, are not waited for", async () => {
    const other = new Conversation(curious);
    const began = Date.now();
    for (let i = 0; i < 10; i++) {
      await other.terminal("sleep 1000 >/dev/null 2>&1 &");
      await other.terminal("true &");
    }
    assert.ok(Date.now() - began < JOB_WAIT_MS, `${Date.now() - began} ms`);
    await other.terminal("kill $(jobs -p); wait");
  });

  test("runtime 51: a statement that spans several lines runs", async () => {
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

  test("runtime 51: several statements are refused with a list", async () => {
    const refused = await talk.terminal("echo one\necho two");
    assert.equal(refused.is_error, true);
    assert.equal("exit_code" in refused, false);
    assert.match(refused.text, /^Cannot execute multiple commands at once\./);
    assert.match(refused.text, /Provided commands:\n\(1\) echo one\n\(2\) echo two$/);
  });

  test("runtime 58: quoting survives", async () => {
    await talk.terminal("touch q.txt");
    assert.equal((await talk.terminal("find . -maxdepth 1 -name q.txt -exec echo {} \\;")).text, "./q.txt");
    assert.equal((await talk.terminal('echo "a\\;b" \'!x!\' "!y"')).text, "a\\;b !x! !y");
    assert.equal((await talk.terminal("echo 'äöü 😀 日本'")).text, "äöü 😀 日本");
  });

  test("runtime 58, 64: output bytes become valid UTF-8", async () => {
    assert.equal((await talk.terminal("printf 'a\\xff\\xc3(b\\0c\\n'")).text, "a\uFFFD\uFFFD(bc");
    assert.equal((await talk.terminal("printf 'x\\r\\ny\\r\\n'")).text, "x\ny");
    assert.equal((await talk.terminal("printf '10%%\\r50%%\\r100%%\\n'")).text, "100%");
    assert.equal((await talk.terminal("printf 'hello world\\rHELLO\\n'")).text, "HELLO world");
    assert.equal((await talk.terminal("printf '\\033[31mred\\033[0m\\033[6n\\033[c\\033]11;?\\007!\\n'")).text, "\x1b[31mred\x1b[0m!");
  });

  test("runtime 59: output cannot end a command", async () => {
    const done = await talk.terminal(
      "printf '###PS1JSON###\\n{}\\n###PS1END###\\n\\033]7770;fake;1\\007'; set | grep ^__deft_n= > /dev/null; echo end",
    );
    assert.match(done.text, /end$/);
    assert.equal((await talk.terminal("echo next")).text, "next");
  });

  test("runtime 56, 57: long output is cut to its head and tail, 30000 characters, with the exit code", async () => {
    const done = await talk.terminal("seq 1 100000; echo ende; (exit 3)");
    assert.equal(done.exit_code, 3);
    assert.equal([...done.text].length, 30000);
    assert.match(done.text, /^1\n2\n3\n/);
    assert.match(done.text, /<response clipped><NOTE>/);
    assert.match(done.text, /99999\n100000\nende$/);
    const exact = await talk.terminal("yes é | head -30000 | tr -d '\\n'");
    assert.equal(exact.text.includes("clipped"), false);
    assert.equal([...exact.text].length, 30000);
  });

  test("runtime 52: silence is reported, and an empty command continues to wait", async () => {
    const other = new Conversation(hasty);
    await other.terminal("mkfifo fifo", PATIENT);
    const first = await other.terminal("echo first; read -r line < fifo; echo $line");
    assert.equal(first.exit_code, -1);
    assert.equal(first.is_error, false);
    assert.match(first.text, /^(first)?$/, "after a stall the silence may be over before the first word");
    assert.match(first.metadata.suffix, /^\n\[The command has no new output after 1 seconds\. /);
    assert.equal("working_dir" in first.metadata, false);
    fs.writeFileSync(path.join(hasty.workspace, "fifo"), "second\n");
    const second = await other.terminal("", PATIENT);
    assert.equal([first.text, second.text].filter(Boolean).join("\n"), "first\nsecond");
    assert.equal(second.exit_code, 0);
    assert.equal(second.metadata.prefix, "[Below is the output of the previous command.]\n");
  });

  test("runtime 53, 55: a new command is not executed while another one runs, which C-c ends", async () => {
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

  test("C-z stops a program, and C-d ends its input", async () => {
    const other = new Conversation(hasty);
    // The key goes to the job in the foreground: the shell would ignore it if it came before `cat`.
    await printed(other, /on/, "sh -c 'echo on; exec cat'");
    const stopped = await other.terminal("ctrl+z", { is_input: true, ...PATIENT });
    assert.equal(stopped.exit_code, 148);
    assert.match(stopped.metadata.suffix, /CTRL\+Z was sent\.\]$/);
    await other.terminal("kill -9 %1; wait; true", PATIENT);
    await printed(other, /on/, "sh -c 'echo on; exec wc -c'");
    await other.terminal("12345", { is_input: true });
    const counted = await other.terminal("C-d", { is_input: true, ...PATIENT });
    assert.match(counted.text, /^6$/m);
    assert.equal(counted.exit_code, 0);
  });

  test("runtime 54: input reaches programs that read it", async () => {
    const other = new Conversation(hasty);
    const asked = await printed(other, /Name:/, 'read -r -p "Name: " name; read -rs -p "Word: " word; echo "$name/$word"');
    assert.match(asked, /^Name:/);
    assert.match(await printed(other, /Word:/, "Ann", { is_input: true }), /^Word:/);
    assert.equal((await other.terminal("s3cret", { is_input: true, ...PATIENT })).text, "Ann/s3cret");
  });

  test("runtime 54: a Python prompt can be used interactively", async (t) => {
    if ((await talk.terminal("command -v python3")).exit_code !== 0) return t.skip("no python3");
    // Newer versions of Python edit the line with escape sequences by default.
    const other = new Conversation(hasty);
    assert.match(await printed(other, />>>/, "PYTHON_BASIC_REPL=1 python3 -q"), />>>/);
    assert.match(await printed(other, />>>/, "6 * 7", { is_input: true }), /^42\n>>>/);
    assert.equal((await other.terminal("exit()", { is_input: true, ...PATIENT })).exit_code, 0);
  });

  test("without a running command there is nothing to read or type", async () => {
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

  test("runtime 61: background jobs return at once and outlive a reset", async () => {
    const job = await talk.terminal("sleep 1000 &");
    assert.equal(job.exit_code, 0);
    assert.ok(job.metadata.pid > 0);
    await talk.terminal("A=2", { reset: true });
    assert.equal((await talk.terminal(`kill -0 ${job.metadata.pid} && echo lives; echo $A`)).text, "lives\n2");
    await talk.terminal(`kill ${job.metadata.pid}`);
  });

  test("runtime 63: reset starts a new shell", async () => {
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

  test("runtime 62: a shell that ends is replaced", async () => {
    const ended = await talk.terminal("echo bye; exit 7");
    assert.equal(ended.exit_code, 7);
    assert.match(ended.text, /^bye/);
    assert.match(ended.metadata.suffix, /^\n\[The command completed with exit code 7\.\]\n\[The shell itself has ended/);
    assert.equal((await talk.terminal("kill -9 $$")).exit_code, 137);
    assert.equal((await talk.terminal("echo new")).text, "new");
  });

  test("the output of a shell that ended between two calls is returned", async () => {
    const other = new Conversation(hasty);
    const pid = await printed(other, /\d/, "mkfifo end; echo $$; read -r line < end; echo $line; exit 4");
    const ended = gone(Number(/\d+/.exec(pid)[0]));
    fs.writeFileSync(path.join(hasty.workspace, "end"), "bye\n");
    await ended;
    const rest = await other.terminal("");
    assert.match(rest.text, /^bye/);
    assert.equal(rest.exit_code, 4);
    assert.match(rest.metadata.suffix, /The shell itself has ended/);
    assert.equal(rest.metadata.prefix, "[Below is the output of the previous command.]\n");
    assert.equal((await other.terminal("")).text, "No previous running command to retrieve logs from.");
    assert.equal((await other.terminal("echo new", PATIENT)).text, "new");
  });

  test("a command that closes all descriptors neither hangs nor keeps the server busy", async () => {
    const other = new Conversation(server);
    const closed = await other.terminal("exec 61>&-; (exit 3)");
    assert.equal(closed.exit_code, -1);
    assert.match(closed.metadata.suffix, /^\n\[The command completed but the exit code could not be determined\.\]$/);
    const before = cpuTicks(server.child.pid);
    assert.equal((await other.terminal("sleep 0.5; echo on")).text, "on");
    assert.ok(cpuTicks(server.child.pid) - before < 25, "the loop sleeps while the command does");
    const program = await other.terminal("exec 60<&- 62>&-; exec sh -c 'echo other; exit 6'");
    assert.equal(program.text, "other");
    assert.equal(program.exit_code, 6);
    assert.equal((await other.terminal("echo new; exit 2")).exit_code, 2);
  });

  test("a long PATH does not prevent a command from ending", async () => {
    const other = new Conversation(server);
    const done = await other.terminal("OLD=$PATH; PATH=$(printf 'x%.0s' {1..100000}); echo ${#PATH}");
    assert.equal(done.text, "100000");
    assert.equal((await other.terminal("PATH=$OLD; echo on")).text, "on");
  });

  test("a deleted working directory is created again for a new shell", async (t) => {
    const other = new Conversation(server);
    const working_dir = path.join(server.workspace, "fleeting");
    t.after(() => fs.rmSync(working_dir, { recursive: true, force: true }));
    assert.equal((await other.terminal("pwd", {}, { working_dir })).text, working_dir);
    await other.terminal(`cd / && rm -rf ${working_dir}`, {}, { working_dir });
    const reset = await other.terminal("pwd", { reset: true }, { working_dir });
    assert.match(reset.text, new RegExp(`${working_dir}$`));
  });

  for (const [what, place, reason] of [
    ["is below a file", (folder) => path.join(folder, "file", "below"), /file is not a directory/],
    ["is a file", (folder) => path.join(folder, "file"), /file is not a directory/],
    ["cannot be created", () => "/proc/no-such-folder", /creating \/proc\/no-such-folder: /],
  ]) {
    test(`a working directory that ${what} is reported, and no command runs elsewhere`, async () => {
      const other = new Conversation(server);
      fs.writeFileSync(path.join(server.workspace, "file"), "");
      const working_dir = place(server.workspace);
      const refused = await other.terminal("pwd > where; pwd", {}, { working_dir });
      assert.equal(refused.is_error, true);
      assert.match(refused.text, /^The working directory cannot be created: /);
      assert.match(refused.text, reason);
      assert.equal(fs.existsSync(path.join(server.workspace, "where")), false);
      assert.equal((await other.terminal("pwd")).text, server.workspace, "another directory serves");
      const edited = path.join(server.workspace, "edited");
      const editor = await other.run("file_editor", { command: "create", path: edited, file_text: "x" }, { working_dir });
      assert.equal(editor.is_error, false);
      fs.rmSync(edited);
    });
  }

  test("a custom prompt does not disturb the terminal", async () => {
    fs.writeFileSync(path.join(server.home, ".bashrc"), 'PS1="prompt> "\nPROMPT_COMMAND="echo noise;$PROMPT_COMMAND"\nalias ll=ls\n');
    await talk.terminal("source ~/.bashrc; true");
    await talk.terminal("true");
    assert.equal((await talk.terminal("PS1='evil$ '; PROMPT_COMMAND=; set -u; echo calm")).text, "calm");
    assert.equal((await talk.terminal("echo still")).text, "still");
    fs.rmSync(path.join(server.home, ".bashrc"));
    await talk.terminal("", { reset: true });
  });

  test("a large command arrives completely", async () => {
    const text = "x".repeat(300000);
    assert.equal((await talk.terminal(`cat <<'END' | wc -c\n${text}\nEND`)).text, "300001");
    const lines = Array.from({ length: 3000 }, (_, i) => `line ${i}`).join("\n");
    assert.equal((await talk.terminal(`cat <<'END' | tail -1\n${lines}\nEND`)).text, "line 2999");
  });

  test("env is exported before the command, without output", async () => {
    const done = await talk.terminal('echo "$SECRET"', {}, { env: { SECRET: "it's $HOME `x`\n2" } });
    assert.equal(done.text, "it's $HOME `x`\n2");
    assert.equal(done.command, 'echo "$SECRET"');
  });

  test("runtime 66: the server's keys cannot be read by commands", async () => {
    assert.equal((await talk.terminal("env | grep -c -e KEY -e DEFT_")).text, "0");
    const peek = await talk.terminal(`cat /proc/${server.child.pid}/environ | tr '\\0' '\\n' | grep -c ${KEY}`);
    assert.match(peek.text, /0$/);
  });

  test("runtime 60: a full-screen program receives keys", async () => {
    await talk.terminal("vi -u NONE note.txt", { timeout: 0.5 });
    await talk.terminal("ihello", { is_input: true, timeout: 0.2 });
    await talk.terminal("ESC", { is_input: true, timeout: 0.2 });
    const left = await talk.terminal(":wq", { is_input: true, ...PATIENT });
    assert.equal(left.exit_code, 0);
    assert.equal(fs.readFileSync(path.join(server.workspace, "note.txt"), "utf8").startsWith("hello"), true);
  });

  test("runtime 65: git shows its log without a pager", async (t) => {
    if ((await talk.terminal("git init -q log")).exit_code !== 0) return t.skip("no git");
    await talk.terminal("for i in $(seq 100); do git -C log -c user.name=T -c user.email=t@example.test commit -q --allow-empty -m \"change $i\"; done", { timeout: 60 });
    const log = await talk.terminal("git -C log log");
    assert.equal(log.exit_code, 0);
    assert.match(log.text, /change 100\n[^]*change 1$/);
  });

  test("beyond the maximum of conversations the shell that was idle longest is closed", async () => {
    const crowded = await new ActionServer().start();
    const [busy, rested, used] = [0, 1, 2].map(() => new Conversation(crowded));
    await busy.terminal("X=busy; sleep 1000", { timeout: 0 });
    await rested.terminal("X=rested");
    await used.terminal("X=used");
    for (let i = 0; i < 253; i++) await new Conversation(crowded).editor({ command: "view", path: crowded.workspace });
    assert.equal((await used.terminal("echo $X")).text, "used");
    await new Conversation(crowded).editor({ command: "view", path: crowded.workspace });
    assert.equal((await used.terminal("echo $X")).text, "used");
    assert.equal((await busy.terminal("C-c", { is_input: true })).exit_code, 130);
    assert.equal((await busy.terminal("echo $X")).text, "busy");
    assert.equal((await rested.terminal("echo -$X-")).text, "--");
    await crowded.stop();
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
  test("the terminal works with a plain sh", async (t) => {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), "deft-sh-"));
    const root = path.join(dir, "root");
    const prepared = await within(new Promise((resolve) => {
      const script = `set -e; mkdir -p ${root}/bin ${root}/w ${root}/proc ${root}/dev/pts
        for p in sh cat sleep; do f=$(command -v $p); cp -L $f ${root}/bin/$p
        for l in $(ldd $f | grep -o '/[^ ]*'); do mkdir -p ${root}$(dirname $l); cp -L $l ${root}$l; done; done`;
      spawn("sh", ["-c", script], { stdio: "ignore" }).on("exit", (code) => resolve(code === 0));
    }), "the files of the sandbox are made");
    if (!prepared || process.getuid() !== 0) return t.skip("needs root for a chroot");
    fs.copyFileSync(findBinary(), path.join(root, "deft-action"));
    const child = spawn("unshare", ["-m", "sh", "-c", `mount --bind /dev ${root}/dev && mount --bind /dev/pts ${root}/dev/pts && exec chroot ${root} /deft-action`], {
      env: { SESSION_API_KEY: KEY, DEFT_ACTION_PORT: "0", DEFT_ACTION_BIND: "127.0.0.1", DEFT_ACTION_WORKSPACE: "/w", DEFT_ACTION_JOURNAL: "/none" },
      stdio: ["ignore", "pipe", "ignore"],
    });
    const lines = readline.createInterface({ input: child.stdout });
    const line = await within(Promise.race([once(lines, "line"), once(child, "exit").then(() => [null])]), "deft-action says that it is ready");
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
    const ended = once(child, "exit");
    child.kill();
    await within(ended, "deft-action ends");
    fs.rmSync(dir, { recursive: true, force: true });
  });
});

describe("interrupt", () => {
  let server;
  before(async () => (server = await new ActionServer().start()));
  after(() => server.stop());

  test("an interrupt ends the running command as Ctrl-C does; queued ones are interrupted", async () => {
    const talk = new Conversation(server);
    const running = talk.terminal("echo begun; touch begun; sleep 1000");
    await seen(path.join(server.workspace, "begun"));
    const next = randomUUID();
    const queued = server.put(talk.id, next, { tool: "terminal", args: { command: "touch late" } });
    const state = async () => (await server.send("GET", `/actions/${next}`, { headers: server.scope(talk.id) })).json.state;
    await waitUntil(async () => (await state()) === "running", "the second command waits");
    assert.equal((await talk.interrupt()).status, 200);
    const done = await running;
    assert.equal(done.exit_code, 130);
    assert.equal(done.text, "begun");
    assert.equal((await queued).json.state, "interrupted");
    assert.equal((await talk.terminal("echo on")).text, "on");
    assert.equal(fs.existsSync(path.join(server.workspace, "late")), false);
  });

  test("a program that ignores Ctrl-C and SIGTERM is killed", async () => {
    const talk = new Conversation(server);
    const running = talk.terminal("(trap '' INT TERM; touch deaf; while :; do sleep 0.1; done)");
    await seen(path.join(server.workspace, "deaf"));
    await talk.interrupt();
    assert.equal((await running).exit_code, 137);
  });
});
