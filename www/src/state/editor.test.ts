import assert from "node:assert/strict";
import { webcrypto } from "node:crypto";
import { beforeEach, test } from "node:test";
import type { EventBase } from "../api/wire";
import type { Edit } from "../model/edit";
import { withFirstPage } from "../model/log";
import { text } from "../text";
import { Editor } from "./editor";
import { LogReader } from "./log_reader";
import { Sender } from "./sender";
import { INITIAL_STATE, type SessionState } from "./session_state";
import { loadEdit, loadOutbox, saveEdit } from "./storage";

// Browsers have it, Node.js 18 does not.
if (!("crypto" in globalThis)) Object.assign(globalThis, { crypto: webcrypto });

function message(id: string, words: string, source = "user"): EventBase {
    return Object.assign({ id, timestamp: "2026-01-15T10:30:00.000000", source, kind: "MessageEvent" }, { llm_message: { role: source, content: words } });
}

const LOG = [message("m1", "one"), message("a1", "did it", "agent"), message("m2", "two"), message("a2", "did it", "agent")];

interface Request {
    method: string;
    path: string;
    body: Record<string, unknown> | null;
}

type Answer = [status: number, body: unknown];

/** A server that answers by the last word of the path, and what it was asked. */
class Server {
    readonly requests: Request[] = [];
    path: EventBase[] = [...LOG];
    branches: (string | null)[] = [];
    answers = new Map<string, Answer | Error>();
    onRequest: (name: string) => void = () => undefined;

    pageSize = 100;

    /** An answer is made at once, and arrives when this resolves. */
    delay: (name: string) => Promise<void> | undefined = () => undefined;

    readonly fetch = async (url: string, init: RequestInit): Promise<Response> => {
        const name = /\/(\w+)(\?.*)?$/.exec(url)?.[1] ?? "";
        const body = typeof init.body === "string" ? (JSON.parse(init.body) as Record<string, unknown>) : null;
        this.requests.push({ method: init.method ?? "", path: url, body });
        this.onRequest(name);
        const answer = this.answers.get(name) ?? (name === "search" ? this.page(new URLSearchParams(url.split("?")[1])) : this.usual(name, body));
        await this.delay(name);
        if (answer instanceof Error) throw answer;
        return new Response(JSON.stringify(answer[1]), { status: answer[0] });
    };

    asked(name: string): Request[] {
        return this.requests.filter(({ path }) => path.includes(`/${name}`));
    }

    private page(query: URLSearchParams): Answer {
        const newestFirst = [...this.path].reverse();
        const from = Math.max(newestFirst.findIndex(({ id }) => id === query.get("page_id")), 0);
        const to = from + Math.min(Number(query.get("limit")), this.pageSize);
        return [200, { items: newestFirst.slice(from, to), next_page_id: newestFirst[to]?.id ?? null }];
    }

    private usual(name: string, body: Record<string, unknown> | null): Answer {
        if (name === "branches") return [200, { items: this.branches.map((id) => ({ parent_event_id: id, first_event_id: null })) }];
        if (name === "at") return [200, { state: "stored", reason: null }];
        if (name !== "navigate") return [200, {}];
        const parent = body?.event_id as string | null;
        this.branches.push(parent);
        this.path = this.path.slice(0, this.path.findIndex(({ id }) => id === parent) + 1);
        return [200, {}];
    }
}

/** Delays the first answer of a kind until it is let go. */
function late(server: Server, kind: string): () => void {
    let letGo: () => void = () => undefined;
    const gone = new Promise<void>((resolve) => { letGo = resolve; });
    let isFirst = true;
    server.delay = (name) => {
        if (name !== kind || !isFirst) return undefined;
        isFirst = false;
        return gone;
    };
    return letGo;
}

class Bench {
    state: SessionState = { ...INITIAL_STATE, load: "ready", status: "finished", link: "open", log: withFirstPage(INITIAL_STATE.log, { items: [...LOG].reverse(), next_page_id: null }) };
    readonly server = new Server();
    readonly reader: LogReader;
    readonly editor: Editor;

