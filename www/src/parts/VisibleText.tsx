import { visiblePieces } from "../model/visible_text";
import { text as words } from "../text";

/** A text as it is executed: characters that would not show are shown by their code points. */
export function VisibleText({ text }: { text: string }) {
    return visiblePieces(text).map((piece, i) =>
        piece.isName ? (
            <mark key={i} className="unseen" title={words.confirmation.unseen}>
                {piece.text}
            </mark>
        ) : (
            piece.text
        ),
    );
}
