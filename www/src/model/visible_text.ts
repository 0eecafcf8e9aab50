/*
 * Makes all characters of a text visible: the user must approve exactly what is executed, so characters that hide,
 * reorder or look like a space are shown by name.
 */

export interface Piece {
    readonly text: string;
    /** True for the names of characters that would not show. */
    readonly isName: boolean;
}

/*
 * Controls but tab and line feed, format characters (bidirectional ones, zero-width ones, tags), private, unassigned
 * and lone surrogate code points, line and paragraph separators, spaces other than the plain one, variation selectors,
 * the combining joiner, and letters that are drawn as nothing (Hangul and Khmer fillers, the blank Braille pattern).
 */
const UNSEEN =
    /(?:(?![\t\n ])[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\p{Zl}\p{Zp}\p{Zs}\ufe00-\ufe0f\u{e0100}-\u{e01ef}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0])+/gu;

function nameOf(character: string): string {
    return `⟨U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

export function visiblePieces(text: string): Piece[] {
    const pieces: Piece[] = [];
    let end = 0;
    for (const match of text.matchAll(UNSEEN)) {
        const [run] = match;
        if (match.index > end) pieces.push({ text: text.slice(end, match.index), isName: false });
        pieces.push({ text: Array.from(run, nameOf).join(""), isName: true });
        end = match.index + run.length;
    }
    if (end < text.length) pieces.push({ text: text.slice(end), isName: false });
    return pieces;
}
