import { type ReactNode, memo, useEffect, useRef } from "react";
import { clockTime, fullTime } from "../model/time";
import { type Item, type MessageItem, type NoteItem, isSameItem } from "../model/items";
import type { ToolReport } from "../model/tool_reports";
import type { Session } from "../state/session";
import { text } from "../text";
import { CallReport } from "./CallReport";
import { Markdown } from "./Markdown";
import { MessageEditor } from "./MessageEditor";
import { MessageTools } from "./MessageTools";
import { ToolCard } from "./cards/ToolCard";
import { TroubleCard } from "./cards/TroubleCard";

function Message({ item }: { item: MessageItem }) {
    return (
        <article className={`message message-${item.author}`} data-testid={`${item.author}-message`}>
            <h3 className={item.author === "agent" ? "visually-hidden" : "message-author"}>
                {item.author === "user" ? text.cards.you : text.cards[item.author]}
            </h3>
            <Markdown source={item.text} />
            {item.images.map((url) => (
                <img key={url} className="message-image" src={url} alt={text.cards.image} />
            ))}
        </article>
    );
}

function Thinking({ source }: { source: string }) {
    return (
        <details className="thinking">
            <summary>{text.cards.thinking}</summary>
            <Markdown source={source} />
        </details>
    );
}

function Finish({ source }: { source: string }) {
    return (
        <article className="finish" data-testid="finish">
            <h3>{text.cards.finished}</h3>
            <Markdown source={source} />
        </article>
    );
}

function Note({ item }: { item: NoteItem }) {
    if (item.detail === null) return <p className="note">{text.notes[item.note]}</p>;
    return (
        <details className="note">
            <summary>{text.notes[item.note]}</summary>
            <Markdown source={item.detail} />
        </details>
    );
}

function Unknown({ kind, event }: { kind: string; event: unknown }) {
    return (
        <details className="unknown">
            <summary>
                {text.cards.unknown}: <code>{kind}</code>
            </summary>
            <pre tabIndex={0}>{JSON.stringify(event, null, 2)}</pre>
        </details>
    );
}

function bodyOf(item: Item): ReactNode {
    switch (item.type) {
        case "message":
            return <Message item={item} />;
        case "thinking":
            return <Thinking source={item.text} />;
        case "tool":
            return <ToolCard item={item} />;
        case "finish":
            return <Finish source={item.text} />;
        case "trouble":
            return <TroubleCard item={item} />;
        case "note":
            return <Note item={item} />;
        case "unknown":
            return <Unknown kind={item.event.kind} event={item.event} />;
    }
}

/** The knot of the thread next to the item. */
function knotOf(item: Item): string {
    if (item.type === "message") return item.author;
    if (item.type !== "tool") return item.type;
    return item.outcome.state === "running" || item.outcome.state === "waiting" ? "live" : "tool";
}

function isRunning(item: Item): boolean {
    return item.type === "tool" && item.outcome.state === "running";
}

/** What can be done with the rows of a timeline; the same object for all of its life. */
export interface RowActions {
    readonly session: Session;
    readonly onBranch: (eventId: string) => void;
    readonly onSent: () => void;
}

interface RowProps {
    item: Item;
    /** Of a call; shown while it runs. */
    report?: ToolReport | undefined;
    hasTime: boolean;
    isEdited: boolean;
    actions: RowActions;
}

/** A message, or the end of a task, can be continued from in another way. */
function Tools({ item, actions, isEdited }: RowProps) {
    const opener = useRef<HTMLButtonElement>(null);
    const wasEdited = useRef(false);
    useEffect(() => {
        if (wasEdited.current && !isEdited) opener.current?.focus();
        wasEdited.current = isEdited;
    }, [isEdited]);
    if (isEdited || (item.type !== "message" && item.type !== "finish") || item.branchId === null) return null;
    const { branchId } = item;
    const { session, onBranch } = actions;
    const isUsers = item.type === "message" && item.author === "user";
    const onEdit = () => { session.editor.begin(item.id); };
    return (
        <MessageTools
            edit={isUsers ? { isPossible: item.isEditable, onEdit, ref: opener } : null}
            onBranch={() => { onBranch(branchId); }}
        />
    );
}

export const TimelineRow = memo(
    function TimelineRow(props: RowProps) {
        const { item, report, hasTime, isEdited, actions } = props;
        return (
            <li className={`row knot-${knotOf(item)}`}>
                {hasTime && (
                    <time className="row-time" dateTime={item.at} title={fullTime(item.at)}>
                        {clockTime(item.at)}
                    </time>
                )}
                <div className="row-body">
                    {isEdited ? <MessageEditor session={actions.session} onSent={actions.onSent} /> : bodyOf(item)}
                    {report !== undefined && isRunning(item) && <CallReport report={report} />}
                    <Tools {...props} />
                </div>
            </li>
        );
    },
    (before, after) =>
        before.hasTime === after.hasTime &&
        before.isEdited === after.isEdited &&
        before.report === after.report &&
        before.actions === after.actions &&
        isSameItem(before.item, after.item),
);
