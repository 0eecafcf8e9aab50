/* Copies of a conversation up to an event. */
import { type Fork, forkConversation } from "../api/branches";
import { fetchConversation } from "../api/conversations";
import { refreshConversations } from "./conversation_list";
import { go, pathOf } from "./route";

function exists(id: string): Promise<boolean> {
    return fetchConversation(id).then(() => true, () => false);
}

/**
 * Opens the copy, if the user still waits for it. Throws if it was not made; the answer to a request that made it may
 * have been lost.
 */
export async function branchOff(sourceId: string, fork: Fork, isAwaited: () => boolean): Promise<void> {
    try {
        await forkConversation(sourceId, fork);
    } catch (cause) {
        if (!(await exists(fork.id))) throw cause;
    }
    void refreshConversations();
    if (isAwaited()) go(pathOf(fork.id));
}
