// The file editor of the server in a sandbox.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { ActionServer, Conversation } from "./support/action-server.mjs";

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

  test("failures are returned as observations", async () => {
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

  test("white space around old_str is tolerated", async () => {
    fs.writeFileSync(at("w.txt"), "alpha\nbeta\n");
    await talk.editor({ command: "str_replace", path: at("w.txt"), old_str: "  beta  ", new_str: " gamma " });
    assert.equal(fs.readFileSync(at("w.txt"), "utf8"), "alpha\ngamma\n");
  });

  test("directories, images and binary files can be viewed", async () => {
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

  test("encoding, line ends and links are preserved", async () => {
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
