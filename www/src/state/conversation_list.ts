/* The list of conversations, newest activity first, as far as it was scrolled. */
import { messageOf } from "../api/http";
import { deleteConversation, renameConversation, searchConversations } from "../api/conversations";
import type { ConversationInfo } from "../api/wire";
import { forgetConversation } from "./storage";
import { Store } from "./store";

export interface ConversationList {
    readonly state: "loading" | "ready" | "failed";
    readonly error: string | null;
    readonly items: readonly ConversationInfo[];
    readonly nextPageId: string | null;
    readonly isLoadingMore: boolean;
}

const PAGE_SIZE = 20;
/** The server's own limit of a page. */
const PAGE_MAX = 100;

export const conversationList = new Store<ConversationList>({
    state: "loading",
    error: null,
    items: [],
    nextPageId: null,
    isLoadingMore: false,
});

/* Answers may overtake each other; only the newest question counts. */
let lastRefresh = 0;

/** Refreshes what is shown. After a failure the old list stays. */
export async function refreshConversations(): Promise<void> {
    const mine = ++lastRefresh;
    const held = conversationList.get();
    const limit = Math.min(PAGE_MAX, Math.max(PAGE_SIZE, held.items.length));
    try {
        const page = await searchConversations(limit, null);
        if (mine !== lastRefresh) return;
        const ids = new Set(page.items.map((info) => info.id));
        const beyond = held.items.slice(PAGE_MAX).filter((info) => !ids.has(info.id));
        conversationList.patch({
            state: "ready",
            error: null,
            items: [...page.items, ...beyond],
            nextPageId: beyond.length > 0 ? held.nextPageId : page.next_page_id,
        });
    } catch (cause) {
        if (mine !== lastRefresh) return;
        const { state } = conversationList.get();
        conversationList.patch({ state: state === "ready" ? "ready" : "failed", error: messageOf(cause) });
    }
}

export async function loadMoreConversations(): Promise<void> {
    const { nextPageId, isLoadingMore } = conversationList.get();
    if (nextPageId === null || isLoadingMore) return;
    conversationList.patch({ isLoadingMore: true });
    try {
        const page = await searchConversations(PAGE_SIZE, nextPageId);
        const { items } = conversationList.get();
        const ids = new Set(items.map((info) => info.id));
        conversationList.patch({
            items: [...items, ...page.items.filter((info) => !ids.has(info.id))],
            nextPageId: page.next_page_id,
            error: null,
        });
    } catch (cause) {
        conversationList.patch({ error: messageOf(cause) });
    } finally {
        conversationList.patch({ isLoadingMore: false });
    }
}

/** Throws when the server refuses. */
export async function rename(id: string, title: string): Promise<void> {
    await renameConversation(id, title);
    const { items } = conversationList.get();
    conversationList.patch({ items: items.map((info) => (info.id === id ? { ...info, title } : info)) });
}

/** Throws when the server refuses. */
export async function remove(id: string): Promise<void> {
    await deleteConversation(id);
    forgetConversation(id);
    conversationList.patch({ items: conversationList.get().items.filter((info) => info.id !== id) });
    await refreshConversations();
}

/** Changes that the open conversation knows earlier than the list. */
export function noteConversation(info: Pick<ConversationInfo, "id"> & Partial<ConversationInfo>): void {
    const { items } = conversationList.get();
    if (!items.some((held) => held.id === info.id)) return;
    conversationList.patch({ items: items.map((held) => (held.id === info.id ? { ...held, ...info } : held)) });
}
