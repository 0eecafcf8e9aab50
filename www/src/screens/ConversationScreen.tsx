import { type RefObject, useCallback, useEffect, useMemo, useState } from "react";
import { messageOf } from "../api/http";
import type { ExecutionStatus, Me, MessageEvent } from "../api/wire";
import { contentText } from "../model/content";
import { plainWords } from "../model/plain_words";
import { shortened } from "../model/shortened";
import { isScripted, isServersModel } from "../model/trouble";
import { waitingCalls } from "../model/open_calls";
import { Banner } from "../parts/Banner";
import { Composer, type ComposerHandle } from "../parts/Composer";
import { OwnModel } from "../parts/cards/TroubleCard";
import { ConfirmationPanel } from "../parts/ConfirmationPanel";
import { DeleteDialog } from "../parts/DeleteDialog";
import { Icon } from "../parts/Icon";
import { ModelWait } from "../parts/ModelWait";
import { PreviewLinks } from "../parts/PreviewLinks";
import { RefusalList } from "../parts/RefusalList";
import { RunControls } from "../parts/RunControls";
import { ScriptedLine } from "../parts/ScriptedBanner";
import { Timeline } from "../parts/Timeline";
import { TitleEditor } from "../parts/TitleEditor";
import { WorkspaceServers } from "../parts/WorkspaceServers";
import { remove, rename } from "../state/conversation_list";
import { go } from "../state/route";
import { Session } from "../state/session";
import type { SessionState } from "../state/session_state";
import { useStore } from "../state/store";
import { text } from "../text";
import { EmptyPane } from "../parts/EmptyPane";

interface ConversationScreenProps {
    id: string;
    me: Me;
    composer: RefObject<ComposerHandle | null>;
}

/** Opens the conversation for as long as it is on the screen. */
export function ConversationScreen(props: ConversationScreenProps) {
    const [session, setSession] = useState<Session | null>(null);
    useEffect(() => {
        const opened = new Session(props.id);
        opened.open();
        setSession(opened);
        return () => { opened.close(); };
    }, [props.id]);
    if (session?.id !== props.id) return <EmptyPane title={text.conversation.loading} />;
    return <OpenConversation key={props.id} session={session} me={props.me} composer={props.composer} />;
}

interface OpenConversationProps {
    session: Session;
    me: Me;
    composer: RefObject<ComposerHandle | null>;
}

function OpenConversation({ session, me, composer }: OpenConversationProps) {
    const state = useStore(session.store);
    const title = state.title ?? firstWords(state) ?? text.list.untitled;
    const onSent = useCallback(() => { composer.current?.focus(); }, [composer]);

    useEffect(() => {
        document.title = `${title} · ${text.appName}`;
        return () => { document.title = text.appName; };
    }, [title]);

    if (state.load === "gone")
        return (
            <EmptyPane title={text.conversation.goneTitle} advice={text.conversation.goneAdvice}>
                <button type="button" className="button" onClick={() => { go("/"); }}>
                    {text.conversation.home}
                </button>
            </EmptyPane>
        );
    if (state.load === "failed")
        return (
            <EmptyPane title={text.conversation.failedTitle} advice={state.loadError ?? ""}>
                <button type="button" className="button" onClick={() => { session.retryLoad(); }}>
                    {text.actions.retry}
                </button>
            </EmptyPane>
        );
    return (
        <main className="conversation" id="content" tabIndex={-1}>
            <Head session={session} title={title} />
            <OwnModel value={state.model !== undefined && !isServersModel(state.model, me.model)}>
                {state.load === "loading" ? <Loading /> : <Timeline session={session} state={state} onSent={onSent} />}
            </OwnModel>
            <Foot session={session} state={state} me={me} composer={composer} />
        </main>
    );
}

const FIRST_WORDS_MAX_CHARS = 60;

