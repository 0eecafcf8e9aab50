import type { ReactNode } from "react";
import { leave } from "../state/account";
import { refreshConversations } from "../state/conversation_list";
import { text } from "../text";
import { ConversationNav } from "./ConversationNav";
import { Icon } from "./Icon";
import { ThemeToggle } from "./ThemeToggle";
import { Wordmark } from "./Wordmark";

const NEW_KEYS = /Mac|iPhone|iPad/.test(navigator.userAgent) ? "⌘K" : "Ctrl K";

interface ShellProps {
    openId: string | null;
    onNew: () => void;
    children: ReactNode;
}

/** Signing out that fails leaves the session as it was; asking the server again shows how things stand. */
function signOutOrStay(): void {
    leave().catch(() => refreshConversations());
}

/** The list beside the open screen; on a phone below the start screen, and out of the way elsewhere. */
export function Shell({ openId, onNew, children }: ShellProps) {
    return (
        <div className={openId === null ? "shell shell-home" : "shell shell-conversation"}>
            <a className="skip-link" href="#content">
                {text.skipToContent}
            </a>
            <aside className="side">
                <div className="side-head">
                    <Wordmark />
                    <span className="side-buttons">
                        <ThemeToggle />
                        <button
                            type="button"
                            className="icon-button"
                            aria-label={text.actions.signOut}
                            title={text.actions.signOut}
                            onClick={signOutOrStay}
                        >
                            <Icon name="leave" />
                        </button>
                    </span>
                </div>
                <button type="button" className="button new-button" data-testid="new-conversation" onClick={onNew}>
                    <Icon name="plus" />
                    {text.actions.newConversation}
                    <kbd>{NEW_KEYS}</kbd>
                </button>
                <ConversationNav openId={openId} />
            </aside>
            {children}
        </div>
    );
}
