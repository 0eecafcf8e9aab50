import { text } from "../text";
import { shortened } from "./shortened";

/** The server's own limit. */
const TITLE_MAX_CHARS = 200;

/** The title of a copy of a conversation. A long title is shortened, so that the end tells the two apart. */
export function branchTitle(title: string): string {
    const longest = TITLE_MAX_CHARS - Array.from(text.branch.named("…")).length;
    return text.branch.named(shortened(title, longest));
}
