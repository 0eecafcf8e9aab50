// The journal of the server in a sandbox: each action runs once, despite repeated requests and kills.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { describe, test } from "node:test";
import { ActionServer, Conversation, seen } from "./support/action-server.mjs";

describe("journal", () => {
  test("a repeated request for a running action gets the same result, and the action runs once", async () => {
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

  test("the result of an action is kept if its client disconnects", async () => {
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

  test("after a kill finished actions keep their result, started ones are interrupted, unknown ones run", async () => {
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

  test("a lower fence is refused, also after a restart, and so are other arguments under the same id", async () => {
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

  test("invalid requests get specific errors", async () => {
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

  test("acknowledged results are deleted first, then the oldest", async () => {
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
