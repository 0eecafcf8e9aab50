import { useEffect } from "react";
import type { ConversationInfo } from "../api/wire";
import { type Age, ageOf, fullTime, listTime } from "../model/time";
import { conversationList, loadMoreConversations, refreshConversations } from "../state/conversation_list";
import { pathOf } from "../state/route";
import { useStore } from "../state/store";
import { text } from "../text";
import { PageLink } from "./PageLink";
import { StatusDot } from "./StatusDot";

const REFRESH_EVERY_MS = 15_000;
const SKELETON_ROWS = [0, 1, 2, 3];

/** Refreshes the list from time to time, and whenever the user returns to the page. */
function useFreshList(): void {
    useEffect(() => {
        const refresh = () => {
            if (document.visibilityState === "visible") void refreshConversations();
        };
        refresh();
        const timer = window.setInterval(refresh, REFRESH_EVERY_MS);
        document.addEventListener("visibilitychange", refresh);
        return () => {
            window.clearInterval(timer);
            document.removeEventListener("visibilitychange", refresh);
        };
    }, []);
}

function Entry({ info, isOpen, nowMs }: { info: ConversationInfo; isOpen: boolean; nowMs: number }) {
    return (
        <li>
            <PageLink path={pathOf(info.id)} className="entry" isOpen={isOpen} testId="conversation-card">
                <StatusDot status={info.execution_status} />
                <span className="entry-title">{info.title ?? text.list.untitled}</span>
                <time className="entry-time" dateTime={info.updated_at} title={fullTime(info.updated_at)}>
                    {listTime(info.updated_at, nowMs)}
                </time>
            </PageLink>
        </li>
    );
}

interface Group {
    age: Age;
    items: ConversationInfo[];
}

function groupsOf(items: readonly ConversationInfo[], nowMs: number): Group[] {
    const groups: Group[] = [];
    for (const info of items) {
        const age = ageOf(info.updated_at, nowMs);
        const last = groups[groups.length - 1];
        if (last?.age === age) last.items.push(info);
        else groups.push({ age, items: [info] });
    }
    return groups;
}

export function ConversationNav({ openId }: { openId: string | null }) {
    const list = useStore(conversationList);
    useFreshList();
    const nowMs = Date.now();
    return (
        <nav className="list" aria-label={text.list.label}>
            <h2 className="list-heading">{text.list.label}</h2>
            {list.state === "loading" && (
                <div className="skeletons" role="status" aria-label={text.loading}>
                    {SKELETON_ROWS.map((row) => (
                        <div key={row} className="skeleton" />
                    ))}
                </div>
            )}
            {list.error !== null && (
                <p className="list-words" role="status">
                    {list.state === "failed" ? text.list.failed : text.list.stale} {list.error}{" "}
                    <button type="button" className="link-button" onClick={() => { void refreshConversations(); }}>
                        {text.actions.retry}
                    </button>
                </p>
            )}
            {list.state === "ready" && list.items.length === 0 && <p className="list-words">{text.list.empty}</p>}
            {groupsOf(list.items, nowMs).map((group) => (
                <section key={group.items[0]?.id} aria-label={text.list.ages[group.age]}>
                    <h3 className="list-age">{text.list.ages[group.age]}</h3>
                    <ul className="entries">
                        {group.items.map((info) => (
                            <Entry key={info.id} info={info} isOpen={info.id === openId} nowMs={nowMs} />
                        ))}
                    </ul>
                </section>
            ))}
            {list.nextPageId !== null && (
                <button
                    type="button"
                    className="button button-small list-more"
                    disabled={list.isLoadingMore}
                    onClick={() => { void loadMoreConversations(); }}
                >
                    {list.isLoadingMore ? text.loading : text.list.more}
                </button>
            )}
        </nav>
    );
}
