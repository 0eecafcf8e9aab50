/* A message of the user's that is being edited, to be sent again in its place. */
import type { FilesAt } from "../api/branches";
import type { EventBase, MessageEvent } from "../api/wire";
import type { OutgoingMessage } from "./outbox";
import { contentText } from "./content";
import type { EventLog } from "./log";

/** Null: not known yet. An error: it could not be found out. */
export type FilesAnswer = FilesAt | { state: "unknown"; reason: string } | null;

export interface Edit {
    readonly messageId: string;
    readonly original: string;
    readonly draft: string;
    readonly files: FilesAnswer;
    readonly wantsFiles: boolean;
    /** The draft is as it was found in this browser's storage; another window may be editing it. */
    readonly isFound: boolean;
    readonly isSending: boolean;
    readonly error: string | null;
    /** The newest user's message that was there when the user decided to send. */
    readonly newestId: string | null;
    /** Grows when the editor is to take the focus. */
    readonly nCalled: number;
}

function isUserMessage(event: EventBase): event is MessageEvent {
    return event.kind === "MessageEvent" && event.source === "user";
}

/** A message with images would lose them: only plain text can be edited. */
export function isPlainText(content: unknown): boolean {
    if (!Array.isArray(content)) return typeof content === "string";
    return content.every((part: unknown) => (part as { type?: unknown } | null)?.type === "text");
}

export function isHeld(log: EventLog, eventId: string): boolean {
    return log.events.some((event) => event.id === eventId);
}

export function newestMessageId(events: readonly EventBase[]): string | null {
    return events.filter(isUserMessage).at(-1)?.id ?? null;
}

/** Null if the message is not among the events, or cannot be edited. */
export function begunEdit(events: readonly EventBase[], messageId: string, draft: string | null): Edit | null {
    const event = events.find((held) => held.id === messageId);
    if (event === undefined || !isUserMessage(event) || !isPlainText(event.llm_message.content)) return null;
    const original = contentText(event.llm_message.content);
    return {
        messageId,
        original,
        draft: draft ?? original,
        files: null,
        wantsFiles: true,
        isFound: draft !== null,
        isSending: false,
        error: null,
        newestId: newestMessageId(events),
        nCalled: 0,
    };
}

/** What is asked of the server: files that cannot be restored are not asked for. */
export function restoresFiles(files: FilesAnswer, wantsFiles: boolean): boolean {
    return wantsFiles && files?.state !== "missing";
}

/** The messages that are shown below the log: one that waits for its step back is in its editor while that is shown. */
export function shownMessages(outbox: readonly OutgoingMessage[], isEditorShown: boolean): readonly OutgoingMessage[] {
    if (!isEditorShown || outbox.every((message) => message.state !== "held")) return outbox;
    return outbox.filter((message) => message.state !== "held");
}
