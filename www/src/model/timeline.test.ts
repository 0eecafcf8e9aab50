import assert from "node:assert/strict";
import { test } from "node:test";
import type { EventBase } from "../api/wire";
import hello from "./fixtures/hello.json";
import interrupted from "./fixtures/slow-command-interrupt.json";
import refused from "./fixtures/llm-error.json";
import { type Item, type ToolItem, isSameItem } from "./items";
import { EMPTY_LOG, withFirstPage } from "./log";
import { buildTimeline } from "./timeline";

const AT = "2026-01-15T10:30:00.000000";

function event(id: string, kind: string, rest: object): EventBase {
    return { id, kind, timestamp: AT, source: "agent", ...rest };
}

function call(id: string, rest: object = {}): EventBase {
    return event(id, "ActionEvent", {
        tool_name: "terminal",
        tool_call_id: `call-${id}`,
        action: { kind: "TerminalAction", command: "true" },
        thought: [],
        ...rest,
    });
}

function result(id: string, actionId: string): EventBase {
    return event(id, "ObservationEvent", {
        tool_name: "terminal",
        tool_call_id: `call-${actionId}`,
        action_id: actionId,
        observation: { kind: "TerminalObservation", exit_code: 0, content: [] },
    });
}

/** The events that the page keeps of a recorded stream. */
function held(recorded: readonly object[]): readonly EventBase[] {
    const items = [...(recorded as EventBase[])].reverse();
    return withFirstPage(EMPTY_LOG, { items, next_page_id: null }).events;
}

function tools(items: readonly Item[]): ToolItem[] {
    return items.filter((item): item is ToolItem => item.type === "tool");
}

function states(items: readonly Item[]): string[] {
    return tools(items).map((item) => item.outcome.state);
}

test("a recorded conversation becomes message, paired cards, thought and finish", () => {
    const items = buildTimeline(held(hello), "finished");
    assert.deepEqual(states(items), ["done", "done", "done"]);
    assert.deepEqual(tools(items).map((item) => item.tool), ["file_editor", "terminal", "task_tracker"]);
    assert.equal(items[0]?.type, "message");
    assert.equal(items.filter((item) => item.type === "thinking").length, 1);
    assert.equal(items.filter((item) => item.type === "finish").length, 1);
    assert.equal(new Set(items.map((item) => item.id)).size, items.length);
});

test("a call that the user cut off is stopped, not failed", () => {
    const items = buildTimeline(held(interrupted), "finished");
    assert.deepEqual(states(items), ["stopped"]);
    assert.ok(items.some((item) => item.type === "note" && item.note === "stopped"));
});

test("an error of the run is shown with its code", () => {
    const trouble = buildTimeline(held(refused), "error").filter((item) => item.type === "trouble");
    assert.ok(trouble.length > 0);
    assert.equal(trouble[0]?.code, "LLMAuthenticationError");
});

test("a call without a result runs only while the conversation does", () => {
    assert.deepEqual(states(buildTimeline([call("a")], "running")), ["running"]);
    assert.deepEqual(states(buildTimeline([call("a")], "waiting_for_confirmation")), ["waiting"]);
    assert.deepEqual(states(buildTimeline([call("a")], "paused")), ["open"]);
});

test("parallel calls each get their own result", () => {
    const items = tools(buildTimeline([call("a"), call("b"), result("1", "b"), result("2", "a")], "running"));
    assert.deepEqual(items.map((item) => [item.id, item.outcome.state]), [["a", "done"], ["b", "done"]]);
});

test("a result whose call is on an older page gets its own card until that page is loaded", () => {
    const alone = tools(buildTimeline([result("1", "a")], "finished"));
    assert.deepEqual(alone.map((item) => [item.id, item.action]), [["1", null]]);
    const joined = tools(buildTimeline([call("a"), result("1", "a")], "finished"));
    assert.deepEqual(joined.map((item) => item.id), ["a"]);
});

test("an error is matched with its call by the call's id", () => {
    const failure = event("1", "AgentErrorEvent", { tool_name: "nosuch", tool_call_id: "call-a", error: "no such tool" });
    const items = tools(buildTimeline([call("a", { tool_name: "nosuch", action: undefined }), failure], "running"));
    assert.deepEqual(items.map((item) => item.outcome), [{ state: "failed", error: "no such tool" }]);
});

test("a rejected call shows the reason", () => {
    const refusal = event("1", "UserRejectObservation", {
        tool_name: "terminal",
        tool_call_id: "call-a",
        action_id: "a",
        rejection_reason: "Too risky",
    });
    const items = tools(buildTimeline([call("a"), refusal], "idle"));
    assert.deepEqual(items[0]?.outcome, { state: "rejected", reason: "Too risky" });
});

