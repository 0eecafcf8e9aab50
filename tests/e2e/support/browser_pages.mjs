// Pages for the browser of a sandbox, served by the test itself: /name is pages[name].
import { once } from "node:events";
import fs from "node:fs";
import http from "node:http";
import { Conversation } from "./action-server.mjs";

export class Pages {
  /** pages: name -> HTML, or a function (request, response). */
  constructor(pages) {
    this.pages = pages;
    this.seen = [];
  }

  async start() {
    this.server = http.createServer((request, response) => {
      const url = new URL(request.url, "http://x");
      const page = this.pages[url.pathname.slice(1)];
      this.seen.push(request.url);
      if (typeof page === "function") return page(request, response);
      response.writeHead(page === undefined ? 404 : 200, { "Content-Type": "text/html; charset=utf-8" });
      return response.end(typeof page === "string" ? page.replaceAll("PORT", this.port) : "");
    });
    this.server.listen(0, "127.0.0.1");
    await once(this.server, "listening");
    this.port = this.server.address().port;
    return this;
  }

  url(name) {
    return `http://127.0.0.1:${this.port}/${name}`;
  }

  stop() {
    this.server.closeAllConnections();
    this.server.close();
  }
}

/** A conversation that uses its browser. */
export class Surfer extends Conversation {
  async use(tool, args = {}) {
    const { content, ...observation } = await this.run(`browser_${tool}`, args);
    const [text, notes] = content.map((part) => part.text);
    return { ...observation, text, notes: notes ?? "" };
  }

  open(url) {
    return this.use("navigate", { url });
  }

  async state(args) {
    return JSON.parse((await this.use("get_state", args)).text);
  }

  /** The number of the element that shows a text. */
  async index(text) {
    const { interactive_elements: elements } = await this.state();
    const found = elements.find((element) => element.text.startsWith(text));
    if (!found) throw new Error(`no element ${text} in ${JSON.stringify(elements)}`);
    return found.index;
  }

  async click(text, more = {}) {
    return this.use("click", { index: await this.index(text), ...more });
  }

  async type(label, text) {
    return this.use("type", { index: await this.index(label), text });
  }
}

/** The descendants of a process: [{pid, command}]. */
export function descendants(root) {
  const parents = new Map();
  for (const name of fs.readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    try {
      const fields = fs.readFileSync(`/proc/${name}/stat`, "utf8").split(") ").at(-1).split(" ");
      parents.set(Number(name), { parent: Number(fields[1]), state: fields[0], command: fs.readFileSync(`/proc/${name}/cmdline`, "utf8") });
    } catch {
      // it has ended in the meantime
    }
  }
  const isBelow = (pid) => pid !== undefined && (pid === root || isBelow(parents.get(pid)?.parent));
  return [...parents].filter(([pid, { state }]) => pid !== root && state !== "Z" && isBelow(pid)).map(([pid, { command }]) => ({ pid, command }));
}
