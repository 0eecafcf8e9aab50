import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

const FORK = { id: "00000000-0000-4000-8000-000000000002", from_event_id: "m1", title: null, restore_files: false };

let opened: string[] = [];
let answers: Record<string, number> = {};

beforeEach(() => {
    opened = [];
    answers = {};
    Object.assign(globalThis, {
        window: {
            location: { pathname: "/", hash: "" },
            addEventListener: () => undefined,
            history: { pushState: (_state: unknown, _title: string, path: string) => { opened.push(path); } },
        },
        fetch: (url: string, { method }: RequestInit) => {
            const what = `${method ?? ""} ${/\/search/.test(url) ? "list" : (url.split("/").pop() ?? "")}`;
            return Promise.resolve(new Response(JSON.stringify({ items: [], next_page_id: null }), { status: answers[what] ?? 200 }));
        },
    });
});

/* It needs the window when it is loaded. */
const branchOff = async (isAwaited: () => boolean) => (await import("./forks")).branchOff("c", FORK, isAwaited);

test("the copy is opened, also if the answer to the request was lost", async () => {
    await branchOff(() => true);
    answers["POST fork"] = 504;
    await branchOff(() => true);
    assert.deepEqual(opened, Array(2).fill(`/conversations/${FORK.id}`));
});

test("if it was not made, that is an error", async () => {
    answers = { "POST fork": 409, [`GET ${FORK.id}`]: 404 };
    await assert.rejects(branchOff(() => true));
    assert.deepEqual(opened, []);
});

test("a user who no longer waits for the copy is not taken to it", async () => {
    await branchOff(() => false);
    assert.deepEqual(opened, []);
});
