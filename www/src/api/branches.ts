/* Continuing a conversation from an earlier event: in place, or in a copy. */
import { request } from "./http";
import type { ConversationInfo } from "./wire";

function pathOf(id: string): string {
    return `/agent/api/conversations/${encodeURIComponent(id)}`;
}

/** A place at which the log was continued from an earlier event; null: from the start. */
export interface Branch {
    parent_event_id: string | null;
    /** Null: there is none yet. */
    first_event_id: string | null;
}

/** The newest 1000, oldest first. */
export async function fetchBranches(id: string): Promise<Branch[]> {
    return ((await request("GET", `${pathOf(id)}/branches`)) as { items: Branch[] }).items;
}

/** The workspace's files as they were after an event. */
export interface FilesAt {
    /** unchanged: they are as they were; stored: they can be restored; missing: they cannot. */
    state: "unchanged" | "stored" | "missing";
    reason: string | null;
}

/** eventId: null is the start of the log. */
export async function fetchFilesAt(id: string, eventId: string | null): Promise<FilesAt> {
    const query = eventId === null ? "" : `?event_id=${encodeURIComponent(eventId)}`;
    return (await request("GET", `${pathOf(id)}/checkpoints/at${query}`)) as FilesAt;
}

/** The log continues after the event; refused (409) during a run, or if the files cannot be restored. */
export async function stepBack(id: string, eventId: string | null, restoresFiles: boolean): Promise<void> {
    await request("POST", `${pathOf(id)}/navigate`, { event_id: eventId, restore_files: restoresFiles });
}

export interface Fork {
    /** Chosen by the page, so that a repeated request makes no second copy. */
    id: string;
    from_event_id: string;
    title: string | null;
    restore_files: boolean;
}

export async function forkConversation(sourceId: string, fork: Fork): Promise<ConversationInfo> {
    return (await request("POST", `${pathOf(sourceId)}/fork`, fork)) as ConversationInfo;
}
