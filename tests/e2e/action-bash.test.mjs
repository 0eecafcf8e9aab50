// The bash routes of the server in a sandbox: commands outside the agent's view.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { ActionServer, seen } from "./support/action-server.mjs";

describe("bash routes", () => {
  let server;
  before(async () => (server = await new ActionServer().start()));
  after(() => server.stop());
  const post = (route, body, headers = {}) => server.send("POST", `/api/bash/${route}`, { headers, body: JSON.stringify(body) });
  const search = (query, headers = {}) => server.send("GET", `/api/bash/bash_events/search?${new URLSearchParams(query)}`, { headers });

  test("execute_bash_command returns the complete output", async () => {
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

  test("a search without results waits for an event of its own scope", async () => {
    const [scope, other] = [{ "X-Deft-Scope": randomUUID() }, { "X-Deft-Scope": randomUUID() }];
    const began = await post("start_bash_command", { command: "echo first" }, scope);
    assert.equal(began.status, 200);
    assert.equal((await search({ wait_ms: "60000" }, scope)).json.items[0].command, "echo first");
    const unseen = new Date(Date.now() + 3_600_000).toISOString();
    assert.deepEqual((await search({ wait_ms: "10", timestamp__gte: unseen }, scope)).json, { items: [], next_page_id: null });
    const found = search({ wait_ms: "60000" }, other);
    await post("execute_bash_command", { command: "echo not yours" }, scope);
    await post("start_bash_command", { command: "echo yours" }, other);
    assert.equal((await found).json.items[0].command, "echo yours");
    assert.equal((await search({ wait_ms: "60001" }, scope)).status, 422);
  });

  test("runtime 67, 68: 2.5 MiB of output arrive in three pieces, each once", async () => {
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

  test("runtime 69: a time-out ends the process group with -1; stop returns the process's own exit code", async () => {
    const trap = (await post("execute_bash_command", { command: "trap 'echo trapped; exit 0' TERM; echo on; sleep 100 & wait", timeout: 5 })).json;
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

  test("search filters and pages within a scope", async () => {
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

  test("runtime 70: a command ends when no child holds its pipes any more", async () => {
    const held = (await post("execute_bash_command", { command: "(read -r x < /dev/null; sleep 0.3; echo late) & echo early" })).json;
    assert.equal(held.stdout, "early\nlate\n");
    const left = (await post("execute_bash_command", { command: "sleep 1000 > /dev/null 2>&1 & echo $!" })).json;
    process.kill(Number(left.stdout));
    assert.equal((await post("execute_bash_command", { command: "" })).status, 200);
    assert.equal((await post("start_bash_command", {})).status, 422);
    assert.equal((await post("start_bash_command", { command: 5 })).status, 422);
    assert.equal((await server.send("POST", "/api/bash/start_bash_command", { body: "nonsense" })).status, 422);
  });
});
