/*
 * One open conversation: its history, its live events, its status, the messages on their way.
 *
 * Order of opening: the socket first; its `sync` frame says that nothing from here on is missed; then the newest
 * page by REST. What the socket brought meanwhile waits in the log and is joined without repeats.
 */
import { ApiError, messageOf } from "../api/http";
import {
    type Control,
    controlConversation,
    fetchConversation,
    fetchEventsBackwards,
    sendMessage,
} from "../api/conversations";
import { type Link, SessionSocket } from "../api/session_socket";
import type { ConversationInfo, EventBase, ExecutionStatus, Frame, StateUpdateEvent, Stats } from "../api/wire";
import { EMPTY_LOG, type EventLog, trimmed, withFirstPage, withLiveEvent, withOlderPage } from "../model/log";
import { type Outbox, echoed, marked, queued, reconciled, removed } from "../model/outbox";
import { type Stream, reduceStreams } from "../model/streams";
import { text } from "../text";
import { noteConversation } from "./conversation_list";
import { newId } from "./ids";
import { loadOutbox, saveOutbox } from "./storage";
import { Store } from "./store";

export interface SessionState {
    readonly load: "loading" | "ready" | "failed" | "gone";
    readonly loadError: string | null;
    readonly title: string | null;
    readonly status: ExecutionStatus;
    readonly stats: Stats | undefined;
    readonly log: EventLog;
    readonly streams: readonly Stream[];
    readonly outbox: Outbox;
    readonly link: Link;
    readonly isLoadingOlder: boolean;
    readonly olderError: string | null;
    /** The control that was asked for and not yet answered. */
    readonly asked: Control | null;
    readonly controlError: string | null;
}

const PAGE_SIZE = 100;
/** How many events are held while the end is watched: above the first number, down to the second. */
const HELD_MAX = 600;
const HELD_KEEP = 400;
/** Frames of a burst are drawn together. */
const DRAW_EVERY_MS = 16;
const STATUS_TOO_MANY_RUNS = 429;

const INITIAL: SessionState = {
    load: "loading",
    loadError: null,
    title: null,
    status: "idle",
    stats: undefined,
    log: EMPTY_LOG,
    streams: [],
    outbox: [],
    link: "connecting",
    isLoadingOlder: false,
    olderError: null,
    asked: null,
    controlError: null,
};

export class Session {
    readonly store: Store<SessionState>;
    /** Ahead of the store while a burst of frames is being taken in. */
    private state: SessionState;
    private drawTimer: number | undefined;
    private readonly socket: SessionSocket;
    private isFollowing = true;
    private isClosed = false;
    private isSending = false;

    constructor(readonly id: string) {
        const outbox = loadOutbox(id).map((message) => ({
            ...message,
            state: "failed" as const,
            error: message.error ?? text.outbox.unconfirmed,
        }));
        this.state = { ...INITIAL, outbox };
        this.store = new Store(this.state);
        this.socket = new SessionSocket(id, {
            onFrame: (frame) => { this.takeFrame(frame); },
            onLink: (link) => { this.takeLink(link); },
            expectsFrames: () => this.state.status === "running",
        });
    }

    open(): void {
        this.isClosed = false;
        this.socket.start();
        void this.readInfo();
    }

    close(): void {
        this.isClosed = true;
        window.clearTimeout(this.drawTimer);
        this.socket.stop();
    }

    retryLoad(): void {
        this.change({ load: "loading", loadError: null });
        this.socket.retryNow();
        void this.readInfo();
        if (this.state.link === "open") void this.readFirstPage();
    }

    reconnect(): void {
        this.socket.retryNow();
    }

    /** While the end of the timeline is watched, old events may be let go. */
    setFollowing(isFollowing: boolean): void {
        this.isFollowing = isFollowing;
    }

    async loadOlder(): Promise<void> {
        const { log, isLoadingOlder, load } = this.state;
        if (log.olderPageId === null || isLoadingOlder || load !== "ready") return;
        this.change({ isLoadingOlder: true, olderError: null });
        try {
            const page = await fetchEventsBackwards(this.id, PAGE_SIZE, log.olderPageId);
            this.change({ log: withOlderPage(this.state.log, page) });
        } catch (cause) {
            this.change({ olderError: messageOf(cause) });
        }
        this.change({ isLoadingOlder: false });
    }

    send(message: string): void {
        const entry = { key: newId(), text: message, writtenAt: Date.now(), state: "sending" as const, error: null };
        this.changeOutbox(queued(this.state.outbox, entry));
        void this.sendQueued();
    }

    resend(key: string): void {
        this.changeOutbox(marked(this.state.outbox, key, "sending", null));
        void this.sendQueued();
    }

    discard(key: string): void {
        this.changeOutbox(removed(this.state.outbox, key));
    }

