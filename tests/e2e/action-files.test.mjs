// The file routes of the server in a sandbox: upload, download, listing.
import assert from "node:assert/strict";
import { once } from "node:events";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { ActionServer, KEY, multipart, residentKb, upload } from "./support/action-server.mjs";
import { within } from "./support/wait.mjs";

/** One character more than a file system allows. */
const LONG_NAME = "n".repeat(256);

describe("file routes", () => {
  let server;
  before(async () => (server = await new ActionServer().start()));
  after(() => server.stop());
  const at = (name) => path.join(server.workspace, name);
  const download = (file, headers = {}, method = "GET") => server.send(method, `/api/file/download?path=${encodeURIComponent(file)}`, { headers });

  test("a file is unchanged after upload and download", async () => {
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

  test("downloads support one byte range", async () => {
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

  test("invalid paths and uploads are refused", async () => {
    assert.deepEqual((await download(at("none"))).json, { detail: "File not found" });
    assert.deepEqual((await download(server.workspace)).json, { detail: "Path is not a file" });
    assert.deepEqual((await download("relative")).json, { detail: "Path must be absolute" });
    assert.equal((await server.send("GET", "/api/file/download")).status, 422);
    assert.deepEqual((await upload(server, "relative", "x")).json, { detail: "Path must be absolute" });
    assert.deepEqual((await upload(server, server.workspace, "x")).json, { detail: "Path is a directory" });
    fs.writeFileSync(at("plain"), "");
    assert.deepEqual((await upload(server, at("plain/below"), "x")).json, { detail: "A parent of the path is not a directory" });
    for (const target of [at(LONG_NAME), at(`${LONG_NAME}/below`), "/proc/nowhere/below"])
      assert.equal((await upload(server, target, "x")).status, 400);
    assert.equal(fs.readdirSync(server.workspace).some((name) => name.endsWith(".tmp")), false);
    assert.equal((await upload(server, at("u"), "x", "other")).status, 422);
    assert.equal((await server.send("POST", `/api/file/upload?path=${at("u")}`, { body: "{}" })).status, 422);
    assert.equal(fs.existsSync(at("u")), false);
  });

  test("paths at the end of the URL work", async () => {
    const form = multipart("file");
    const reply = await server.send("POST", `/api/file/upload${at("old.txt")}`, {
      headers: { "Content-Type": form.type },
      body: Buffer.concat([form.head, Buffer.from("old"), form.tail]),
    });
    assert.equal(reply.status, 200);
    assert.equal((await server.send("GET", `/api/file/download${at("old.txt")}`)).bytes.toString(), "old");
    assert.equal((await server.send("GET", `/api/file/download/${encodeURIComponent(at("old.txt"))}`)).bytes.toString(), "old");
  });

  test("200 MB are uploaded and downloaded in constant memory", async () => {
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
    const received = await within(new Promise((resolve, reject) => {
      http.get({ host: "127.0.0.1", port: server.port, path: `/api/file/download?path=${file}`, headers: { "X-Session-API-Key": KEY } }, async (response) => {
        let n = 0;
        for await (const chunk of response) n += chunk.length;
        resolve(n);
      }).on("error", reject);
    }), "200 MB come down");
    assert.equal(received, size);
    assert.ok(residentKb(server.child.pid) < 12000 || process.env.DEFT_SANITIZED, `${residentKb(server.child.pid)} kB`);
    fs.rmSync(file);
  });

  test("directories are created and searched", async () => {
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