    constructor() {
        const state = () => this.state;
        const change = (part: Partial<SessionState>) => { this.state = { ...this.state, ...part }; };
        const sender = new Sender("c", state, change);
        this.reader = new LogReader("c", state, change, () => { this.editor.takeLog(); });
        this.editor = new Editor("c", state, change, { reader: this.reader, sender });
        globalThis.fetch = this.server.fetch as typeof fetch;
    }

    edit(): Edit | null {
        return this.state.edit;
    }

    get shown(): string[] {
        return this.state.log.events.map(({ id }) => id);
    }

    get outbox(): string[] {
        return this.state.outbox.map((message) => `${message.state}: ${message.text}`);
    }

    /** Until the lookup of the files is answered. */
    async begin(id: string, draft?: string): Promise<void> {
        this.editor.begin(id);
        if (draft !== undefined) this.editor.setDraft(draft);
        await this.settle();
    }

    async settle(): Promise<void> {
        for (let i = 0; i < 30; i++) await Promise.resolve();
        await new Promise((resolve) => { setImmediate(resolve); });
    }
}

beforeEach(() => {
    const held = new Map<string, string>();
    Object.assign(globalThis, {
        localStorage: {
            getItem: (key: string) => held.get(key) ?? null,
            setItem: (key: string, value: string) => { held.set(key, value); },
            removeItem: (key: string) => { held.delete(key); },
        },
    });
});

test("sending steps back to before the message with its files, and sends the text there", async () => {
    const bench = new Bench();
    await bench.begin("m2", " two, anew ");
    assert.equal(bench.server.asked("checkpoints")[0]?.path.split("?")[1], "event_id=a1");
    assert.deepEqual(bench.edit()?.files, { state: "stored", reason: null });
    let outboxAtNavigate: string[] = [];
    bench.server.onRequest = (name) => { if (name === "navigate") outboxAtNavigate = loadOutbox("c").map(({ text: words }) => words); };
    assert.equal(await bench.editor.send(), true);
    await bench.settle();
    assert.deepEqual(outboxAtNavigate, ["two, anew"], "the text is stored before the conversation changes");
    assert.deepEqual(bench.server.asked("navigate")[0]?.body, { event_id: "a1", restore_files: true });
    assert.deepEqual(bench.shown, ["m1", "a1"]);
    assert.equal(bench.edit(), null);
    assert.equal(loadEdit("c"), null);
    const [sent] = bench.server.asked("events").filter(({ method }) => method === "POST");
    assert.deepEqual(sent?.body, { role: "user", content: [{ type: "text", text: "two, anew" }], run: true, action_ids: [] });
    assert.deepEqual(bench.outbox, ["sent: two, anew"]);
    assert.match(bench.server.asked("events/search")[0]?.path ?? "", /on_path=true/);
});

test("before the first message is the start of the log", async () => {
    const bench = new Bench();
    await bench.begin("m1");
    assert.equal(bench.server.asked("checkpoints")[0]?.path.includes("?"), false);
    bench.editor.wantFiles(false);
    await bench.editor.send();
    assert.deepEqual(bench.server.asked("navigate")[0]?.body, { event_id: null, restore_files: false });
});

test("files that are missing are not asked for", async () => {
    const bench = new Bench();
    bench.server.answers.set("at", [200, { state: "missing", reason: "too slow" }]);
    await bench.begin("m2");
    await bench.editor.send();
    assert.deepEqual(bench.server.asked("navigate")[0]?.body, { event_id: "a1", restore_files: false });
});

test("after a refusal the editor has the text and the reason, and nothing waits in the outbox", async () => {
    const bench = new Bench();
    bench.server.answers.set("navigate", [409, { detail: "It is running." }]);
    await bench.begin("m2", "anew");
    assert.equal(await bench.editor.send(), false);
    await bench.settle();
    assert.equal(bench.edit()?.draft, "anew");
    assert.equal(bench.edit()?.error, "It is running.");
    assert.equal(bench.edit()?.isSending, false);
    assert.deepEqual(bench.outbox, []);
    assert.deepEqual(loadEdit("c"), { messageId: "m2", text: "anew" });
    assert.deepEqual(bench.shown, ["m1", "a1", "m2", "a2"]);
    assert.equal(bench.server.asked("checkpoints").length, 2, "whether the files can be restored is asked again");
});

