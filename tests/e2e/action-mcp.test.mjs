// The protocol's own reference server as a program of a sandbox, over standard input and output.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import fs from "node:fs";
import { after, before, describe, test } from "node:test";
import { ActionServer, Conversation, gone } from "./support/action-server.mjs";

const PROGRAM = createRequire(import.meta.url).resolve("@modelcontextprotocol/server-everything/dist/index.js");
// The server needs it; Node 18 has it behind a flag.
const FLAGS = globalThis.crypto === undefined ? ["--experimental-global-webcrypto"] : [];

describe("the reference server", () => {
  let server;
  let talk;
  const program = { command: process.execPath, args: [...FLAGS, PROGRAM, "stdio"] };
  const call = (name, args, more = {}) => talk.run("mcp", { server: "everything", method: "tools/call", name }, { program, arguments: args, timeout_ms: 120_000, ...more });
  const textOf = ({ content }) => content.slice(1).map(({ text }) => text).join("");
  /** The children of the server in the sandbox that run this program. */
  const pids = () => fs.readdirSync("/proc").filter((pid) => {
    try {
      return fs.readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ")[1] === String(server.child.pid) && fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("server-everything");
    } catch {
      return false;
    }
  });
  before(async () => {
    server = await new ActionServer().start();
    talk = new Conversation(server);
  });
  after(() => server.stop());

  test("lists its tools", async () => {
    const { tools } = await talk.run("mcp", { server: "everything", method: "tools/list" }, { program, timeout_ms: 120_000 });
    const names = tools.map(({ name }) => name);
    for (const name of ["echo", "get-sum", "get-tiny-image", "trigger-long-running-operation"]) assert.ok(names.includes(name), name);
    assert.equal(tools.find(({ name }) => name === "get-sum").inputSchema.type, "object");
  });

  test("has all calls in one process, several at once", async () => {
    const before = pids();
    const [slow, ...sums] = await Promise.all([
      call("trigger-long-running-operation", { duration: 1, steps: 2 }),
      ...Array.from({ length: 20 }, (_, i) => call("get-sum", { a: i, b: 100 })),
    ]);
    assert.match(textOf(slow), /completed/);
    sums.forEach((sum, i) => assert.match(textOf(sum), new RegExp(`\\b${i + 100}\\b`)));
    assert.match(textOf(await call("echo", { message: "through deft" })), /through deft/);
    assert.equal(before.length, 1);
    assert.deepEqual(pids(), before);
  });

  test("returns images, and its own errors", async () => {
    const { content } = await call("get-tiny-image", {});
    assert.ok(content.some(({ image_urls: urls }) => /^data:image\/png;base64,./.test(urls?.[0])));
    const wrong = await call("get-sum", { a: "two" });
    assert.ok(wrong.error ?? wrong.is_error, JSON.stringify(wrong));
  });

  test("is told of the end of a call's time, and goes on", async () => {
    const late = await call("trigger-long-running-operation", { duration: 60, steps: 60 }, { timeout_ms: 300 });
    assert.equal(late.error, "The program did not reply in time");
    assert.match(textOf(await call("echo", { message: "still there" })), /still there/);
  });

  test("ends when the server in the sandbox is killed", async () => {
    const [pid] = pids();
    await server.kill("SIGKILL");
    await gone(pid);
  });
});
