// The browser tools of the server in a sandbox, against the Chromium of this machine.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { ActionServer, residentKb } from "./support/action-server.mjs";
import { Pages, Surfer } from "./support/browser_pages.mjs";

const pages = new Pages({
  form: `<title>Form</title><h1>Sign up</h1><form action="/sent">
    <label>Name <input name="name"></label> <label>Word <input name="word" type="password"></label>
    <label>Size <select name="size"><option>small<option>large</select></label>
    <label>Note <textarea name="note" placeholder="Anything"></textarea></label>
    <label><input type="checkbox" name="yes"> Agreed</label> <input type="hidden" name="hidden">
    <label>Day <input type="date" name="day"></label>
    <button>Send</button><button disabled>Never</button></form>`,
  sent: "<title>Sent</title><p>Thanks</p>",
  frames: `<title>Frames</title><p>Outside</p><div style="height:1500px"></div>
    <iframe src="/inner?same"></iframe><iframe src="http://localhost:PORT/inner?cross"></iframe>`,
  inner: `<button onclick="this.textContent = 'Pressed in ' + location.search.slice(1)">Inside</button>
    <script>document.querySelector('button').textContent += ' ' + location.search.slice(1)</script>`,
  links: `<title>Links</title><a href="/sent">Plain</a> <a href="/form" target="_blank">Other tab</a>
    <a href="/file">File</a> <div style="cursor:pointer" onclick="document.title='x'">Clickable</div>
    <custom-part></custom-part><script>customElements.define('custom-part', class extends HTMLElement { constructor() {
      super(); this.attachShadow({ mode: 'open' }).innerHTML = '<button onclick="document.title=\\'shadow\\'">In the shadow</button>'; } });
    addEventListener('message', () => {});</script>`,
  file: (request, response) => {
    response.writeHead(200, { "Content-Disposition": 'attachment; filename="the report.txt"' });
    response.end("twelve bytes");
  },
  dialogs: `<title>Dialogs</title><button onclick="this.textContent = 'Confirmed ' + confirm('Sure?')">Confirm</button>
    <button onclick="this.textContent = 'Prompted ' + prompt('Name?', 'none')">Prompt</button>
    <button onclick="alert('a \\ud800 b'); this.textContent = 'Alerted'">Alert</button>`,
  long: `<title>Long</title><h1>Book</h1><p>A <b>bold</b> <a href="/sent">link</a>.</p><ul><li>one<li>two</ul>
    <table><tr><th>a<th>b<tr><td>1<td>2</table><pre>  kept\n  as is</pre><script>var hidden = 1</script><p style="display:none">unseen</p>
    <div id="rest"></div><script>rest.textContent = 'word '.repeat(10000)</script>`,
});