test("if the answer to a step back is lost, the text is a message that was not sent", async () => {
    const bench = new Bench();
    await bench.reader.readNewest();
    await bench.begin("m2", "anew");
    bench.server.answers.set("navigate", new TypeError("connection lost"));
    bench.server.onRequest = (name) => {
        if (name !== "navigate") return;
        bench.server.branches.push("a1");
        bench.server.path = LOG.slice(0, 2);
        void bench.reader.check();
    };
    await bench.editor.send();
    await bench.settle();
    assert.deepEqual(bench.shown, ["m1", "a1"]);
    assert.deepEqual(bench.outbox, ["failed: anew"]);
    assert.equal(bench.edit(), null);
});

test("the same if the page was read again before that", async () => {
    const bench = new Bench();
    await bench.reader.readNewest();
    await bench.begin("m2", "anew");
    const letGo = late(bench.server, "navigate");
    bench.server.answers.set("navigate", [504, null]);
    const sending = bench.editor.send();
    await bench.settle();
    bench.server.branches.push("a1");
    bench.server.path = LOG.slice(0, 2);
    await bench.reader.check();
    assert.equal(bench.edit()?.isSending, true);
    letGo();
    assert.equal(await sending, false);
    assert.deepEqual(bench.shown, ["m1", "a1"]);
    assert.deepEqual(bench.outbox, ["failed: anew"]);
    assert.equal(bench.edit(), null);
});

test("a message that came since is left out only when the user sends again", async () => {
    const bench = new Bench();
    await bench.begin("m2", "anew");
    bench.state = { ...bench.state, log: { ...bench.state.log, events: [...LOG, message("m3", "of another")] } };
    assert.equal(await bench.editor.send(), false);
    assert.equal(bench.edit()?.error, text.edit.otherMessage);
    assert.deepEqual(bench.server.asked("navigate"), []);
    assert.equal(await bench.editor.send(), true);
});

test("empty texts are not sent, and nothing is sent twice", async () => {
    const bench = new Bench();
    await bench.begin("m2", "  ");
    assert.equal(await bench.editor.send(), false);
    bench.editor.setDraft("anew");
    assert.deepEqual(await Promise.all([bench.editor.send(), bench.editor.send()]), [true, false]);
    assert.equal(bench.server.asked("navigate").length, 1);
});

test("an edit under way cannot be cancelled; before that nothing is left of it", async () => {
    const bench = new Bench();
    await bench.begin("m2", "anew");
    const sending = bench.editor.send();
    bench.editor.cancel();
    assert.notEqual(bench.edit(), null);
    await sending;
    await bench.begin("m1", "typed");
    bench.editor.cancel();
    assert.equal(bench.edit(), null);
    assert.equal(loadEdit("c"), null);
});

test("another message is not edited while one has changes: that one takes the focus", async () => {
    const bench = new Bench();
    await bench.begin("m1");
    await bench.begin("m2", "anew");
    bench.editor.begin("m1");
    assert.equal(bench.edit()?.messageId, "m2");
    assert.equal(bench.edit()?.nCalled, 1);
    assert.equal(bench.edit()?.draft, "anew");
});

test("what was typed is there after a reload, at its message or as a message that was not sent", () => {
    const bench = new Bench();
    bench.editor.restore();
    assert.equal(bench.edit(), null);
    saveEdit("c", { messageId: "m2", text: "typed" });
    bench.editor.restore();
    assert.equal(bench.edit()?.draft, "typed");
    bench.editor.setDraft("typed more");
    saveEdit("c", { messageId: "m2", text: "typed elsewhere" });
    bench.editor.restore();
    assert.equal(bench.edit()?.draft, "typed more", "an open edit stays");
    const other = new Bench();
    saveEdit("c", { messageId: "gone", text: "typed" });
    other.editor.restore();
    assert.deepEqual(other.outbox, ["failed: typed"]);
    assert.equal(other.state.outbox[0]?.error, text.edit.gone);
    assert.equal(loadEdit("c"), null);
});

