import { useMemo } from "react";
import { FoldedText } from "./FoldedText";

/** A text as it is, line by line, the beginning of a long one at first. */
export function Listing({ text, nShown, label }: { text: string; nShown: number; label: string }) {
    const lines = useMemo(() => text.split("\n"), [text]);
    return (
        <FoldedText
            nLines={lines.length}
            line={(at) => <div key={at}>{lines[at] || "\u00a0"}</div>}
            nShown={nShown}
            keep="start"
            className="listing"
            label={label}
        />
    );
}
