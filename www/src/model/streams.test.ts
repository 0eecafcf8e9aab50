import assert from "node:assert/strict";
import { test } from "node:test";
import { type Frame, parseFrame } from "../api/wire";
import frames from "./fixtures/session-frames.json";
import { type Stream, reduceStreams } from "./streams";

function play(list: readonly Frame[]): readonly Stream[] {
    return list.reduce<readonly Stream[]>(reduceStreams, []);
}

test("a recorded session shows streamed answers and leaves none open", () => {
    const parsed = frames.map((frame) => parseFrame(JSON.stringify(frame)));
    assert.ok(parsed.every((frame) => frame !== null));
    const seen = new Set<string>();
    let streams: readonly Stream[] = [];
    for (const frame of parsed) {
        streams = reduceStreams(streams, frame);
        streams.forEach((stream) => seen.add(stream.text));
    }
    assert.ok(seen.has("sleeping"));
    assert.ok(seen.has("nothing more"));
    assert.deepEqual(streams, []);
});

test("a second attempt and a new connection discard streamed text", () => {
    const delta = (attempt: number, content: string): Frame => ({
        type: "delta", item_id: "i", attempt, order: 0, kind: "text", content,
    });
    const started = (attempt: number): Frame => ({ type: "item_started", item_id: "i", attempt });
    assert.equal(play([started(1), delta(1, "wrong"), started(2), delta(2, "right")])[0]?.text, "right");
    assert.deepEqual(play([started(1), delta(1, "half"), { type: "sync", through_seq: 3 }]), []);
    assert.deepEqual(play([started(1), delta(1, "half"), { type: "item_aborted", item_id: "i", attempt: 1 }]), []);
});

test("unusable frames are ignored", () => {
    for (const bad of ["", "not json", "[]", '{"type":"later"}', '{"type":"durable","seq":"1"}', '{"type":"toString"}'])
        assert.equal(parseFrame(bad), null, bad);
});
