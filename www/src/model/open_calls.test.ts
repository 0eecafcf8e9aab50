import assert from "node:assert/strict";
import { test } from "node:test";
import type { EventBase } from "../api/wire";
import { openCalls, seenByMessage, waitingCalls } from "./open_calls";

function event(kind: string, id: string, more: Record<string, unknown> = {}): EventBase {
    return Object.assign({ id, kind, timestamp: "2026-01-15T12:00:00.000000", source: "agent" }, more);
}

function call(id: string, action: unknown = { kind: "TerminalAction", command: id }): EventBase {
    return event("ActionEvent", id, { tool_name: "terminal", tool_call_id: `call-${id}`, action });
}

const ids = (calls: readonly EventBase[]) => calls.map(({ id }) => id);

test("a call is open until its result, rejection or error arrives", () => {
    const events = [
        call("a"), event("ObservationEvent", "1", { action_id: "a" }),
        call("b"), event("UserRejectObservation", "2", { action_id: "b" }),
        call("c"), event("AgentErrorEvent", "3", { tool_call_id: "call-c" }),
        call("d"), call("e"),
    ];
    assert.deepEqual(ids(openCalls(events)), ["d", "e"]);
});

test("a call that could not be parsed never waits for a decision", () => {
    assert.deepEqual(openCalls([call("a", null)]), []);
});

test("open calls wait for a decision while nothing runs", () => {
    const none = new Set<string>();
    assert.deepEqual(ids(waitingCalls([call("a"), call("b")], "waiting_for_confirmation", none)), ["a", "b"]);
    assert.deepEqual(ids(waitingCalls([call("a")], "paused", none)), ["a"]);
    assert.deepEqual(waitingCalls([call("a")], "running", none), []);
    assert.deepEqual(waitingCalls([], "waiting_for_confirmation", none), []);
});

test("a message does not name calls that wait for a decision", () => {
    assert.deepEqual(seenByMessage([call("a")], "waiting_for_confirmation"), []);
    assert.deepEqual(seenByMessage([call("a")], "paused"), []);
    assert.deepEqual(seenByMessage([call("a")], "error"), ["a"]);
});

test("decided calls are not shown again, until a further call arrives", () => {
    const decided = new Set(["a"]);
    assert.deepEqual(waitingCalls([call("a")], "waiting_for_confirmation", decided), []);
    assert.deepEqual(ids(waitingCalls([call("a"), call("b")], "waiting_for_confirmation", decided)), ["a", "b"]);
});