test("if its message leaves the path, a changed edit is kept, unless another window sent it", async () => {
    const leave = async (bench: Bench) => {
        await bench.reader.readNewest();
        bench.server.branches.push("a1");
        bench.server.path = LOG.slice(0, 2);
        await bench.reader.check();
    };
    const changed = new Bench();
    await changed.begin("m2", "typed");
    await leave(changed);
    assert.deepEqual(changed.outbox, ["failed: typed"]);
    const unchanged = new Bench();
    await unchanged.begin("m2");
    await leave(unchanged);
    assert.deepEqual(unchanged.outbox, []);
    assert.equal(unchanged.edit(), null);
    const found = new Bench();
    saveEdit("c", { messageId: "m2", text: "typed" });
    found.editor.restore();
    saveEdit("c", null);
    await leave(found);
    assert.deepEqual(found.outbox, []);
});

test("the page is read again only if the branches differ, also for a sign that comes while it is read", async () => {
    const bench = new Bench();
    await bench.reader.readNewest();
    await bench.reader.check();
    assert.equal(bench.server.asked("events/search").length, 1);
    let nLeft = 1;
    bench.server.branches.push("a2");
    bench.server.onRequest = (name) => {
        if (name !== "search" || nLeft-- === 0) return;
        bench.server.branches.push("a1");
        bench.server.path = LOG.slice(0, 2);
        void bench.reader.check();
    };
    await bench.reader.check();
    assert.deepEqual(bench.shown, ["m1", "a1"]);
    assert.equal(bench.server.asked("events/search").length, 3);
});

test("if the page cannot be read again, the log goes on, and the next sign reads it", async () => {
    const bench = new Bench();
    await bench.reader.readNewest();
    bench.server.branches.push("a1");
    bench.server.path = LOG.slice(0, 2);
    bench.server.answers.set("search", [503, null]);
    await bench.reader.check();
    assert.deepEqual(bench.shown, ["m1", "a1", "m2", "a2"]);
    assert.equal(bench.state.log.early, null);
    bench.server.answers.delete("search");
    await bench.reader.check();
    assert.deepEqual(bench.shown, ["m1", "a1"]);
});

test("older events of a path that was left do not come before the new one", async () => {
    const bench = new Bench();
    bench.state = { ...bench.state, log: { ...bench.state.log, olderPageId: "old" } };
    const letGo = late(bench.server, "search");
    const older = bench.reader.loadOlder();
    await bench.settle();
    bench.server.path = LOG.slice(0, 2);
    await bench.reader.reread();
    letGo();
    await older;
    assert.deepEqual(bench.shown, ["m1", "a1"]);
    assert.equal(bench.state.isLoadingOlder, false);
});

test("a page that arrives after a newer one does not count", async () => {
    const bench = new Bench();
    const letGo = late(bench.server, "search");
    const first = bench.reader.readNewest();
    await bench.settle();
    bench.server.path = LOG.slice(0, 2);
    assert.equal(await bench.reader.readNewest(), true);
    letGo();
    assert.equal(await first, false);
    assert.deepEqual(bench.shown, ["m1", "a1"]);
});

test("the event before the first one held is looked for on the older page", async () => {
    const bench = new Bench();
    const log = { ...bench.state.log, events: LOG.slice(2), olderPageId: "a1" };
    bench.state = { ...bench.state, log };
    bench.server.path = LOG.slice(0, 2);
    assert.equal(await bench.reader.predecessorOf("m2"), "a1");
    bench.state = { ...bench.state, log };
    bench.server.answers.set("search", [503, null]);
    await assert.rejects(bench.reader.predecessorOf("m2"), /not answering/);
    await assert.rejects(bench.reader.predecessorOf("unknown"), { message: text.edit.gone });
});

