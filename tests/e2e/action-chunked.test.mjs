// Chunked request bodies: the server in a sandbox accepts them up to a limit.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import net from "node:net";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { ActionServer, KEY, multipart } from "./support/action-server.mjs";
import { waitUntil, within } from "./support/wait.mjs";

const MIB = 1 << 20;
const COMMAND = JSON.stringify({ command: "echo $((6 * 7))" });

describe("chunked request bodies", () => {
  let server;
  before(async () => (server = await new ActionServer().start()));
  after(() => server.stop());

  /** A POST whose body is sent unchanged; resolves with the status and the JSON of the answer. */
  const raw = (target, body, key = KEY) => within(new Promise((resolve, reject) => {
    const socket = net.connect(server.port, "127.0.0.1");
    const parts = [];
    socket.on("data", (part) => parts.push(part));
    socket.on("error", reject);
    socket.on("close", () => {
      const [head, text] = Buffer.concat(parts).toString().split("\r\n\r\n");
      resolve({ status: Number(head.split(" ")[1]), json: JSON.parse(text) });
    });
    socket.write(`POST ${target} HTTP/1.1\r\nHost: x\r\nX-Session-API-Key: ${key}\r\nTransfer-Encoding: chunked\r\n\r\n`);
    for (const piece of [body].flat()) socket.write(piece);
  }), `the connection of POST ${target} ends`);
  const execute = (body, key) => raw("/api/bash/execute_bash_command", body, key);
  const chunk = (text) => `${text.length.toString(16)}\r\n${text}\r\n`;

  test("chunks are decoded, however the body is split", async () => {
    for (const body of [
      chunk(COMMAND) + "0\r\n\r\n",
      [...COMMAND].map(chunk).join("") + "0\r\n\r\n",
      [...(chunk(COMMAND) + "0\r\n\r\n")],
      `${COMMAND.length.toString(16).toUpperCase()};name=value\r\n${COMMAND}\r\n000\r\nTrailer: x\r\n\r\n`,
    ]) {
      const { status, json } = await execute(body);
      assert.deepEqual([status, json.stdout], [200, "42\n"]);
    }
  });

  test("an invalid chunked body is refused, and the server continues", async () => {
    for (const body of ["zz\r\n", "5\r\nhelloX", "-1\r\n\r\n", "fffffffffffffffff\r\n", "\r\n", "5 5\r\nhello\r\nx"]) {
      assert.equal((await execute(body)).status, 400, body);
    }
    assert.equal((await execute("0\r\n\r\n")).status, 422);
    assert.equal((await execute(chunk(COMMAND) + "0\r\n\r\n", "wrong")).status, 401);
    assert.equal((await server.send("GET", "/alive")).status, 200);
  });

  test("an upload arrives completely; one above the limit leaves nothing", async () => {
    const { type, head, tail } = multipart("file");
    const send = async (file, n) => {
      const block = randomBytes(MIB);
      const reply = await server.send("POST", `/api/file/upload?path=${file}`, {
        headers: { "Content-Type": type, "Transfer-Encoding": "chunked" },
        body: (request) => {
          request.on("error", () => {});
          request.write(head);
          for (let i = 0; i < n; i++) request.write(block);
          request.end(tail);
        },
      });
      return { reply, block };
    };
    const file = path.join(server.workspace, "chunked");
    const { reply, block } = await send(file, 8);
    assert.deepEqual([reply.status, reply.json.file_size], [200, 8 * MIB]);
    assert.deepEqual(fs.readFileSync(file).subarray(7 * MIB), block);
    const above = path.join(server.workspace, "above");
    const refused = await send(above, 72).then(({ reply: answer }) => answer.status, (error) => error.code);
    assert.ok([413, "ECONNRESET", "EPIPE"].includes(refused), String(refused));
    assert.equal(fs.existsSync(above), false);
    await waitUntil(() => fs.readdirSync(server.workspace).length === 1, "the part of a file is gone");
  });
});
