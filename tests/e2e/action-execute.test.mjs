// The older action API of the server in a sandbox: run, read, write and edit by POST /execute_action.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { ActionServer, KEY, seen } from "./support/action-server.mjs";
import { waitUntil, within } from "./support/wait.mjs";

describe("the older action API", () => {
  let server;
  before(async () => {
    server = await new ActionServer({ NO_CHANGE_TIMEOUT_SECONDS: "5" }).start();
  });
  after(() => server.stop());

  const post = (target, body, options = {}) => server.send("POST", target, { body: JSON.stringify(body), ...options });
  const act = async (action, args, more = {}) => {
    const reply = await post("/execute_action", { action: { action, args, source: "agent", timeout: 60, ...more } });
    assert.equal(reply.status, 200, reply.bytes.toString());
    return reply.json;
  };
  const run = (command, args = {}, more = {}) => act("run", { command, blocking: true, ...args }, more);
  const code = (observation) => observation.extras.metadata.exit_code;

  test("runtime 41: /alive requires no key, /execute_action does", async () => {
    for (const key of [undefined, "", "other"]) {
      const other = { headers: { "X-Session-API-Key": key } };
      assert.deepEqual((await server.send("GET", "/alive", other)).json, { status: "ok" });
      assert.equal((await server.send("GET", "/server_info", other)).status, 200);
      for (const [method, target] of [["POST", "/execute_action"], ["POST", "/list_files"], ["POST", "/update_mcp_server"], ["GET", "/vscode/connection_token"]]) {
        const refused = await server.send(method, target, { ...other, body: method === "POST" ? "{}" : undefined });
        assert.deepEqual([refused.status, refused.json], [403, { detail: "Invalid API Key" }], `${target} with ${key}`);
      }
    }
  });

  test("a command's observation has the exact shape", async () => {
    const observation = await run("cd /tmp && false");
    const { metadata } = observation.extras;
    assert.deepEqual(observation, {
      observation: "run",
      content: "",
      success: false,
      message: "Command `cd /tmp && false` executed with exit code 1.",
      extras: {
        command: "cd /tmp && false",
        hidden: false,
        metadata: {
          exit_code: 1, pid: -1, username: metadata.username, hostname: os.hostname(), working_dir: "/tmp",
          py_interpreter_path: metadata.py_interpreter_path, prefix: "", suffix: "\n[The command completed with exit code 1.]",
        },
      },
    });
    assert.equal((await run(`cd ${server.workspace}`, { hidden: true })).extras.hidden, true);
  });

  test("runtime 48: an unknown action is a 500, an invalid body a 422", async () => {
    for (const action of ["teleport", ""]) {
      const failed = await post("/execute_action", { action: { action, args: {} } });
      assert.equal(failed.status, 500);
      assert.match(failed.json.detail, /^Internal server error: unknown action/);
    }
    for (const [action, args] of [["run", {}], ["read", {}], ["write", { content: "x" }], ["edit", { path: "/a", command: "view", impl_source: "llm_based_edit" }]]) {
      assert.equal((await post("/execute_action", { action: { action, args } })).status, 500, action);
    }
    for (const body of ["{", "[]", '{"action": 5}', '{"action": {"args": {}}}']) {
      const invalid = await server.send("POST", "/execute_action", { body });
      assert.equal(invalid.status, 422, body);
      assert.equal(invalid.json.detail, "Invalid request parameters");
      assert.equal(typeof invalid.json.errors, "string");
    }
    assert.equal(code(await run("true")), 0);
  });

  test("several commands are refused by an error observation; brackets group one command", async () => {
    const several = await run("echo a\necho b");
    assert.equal(several.observation, "error");
    assert.match(several.content, /^ERROR: Cannot execute multiple commands at once\.[^]*Provided commands:\n\(1\) echo a\n\(2\) echo b$/);
    assert.equal(several.message, several.content);
    assert.deepEqual(several.extras, { error_id: "" });
    assert.equal(code(await run("[[ a == a ]]")), 0);
  });

  test("without a running command there is nothing to read or type", async () => {
    for (const [args, words] of [[{}, "retrieve logs from."], [{ is_input: true }, "interact with."]]) {
      const refused = await run(args.is_input ? "C-c" : "", args);
      assert.equal(refused.observation, "run");
      assert.equal(refused.content, `ERROR: No previous running command to ${words}`);
      assert.equal(code(refused), -1);
      assert.equal(refused.success, false);
    }
  });

  test("silence is reported, an empty command continues to wait, a new command is refused", async () => {
    const gate = path.join(server.workspace, "gate");
    const silent = await run(`echo begun; until [ -e ${gate} ]; do sleep 0.05; done; echo over`, { blocking: false });
    assert.equal(silent.content, "begun");
    assert.equal(code(silent), -1);
    assert.match(silent.extras.metadata.suffix, /^\n\[The command has no new output after 5 seconds\. .*timeout parameter of the execute_bash tool/);
    assert.equal(silent.extras.metadata.working_dir, null);
    const refused = await run("echo no");
    assert.match(refused.extras.metadata.suffix, /^\n\[Your command "echo no" is NOT executed\. The previous command is still running - /);
    fs.writeFileSync(gate, "");
    const rest = await run("");
    assert.equal(rest.content, "over");
    assert.equal(rest.extras.metadata.prefix, "[Below is the output of the previous command.]\n");
    assert.equal(code(rest), 0);
  });

  test("a time-out is reported, also to a blocking action, and C-c ends the command", async () => {
    for (const [timeout, words] of [[2, "2"], [1.5, "1.5"]]) {
      const late = await run("sleep 600", {}, { timeout });
      assert.equal(code(late), -1);
      assert.match(late.extras.metadata.suffix, new RegExp(`^\\n\\[The command timed out after ${words.replace(".", "\\.")} seconds\\. `));
      const ended = await run("C-c", { is_input: true });
      assert.equal(code(ended), 130);
      assert.match(ended.extras.metadata.suffix, /exit code 130\. CTRL\+C was sent\.\]$/);
    }
    const patient = await run("sleep 1.3; echo slept");
    assert.equal(patient.content, "slept");
  });

  test("output has no colours, and long output a truncation notice", async () => {
    assert.equal((await run("printf '\\033[31mred\\033[0m \\033]0;title\\007plain'")).content, "red plain");
    const long = await run("for c in a b; do head -c 25000 /dev/zero | tr '\\0' $c; done");
    assert.equal(long.content.length, 30000);
    assert.match(long.content, /^a{14000}a*\n\[\.\.\. Observation truncated due to length \.\.\.\]\nb*b{14000}$/);
  });

  test("a static action has a shell of its own", async () => {
    await run("export KEPT=1; cd /tmp");
    const own = await run('echo "[$KEPT] $PWD"', { is_static: true, cwd: "/usr" });
    assert.equal(own.content, "[] /usr");
    assert.equal((await run('echo "[$KEPT] $PWD"')).content, "[1] /tmp");
    assert.equal((await run("pwd", { is_static: true })).content, "/tmp");
    await run(`cd ${server.workspace}`);
  });

  test("actions run one after another, also after their client has disconnected", async () => {
    const mark = path.join(server.workspace, "left");
    const gate = path.join(server.workspace, "opened");
    const action = { action: "run", args: { command: `until [ -e ${gate} ]; do sleep 0.05; done; touch ${mark}`, blocking: true }, timeout: 60 };
    const left = new Promise((resolve) => {
      const lost = post("/execute_action", { action }, { onRequest: (request) => { request.on("finish", () => resolve(request)); } });
      lost.catch(() => {});
    });
    const request = await within(left, "the request is sent");
    const queued = run(`test -e ${mark} && echo after`);
    const closed = new Promise((resolve) => request.on("close", resolve));
    request.destroy();
    await within(closed, "the request is closed");
    fs.writeFileSync(gate, "");
    assert.equal((await queued).content, "after");
    await seen(mark);
  });

  test("runtime 45: text files are read by lines, media as data URLs, other binary files are refused", async () => {
    const file = path.join(server.workspace, "lines.txt");
    fs.writeFileSync(file, "one\ntwo\nthrée\nfour");
    const whole = await act("read", { path: file });
    assert.deepEqual(whole, {
      observation: "read", content: "one\ntwo\nthrée\nfour", message: `I read the file ${file}.`, extras: { path: file, impl_source: "default" },
    });
    for (const [start, end, expected] of [[1, 3, "two\nthrée\n"], [2, -1, "thrée\nfour"], [-5, 1, "one\n"], [3, 99, "four"], [9, -1, ""]]) {
      assert.equal((await act("read", { path: "lines.txt", start, end })).content, expected, `${start} ${end}`);
    }
    const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
    for (const [name, type] of [["p.png", "image/png"], ["p.PDF", "application/pdf"], ["p.mp4", "video/mp4"]]) {
      fs.writeFileSync(path.join(server.workspace, name), png);
      assert.equal((await act("read", { path: name })).content, `data:${type};base64,${png.toString("base64")}`);
    }
    fs.writeFileSync(path.join(server.workspace, "x.bin"), Buffer.from([0, 1, 2, 255]));
    const binary = await act("read", { path: "x.bin" });
    assert.deepEqual([binary.observation, binary.content], ["error", "ERROR_BINARY_FILE"]);
    fs.writeFileSync(path.join(server.workspace, "latin.txt"), Buffer.from("caf\xe9", "latin1"));
    assert.equal((await act("read", { path: "latin.txt" })).content, `File could not be decoded as utf-8: ${server.workspace}/latin.txt.`);
    const view = await act("read", { path: file, impl_source: "oh_aci", view_range: [2, 3] });
    assert.match(view.content, /^Here's the result of running `cat -n` on .*:\n {5}2\ttwo\n {5}3\tthrée\n$/);
    assert.equal(view.extras.impl_source, "oh_aci");
  });

  test("runtime 46: a missing file is reported with the folder that was searched", async () => {
    await run("cd /usr");
    const missing = await act("read", { path: "nothing.txt" });
    assert.equal(missing.observation, "error");
    assert.equal(missing.content, "File not found: /usr/nothing.txt. Your current working directory is /usr.");
    assert.equal((await act("read", { path: "/usr" })).content, "Path is a directory: /usr. You can only read files");
    assert.equal((await act("write", { path: "/usr", content: "x" })).content, "Path is a directory: /usr. You can only write to files");
    await run(`cd ${server.workspace}`);
    assert.equal((await act("write", { path: "/proc/none/a", content: "x" })).observation, "error");
  });

  test("runtime 44: a new file has mode 0664, an existing one keeps its mode; line ranges are replaced", async () => {
    const file = path.join(server.workspace, "deep/er/w.txt");
    const written = await act("write", { path: "deep/er/w.txt", content: "one\ntwo\nthree" });
    assert.deepEqual(written, { observation: "write", content: "", message: `I wrote to the file ${file}.`, extras: { path: file } });
    assert.equal(fs.readFileSync(file, "utf8"), "one\ntwo\nthree\n");
    assert.equal(fs.statSync(file).mode & 0o7777, 0o664);
    fs.chmodSync(file, 0o751);
    await act("write", { path: file, content: "TWO", start: 1, end: 2 });
    assert.equal(fs.readFileSync(file, "utf8"), "one\nTWO\nthree\n");
    await act("write", { path: file, content: "new" });
    assert.equal(fs.readFileSync(file, "utf8"), "new\n");
    assert.equal(fs.statSync(file).mode & 0o7777, 0o751);
  });

  test("an edit returns its changes", async () => {
    const file = path.join(server.workspace, "e.txt");
    fs.writeFileSync(file, "a\nb\nc\n");
    const edited = await act("edit", { path: file, command: "str_replace", old_str: "b", new_str: "B\nBB", impl_source: "oh_aci" });
    assert.equal(edited.observation, "edit");
    assert.equal(edited.message, `I edited the file ${file}.`);
    assert.match(edited.content, /^The file .* has been edited\./);
    assert.deepEqual(edited.extras, {
      path: file, impl_source: "oh_aci", prev_exist: true, old_content: "a\nb\nc\n", new_content: "a\nB\nBB\nc\n",
      diff: `--- ${file}\n+++ ${file}\n@@ -2 +2,2 @@\n-b\n+B\n+BB`,
    });
    const inserted = await act("edit", { path: file, command: "insert", insert_line: "0", new_str: "top" });
    assert.equal(inserted.extras.diff, `--- ${file}\n+++ ${file}\n@@ -0,0 +1 @@\n+top`);
    const undone = await act("edit", { path: file, command: "undo_edit" });
    assert.equal(undone.extras.diff, `--- ${file}\n+++ ${file}\n@@ -1 +0,0 @@\n-top`);
    const failed = await act("edit", { path: file, command: "str_replace", old_str: "nowhere", new_str: "x" });
    assert.match(failed.content, /^ERROR:\nNo replacement was made/);
    assert.equal(failed.extras.diff, "");
    assert.equal(failed.extras.new_content, null);
    const made = await act("edit", { path: `${file}.new`, command: "create", file_text: "x\n" });
    assert.equal(made.extras.prev_exist, false);
    assert.equal(fs.readFileSync(`${file}.new`, "utf8"), "x\n");
  });

  test("runtime 43: folders are listed before files, both sorted case-insensitively", async () => {
    const folder = path.join(server.workspace, "list");
    for (const name of ["b", "C", ".hidden"]) fs.mkdirSync(path.join(folder, name), { recursive: true });
    for (const name of ["z.txt", "A.txt", ".dot"]) fs.writeFileSync(path.join(folder, name), "");
    const expected = [".hidden/", "b/", "C/", ".dot", "A.txt", "z.txt"];
    assert.deepEqual((await post("/list_files", { path: folder })).json, expected);
    assert.deepEqual((await post("/list_files", { path: "list" })).json, expected);
    await run("cd list");
    assert.deepEqual((await post("/list_files", { path: null })).json, expected);
    await run("cd ..");
    for (const none of ["/no/such", path.join(folder, "A.txt")]) assert.deepEqual((await post("/list_files", { path: none })).json, []);
    assert.equal((await server.send("POST", "/list_files", { body: "{" })).status, 422);
  });

  test("runtime 47: idle_time grows, and counts from the last action", async () => {
    const info = async () => (await server.send("GET", "/server_info")).json;
    await run("true");
    const first = await info();
    const { cpu_percent: cpu, memory, disk, io } = first.resources;
    for (const number of [cpu, memory.rss, memory.vms, memory.percent, disk.total, disk.used, disk.free, disk.percent, io.read_bytes, io.write_bytes]) {
      assert.equal(typeof number, "number");
    }
    assert.ok(memory.rss > 0 && disk.total > 0);
    const second = await waitUntil(async () => {
      const later = await info();
      return later.idle_time > first.idle_time && later;
    }, "idle_time grows");
    assert.ok(second.uptime > first.uptime && second.uptime > second.idle_time);
    const asked = performance.now();
    await run("true");
    const reset = await info();
    assert.ok(reset.idle_time <= (performance.now() - asked) / 1000, "it counts from the action's end");
    assert.ok(reset.uptime - reset.idle_time > second.uptime - second.idle_time, "the last action is a later one");
    const gate = path.join(server.workspace, "idle");
    const begun = path.join(server.workspace, "idle-begun");
    const busy = run(`touch ${begun}; until [ -e ${gate} ]; do sleep 0.05; done`);
    await seen(begun);
    assert.equal((await info()).idle_time, 0);
    fs.writeFileSync(gate, "");
    await busy;
  });

  test("browser, editor and MCP servers are reported as unavailable", async () => {
    for (const action of ["browse", "browse_interactive"]) {
      const refused = await act(action, { url: "http://localhost", browser_actions: "noop()" });
      assert.deepEqual([refused.observation, refused.content], ["error", "Browser functionality is not supported or disabled."]);
    }
    assert.deepEqual((await server.send("GET", "/vscode/connection_token")).json, { token: null });
    assert.equal((await post("/update_mcp_server", [])).json.router_error_log, "");
    assert.match((await post("/update_mcp_server", [{ name: "a", command: "b", args: [], env: {} }])).json.router_error_log, /does not start MCP servers/);
    assert.equal((await post("/update_mcp_server", { servers: [] })).status, 400);
  });

  test("the key is not in the shell's environment", async () => {
    assert.equal((await run("env")).content.includes(KEY), false);
  });
});