test("while one message is sent, another one is not edited: its text would go with that editor", async () => {
    const bench = new Bench();
    await bench.begin("m2");
    const letGo = late(bench.server, "navigate");
    const sending = bench.editor.send();
    bench.editor.begin("m1");
    assert.equal(bench.edit()?.messageId, "m2");
    letGo();
    assert.equal(await sending, true);
    assert.equal(bench.edit(), null);
});

function call(id: string): EventBase {
    return Object.assign({ id, timestamp: "2026-01-15T10:31:00.000000", source: "agent", kind: "ActionEvent" }, { tool_call_id: `call-${id}`, action: { kind: "TerminalAction" } });
}

/** A conversation whose last call waits for the user. */
function waitingBench(): Bench {
    const bench = new Bench();
    bench.server.path = [...LOG, call("c1")];
    bench.state = { ...bench.state, status: "waiting_for_confirmation", log: { ...bench.state.log, events: bench.server.path } };
    return bench;
}

test("the text is sent when the page is read, also by another reader: it does not reject calls that were left", async () => {
    const bench = waitingBench();
    await bench.reader.readNewest();
    await bench.begin("m2", "anew");
    /* The snapshot of the step back comes after its answer, and its page later than the first one. */
    let nPages = 0;
    let letGo: () => void = () => undefined;
    const gone = new Promise<void>((resolve) => { letGo = resolve; });
    bench.server.delay = (name) => (name === "search" && ++nPages === 2 ? gone : undefined);
    let nSigns = 1;
    bench.server.onRequest = (name) => { if (name === "branches" && nSigns-- > 0) void bench.reader.check(); };
    const sending = bench.editor.send();
    await bench.settle();
    assert.deepEqual(bench.server.asked("events/respond_to_confirmation"), []);
    assert.equal(bench.edit()?.isSending, true, "the editor shows the text until then");
    assert.equal(loadEdit("c"), null, "other windows know that it was sent");
    letGo();
    assert.equal(await sending, true);
    await bench.settle();
    assert.deepEqual(bench.server.asked("events/respond_to_confirmation"), []);
    assert.deepEqual(bench.outbox, ["sent: anew"]);
});

test("if the page cannot be read after the step back, the text is a message that was not sent", async () => {
    const bench = waitingBench();
    await bench.begin("m2", "anew");
    bench.server.answers.set("search", [503, { detail: "Try later." }]);
    assert.equal(await bench.editor.send(), true);
    await bench.settle();
    assert.deepEqual(bench.server.asked("events/respond_to_confirmation"), []);
    assert.deepEqual(bench.outbox, ["failed: anew"]);
    assert.equal(bench.state.outbox[0]?.error, "Try later.");
    assert.equal(bench.edit(), null);
});

test("a message on an older page is still part of the conversation", async () => {
    const bench = new Bench();
    bench.server.pageSize = 1;
    await bench.reader.readNewest();
    saveEdit("c", { messageId: "m1", text: "typed" });
    bench.editor.restore();
    await bench.settle();
    assert.equal(bench.edit()?.draft, "typed");
    assert.deepEqual(bench.shown, ["m1", "a1", "m2", "a2"]);
    bench.server.branches.push("m2");
    bench.server.path = LOG.slice(0, 3);
    await bench.reader.check();
    await bench.settle();
    assert.equal(bench.edit()?.draft, "typed");
    assert.deepEqual(bench.shown, ["m1", "a1", "m2"]);
    assert.deepEqual(bench.outbox, []);
});

test("an older message that left the path, or cannot be looked for, leaves its text", async () => {
    for (const [answer, reason] of [[null, text.edit.gone], [[503, { detail: "Try later." }], "Try later."]] as const) {
        const bench = new Bench();
        bench.server.pageSize = 1;
        await bench.reader.readNewest();
        const nAsked = bench.server.asked("events/search").length;
        saveEdit("c", { messageId: "left", text: "typed" });
        if (answer !== null) bench.server.answers.set("search", [...answer]);
        bench.editor.restore();
        await bench.settle();
        assert.deepEqual(bench.outbox, ["failed: typed"]);
        assert.equal(bench.state.outbox[0]?.error, reason);
        assert.equal(loadEdit("c"), null);
        assert.equal(bench.server.asked("events/search").length, nAsked + 1, "not all of the log is read for it");
    }
});

