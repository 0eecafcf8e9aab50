// The git routes of the server in a sandbox, without git and under load.
import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";
import { ActionServer } from "./support/action-server.mjs";

test("without git no folder is a repository, and a patch is refused", async () => {
  const server = await new ActionServer({ PATH: "/nonexistent" }).start();
  fs.mkdirSync(server.workspace, { recursive: true });
  fs.writeFileSync(`${server.workspace}/a`, "x");
  for (const [route, empty] of [["changes", []], ["commits", { commits: [], has_more: false }], ["commits/abcd/changes", []]]) {
    const reply = await server.send("GET", `/api/git/${route}?path=${server.workspace}`);
    assert.deepEqual([reply.status, reply.json], [200, empty], route);
  }
  const diff = await server.send("GET", `/api/git/diff?path=${server.workspace}/a`);
  assert.deepEqual([diff.status, diff.json], [200, { modified: null, original: null }]);
  const archive = await server.send("GET", `/api/file/archive?path=${server.workspace}`);
  assert.deepEqual([archive.status, archive.json], [400, { detail: "The sandbox has no git" }]);
  await server.stop();
});

test("concurrent git requests are limited, and the server stays responsive", async () => {
  const server = await new ActionServer().start();
  fs.mkdirSync(server.workspace, { recursive: true });
  const body = JSON.stringify({ command: "sh", args: ["-c", "sleep 30"], timeout_ms: 10_000, messages: [{ jsonrpc: "2.0", id: 1, method: "x" }] });
  const jobs = Array.from({ length: 20 }, () => server.send("POST", "/programs/talk", { body }));
  assert.equal((await server.send("GET", "/alive")).status, 200);
  const statuses = (await Promise.all(jobs)).map(({ status }) => status);
  assert.deepEqual([...new Set(statuses)].sort(), [429, 504]);
  assert.equal(statuses.filter((status) => status === 504).length, 16);
  assert.equal((await server.send("GET", `/api/git/changes?path=${server.workspace}`)).status, 200);
  await server.stop();
});
