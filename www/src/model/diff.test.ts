import assert from "node:assert/strict";
import { test } from "node:test";
import { type Diff, diffLines } from "./diff";

function drawn(diff: Diff): string[] {
    return diff.rows.map((row) => (row.sign === "gap" ? `~${row.nHidden}` : `${row.sign}${row.text}`));
}

test("a new file is all additions", () => {
    const diff = diffLines("", "a\nb\n");
    assert.deepEqual(drawn(diff), ["+a", "+b"]);
    assert.deepEqual([diff.nAdded, diff.nRemoved], [2, 0]);
});

test("a change is shown between its neighbours, with numbers of both files", () => {
    const diff = diffLines("a\nb\nc\n", "a\nB\nB2\nc\n");
    assert.deepEqual(drawn(diff), [" a", "-b", "+B", "+B2", " c"]);
    const last = diff.rows[4];
    assert.ok(last && last.sign !== "gap");
    assert.deepEqual([last.oldNumber, last.newNumber], [3, 4]);
});

test("lines far from any change are folded", () => {
    const lines = Array.from({ length: 30 }, (_, i) => `line ${i}`);
    const changed = lines.map((line, i) => (i === 15 ? "other" : line));
    const rows = drawn(diffLines(lines.join("\n"), changed.join("\n")));
    assert.equal(rows[0], "~12");
    assert.equal(rows[rows.length - 1], "~11");
    assert.equal(rows.length, 10);
});

test("equal files have no rows", () => {
    assert.deepEqual(diffLines("a\nb", "a\nb").rows, []);
});

test("files too large to compare are shown as replaced", () => {
    const before = Array.from({ length: 1500 }, (_, i) => `old ${i}`).join("\n");
    const after = Array.from({ length: 1500 }, (_, i) => `new ${i}`).join("\n");
    const diff = diffLines(before, after);
    assert.deepEqual([diff.nAdded, diff.nRemoved], [1500, 1500]);
});
