import { useMemo } from "react";
import type { Tagged } from "../../api/wire";
import { contentText } from "../../model/content";
import { cleanTerminalText } from "../../model/terminal_text";
import { type ToolItem, textOf } from "../../model/items";
import { text } from "../../text";
import { FoldedText } from "../FoldedText";
import { VisibleText } from "../VisibleText";
import { type Badge, Card, OutcomeWords, badgeOf, hasWords } from "./Card";

const SHOWN_LINES = 14;

function exitBadge(observation: Tagged): Badge | null {
    const code = observation.exit_code;
    if (observation.is_error === true) return { tone: "bad", words: text.cards.failed };
    if (observation.timeout === true) return { tone: "bad", words: text.cards.timedOut };
    if (typeof code !== "number") return null;
    if (code === -1) return { tone: "live", words: text.cards.stillRunning };
    return { tone: code === 0 ? "good" : "bad", words: text.cards.exit(code) };
}

function outputOf(observation: Tagged | null): string {
    return cleanTerminalText(contentText(observation?.content)).replace(/\n+$/, "");
}

function Output({ output }: { output: string }) {
    const lines = useMemo(() => output.split("\n"), [output]);
    return (
        <FoldedText
            nLines={lines.length}
            line={(at) => <div key={at} className="terminal-line">{lines[at] || "\u00a0"}</div>}
            nShown={SHOWN_LINES}
            keep="end"
            className="terminal"
            label={text.cards.result}
        />
    );
}

function Command({ item, observation }: { item: ToolItem; observation: Tagged | null }) {
    if (item.action?.reset === true) return <>{text.cards.resetShell}</>;
    const command = textOf(item.action, "command") || textOf(observation, "command");
    const isInput = item.action?.is_input === true;
    return (
        <code className="command">
            <span className="command-sign" aria-hidden="true">
                {isInput ? "›" : "$"}
            </span>{" "}
            {command === "" ? text.cards.shell : <VisibleText text={command} />}
        </code>
    );
}

export function TerminalCard({ item }: { item: ToolItem }) {
    const observation = item.outcome.state === "done" ? item.outcome.observation : null;
    const output = useMemo(() => outputOf(observation), [observation]);
    const badge = observation === null ? badgeOf(item.outcome) : exitBadge(observation);
    const title = (
        <>
            <Command item={item} observation={observation} />
            {observation !== null && output === "" && <span className="card-aside">{text.cards.noOutput}</span>}
        </>
    );
    return (
        <Card item={item} icon="terminal" title={title} badge={badge}>
            {output !== "" && <Output output={output} />}
            {hasWords(item.outcome) && <OutcomeWords outcome={item.outcome} />}
        </Card>
    );
}
