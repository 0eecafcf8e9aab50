// Failing pages and browsers: each call ends in time with a message, and the next one works.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { ActionServer, gone } from "./support/action-server.mjs";
import { Pages, Surfer, descendants } from "./support/browser_pages.mjs";
import { within } from "./support/wait.mjs";

const WAIT_MS = 10000;
const pages = new Pages({
  plain: "<title>Plain</title><p>Fine</p>",
  slow: '<title>Slow</title><p>Half of it</p><img src="/never?image">',
  never: () => {},
  loop: "<title>Loop</title><button onclick=\"while (true) {}\">Loop</button>",
  stubborn: "<title>Stubborn</title><button onclick=\"setInterval(() => { while (true) {} }, 0); while (true) {}\">Loop</button>",
  inline: "<title>Inline</title><script>while (true) {}</script>",
  closing: "<title>Closing</title><script>opener</script><button onclick=\"window.open('/child')\">Open</button>",
  child: '<title>Child</title><button onclick="window.close()">Close</button>',
});

const browsers = (server) => descendants(server.child.pid).filter(({ command }) => command.includes("--remote-debugging-pipe"));
/** Also what a browser has forked a moment ago, which cannot be told from it yet, and may have ended by now. */
const killBrowser = (server) =>
  Promise.all(
    browsers(server).map(({ pid }) => {
      try {
        process.kill(pid, "SIGKILL");
      } catch (error) {
        if (error.code !== "ESRCH") throw error;
      }
      return gone(pid);
    }),
  );
const started = async (t, env = {}) => {
  const server = await new ActionServer({ DEFT_ACTION_BROWSER: process.env.CHROMIUM ?? "", ...env }).start();
  t.after(() => server.stop());
  return server;
};

