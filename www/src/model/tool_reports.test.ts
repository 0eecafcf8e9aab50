import assert from "node:assert/strict";
import { test } from "node:test";
import { type Frame, parseFrame } from "../api/wire";
import { NO_REPORTS, reduceReports, shareOf } from "./tool_reports";

const progress = (id: string, done: number, more = {}): Frame => ({ type: "tool_progress", action_id: id, progress: done, ...more });
const durable = (kind: string, more: object): Frame =>
    ({ type: "durable", seq: 1, event: { id: "e", timestamp: "", source: "environment", kind, ...more } });

test("the newest report of each call is kept until its result", () => {
    let reports = reduceReports(NO_REPORTS, progress("a", 1, { total: 4, message: "one" }));
    reports = reduceReports(reports, progress("b", 7));
    reports = reduceReports(reports, progress("a", 2, { total: 4 }));
    assert.deepEqual([...reports], [
        ["b", { done: 7, total: null, message: "" }],
        ["a", { done: 2, total: 4, message: "" }],
    ]);
    assert.equal(reduceReports(reports, durable("MessageEvent", {})), reports);
    reports = reduceReports(reports, durable("ObservationEvent", { action_id: "b" }));
    assert.deepEqual([...reports.keys()], ["a"]);
    assert.equal(reduceReports(reports, { type: "sync" }).size, 0);
});

test("a server cannot make the page keep any number of reports", () => {
    let reports = NO_REPORTS;
    for (let i = 0; i < 200; i += 1) reports = reduceReports(reports, progress(String(i), i));
    assert.equal(reports.size, 64);
    assert.ok(reports.has("199"));
});

test("a share is only said where there is one", () => {
    const share = (done: number, total: number | null) => shareOf({ done, total, message: "" });
    assert.equal(share(1, 4), 0.25);
    assert.equal(share(4, 4), 1);
    assert.equal(share(5, 4), null);
    assert.equal(share(-1, 4), null);
    assert.equal(share(1, null), null);
});

test("frames without a call or a number are passed over", () => {
    assert.equal(parseFrame('{"type":"tool_progress","progress":1}'), null);
    assert.equal(parseFrame('{"type":"tool_progress","action_id":"a","progress":"1"}'), null);
    assert.ok(parseFrame('{"type":"tool_progress","action_id":"a","progress":1}'));
});