test("what was typed is kept if another message is edited before it is found", async () => {
    const bench = new Bench();
    bench.server.pageSize = 1;
    await bench.reader.readNewest();
    saveEdit("c", { messageId: "m2", text: "typed" });
    const letGo = late(bench.server, "search");
    bench.editor.restore();
    bench.state = { ...bench.state, log: withFirstPage(INITIAL_STATE.log, { items: [...LOG].reverse(), next_page_id: "x" }) };
    await bench.begin("m1", "more");
    letGo();
    await bench.settle();
    assert.equal(bench.edit()?.draft, "more");
    assert.deepEqual(loadEdit("c"), { messageId: "m1", text: "more" });
    assert.deepEqual(bench.outbox, ["failed: typed"]);
});

test("an edit whose message is gone ends, whoever reads the page", async () => {
    const bench = new Bench();
    await bench.begin("m2", "typed");
    bench.server.path = LOG.slice(0, 2);
    await bench.reader.readNewest();
    assert.equal(bench.edit(), null);
    assert.deepEqual(bench.outbox, ["failed: typed"]);
});

test("when the conversation is gone, the event before a message is not looked for without end", async () => {
    const bench = new Bench();
    bench.state = { ...bench.state, load: "gone", log: { ...bench.state.log, events: LOG.slice(2), olderPageId: "a1" } };
    let nReads = 0;
    bench.reader.loadOlder = () => {
        assert.ok(++nReads < 10, "it is looked for without end");
        return Promise.resolve();
    };
    await assert.rejects(bench.reader.predecessorOf("m2"), { message: text.conversation.olderFailed });
});

test("after a reload during the step back the text is there once", () => {
    const unsent = { key: "k", text: "typed", writtenAt: 0, state: "failed" as const, error: text.outbox.unconfirmed, seen: [], isRejection: false };
    const stays = new Bench();
    stays.state = { ...stays.state, outbox: [unsent] };
    saveEdit("c", { messageId: "m2", text: "typed " });
    stays.editor.restore();
    assert.equal(stays.edit()?.draft, "typed ");
    assert.deepEqual(stays.outbox, []);
    const left = new Bench();
    left.state = { ...left.state, outbox: [unsent] };
    saveEdit("c", { messageId: "left", text: "typed " });
    left.editor.restore();
    assert.deepEqual(left.outbox, ["failed: typed"]);
    assert.equal(loadEdit("c"), null);
});

test("another branch is noticed among many of the same parent, and the first event of the last one is none", async () => {
    const bench = new Bench();
    const list = (firsts: (string | null)[]) => {
        bench.server.answers.set("branches", [200, { items: firsts.map((first) => ({ parent_event_id: "m1", first_event_id: first })) }]);
    };
    list(["a", "b", null]);
    await bench.reader.readNewest();
    list(["a", "b", "c"]);
    await bench.reader.check();
    assert.equal(bench.server.asked("events/search").length, 1);
    list(["b", "c", null]);
    await bench.reader.check();
    assert.equal(bench.server.asked("events/search").length, 2);
});

test("a window that sends leaves the unsent texts of other windows stored", async () => {
    const other = new Bench();
    await other.begin("m2", "typed");
    const bench = new Bench();
    await bench.begin("m2", "anew");
    const letGo = late(bench.server, "navigate");
    const sending = bench.editor.send();
    other.state = { ...other.state, log: withFirstPage(INITIAL_STATE.log, { items: LOG.slice(0, 2).reverse(), next_page_id: null }) };
    other.editor.takeLog();
    assert.deepEqual(other.outbox, ["failed: typed"]);
    letGo();
    assert.equal(await sending, true);
    await bench.settle();
    assert.deepEqual(bench.outbox, ["sent: anew"]);
    assert.deepEqual(loadOutbox("c").map(({ text: words }) => words), ["typed"]);
});