describe("a failing browser", { concurrency: 2 }, () => {
  let server;
  before(async () => {
    await pages.start();
    server = await new ActionServer({ DEFT_ACTION_BROWSER: process.env.CHROMIUM ?? "", DEFT_ACTION_BROWSER_WAIT_MS: String(WAIT_MS) }).start();
  });
  after(async () => {
    await server.stop();
    pages.stop();
  });

  test("a page that loads slowly is reported as still loading", async () => {
    const surfer = new Surfer(server);
    const slow = await surfer.open(pages.url("slow"));
    assert.equal(slow.is_error, false);
    assert.match(slow.notes, /still loading after 10 seconds/);
    assert.match((await surfer.use("get_content")).text, /Half of it/);
    const never = await surfer.open(pages.url("never"));
    assert.equal(never.is_error, true);
    assert.match(never.text, /did not answer within 10 seconds/);
    await surfer.open(pages.url("plain"));
    assert.equal((await surfer.state()).title, "Plain");
  });

  test("an endless script is stopped; after three such calls the browser is restarted", async () => {
    const surfer = new Surfer(server);
    await surfer.open(pages.url("loop"));
    const index = await surfer.index("Loop");
    for (const words of [/script was stopped; the page is still open/, /script was stopped/, /browser was restarted/]) {
      const hung = await surfer.use("click", { index });
      assert.equal(hung.is_error, true);
      assert.match(hung.text, words);
    }
    await surfer.open(pages.url("plain"));
    assert.equal((await surfer.state()).title, "Plain");
  });

  test("a page that keeps hanging loses its tab, other tabs stay", async () => {
    const surfer = new Surfer(server);
    await surfer.open(pages.url("plain"));
    await surfer.use("navigate", { url: pages.url("stubborn"), new_tab: true });
    assert.match((await surfer.click("Loop")).text, /its tab was closed/);
    assert.equal((await surfer.state()).title, "Plain");
    const inline = await surfer.open(pages.url("inline"));
    assert.equal(inline.is_error, true);
    assert.match(inline.text, /page did not answer in time/);
    await surfer.open(pages.url("plain"));
    assert.equal((await surfer.state()).title, "Plain");
  });

  test("when a window closes itself, the previous tab becomes active", async () => {
    const surfer = new Surfer(server);
    await surfer.open(pages.url("closing"));
    await surfer.click("Open");
    assert.equal((await surfer.state()).title, "Child");
    assert.equal((await surfer.click("Close")).is_error, false);
    assert.equal((await surfer.state()).title, "Closing");
  });

  test("a call can be interrupted, and the browser stays usable", async () => {
    const surfer = new Surfer(server);
    await surfer.open(pages.url("plain"));
    const asked = new Promise((resolve) => {
      pages.pages.held = resolve;
    });
    const held = surfer.open(pages.url("held"));
    await within(asked, "the page is asked for");
    await surfer.interrupt();
    assert.equal((await held).text, "The call was interrupted.");
    assert.equal((await surfer.open(pages.url("plain"))).is_error, false);
  });

  test("a page and a browser that crash are replaced", async (t) => {
    const own = await started(t);
    const surfer = new Surfer(own);
    await surfer.open(pages.url("plain"));
    const renderers = browsersOf(own, "--type=renderer");
    for (const { pid } of renderers) process.kill(pid, "SIGKILL");
    // Opening a page may succeed before the browser knows: a new process shows it. This needs the one that was there.
    const after = await surfer.use("get_state");
    assert.match(after.text + after.notes, /crashed/);
    await surfer.open(pages.url("plain"));
    assert.equal((await surfer.state()).title, "Plain");
    await killBrowser(own);
    const again = await surfer.open(pages.url("plain"));
    assert.match(again.text + again.notes, /browser had ended unexpectedly|browser failed/);
    await surfer.open(pages.url("plain"));
    assert.equal((await surfer.state()).title, "Plain");
  });

  test("killing the browser during a call ends the call", async (t) => {
    const own = await started(t);
    const surfer = new Surfer(own);
    await surfer.open(pages.url("plain"));
    const asked = new Promise((resolve) => {
      pages.pages.killed = resolve;
    });
    const held = surfer.open(pages.url("killed"));
    await within(asked, "the page is asked for");
    await killBrowser(own);
    const ended = await held;
    assert.equal(ended.is_error, true);
    assert.match(ended.text, /The browser failed/);
    assert.equal((await surfer.open(pages.url("plain"))).is_error, false);
  });

  test("the browser ends with its conversation and leaves nothing", async (t) => {
    const own = await started(t);
    const surfer = new Surfer(own);
    await surfer.open(pages.url("plain"));
    const processes = descendants(own.child.pid);
    const profile = /--user-data-dir=([^\0 ]+)/.exec(browsers(own)[0].command)[1];
    assert.ok(fs.existsSync(profile));
    await own.send("DELETE", `/conversations/${surfer.id}`);
    await Promise.all(processes.map(({ pid }) => gone(pid)));
    assert.equal(fs.existsSync(profile), false);
    assert.deepEqual(descendants(own.child.pid), []);
  });

  test("a server that dies during a call ends its browser, and the next call reports it", async (t) => {
    const own = await started(t);
    const surfer = new Surfer(own);
    await surfer.open(pages.url("plain"));
    const asked = new Promise((resolve) => {
      pages.pages.orphan = resolve;
    });
    const id = randomUUID();
    const call = { tool: "browser_navigate", args: { url: pages.url("orphan") } };
    const lost = own.put(surfer.id, id, call).catch(() => undefined);
    await within(asked, "the page is asked for");
    const processes = descendants(own.child.pid);
    await own.kill();
    await lost;
    await Promise.all(processes.map(({ pid }) => gone(pid)));
    await own.start();
    const answer = await own.put(surfer.id, id, call);
    assert.equal(answer.json.state, "interrupted");
    assert.equal(pages.seen.filter((url) => url === "/orphan").length, 1);
    assert.equal((await surfer.open(pages.url("plain"))).is_error, false);
  });

  test("without a usable browser calls return an error message", async (t) => {
    const none = new Surfer(await started(t, { DEFT_ACTION_BROWSER: "/nonexistent" }));
    const missing = await none.open(pages.url("plain"));
    assert.equal(missing.is_error, true);
    assert.match(missing.text, /has no browser/);
    const dir = fs.mkdtempSync(path.join(server.dir, "fake-"));
    const fakes = {
      nonsense: ["printf 'nonsense\\0' >&4; exec sleep 60", /sent an invalid message/],
      endless: ["exec cat /dev/zero >&4", /browser failed/],
      torn: ["printf '{\"id\":1,' >&4", /browser failed/],
      silent: ["exec sleep 60", /did not answer in time/],
    };
    for (const [name, [script, words]] of Object.entries(fakes)) {
      const program = path.join(dir, name);
      fs.writeFileSync(program, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
      const surfer = new Surfer(await started(t, { DEFT_ACTION_BROWSER: program, DEFT_ACTION_BROWSER_TIMEOUT_MS: "6000" }));
      const failed = await surfer.open(pages.url("plain"));
      assert.equal(failed.is_error, true);
      assert.match(failed.text, words, name);
    }
  });
});

function browsersOf(server, flag) {
  return descendants(server.child.pid).filter(({ command }) => command.includes(flag));
}