    async control(control: Control): Promise<void> {
        this.change({ asked: control, controlError: null });
        try {
            await controlConversation(this.id, control);
        } catch (cause) {
            this.change({ controlError: messageOf(cause) });
        }
        this.change({ asked: null });
    }

    dismissControlError(): void {
        this.change({ controlError: null });
    }

    setTitle(title: string): void {
        this.change({ title });
    }

    private change(part: Partial<SessionState>): void {
        this.state = { ...this.state, ...part };
        if (this.drawTimer !== undefined || this.isClosed) return;
        this.drawTimer = window.setTimeout(() => {
            this.drawTimer = undefined;
            this.store.set(this.state);
        }, DRAW_EVERY_MS);
    }

    private changeOutbox(outbox: Outbox): void {
        if (outbox === this.state.outbox) return;
        this.change({ outbox });
        saveOutbox(this.id, outbox);
    }

    /** One at a time, so that messages arrive in the order in which they were written. */
    private async sendQueued(): Promise<void> {
        if (this.isSending) return;
        this.isSending = true;
        for (;;) {
            const next = this.state.outbox.find((message) => message.state === "sending");
            if (next === undefined) break;
            await this.sendOne(next.key, next.text);
        }
        this.isSending = false;
    }

    private async sendOne(key: string, message: string): Promise<void> {
        try {
            await sendMessage(this.id, message);
            this.changeOutbox(marked(this.state.outbox, key, "sent", null));
        } catch (cause) {
            if (cause instanceof ApiError && cause.status === STATUS_TOO_MANY_RUNS) {
                /* The message is stored; only its run has to wait. */
                this.changeOutbox(marked(this.state.outbox, key, "sent", null));
                this.change({ controlError: messageOf(cause) });
                return;
            }
            this.changeOutbox(marked(this.state.outbox, key, "failed", messageOf(cause)));
        }
    }

    private async readInfo(): Promise<void> {
        try {
            const info = await fetchConversation(this.id);
            this.takeInfo(info);
        } catch (cause) {
            if (cause instanceof ApiError && cause.isNotFound) this.change({ load: "gone" });
            else if (this.state.load === "loading") this.change({ load: "failed", loadError: messageOf(cause) });
        }
    }

    private takeInfo(info: ConversationInfo): void {
        noteConversation({ id: info.id, title: info.title, execution_status: info.execution_status });
        this.change({ title: info.title, stats: info.stats ?? this.state.stats });
        /* The socket knows the status sooner; the answer counts only until it speaks. */
        if (this.state.link !== "open") this.change({ status: info.execution_status });
    }

    private async readFirstPage(): Promise<void> {
        try {
            const page = await fetchEventsBackwards(this.id, PAGE_SIZE, null);
            const log = withFirstPage(this.state.log, page);
            this.change({ log, load: "ready", loadError: null });
            this.changeOutbox(reconciled(this.state.outbox, log.events));
        } catch (cause) {
            if (cause instanceof ApiError && cause.isNotFound) this.change({ load: "gone" });
            else this.change({ load: "failed", loadError: messageOf(cause) });
        }
    }

    private takeLink(link: Link): void {
        this.change({ link });
        if (link === "gone") this.change({ load: "gone" });
        /* A connection that is refused does not say why; the answer to a plain question does. */
        if (link === "waiting") void this.readInfo();
    }

    private takeFrame(frame: Frame): void {
        const streams = reduceStreams(this.state.streams, frame);
        if (streams !== this.state.streams) this.change({ streams });
        if (frame.type === "sync" && this.state.log.early !== null) void this.readFirstPage();
        if (frame.type === "transient" || frame.type === "durable") this.takeEvent(frame.event);
    }

    private takeEvent(event: EventBase): void {
        if (event.kind === "ConversationStateUpdateEvent") {
            this.takeStateUpdate(event as StateUpdateEvent);
            return;
        }
        const log = withLiveEvent(this.state.log, event);
        if (log === this.state.log) return;
        this.change({ log: this.isFollowing ? trimmed(log, HELD_MAX, HELD_KEEP) : log });
        this.changeOutbox(echoed(this.state.outbox, event));
        if (this.state.title === null && event.kind === "ActionEvent") void this.readInfo();
    }

    private takeStateUpdate(event: StateUpdateEvent): void {
        if (event.key === "execution_status") this.takeStatus(event.value as ExecutionStatus);
        if (event.key === "stats") this.change({ stats: event.value as Stats });
        if (event.key !== "full_state") return;
        const value = event.value as { execution_status?: ExecutionStatus; stats?: Stats } | null;
        if (value?.stats !== undefined) this.change({ stats: value.stats });
        if (value?.execution_status !== undefined) this.takeStatus(value.execution_status);
    }

    private takeStatus(status: ExecutionStatus): void {
        if (status === this.state.status) return;
        this.change({ status });
        noteConversation({ id: this.id, execution_status: status });
        /* A run's end is when the server may have found a title. */
        if (status !== "running") void this.readInfo();
    }
}
