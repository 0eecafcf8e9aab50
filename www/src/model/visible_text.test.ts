import assert from "node:assert/strict";
import { test } from "node:test";
import { visiblePieces } from "./visible_text";

const shown = (text: string) => visiblePieces(text).map((piece) => piece.text).join("");

test("plain text with its lines and tabs stays one piece", () => {
    const text = "rm -rf build\n\tmake all # größer, 日本語, 🙂";
    assert.deepEqual(visiblePieces(text), [{ text, isName: false }]);
    assert.deepEqual(visiblePieces(""), []);
});

test("characters that hide or reorder text are shown by name", () => {
    assert.equal(shown("echo \u202etxt.exe\u202c"), "echo ⟨U+202E⟩txt.exe⟨U+202C⟩");
    assert.equal(shown("a\u200bb\u2066c\ufeffd"), "a⟨U+200B⟩b⟨U+2066⟩c⟨U+FEFF⟩d");
    assert.equal(shown("ls\r\u001b[2K\u0008rm\u007f"), "ls⟨U+000D⟩⟨U+001B⟩[2K⟨U+0008⟩rm⟨U+007F⟩");
    assert.equal(shown("a\u{e0072}b\u2028c\u00a0d\u3000e\u00ad"), "a⟨U+E0072⟩b⟨U+2028⟩c⟨U+00A0⟩d⟨U+3000⟩e⟨U+00AD⟩");
    assert.equal(shown("x\ufe0fy\u3164z\ud800"), "x⟨U+FE0F⟩y⟨U+3164⟩z⟨U+D800⟩");
});

test("a sequence of such characters is one piece, however long it is", () => {
    assert.deepEqual(visiblePieces(`a${"\u200b".repeat(3)} \u200bb`), [
        { text: "a", isName: false },
        { text: "⟨U+200B⟩⟨U+200B⟩⟨U+200B⟩", isName: true },
        { text: " ", isName: false },
        { text: "⟨U+200B⟩", isName: true },
        { text: "b", isName: false },
    ]);
});

test("only names are marked, so that a command cannot imitate one", () => {
    assert.deepEqual(visiblePieces("⟨U+202E⟩\u202e"), [
        { text: "⟨U+202E⟩", isName: false },
        { text: "⟨U+202E⟩", isName: true },
    ]);
});
