import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { isHeld, shownMessages } from "../model/edit";
import type { Item } from "../model/items";
import { waitingCalls } from "../model/open_calls";
import { isSameMinute } from "../model/time";
import { buildTimeline } from "../model/timeline";
import type { Session } from "../state/session";
import type { SessionState } from "../state/session_state";
import { text } from "../text";
import { BranchDialog } from "./BranchDialog";
import { Icon } from "./Icon";
import { OutgoingRow } from "./OutgoingRow";
import { StreamRow } from "./StreamRow";
import { type RowActions, TimelineRow } from "./TimelineRow";
import { useFollowEnd } from "./follow_end";

/** Older events are requested before the reader reaches the edge. */
const OLDER_MARGIN = "400px 0px 0px 0px";

function Beginning({ session, state }: { session: Session; state: SessionState }) {
    const sentinel = useRef<HTMLDivElement>(null);
    const { olderPageId } = state.log;

    useEffect(() => {
        const element = sentinel.current;
        if (element === null || olderPageId === null) return undefined;
        const observer = new IntersectionObserver(
            (entries) => {
                if (entries.some((entry) => entry.isIntersecting)) void session.loadOlder();
            },
            { root: element.closest(".timeline-scroll"), rootMargin: OLDER_MARGIN },
        );
        observer.observe(element);
        return () => { observer.disconnect(); };
    }, [session, olderPageId]);

    if (olderPageId === null) return <p className="timeline-edge">{text.conversation.beginning}</p>;
    return (
        <div ref={sentinel} className="timeline-edge">
            {state.olderError !== null && <p role="alert">{text.conversation.olderFailed} {state.olderError}</p>}
            {state.isLoadingOlder && <p>{text.conversation.loadingOlder}</p>}
            {!state.isLoadingOlder && (
                <button type="button" className="link-button" onClick={() => { void session.loadOlder(); }}>
                    {text.conversation.older}
                </button>
            )}
        </div>
    );
}

/** The margin names each minute once. */
function beginsMinute(items: readonly Item[], index: number): boolean {
    const before = items[index - 1];
    const item = items[index];
    return item !== undefined && (before === undefined || !isSameMinute(before.at, item.at));
}

interface TimelineProps {
    session: Session;
    state: SessionState;
    /** Called after an edited message was sent. */
    onSent: () => void;
}

export function Timeline({ session, state, onSent }: TimelineProps) {
    const { log, status, streams, reports } = state;
    const isEditorShown = state.edit !== null && isHeld(log, state.edit.messageId);
    const outbox = useMemo(() => shownMessages(state.outbox, isEditorShown), [state.outbox, isEditorShown]);
    const [branchId, setBranchId] = useState<string | null>(null);
    const actions = useMemo((): RowActions => ({ session, onBranch: setBranchId, onSent }), [session, onSent]);
    const items = useMemo(() => buildTimeline(log.events, status), [log.events, status]);
    const onFollowing = useCallback((isFollowing: boolean) => { session.setFollowing(isFollowing); }, [session]);
    const last = useMemo(() => ({ items, streams, outbox }), [items, streams, outbox]);
    const { scroller, isAtEnd, onScroll, toEnd } = useFollowEnd(log.events[0]?.id, last, onFollowing);

    /* A user who sends a message wants to see the answer. */
    const nOutgoing = outbox.length;
    const nBefore = useRef(nOutgoing);
    useEffect(() => {
        if (nOutgoing > nBefore.current) toEnd();
        nBefore.current = nOutgoing;
    }, [nOutgoing, toEnd]);

    const rejects = useMemo(
        () => waitingCalls(log.events, status, state.decided).length > 0,
        [log.events, status, state.decided],
    );
    const isEmpty = items.length === 0 && outbox.length === 0 && streams.length === 0;
    return (
        <div className="timeline-frame">
            <div
                className="timeline-scroll"
                ref={scroller}
                onScroll={onScroll}
                onClick={() => {
                    /* Unfolding may push the end away; the view must stay with the reader. */
                    requestAnimationFrame(onScroll);
                }}
            >
                <div className="timeline-column">
                    {!isEmpty && <Beginning session={session} state={state} />}
                    {isEmpty && <p className="timeline-edge">{text.conversation.empty}</p>}
                    <ol className="timeline" aria-label={text.conversation.timeline} data-running={status === "running"}>
                        {items.map((item, i) => (
                            <TimelineRow
                                key={item.id}
                                item={item}
                                report={reports.get(item.id)}
                                hasTime={beginsMinute(items, i)}
                                isEdited={state.edit?.messageId === item.id}
                                actions={actions}
                            />
                        ))}
                        {streams.map((stream) => (
                            <StreamRow key={stream.id} stream={stream} />
                        ))}
                        {outbox.map((message) => (
                            <OutgoingRow
                                key={message.key}
                                message={message}
                                link={state.link}
                                rejects={rejects}
                                onResend={(key) => { session.resend(key); }}
                                onDiscard={(key) => { session.discard(key); }}
                            />
                        ))}
                        {status === "running" && (
                            <li className="row knot-needle" aria-hidden="true">
                                <div className="row-body">
                                    <span className="stitches" />
                                </div>
                            </li>
                        )}
                    </ol>
                </div>
            </div>
            {branchId !== null && (
                <BranchDialog
                    conversationId={session.id}
                    title={state.title}
                    eventId={branchId}
                    onClose={() => { setBranchId(null); }}
                />
            )}
            {!isAtEnd && (
                <button type="button" className="button to-end" data-testid="scroll-to-bottom" onClick={toEnd}>
                    <Icon name="down" />
                    {text.conversation.toEnd}
                </button>
            )}
        </div>
    );
}
