import { type ReactNode, useState } from "react";
import { text } from "../text";

interface FoldedTextProps {
    nLines: number;
    /** Draws one line; asked for those only that are shown. */
    line: (at: number) => ReactNode;
    /** How many lines are shown at first. */
    nShown: number;
    /** Which end matters more: a command's output is read from its end. */
    keep: "start" | "end";
    className: string;
    label: string;
}

/** A few more lines are not worth a click. */
const SLACK_LINES = 3;
/** How many a click brings at most: a browser takes minutes to lay out a hundred thousand. */
const STEP_LINES = 1000;

function Toggle({ isOpen, words, onClick }: { isOpen: boolean; words: string; onClick: () => void }) {
    return (
        <button type="button" className="fold-button" aria-expanded={isOpen} onClick={onClick}>
            {words}
        </button>
    );
}

export function FoldedText({ nLines, line, nShown, keep, className, label }: FoldedTextProps) {
    const [nOpened, setOpened] = useState(0);
    const isLong = nLines > nShown + SLACK_LINES;
    const n = isLong ? Math.min(nLines, nShown + nOpened) : nLines;
    const first = keep === "start" ? 0 : nLines - n;
    const more = Math.min(nLines - n, STEP_LINES);
    const toggles = isLong && (
        <>
            {more > 0 && (
                <Toggle
                    isOpen={nOpened > 0}
                    words={more === nLines - n ? text.cards.showAll(nLines) : text.cards.showMore(more, nLines)}
                    onClick={() => { setOpened(nOpened + more); }}
                />
            )}
            {nOpened > 0 && <Toggle isOpen words={text.cards.showLess} onClick={() => { setOpened(0); }} />}
        </>
    );
    return (
        <>
            {keep === "end" && toggles}
            <div className={className} role="group" aria-label={label} tabIndex={0}>
                {Array.from({ length: n }, (_, i) => line(first + i))}
            </div>
            {keep === "start" && toggles}
        </>
    );
}
