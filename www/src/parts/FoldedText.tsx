import { type ReactNode, useState } from "react";
import { text } from "../text";

interface FoldedTextProps {
    lines: readonly ReactNode[];
    /** How many lines are shown at first. */
    nShown: number;
    /** Which end matters more: a command's output is read from its end. */
    keep: "start" | "end";
    className: string;
    label: string;
}

/** A few more lines are not worth a click. */
const SLACK_LINES = 3;

export function FoldedText({ lines, nShown, keep, className, label }: FoldedTextProps) {
    const [isOpen, setIsOpen] = useState(false);
    const isLong = lines.length > nShown + SLACK_LINES;
    let shown = lines;
    if (isLong && !isOpen) shown = keep === "start" ? lines.slice(0, nShown) : lines.slice(-nShown);
    const toggle = isLong && (
        <button type="button" className="fold-button" aria-expanded={isOpen} onClick={() => { setIsOpen(!isOpen); }}>
            {isOpen ? text.cards.showLess : text.cards.showAll(lines.length)}
        </button>
    );
    return (
        <>
            {keep === "end" && toggle}
            <div className={className} role="group" aria-label={label} tabIndex={0}>
                {shown}
            </div>
            {keep === "start" && toggle}
        </>
    );
}
