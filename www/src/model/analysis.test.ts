import assert from "node:assert/strict";
import { test } from "node:test";
import type { ActionEvent, EventBase, SecurityAnalysisEvent } from "../api/wire";
import { analysisOf, guardsOf } from "./analysis";

function analysis(id: string, risks: Record<string, string>, details: Record<string, unknown> = {}): SecurityAnalysisEvent {
    const event = { id, kind: "SecurityAnalysisEvent", timestamp: "2026-01-15T12:00:00.000000", source: "environment", risks, details };
    return event as unknown as SecurityAnalysisEvent;
}

const calls = [{ id: "a" }, { id: "b" }] as ActionEvent[];

test("the newest analysis of the calls counts", () => {
    const events: EventBase[] = [analysis("1", { a: "LOW" }), analysis("2", { b: "HIGH" }), analysis("3", { c: "LOW" })];
    assert.equal(analysisOf(events, calls)?.id, "2");
    assert.equal(analysisOf(events.slice(2), calls), null);
});

test("guards speak of all calls, and what is no guard says nothing", () => {
    const guards = [{ model: "m", risk: "HIGH", answer: "RISK: HIGH" }, { model: "n", error: "no answer" }, null];
    assert.deepEqual(guardsOf(analysis("1", { a: "HIGH" }, { a: { guards }, b: {} })), [
        { model: "m", answer: "RISK: HIGH", error: "" },
        { model: "n", answer: "", error: "no answer" },
        { model: "", answer: "", error: "" },
    ]);
    assert.deepEqual(guardsOf(analysis("1", { a: "HIGH" })), []);
});
