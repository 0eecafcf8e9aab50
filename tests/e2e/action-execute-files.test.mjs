// Uploads and downloads in the older action API: zip archives, written and read by Python.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { ActionServer, residentKb } from "./support/action-server.mjs";

const python = (code, args, input = "") => execFileSync("python3", ["-c", code, ...args], { input, maxBuffer: 1 << 28 });

// A zip archive of [name, text or bytes], made by Python; deflated, or with other options.
const MAKE = `
import base64, json, sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED if sys.argv[2] == "packed" else zipfile.ZIP_STORED) as z:
    for name, text, mode in json.load(sys.stdin):
        info = zipfile.ZipInfo(name)
        info.external_attr = mode << 16
        info.compress_type = z.compression
        z.writestr(info, base64.b64decode(text))
`;
const LIST = `
import json, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as z:
    assert z.testzip() is None
    print(json.dumps({i.filename: z.read(i).decode("latin1") for i in z.infolist()}))
`;

describe("files in the older action API", () => {
  let server;
  let n = 0;
  before(async () => {
    server = await new ActionServer().start();
  });
  after(() => server.stop());

  function zip(entries, kind = "packed") {
    const file = path.join(server.dir, `${n++}.zip`);
    const list = entries.map(([name, data, mode = 0o100644]) => [name, Buffer.from(data).toString("base64"), mode]);
    python(MAKE, [file, kind], JSON.stringify(list));
    return fs.readFileSync(file);
  }

  function upload(destination, filename, bytes, { recursive = false, header } = {}) {
    const head = Buffer.from(`--edge\r\nContent-Disposition: form-data; name="file"; ${header ?? `filename="${filename}"`}\r\n\r\n`);
    return server.send("POST", `/upload_file?destination=${encodeURIComponent(destination)}&recursive=${recursive}`, {
      headers: { "Content-Type": "multipart/form-data; boundary=edge" },
      body: Buffer.concat([head, Buffer.from(bytes), Buffer.from("\r\n--edge--\r\n")]),
    });
  }

  const place = (name) => path.join(server.workspace, name);
  const left = (name) => fs.readdirSync(place(name), { recursive: true }).sort();

  test("an uploaded file keeps its name, and its folder is created", async () => {
    const bytes = Buffer.from([0, 1, 255, 13, 10]);
    const reply = await upload(place("a/b"), "x.bin", bytes);
    assert.deepEqual([reply.status, reply.json], [200, { filename: "x.bin", destination: place("a/b"), recursive: false }]);
    assert.deepEqual(fs.readFileSync(place("a/b/x.bin")), bytes);
    fs.chmodSync(place("a/b/x.bin"), 0o755);
    await upload(place("a/b"), "x.bin", "again");
    assert.equal(fs.readFileSync(place("a/b/x.bin"), "utf8"), "again");
    assert.equal(fs.statSync(place("a/b/x.bin")).mode & 0o777, 0o755);
    await upload(place("a/b"), "", "x", { header: "filename=\"ignored\"; filename*=utf-8''na%C3%AFve%20file" });
    assert.deepEqual(left("a/b"), ["naïve file", "x.bin"]);
  });

  test("runtime 42: an uploaded archive is unpacked and then deleted", async () => {
    const large = "0123456789abcdef".repeat(20000);
    for (const kind of ["packed", "stored"]) {
      const bytes = zip([["one.txt", "1"], ["deep/er/two.txt", large], ["empty/", "", 0o40755], ["run.sh", "#!/bin/sh\n", 0o100755], ["ü.txt", "ü"]], kind);
      const reply = await upload(place(kind), "tree.zip", bytes, { recursive: true });
      assert.deepEqual([reply.status, reply.json], [200, { filename: "tree.zip", destination: place(kind), recursive: true }]);
      assert.deepEqual(left(kind), ["deep", "deep/er", "deep/er/two.txt", "empty", "one.txt", "run.sh", "ü.txt"]);
      assert.equal(fs.readFileSync(place(`${kind}/deep/er/two.txt`), "utf8"), large);
      assert.equal(fs.statSync(place(`${kind}/run.sh`)).mode & 0o111, 0o111);
    }
    assert.equal((await upload(place("named"), "plain.zip", zip([["a", "b"]]))).status, 200, "by its name alone");
    assert.deepEqual(left("named"), ["a"]);
  });

  test("runtime 42: an archive entry outside the folder is refused, also through a link", async () => {
    fs.mkdirSync(place("trap"));
    fs.mkdirSync(place("outside"));
    fs.symlinkSync(place("outside"), place("trap/link"));
    fs.writeFileSync(place("outside/kept"), "kept");
    fs.symlinkSync(place("outside/kept"), place("trap/leaf"));
    for (const name of ["../out", "a/../../out", "/tmp/deft-out", "link/out", "leaf", ".."]) {
      const reply = await upload(place("trap"), "t.zip", zip([[name, "out"]], "stored"), { recursive: true });
      assert.equal(reply.status, 500, name);
      assert.match(reply.json.detail, /leads outside the folder/, name);
    }
    assert.deepEqual(left("outside"), ["kept"]);
    assert.equal(fs.readFileSync(place("outside/kept"), "utf8"), "kept");
    assert.equal(fs.existsSync(place("out")) || fs.existsSync("/tmp/deft-out"), false);
    assert.deepEqual(fs.readdirSync(place("trap")).sort(), ["leaf", "link"]);
  });

  test("a broken archive is reported, and the server continues", async () => {
    const whole = zip([["a.txt", "some text ".repeat(100)], ["b.txt", "more ".repeat(100)]]);
    const broken = [Buffer.alloc(0), Buffer.from("no archive"), Buffer.alloc(70000, 0x50)];
    for (let cut = 1; cut < whole.length; cut += 13) broken.push(whole.subarray(0, cut));
    for (const bytes of broken) {
      const reply = await upload(place("broken"), "b.zip", bytes);
      assert.deepEqual([reply.status, reply.json], [500, { detail: "the file is not a zip archive, or is damaged" }]);
    }
    for (let at = 0; at < whole.length; at += 3) {
      const bytes = Buffer.from(whole);
      bytes[at] ^= 0x41;
      const reply = await upload(place("broken"), "b.zip", bytes);
      assert.ok(reply.status === 200 || (reply.status === 500 && reply.json.detail !== "Internal Server Error"), `${at}: ${reply.bytes}`);
    }
    assert.equal((await server.send("GET", "/alive")).status, 200);
  });

  test("error messages contain the status", async () => {
    const relative = await upload("not/absolute", "x", "x");
    assert.deepEqual([relative.status, relative.json], [500, { detail: "400: Destination path must be absolute" }]);
    const plain = await upload(place("r"), "x.txt", "x", { recursive: true });
    assert.deepEqual([plain.status, plain.json], [500, { detail: "400: Recursive uploads must be zip files" }]);
    for (const name of ["../x", "a/b", "..", ""]) assert.match((await upload(place("r"), name, "x")).json.detail, /^400: /);
    assert.deepEqual(left("r"), []);
    for (const [target, detail] of [["relative", "400: Path must be absolute"], ["/no/such", "404: File not found"]]) {
      const reply = await server.send("GET", `/download_files?path=${target}`);
      assert.deepEqual([reply.status, reply.json], [500, { detail }]);
    }
    assert.equal((await server.send("GET", "/download_files")).status, 422);
    assert.equal((await server.send("POST", "/upload_file?destination=/tmp", { body: "x" })).status, 422);
    assert.equal((await server.send("POST", "/upload_file?destination=/proc/none", {
      headers: { "Content-Type": "multipart/form-data; boundary=e" }, body: "--e--\r\n",
    })).status, 500);
  });

  test("a folder is downloaded as an archive of all files, without empty folders", async () => {
    const folder = place("down load");
    fs.mkdirSync(path.join(folder, "deep/empty"), { recursive: true });
    const files = { "a.txt": "a", ".hidden": "h", "deep/b.bin": "\x00\xff", "deep/c.txt": "", "ü": "ü" };
    for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(folder, name), Buffer.from(text, "latin1"));
    fs.symlinkSync("a.txt", path.join(folder, "link"));
    fs.symlinkSync("/usr", path.join(folder, "away"));
    const reply = await server.send("GET", `/download_files?path=${encodeURIComponent(`${folder}/`)}`);
    assert.equal(reply.status, 200);
    assert.equal(reply.headers["content-type"], "application/zip");
    assert.equal(reply.headers["content-disposition"], 'attachment; filename="down load.zip"');
    const file = path.join(server.dir, "down.zip");
    fs.writeFileSync(file, reply.bytes);
    assert.deepEqual(JSON.parse(python(LIST, [file])), { ...files, link: "a" });
    assert.equal((await upload(place("again"), "d.zip", reply.bytes, { recursive: true })).status, 200);
    assert.equal(fs.readFileSync(place("again/deep/b.bin"), "latin1"), "\x00\xff");
    const single = await server.send("GET", `/download_files?path=${encodeURIComponent(path.join(folder, "a.txt"))}`);
    fs.writeFileSync(file, single.bytes);
    assert.deepEqual(JSON.parse(python(LIST, [file])), {});
  });

  test("a large folder is downloaded in constant memory", async () => {
    fs.mkdirSync(place("large"));
    for (let i = 0; i < 4; i++) fs.writeFileSync(place(`large/${i}`), Buffer.alloc(16 << 20, i));
    const reply = await server.send("GET", `/download_files?path=${place("large")}`);
    assert.ok(reply.bytes.length > 64 << 20 && reply.bytes.length < (64 << 20) + 1000);
    assert.ok(residentKb(server.child.pid) < 24 * 1024);
  });
});
