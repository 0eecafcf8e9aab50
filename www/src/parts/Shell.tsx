import type { ReactNode } from "react";
import { leave } from "../state/account";
import { refreshConversations } from "../state/conversation_list";
import { type Route, SECRETS_PATH } from "../state/route";
import { text } from "../text";
import { ConversationNav } from "./ConversationNav";
import { Icon } from "./Icon";
import { PageLink } from "./PageLink";
import { ThemeToggle } from "./ThemeToggle";
import { Wordmark } from "./Wordmark";

const NEW_KEYS = /Mac|iPhone|iPad/.test(navigator.userAgent) ? "⌘K" : "Ctrl K";

interface ShellProps {
    screen: Route["screen"];
    openId: string | null;
    onNew: () => void;
    children: ReactNode;
}

/** If signing out fails, the session is unchanged; the refresh shows whether the server is reachable. */
function signOutOrStay(): void {
    leave().catch(() => refreshConversations());
}

/** The list next to the open screen; on a phone it is shown below the start screen only. */
export function Shell({ screen, openId, onNew, children }: ShellProps) {
    const hasList = screen === "home" || screen === "unknown";
    return (
        <div className={hasList ? "shell shell-home" : "shell shell-open"}>
            <a className="skip-link" href="#content">
                {text.skipToContent}
            </a>
            <aside className="side">
                <div className="side-head">
                    <Wordmark />
                    <span className="side-buttons">
                        <PageLink
                            path={SECRETS_PATH}
                            className="icon-button"
                            isOpen={screen === "secrets"}
                            label={text.secrets.title}
                        >
                            <Icon name="key" />
                        </PageLink>
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