/** A conversation without a title is named after its first message, if that is loaded. */
function firstWords({ log }: SessionState): string | null {
    const first = log.events[0];
    if (log.olderPageId !== null || first?.kind !== "MessageEvent") return null;
    const words = shortened(plainWords(contentText((first as MessageEvent).llm_message.content)), FIRST_WORDS_MAX_CHARS);
    return words === "" ? null : words;
}

function Loading() {
    return (
        <div className="timeline-frame">
            <div className="skeletons conversation-skeletons" role="status" aria-label={text.conversation.loading}>
                <div className="skeleton" />
                <div className="skeleton skeleton-tall" />
                <div className="skeleton" />
                <div className="skeleton skeleton-tall" />
            </div>
        </div>
    );
}

function Head({ session, title }: { session: Session; title: string }) {
    const [isDeleting, setIsDeleting] = useState(false);
    const [error, setError] = useState<string | null>(null);

    const changeTitle = (next: string) => {
        const before = session.store.get().title;
        setError(null);
        session.setTitle(next);
        rename(session.id, next).catch((cause: unknown) => {
            setError(text.conversation.renameFailed(messageOf(cause)));
            if (before !== null) session.setTitle(before);
        });
    };

    return (
        <header className="conversation-head">
            <button
                type="button"
                className="icon-button only-narrow"
                aria-label={text.conversation.back}
                title={text.conversation.back}
                onClick={() => { go("/"); }}
            >
                <Icon name="back" />
            </button>
            <TitleEditor title={title} onRename={changeTitle} />
            <button
                type="button"
                className="icon-button"
                aria-label={text.remove.title}
                title={text.actions.delete}
                data-testid="delete-button"
                onClick={() => { setIsDeleting(true); }}
            >
                <Icon name="bin" />
            </button>
            {error !== null && <p className="head-error" role="alert">{error}</p>}
            {isDeleting && (
                <DeleteDialog
                    title={title}
                    onClose={() => { setIsDeleting(false); }}
                    onDelete={async () => {
                        await remove(session.id);
                        go("/");
                    }}
                />
            )}
        </header>
    );
}

/** Changes with each new tool result and at the end of a run. */
function momentOf({ log, status }: SessionState): string {
    const newest = log.events.filter(({ kind }) => kind === "ObservationEvent").at(-1);
    return `${status} ${newest?.id ?? ""}`;
}

interface FootProps extends OpenConversationProps {
    state: SessionState;
}

function placeholderOf(status: ExecutionStatus, rejects: boolean): string {
    if (rejects) return text.confirmation.placeholder;
    return status === "running" ? text.conversation.placeholderRunning : text.conversation.placeholder;
}

function Foot({ session, state, me, composer }: FootProps) {
    const { log, status, decided } = state;
    const rejects = useMemo(() => waitingCalls(log.events, status, decided).length > 0, [log.events, status, decided]);
    return (
        <footer className="conversation-foot">
            <div className="conversation-foot-inner">
                {state.controlError !== null && (
                    <Banner
                        tone="danger"
                        action={
                            <button type="button" className="link-button" onClick={() => { session.dismissControlError(); }}>
                                {text.actions.dismiss}
                            </button>
                        }
                    >
                        {text.controls.failed(state.controlError)}
                    </Banner>
                )}
                {isScripted(state.model) && <ScriptedLine isServers={me.scripted} />}
                <ModelWait state={state} />
                <PreviewLinks id={session.id} moment={momentOf(state)} />
                <RefusalList id={session.id} moment={momentOf(state)} />
                <WorkspaceServers id={session.id} moment={momentOf(state)} />
                <ConfirmationPanel session={session} state={state} />
                <RunControls session={session} state={state} />
                <Composer
                    ref={composer}
                    draftKey={session.id}
                    label={text.conversation.composer}
                    placeholder={placeholderOf(state.status, rejects)}
                    {...(rejects ? { sendLabel: text.confirmation.send } : {})}
                    onSend={(message) => {
                        session.send(message);
                        return true;
                    }}
                    footer={<span className="keys-hint">{text.home.keysHint}</span>}
                />
            </div>
        </footer>
    );
}
