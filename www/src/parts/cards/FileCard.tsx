import { useMemo } from "react";
import type { Tagged } from "../../api/wire";
import { contentText } from "../../model/content";
import { type Diff, type DiffRow, diffLines } from "../../model/diff";
import { type ToolItem, textOf } from "../../model/items";
import { text } from "../../text";
import { FoldedText } from "../FoldedText";
import { Listing } from "../Listing";
import { Card, OutcomeWords, badgeOf, hasWords } from "./Card";

const SHOWN_LINES = 20;
/** Nearly every file is in it, so that saying it each time tells nothing. */
const PROJECT_DIR = "/workspace/project/";

const ROW_NAMES: Readonly<Record<DiffRow["sign"], string>> = {
    "+": "diff-added",
    "-": "diff-removed",
    " ": "diff-same",
    gap: "diff-gap",
};

function Row({ row }: { row: DiffRow | undefined }) {
    if (row === undefined) return null;
    if (row.sign === "gap") return <div className="diff-row diff-gap">{text.cards.hiddenLines(row.nHidden)}</div>;
    return (
        <div className={`diff-row ${ROW_NAMES[row.sign]}`}>
            <span className="diff-number" aria-hidden="true">
                {row.newNumber ?? row.oldNumber}
            </span>
            <span className="diff-sign">{row.sign}</span>
            <span className="diff-text">{row.text}</span>
        </div>
    );
}

/** The change in an observation: the whole files before and after, if it has both. */
function useDiff(observation: Tagged | null): Diff | null {
    return useMemo(() => {
        if (observation === null || observation.is_error === true) return null;
        if (observation.command === "view" || typeof observation.new_content !== "string") return null;
        return diffLines(textOf(observation, "old_content"), observation.new_content);
    }, [observation]);
}

function DiffView({ diff }: { diff: Diff }) {
    if (diff.rows.length === 0) return <p className="card-words">{text.cards.noChange}</p>;
    return (
        <FoldedText
            nLines={diff.rows.length}
            line={(at) => <Row key={at} row={diff.rows[at]} />}
            nShown={SHOWN_LINES}
            keep="start"
            className="diff"
            label={text.cards.result}
        />
    );
}

function PlainResult({ observation }: { observation: Tagged }) {
    const words = contentText(observation.content);
    if (observation.is_error === true) return <p className="card-words card-words-bad">{words}</p>;
    return <Listing text={words} nShown={SHOWN_LINES} label={text.cards.result} />;
}

function Title({ item, observation, diff }: { item: ToolItem; observation: Tagged | null; diff: Diff | null }) {
    const command = textOf(item.action, "command") || textOf(observation, "command");
    const path = textOf(item.action, "path") || textOf(observation, "path");
    const isDone = observation !== null && observation.is_error !== true;
    const verb = (isDone ? text.fileVerbs : text.fileVerbsOpen)[command] ?? text.fileFallback;
    return (
        <>
            {verb}{" "}
            <code className="path" title={path}>
                {path.startsWith(PROJECT_DIR) ? path.slice(PROJECT_DIR.length) : path}
            </code>
            {diff !== null && (
                <span className="diff-counts">
                    {diff.nAdded > 0 && <span className="count-added" title={text.cards.added(diff.nAdded)}>+{diff.nAdded}</span>}
                    {diff.nRemoved > 0 && <span className="count-removed" title={text.cards.removed(diff.nRemoved)}>−{diff.nRemoved}</span>}
                </span>
            )}
        </>
    );
}

export function FileCard({ item }: { item: ToolItem }) {
    const observation = item.outcome.state === "done" ? item.outcome.observation : null;
    const diff = useDiff(observation);
    return (
        <Card
            item={item}
            icon="file"
            title={<Title item={item} observation={observation} diff={diff} />}
            badge={badgeOf(item.outcome)}
            isClosedAtFirst={textOf(item.action, "command") === "view"}
        >
            {diff !== null && <DiffView diff={diff} />}
            {diff === null && observation !== null && <PlainResult observation={observation} />}
            {hasWords(item.outcome) && <OutcomeWords outcome={item.outcome} />}
        </Card>
    );
}
