/*
 * What this browser stores for its user: drafts, edits, unsent messages, the theme. Storage may be disabled or full; the page
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

/** Entries of an older version of the page lack `seen`; it is determined again when they are resent. */
function withSeen(message: OutgoingMessage): OutgoingMessage {
    return { ...message, seen: [], isRejection: (message as Partial<OutgoingMessage>).isRejection === true };
}

/** Messages that were not confirmed when the page was closed. */
export function loadOutbox(conversation: string): OutgoingMessage[] {
    try {
        const held: unknown = JSON.parse(read(`deft.outbox.${conversation}`) ?? "[]");
        return Array.isArray(held) ? held.filter(isOutgoing).map(withSeen) : [];
    } catch {
        return [];
    }
}

/** own: the keys of all messages that this window has had; those of other windows stay stored. */
export function saveOutbox(conversation: string, outbox: readonly OutgoingMessage[], own: ReadonlySet<string>): void {
    const others = loadOutbox(conversation).filter((message) => !own.has(message.key));
    const kept = [...others, ...outbox.filter((message) => message.state !== "sent")];
    write(`deft.outbox.${conversation}`, kept.length === 0 ? "" : JSON.stringify(kept));
}

/** The changed text of a message that is being edited. */
export interface KeptEdit {
    readonly messageId: string;
    readonly text: string;
}

export function loadEdit(conversation: string): KeptEdit | null {
    try {
        const held = JSON.parse(read(`deft.edit.${conversation}`) ?? "null") as Partial<KeptEdit> | null;
        if (typeof held?.messageId !== "string" || typeof held.text !== "string") return null;
        return { messageId: held.messageId, text: held.text };
    } catch {
        return null;
    }
}

export function saveEdit(conversation: string, edit: KeptEdit | null): void {
    write(`deft.edit.${conversation}`, edit === null ? "" : JSON.stringify(edit));
}

export function forgetConversation(conversation: string): void {
    saveDraft(conversation, "");
    saveEdit(conversation, null);
    write(`deft.outbox.${conversation}`, "");
}

const RETURN_KEY = "deft.return";
const RETURN_MAX_AGE_MS = 3_600_000;

/** The path at which the user turned out to be signed out; another tab may be the one that signs in. */
export function saveReturn(path: string): void {
    write(RETURN_KEY, path === "" ? "" : JSON.stringify({ path, at: Date.now() }));
}

/** Returns the stored path once, if it is recent; the caller must validate it. */
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