test("a summary that the server made from the arguments is left out", () => {
    const items = tools(buildTimeline([call("a", { summary: 'terminal: {"command": "true"}' }), call("b", { summary: "look" })], "idle"));
    assert.deepEqual(items.map((item) => item.summary), [null, "look"]);
});

test("unknown and unreadable events are shown as JSON", () => {
    const odd = event("1", "SomethingNew", { value: 1 });
    const broken = event("2", "ObservationEvent", { tool_name: "terminal", action_id: "a" });
    const items = buildTimeline([odd, broken, call("a")], "idle");
    assert.deepEqual(items.map((item) => item.type), ["unknown", "unknown", "tool"]);
});

test("a hook is shown if it blocked, failed or added something", () => {
    const ran = { hook_event_type: "PreToolUse", hook_command: "check.sh", success: true, blocked: false, stdout: "", stderr: "" };
    const items = buildTimeline([
        event("1", "HookExecutionEvent", { ...ran, blocked: true, reason: "no\n```" }),
        event("2", "HookExecutionEvent", { ...ran, success: false, error: "too slow" }),
        event("3", "HookExecutionEvent", { ...ran, additional_context: "use make" }),
        event("4", "HookExecutionEvent", ran),
    ], "idle");
    assert.deepEqual(items.map((item) => item.type === "note" && [item.note, item.detail]), [
        ["hookBlocked", "    check.sh\n    no\n    ```"],
        ["hookFailed", "    check.sh\n    too slow"],
        ["hookAdded", "    check.sh\n    use make"],
    ]);
});

test("an analysis is shown if an analyzer could not tell the risk", () => {
    const guards = (more: object) => ({ a: { guards: [{ model: "m", risk: "UNKNOWN", ...more }] } });
    const items = buildTimeline([
        event("1", "SecurityAnalysisEvent", { risks: { a: "UNKNOWN" }, details: guards({ answer: "hm", error: "no\nrisk" }) }),
        event("2", "SecurityAnalysisEvent", { risks: { a: "HIGH" }, details: guards({ answer: "RISK: HIGH" }) }),
        event("3", "SecurityAnalysisEvent", { risks: { a: "HIGH" }, details: {} }),
    ], "idle");
    assert.deepEqual(items.map((item) => item.type === "note" && [item.note, item.detail]), [["guardFailed", "    m: no\n    risk"]]);
});

test("messages say up to which event a branch includes them, and the end of a task includes its result", () => {
    const said = event("m", "MessageEvent", { source: "user", llm_message: { role: "user", content: [{ type: "text", text: "go" }] } });
    const thought = call("a", { thought: [{ type: "text", text: "hm" }] });
    const finish = call("f", { tool_name: "finish", action: { kind: "FinishAction", message: "done" } });
    const end = event("r", "ObservationEvent", { tool_name: "finish", action_id: "f", observation: { kind: "FinishObservation" } });
    const before = buildTimeline([said, thought, finish], "running");
    const after = buildTimeline([said, thought, finish, end], "running");
    const places = (items: readonly Item[]) => items.map((item) => "branchId" in item && item.branchId);
    assert.deepEqual(places(before), ["m", null, false, "f"]);
    assert.deepEqual(places(after), ["m", null, false, "r"]);
    assert.ok(before[3] && after[3] && !isSameItem(before[3], after[3]));
});

test("messages of the user can be edited if they are plain text", () => {
    const image = { type: "image", image_urls: ["https://example.test/a.png"] };
    const of = (source: string, content: unknown) => buildTimeline([event("m", "MessageEvent", { source, llm_message: { role: "user", content } })], "idle")[0];
    const editable = (source: string, content: unknown) => { const item = of(source, content); return item?.type === "message" && item.isEditable; };
    assert.ok(editable("user", [{ type: "text", text: "go" }]));
    assert.ok(editable("user", "go"));
    assert.ok(!editable("user", [{ type: "text", text: "go" }, image]));
    assert.ok(!editable("agent", [{ type: "text", text: "go" }]));
});

test("only a card whose result arrived is rendered again", () => {
    const pending = call("a");
    const before = buildTimeline([pending, call("b")], "running");
    const after = buildTimeline([pending, call("b"), result("1", "b")], "running");
    assert.ok(before[0] && after[0] && isSameItem(before[0], after[0]));
    assert.ok(before[1] && after[1] && !isSameItem(before[1], after[1]));
});