describe("browser tools", () => {
  let server;
  let surfer;
  before(async () => {
    await pages.start();
    server = await new ActionServer({ DEFT_ACTION_BROWSER: process.env.CHROMIUM ?? "" }).start();
    surfer = new Surfer(server);
  });
  after(async () => {
    await server.stop();
    pages.stop();
  });

  test("a server whose browser was not used stays small", () => {
    assert.ok(residentKb(server.child.pid) <= 4096);
  });

  test("a page is opened and its elements are numbered", async () => {
    const opened = await surfer.open(pages.url("form"));
    assert.deepEqual(opened, { text: `Navigated to: ${pages.url("form")}`, notes: "", kind: "BrowserObservation", is_error: false });
    const state = await surfer.state();
    assert.equal(state.url, pages.url("form"));
    assert.equal(state.title, "Form");
    assert.deepEqual(state.tabs, [{ url: pages.url("form"), title: "Form" }]);
    assert.deepEqual(Object.keys(state), ["url", "title", "tabs", "interactive_elements", "viewport", "page", "scroll"]);
    assert.deepEqual(
      state.interactive_elements.map(({ index, tag, text }) => `${index} ${tag} ${text}`),
      ["0 input Name", "1 input Word", "2 select Size small large: small", "3 textarea Note", "4 input Agreed", "5 input Day", "6 button Send"],
    );
    assert.equal(state.interactive_elements[3].placeholder, "Anything");
  });

  test("a screenshot is returned as PNG in addition to the text", async () => {
    const seen = await surfer.use("get_state", { include_screenshot: true });
    const picture = Buffer.from(seen.screenshot_data, "base64");
    assert.equal(picture.subarray(1, 4).toString(), "PNG");
    assert.ok(seen.screenshot_data.length < 700_000);
    assert.equal(JSON.parse(seen.text).title, "Form");
  });

  test("a form is filled in and sent", async () => {
    assert.equal((await surfer.type("Name", "Anna")).text, "Typed 'Anna' into element 0");
    assert.equal((await surfer.type("Name", "Berta")).text, "Typed 'Berta' into element 0");
    assert.equal((await surfer.type("Word", "open sesame")).text, "Typed <credential> into element 1");
    assert.equal((await surfer.type("Note", "anna@example.test")).text, "Typed <email> into element 3");
    assert.equal((await surfer.type("Size", "large")).is_error, false);
    const refused = await surfer.type("Size", "huge");
    assert.equal(refused.is_error, true);
    assert.match(refused.text, /small, large/);
    await surfer.type("Day", "2026-11-22");
    assert.equal((await surfer.click("Agreed")).text, "Clicked element 4");
    assert.equal((await surfer.type("Agreed", "x")).is_error, true);
    const { interactive_elements: elements } = await surfer.state();
    assert.ok(elements.some(({ text }) => text === "Agreed: (checked)"));
    assert.ok(elements.every(({ text }) => !text.includes("sesame")), "what a password field holds is not told");
    await surfer.click("Send");
    assert.equal((await surfer.state()).title, "Sent");
    const query = Object.fromEntries(new URL(pages.seen.findLast((url) => url.startsWith("/sent")), "http://x").searchParams);
    assert.deepEqual(query, { name: "Berta", word: "open sesame", size: "large", note: "anna@example.test", yes: "on", hidden: "", day: "2026-11-22" });
  });

  test("element numbers of an earlier page are refused", async () => {
    await surfer.open(pages.url("form"));
    await surfer.state();
    await surfer.open(pages.url("sent"));
    const late = await surfer.use("click", { index: 0 });
    assert.equal(late.is_error, true);
    assert.match(late.text, /^Element with index 0 not found/);
    assert.equal((await surfer.use("type", { index: 99, text: "x" })).is_error, true);
  });

  test("a newline in typed text presses Enter", async () => {
    await surfer.open(pages.url("form"));
    await surfer.type("Name", "Carla\n");
    assert.equal((await surfer.state()).title, "Sent");
    assert.match(pages.seen.at(-1), /^\/sent\?name=Carla/);
  });

  test("elements in frames of the same and of other origins can be used", async () => {
    await surfer.open(pages.url("frames"));
    for (const frame of ["same", "cross"]) {
      assert.match((await surfer.click(`Inside ${frame}`)).text, /^Clicked element \d$/);
      assert.ok(Number.isInteger(await surfer.index(`Pressed in ${frame}`)));
    }
    assert.match((await surfer.use("get_content")).text, /Outside[^]*Frame: http:\/\/localhost[^]*Pressed in cross/);
  });

  test("scrolling moves by 500 pixels", async () => {
    await surfer.open(pages.url("frames"));
    await surfer.use("scroll", {});
    assert.equal((await surfer.state()).scroll.y, 500);
    await surfer.use("scroll", { direction: "up" });
    assert.equal((await surfer.state()).scroll.y, 0);
  });

  test("links, elements in shadow roots and elements with a pointer cursor are found", async () => {
    await surfer.open(pages.url("links"));
    assert.deepEqual((await surfer.state()).interactive_elements.map(({ text }) => text), ["Plain", "Other tab", "File", "Clickable", "In the shadow"]);
    await surfer.click("In the shadow");
    assert.equal((await surfer.state()).title, "shadow");
    await surfer.click("Plain");
    assert.equal((await surfer.state()).title, "Sent");
    assert.equal((await surfer.use("go_back")).text, "Navigated back");
    assert.equal((await surfer.state()).url, pages.url("links"));
  });

  test("a download is saved in the workspace and reported", async () => {
    await surfer.open(pages.url("links"));
    const file = path.join(server.workspace, ".downloads", "the report.txt");
    assert.match((await surfer.click("File")).notes, new RegExp(`downloaded: ${file} \\(12 bytes\\)`));
    assert.equal(fs.readFileSync(file, "utf8"), "twelve bytes");
    assert.match((await surfer.open(pages.url("file"))).notes, /\.downloads\/the report \(1\)\.txt \(12 bytes\)/);
  });

  test("dialogs are answered and reported", async () => {
    await surfer.open(pages.url("dialogs"));
    assert.match((await surfer.click("Confirm")).notes, /\(confirm\): "Sure\?"\. It was accepted/);
    assert.match((await surfer.click("Prompt")).notes, /\(prompt\): "Name\?"\. It was dismissed/);
    assert.match((await surfer.click("Alert")).notes, /\(alert\): "a . b"\. It was accepted/u);
    const { interactive_elements: elements } = await surfer.state();
    assert.deepEqual(elements.map(({ text }) => text), ["Confirmed true", "Prompted null", "Alerted"]);
  });

  test("tabs are opened, listed, switched and closed", async () => {
    await surfer.open(pages.url("links"));
    assert.match((await surfer.click("Other tab")).notes, /The current tab is now \w{4}: /);
    assert.equal((await surfer.state()).title, "Form");
    assert.equal((await surfer.use("navigate", { url: pages.url("sent"), new_tab: true })).text, `Opened new tab with URL: ${pages.url("sent")}`);
    const tabs = JSON.parse((await surfer.use("list_tabs")).text);
    assert.deepEqual(tabs.map(({ title }) => title), ["Links", "Form", "Sent"]);
    assert.ok(tabs.every(({ tab_id: id }) => /^\w{4}$/.test(id)));
    assert.equal((await surfer.use("switch_tab", { tab_id: tabs[0].tab_id })).text, `Switched to tab ${tabs[0].tab_id}: ${pages.url("links")}`);
    assert.match((await surfer.click("Plain", { new_tab: true })).text, /opened its link in a new tab: http/);
    for (const { tab_id: id } of JSON.parse((await surfer.use("list_tabs")).text).slice(1)) await surfer.use("close_tab", { tab_id: id });
    assert.equal((await surfer.state()).tabs.length, 1);
    assert.equal((await surfer.use("switch_tab", { tab_id: "none" })).is_error, true);
    const last = await surfer.use("close_tab", { tab_id: tabs[0].tab_id });
    assert.match(last.text, /The current tab is \w{4}: about:blank$/);
  });

  test("page content is returned as Markdown in windows", async () => {
    await surfer.open(pages.url("long"));
    const first = (await surfer.use("get_content")).text;
    assert.ok(first.startsWith(`URL: ${pages.url("long")}\nCharacters 0 to 30000 of 50`));
    assert.match(first, /start_from_char=30000\.\n\n# Book\n\nA \*\*bold\*\* link\.\n\n- one\n- two\n\n\| a \| b \|\n\| --- \| --- \|\n\| 1 \| 2 \|\n\n```\n {2}kept\n {2}as is\n```\n\nword word/);
    assert.doesNotMatch(first, /hidden|unseen/);
    assert.match((await surfer.use("get_content", { extract_links: true })).text, /\[link\]\(http:\/\/127\.0\.0\.1:\d+\/sent\)/);
    assert.match((await surfer.use("get_content", { start_from_char: 30000 })).text, /Characters 30000 to 50\d+ of 50\d+\.\n\n[\w ]+$/);
    assert.equal((await surfer.use("get_content", { start_from_char: 60000 })).is_error, true);
  });

  test("cookies and local storage are read and set", async () => {
    const origin = `http://127.0.0.1:${pages.port}`;
    const cookie = { name: "who", value: "anna", domain: "127.0.0.1", path: "/" };
    const asked = pages.seen.length;
    const set = await surfer.use("set_storage", { storage_state: { cookies: [cookie], origins: [{ origin, localStorage: [{ name: "k", value: 'v "\u2028' }] }] } });
    assert.equal(set.text, "Storage set: 1 cookies, local storage of 1 origins.");
    assert.equal(pages.seen.length, asked, "the origin itself is not asked");
    await surfer.open(pages.url("sent"));
    const { cookies, origins } = JSON.parse((await surfer.use("get_storage")).text);
    assert.deepEqual(cookies, [{ ...cookie, expires: -1, httpOnly: false, secure: false }]);
    assert.deepEqual(origins, [{ origin, localStorage: [{ name: "k", value: 'v "\u2028' }] }]);
    const refused = await surfer.use("set_storage", { storage_state: { origins: [{ origin: "file:///etc", localStorage: [] }] } });
    assert.equal(refused.is_error, true);
  });

  test("addresses other than web pages are refused", async () => {
    for (const url of ["file:///etc/passwd", "chrome://version", "devtools://devtools/bundled/inspector.html", "view-source:http://x/", "javascript:alert(1)"])
      assert.match((await surfer.open(url)).text, /http and https addresses only/);
    const refused = await surfer.open("http://127.0.0.1:9/");
    assert.equal(refused.is_error, true);
    assert.match(refused.text, /net::ERR_/);
  });

  test("a call that is requested several times runs once", async () => {
    const id = randomUUID();
    const call = { tool: "browser_navigate", args: { url: pages.url("sent?once") } };
    const answers = await Promise.all([server.put(surfer.id, id, call), server.put(surfer.id, id, call)]);
    answers.push(await server.put(surfer.id, id, call));
    for (const answer of answers) assert.deepEqual(answer.json, answers[0].json);
    assert.equal(answers[0].json.state, "finished");
    assert.equal(pages.seen.filter((url) => url === "/sent?once").length, 1);
  });
});
