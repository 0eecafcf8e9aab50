/*
 * What this browser keeps for its user: drafts, unsent messages, the theme. Storage may be closed or full; the page
 * then works without.
 */
import type { OutgoingMessage } from "../model/outbox";

function read(key: string): string | null {
    try {
        return localStorage.getItem(key);
    } catch {
        return null;
    }
}

function write(key: string, value: string): void {
    try {
        if (value === "") localStorage.removeItem(key);
        else localStorage.setItem(key, value);
    } catch {
        /* The text stays on the page; only a reload would lose it. */
    }
}

/** The draft of the message that begins a conversation. */
export const NEW_CONVERSATION = "new";

export function loadDraft(conversation: string): string {
    return read(`deft.draft.${conversation}`) ?? "";
}

export function saveDraft(conversation: string, text: string): void {
    write(`deft.draft.${conversation}`, text);
}

function isOutgoing(value: unknown): value is OutgoingMessage {
    const message = value as Partial<OutgoingMessage> | null;
    return (
        typeof message === "object" &&
        message !== null &&
        typeof message.key === "string" &&
        typeof message.text === "string" &&
        typeof message.writtenAt === "number"
    );
}

/** Entries of an older page lack what they saw; how they are sent again is decided then anyway. */
function withSeen(message: OutgoingMessage): OutgoingMessage {
    return { ...message, seen: [], isRejection: (message as Partial<OutgoingMessage>).isRejection === true };
}

/** Messages that were not known to have arrived when the page was left. */
export function loadOutbox(conversation: string): OutgoingMessage[] {
    try {
        const held: unknown = JSON.parse(read(`deft.outbox.${conversation}`) ?? "[]");
        return Array.isArray(held) ? held.filter(isOutgoing).map(withSeen) : [];
    } catch {
        return [];
    }
}

export function saveOutbox(conversation: string, outbox: readonly OutgoingMessage[]): void {
    const kept = outbox.filter((message) => message.state !== "sent");
    write(`deft.outbox.${conversation}`, kept.length === 0 ? "" : JSON.stringify(kept));
}

export function forgetConversation(conversation: string): void {
    saveDraft(conversation, "");
    write(`deft.outbox.${conversation}`, "");
}

const RETURN_KEY = "deft.return";
const RETURN_MAX_AGE_MS = 3_600_000;

/** Where somebody was when they turned out to be signed out; another tab may be the one that signs in. */
export function saveReturn(path: string): void {
    write(RETURN_KEY, path === "" ? "" : JSON.stringify({ path, at: Date.now() }));
}

/** The place, once, and not for long; what it is worth is for the caller to judge. */
export function takeReturn(): string | null {
    try {
        const held = JSON.parse(read(RETURN_KEY) ?? "null") as { path?: unknown; at?: unknown } | null;
        saveReturn("");
        if (typeof held?.path !== "string" || typeof held.at !== "number") return null;
        return Date.now() - held.at < RETURN_MAX_AGE_MS ? held.path : null;
    } catch {
        return null;
    }
}

export type Theme = "system" | "light" | "dark";

export function loadTheme(): Theme {
    const theme = read("deft.theme");
    return theme === "light" || theme === "dark" ? theme : "system";
}

export function saveTheme(theme: Theme): void {
    write("deft.theme", theme === "system" ? "" : theme);
}
