import assert from "node:assert/strict";
import { test } from "node:test";
import type { EventBase } from "../api/wire";
import { type OutgoingMessage, echoed, marked, queued, reconciled } from "./outbox";

const NOON = Date.parse("2026-01-15T12:00:00Z");

function outgoing(key: string, text: string): OutgoingMessage {
    return { key, text, writtenAt: NOON, state: "sending", error: null, seen: [], isRejection: false };
}

function stored(text: string, time: string, source = "user"): EventBase {
    const event = { id: `${text}${time}`, timestamp: `2026-01-15T${time}`, source, kind: "MessageEvent" };
    return Object.assign(event, { llm_message: { role: "user", content: [{ type: "text", text }] } });
}

test("an echoed message is removed from the outbox, the oldest first if texts are equal", () => {
    const outbox = queued(queued([], outgoing("1", "go")), outgoing("2", "go"));
    const left = echoed(outbox, stored("go", "12:00:01.000000"));
    assert.deepEqual(left.map((message) => message.key), ["2"]);
});

test("other events remove nothing from the outbox", () => {
    const outbox = [outgoing("1", "go")];
    assert.equal(echoed(outbox, stored("go", "12:00:01.000000", "agent")), outbox);
    assert.equal(echoed(outbox, stored("stop", "12:00:01.000000")), outbox);
});

test("a failed message keeps its text and its reason", () => {
    const [message] = marked([outgoing("1", "go")], "1", "failed", "no answer");
    assert.deepEqual([message?.state, message?.error, message?.text], ["failed", "no answer", "go"]);
});

test("a rejection's reason is not removed by a message with the same text", () => {
    const outbox = [{ ...outgoing("1", "no"), isRejection: true }];
    assert.equal(echoed(outbox, stored("no", "12:00:01.000000")), outbox);
    assert.deepEqual(reconciled(outbox, [stored("no", "12:00:01.000000")]), outbox);
});

test("a message that waits for a step back is not in the log, whatever its text", () => {
    const outbox = [{ ...outgoing("1", "go"), state: "held" as const }];
    assert.equal(echoed(outbox, stored("go", "12:00:01.000000")), outbox);
    assert.deepEqual(reconciled(outbox, [stored("go", "12:00:01.000000")]), outbox);
});

test("after a reload only messages that did not arrive are left", () => {
    const outbox = [outgoing("1", "go"), outgoing("2", "go"), outgoing("3", "on")];
    const log = [stored("go", "09:00:00.000000"), stored("go", "12:00:02.000000"), stored("on", "11:59:30.000000")];
    assert.deepEqual(reconciled(outbox, log).map((message) => message.key), ["2"]);
});
