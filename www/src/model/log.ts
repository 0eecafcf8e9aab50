/*
 * The part of a conversation's event log that the page holds: one contiguous stretch that ends now.
 *
 * It grows at its end by live events and at its beginning by older pages. Events that never show on the timeline
 * are left out, so that a long conversation costs what is seen of it.
 */
import type { EventBase, EventPage } from "../api/wire";

export interface EventLog {
    /** Oldest first. */
    readonly events: readonly EventBase[];
    /** Where the next older page begins; null when the beginning is held. */
    readonly olderPageId: string | null;
    /** Live events that came before the first page; null once that page is here. */
    readonly early: readonly EventBase[] | null;
}

export const EMPTY_LOG: EventLog = { events: [], olderPageId: null, early: [] };

const UNSEEN_KINDS: ReadonlySet<string> = new Set([
    "CondensationRequest",
    "ConversationStateUpdateEvent",
    "LLMCompletionLogEvent",
    "StreamingDeltaEvent",
    "SystemPromptEvent",
    "TokenEvent",
]);

function isSeen(event: EventBase): boolean {
    return !UNSEEN_KINDS.has(event.kind);
}

/** The events of `added` that `held` does not have, in their order. */
function missingFrom(held: readonly EventBase[], added: readonly EventBase[]): EventBase[] {
    const ids = new Set(held.map((event) => event.id));
    return added.filter((event) => !ids.has(event.id) && isSeen(event));
}

/** The newest page, as the server sends it: newest event first. */
export function withFirstPage(log: EventLog, page: EventPage): EventLog {
    const events = page.items.filter(isSeen).reverse();
    return {
        events: [...events, ...missingFrom(events, log.early ?? [])],
        olderPageId: page.next_page_id,
        early: null,
    };
}

/** Live events wait for a first page again. What is held stays until then. */
export function reopened(log: EventLog): EventLog {
    return { ...log, early: log.early ?? [] };
}

/** No first page comes: the events that waited for it follow what is held. */
export function settled(log: EventLog): EventLog {
    return { ...log, events: [...log.events, ...missingFrom(log.events, log.early ?? [])], early: null };
}

/** A page of older events, newest first, that was asked for with `olderPageId`. */
export function withOlderPage(log: EventLog, page: EventPage): EventLog {
    return {
        ...log,
        events: [...missingFrom(log.events, page.items).reverse(), ...log.events],
        olderPageId: page.next_page_id,
    };
}

export function withLiveEvent(log: EventLog, event: EventBase): EventLog {
    if (!isSeen(event)) return log;
    if (log.early !== null) return { ...log, early: [...log.early, event] };
    if (log.events.some((held) => held.id === event.id)) return log;
    return { ...log, events: [...log.events, event] };
}

/** Lets the oldest events go when there are more than `most`, down to `keep`. They can be read again by page. */
export function trimmed(log: EventLog, most: number, keep: number): EventLog {
    if (log.events.length <= most) return log;
    const nDropped = log.events.length - keep;
    const newestDropped = log.events[nDropped - 1];
    return {
        ...log,
        events: log.events.slice(nDropped),
        olderPageId: newestDropped?.id ?? log.olderPageId,
    };
}
