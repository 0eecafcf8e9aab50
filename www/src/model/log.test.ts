import assert from "node:assert/strict";
import { test } from "node:test";
import type { EventBase } from "../api/wire";
import { EMPTY_LOG, type EventLog, reopened, settled, trimmed, withFirstPage, withLiveEvent, withOlderPage } from "./log";

function message(n: number): EventBase {
    return { id: `e${n}`, timestamp: "2026-01-15T10:30:00.000000", source: "user", kind: "MessageEvent" };
}

function range(from: number, to: number): EventBase[] {
    return Array.from({ length: to - from + 1 }, (_, i) => message(from + i));
}

/** As the server answers: newest first. */
function page(from: number, to: number, next: number | null) {
    return { items: range(from, to).reverse(), next_page_id: next === null ? null : `e${next}` };
}

function ids(log: EventLog): string[] {
    return log.events.map((event) => event.id);
}

test("live events that arrive before the first page are merged once, in order", () => {
    let log = withLiveEvent(EMPTY_LOG, message(5));
    log = withLiveEvent(log, message(6));
    assert.deepEqual(ids(log), []);
    log = withFirstPage(log, page(3, 5, 2));
    assert.deepEqual(ids(log), ["e3", "e4", "e5", "e6"]);
    assert.equal(log.olderPageId, "e2");
});

test("a known event changes nothing", () => {
    const log = withFirstPage(EMPTY_LOG, page(1, 3, null));
    assert.equal(withLiveEvent(log, message(2)), log);
});

test("older pages are put before the loaded events, without duplicates", () => {
    let log = withFirstPage(EMPTY_LOG, page(5, 6, 4));
    log = withOlderPage(log, page(2, 5, 1));
    assert.deepEqual(ids(log), ["e2", "e3", "e4", "e5", "e6"]);
    log = withOlderPage(log, page(1, 1, null));
    assert.equal(log.olderPageId, null);
});

test("dropped events can be loaded again", () => {
    const full = withFirstPage(EMPTY_LOG, page(1, 10, null));
    const short = trimmed(full, 6, 4);
    assert.deepEqual(ids(short), ["e7", "e8", "e9", "e10"]);
    assert.equal(short.olderPageId, "e6");
    assert.equal(trimmed(short, 6, 4), short);
    assert.deepEqual(ids(withOlderPage(short, page(1, 6, null))), ids(full));
});

test("a log that is read again shows what it had until the page arrives, and then only the page and what came since", () => {
    let log = reopened(withFirstPage(EMPTY_LOG, page(1, 4, null)));
    log = reopened(withLiveEvent(log, message(8)));
    assert.deepEqual(ids(log), ["e1", "e2", "e3", "e4"]);
    assert.deepEqual(ids(withFirstPage(log, page(1, 2, null))), ["e1", "e2", "e8"]);
});

test("if that page does not arrive, the log goes on", () => {
    const log = settled(withLiveEvent(reopened(withFirstPage(EMPTY_LOG, page(1, 2, null))), message(3)));
    assert.deepEqual(ids(log), ["e1", "e2", "e3"]);
    assert.deepEqual(ids(withLiveEvent(log, message(4))), ["e1", "e2", "e3", "e4"]);
});

test("state updates and system prompts are not kept", () => {
    const loaded = withFirstPage(EMPTY_LOG, { items: [{ ...message(1), kind: "SystemPromptEvent" }], next_page_id: null });
    assert.deepEqual(ids(loaded), []);
    assert.equal(withLiveEvent(loaded, { ...message(2), kind: "ConversationStateUpdateEvent" }), loaded);
});
