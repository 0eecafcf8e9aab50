import assert from "node:assert/strict";
import { test } from "node:test";
import type { EventBase } from "../api/wire";
import { begunEdit, newestMessageId, restoresFiles, shownMessages } from "./edit";

function message(id: string, content: unknown, source = "user"): EventBase {
    return Object.assign({ id, timestamp: "2026-01-15T10:30:00.000000", source, kind: "MessageEvent" }, { llm_message: { role: source, content } });
}

const events = [message("a", "one"), message("b", [{ type: "text", text: "two" }]), message("c", "answer", "agent")];

test("an edit begins with the message's text, or with what was typed before", () => {
    assert.equal(begunEdit(events, "b", null)?.draft, "two");
    assert.deepEqual(begunEdit(events, "b", null)?.original, "two");
    assert.equal(begunEdit(events, "b", null)?.isFound, false);
    assert.equal(begunEdit(events, "b", "typed")?.draft, "typed");
    assert.equal(begunEdit(events, "b", "typed")?.isFound, true);
    assert.equal(begunEdit(events, "b", null)?.newestId, "b");
});

test("only plain text of the user's that is held is edited", () => {
    assert.equal(begunEdit(events, "x", null), null);
    assert.equal(begunEdit(events, "c", null), null);
    assert.equal(begunEdit([message("i", [{ type: "image", image_urls: [] }])], "i", null), null);
});

test("the newest message is the user's", () => {
    assert.equal(newestMessageId(events), "b");
    assert.equal(newestMessageId([]), null);
});

test("files that are missing are not asked for, all others are if the user wants them", () => {
    assert.ok(restoresFiles(null, true));
    assert.ok(restoresFiles({ state: "stored", reason: null }, true));
    assert.ok(restoresFiles({ state: "unchanged", reason: null }, true));
    assert.ok(restoresFiles({ state: "unknown", reason: "no answer" }, true));
    assert.ok(!restoresFiles({ state: "missing", reason: null }, true));
    assert.ok(!restoresFiles({ state: "stored", reason: null }, false));
});

test("a message that waits for its step back is shown below the log if its editor is not", () => {
    const rest = { text: "go", writtenAt: 0, error: null, seen: [], isRejection: false };
    const outbox = [{ ...rest, key: "1", state: "held" as const }, { ...rest, key: "2", state: "failed" as const }];
    assert.deepEqual(shownMessages(outbox, true).map(({ key }) => key), ["2"]);
    assert.equal(shownMessages(outbox, false), outbox);
    const sent = outbox.slice(1);
    assert.equal(shownMessages(sent, true), sent);
});
