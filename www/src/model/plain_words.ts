/* Markdown as plain words, for places of one line. */
import { type Token, type Tokens, lexer } from "marked";

/** The rest of the text is ignored: one line shows less. */
const SOURCE_MAX_CHARS = 2000;

function partsOf(token: Token): readonly Token[] | undefined {
    if (token.type === "list") return (token as Tokens.List).items;
    return "tokens" in token ? token.tokens : undefined;
}

/** Escapes and entities are left as their writer meant them to be read. */
function wordsOf(token: Token): string {
    const parts = partsOf(token);
    if (parts !== undefined) return parts.map(wordsOf).join(token.type === "list" || token.type === "blockquote" ? " " : "");
    if (token.type === "space" || token.type === "br" || token.type === "hr") return " ";
    return "text" in token ? String(token.text) : token.raw;
}

/** The words of a text without their marks; white space is left to the caller. */
export function plainWords(source: string): string {
    const shown = source.slice(0, SOURCE_MAX_CHARS);
    try {
        return lexer(shown, { gfm: true }).map(wordsOf).join(" ");
    } catch {
        return shown;
    }
}
