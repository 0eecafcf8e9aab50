import assert from "node:assert/strict";
import { test } from "node:test";
import type { EventBase } from "../api/wire";
import { asksModel, retryOf } from "./waiting_model";

test("a failed attempt with a retry gives the reason, the time and the number", () => {
    const frame = { type: "item_aborted" as const, item_id: "a", attempt: 2, reason: "busy", attempts: 5, retry_in_ms: 8000 };
    assert.deepEqual(retryOf(frame, 1000), { reason: "busy", attempt: 3, attempts: 5, nextAt: 9000, givesUpAt: null });
});

test("an outage has an end", () => {
    const frame = { type: "item_aborted" as const, item_id: "a", attempt: 1, reason: "busy", attempts: 2, retry_in_ms: 8000, gives_up_in_ms: 600_000 };
    assert.deepEqual(retryOf(frame, 1000), { reason: "busy", attempt: 2, attempts: 2, nextAt: 9000, givesUpAt: 601_000 });
});

test("a final failure is not a retry", () => {
    assert.equal(retryOf({ type: "item_aborted", item_id: "a", attempt: 2, reason: "stopped" }, 0), null);
});

test("the run waits for the model while no call is executed", () => {
    const call = Object.assign({ id: "a", kind: "ActionEvent", timestamp: "", source: "agent" }, { action: { kind: "X" }, tool_call_id: "c" });
    const result = Object.assign({ id: "b", kind: "ObservationEvent", timestamp: "", source: "environment" }, { action_id: "a" });
    const events: EventBase[] = [call, result];
    assert.equal(asksModel(events, "running"), true);
    assert.equal(asksModel([call], "running"), false);
    assert.equal(asksModel(events, "finished"), false);
});
