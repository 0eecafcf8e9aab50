/*
 * Messages on their way: shown at once, gone when the log has them, kept with a reason when sending failed.
 */
import type { EventBase, MessageEvent } from "../api/wire";
import { contentText } from "./content";
import { parseServerTime } from "./time";

export interface OutgoingMessage {
    readonly key: string;
    readonly text: string;
    /** Milliseconds since the epoch. */
    readonly writtenAt: number;
    /** "held": waits for a step back; "sent": the server has it, its event has not come yet. */
    readonly state: "held" | "sending" | "sent" | "failed";
    readonly error: string | null;
    /** The calls that were open when it was written. */
    readonly seen: readonly string[];
    /** True when it rejects them, with its text as the reason; it then does not become a message. */
    readonly isRejection: boolean;
}

export type Outbox = readonly OutgoingMessage[];

/** Clocks of two machines differ; a stored message older than this before the written one is another one. */
const CLOCK_TOLERANCE_MS = 120_000;

export function queued(outbox: Outbox, message: OutgoingMessage): Outbox {
    return [...outbox, message];
}

export function marked(outbox: Outbox, key: string, state: OutgoingMessage["state"], error: string | null): Outbox {
    return outbox.map((message) => (message.key === key ? { ...message, state, error } : message));
}

export function removed(outbox: Outbox, key: string): Outbox {
    return outbox.filter((message) => message.key !== key);
}

function isUserMessage(event: EventBase): event is MessageEvent {
    return event.kind === "MessageEvent" && event.source === "user";
}

/** Whether it can be in the log. */
function canBeEchoed(message: OutgoingMessage): boolean {
    return message.state !== "held" && !message.isRejection;
}

/** Takes out the oldest message that `event` is the echo of. */
export function echoed(outbox: Outbox, event: EventBase): Outbox {
    if (outbox.length === 0 || !isUserMessage(event)) return outbox;
    const text = contentText(event.llm_message.content);
    const index = outbox.findIndex((message) => message.text === text && canBeEchoed(message));
    return index < 0 ? outbox : outbox.filter((_, i) => i !== index);
}

/** After a reload: the messages that the log does not contain. */
export function reconciled(outbox: Outbox, events: readonly EventBase[]): Outbox {
    const unused = events.filter(isUserMessage);
    return outbox.filter((message) => {
        const index = unused.findIndex(
            (event) =>
                canBeEchoed(message) &&
                contentText(event.llm_message.content) === message.text &&
                parseServerTime(event.timestamp) >= message.writtenAt - CLOCK_TOLERANCE_MS,
        );
        if (index < 0) return true;
        unused.splice(index, 1);
        return false;
    });
}
