/*
 * One open conversation: its history, its live events, its status, the messages on their way.
 *
 * Order of opening: the socket first; its `sync` frame says that nothing from here on is missed; then the newest
 * page by REST. Events that the socket delivers before that are kept in the log and merged without duplicates.
 */
import { ApiError, messageOf } from "../api/http";
import { type Control, controlConversation, fetchConversation } from "../api/conversations";
import { type Link, SessionSocket } from "../api/session_socket";
import type { ConversationInfo, EventBase, ExecutionStatus, Frame, StateUpdateEvent, Stats } from "../api/wire";
import { trimmed, withLiveEvent } from "../model/log";
import { openCalls } from "../model/open_calls";
import { echoed, reconciled } from "../model/outbox";
import { retryOf } from "../model/waiting_model";
import { reduceStreams } from "../model/streams";
import { reduceReports } from "../model/tool_reports";
import { text } from "../text";
import { noteConversation } from "./conversation_list";
import { Editor } from "./editor";
import { LogReader } from "./log_reader";
import { Sender } from "./sender";
import { type Decision, INITIAL_STATE, type SessionState } from "./session_state";
import { loadOutbox } from "./storage";
import { Store } from "./store";

/** How many events are held while the end is watched: above the first number, down to the second. */
const HELD_MAX = 600;
const HELD_KEEP = 400;
/** Frames of a burst are drawn together. */
const DRAW_EVERY_MS = 16;

export class Session {
    readonly store: Store<SessionState>;
    /** Ahead of the store while a burst of frames is processed. */
    private state: SessionState;
    private drawTimer: number | undefined;
    private readonly socket: SessionSocket;
    private isFollowing = true;
    private isClosed = false;
    private readonly sender: Sender;
    private readonly reader: LogReader;
    readonly editor: Editor;

    constructor(readonly id: string) {
        const outbox = loadOutbox(id).map((message) => ({
            ...message,
            state: "failed" as const,
            error: message.error ?? text.outbox.unconfirmed,
        }));
        this.state = { ...INITIAL_STATE, outbox };
        this.store = new Store(this.state);
        const state = () => this.state;
        const change = (part: Partial<SessionState>) => { this.change(part); };
        this.sender = new Sender(id, state, change);
        this.reader = new LogReader(id, state, change, () => { this.editor.takeLog(); });
        this.editor = new Editor(id, state, change, { reader: this.reader, sender: this.sender });
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

    loadOlder(): Promise<void> {
        return this.reader.loadOlder();
    }

    send(message: string): void {
        this.sender.send(message);
    }

    resend(key: string): void {
        this.sender.resend(key);
    }

    discard(key: string): void {
        this.sender.discard(key);
    }

    decide(decision: Decision, ids: readonly string[]): Promise<void> {
        return this.sender.decide(decision, ids);
    }

    /** When the last decision was made here; milliseconds since the epoch. */
    get decidedAt(): number {
        return this.sender.decidedAt;
    }

    async control(control: Control): Promise<void> {
        const seen = openCalls(this.state.log.events).map((call) => call.id);
        this.change({ asked: control, controlError: null });
        try {
            await controlConversation(this.id, control, seen);
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
        this.change({
            title: info.title,
            stats: info.stats ?? this.state.stats,
            model: info.agent?.llm ?? this.state.model,
        });
        /* The socket knows the status sooner; the answer counts only until the socket is open. */
        if (this.state.link !== "open") this.change({ status: info.execution_status });
    }

    private async readFirstPage(): Promise<void> {
        try {
            if (!(await this.reader.readNewest())) return;
            this.change({ load: "ready", loadError: null });
            this.sender.changeOutbox(reconciled(this.state.outbox, this.state.log.events));
            this.editor.restore();
            void this.reader.check();
        } catch (cause) {
            if (cause instanceof ApiError && cause.isNotFound) this.change({ load: "gone" });
            else this.change({ load: "failed", loadError: messageOf(cause) });
        }
    }

    private takeLink(link: Link): void {
        this.change({ link });
        if (link === "gone") this.change({ load: "gone" });
        /* A refused WebSocket does not say why; the answer to a plain request does. */
        if (link === "waiting") void this.readInfo();
    }

    private takeFrame(frame: Frame): void {
        const streams = reduceStreams(this.state.streams, frame);
        if (streams !== this.state.streams) this.change({ streams });
        const reports = reduceReports(this.state.reports, frame);
        if (reports !== this.state.reports) this.change({ reports });
        this.takeSign(frame);
        if (frame.type === "sync" && this.state.log.early !== null) void this.readFirstPage();
        if (frame.type === "transient" || frame.type === "durable") this.takeEvent(frame.event);
    }

    /** Any part of the answer, and any event, ends a silence and the wait for another attempt. */
    private takeSign(frame: Frame): void {
        const now = Date.now();
        if (frame.type === "item_aborted") this.change({ retry: retryOf(frame, now), heardAt: now });
        else if (frame.type === "delta" || frame.type === "durable") this.change({ retry: null, heardAt: now });
        else if (frame.type === "sync") this.change({ retry: null, heardAt: now - (frame.silent_ms ?? 0) });
    }

    private takeEvent(event: EventBase): void {
        if (event.kind === "ConversationStateUpdateEvent") {
            this.takeStateUpdate(event as StateUpdateEvent);
            return;
        }
        const log = withLiveEvent(this.state.log, event);
        if (log === this.state.log) return;
        /* A message that is being edited stays. */
        const mayTrim = this.isFollowing && this.state.edit === null;
        this.change({ log: mayTrim ? trimmed(log, HELD_MAX, HELD_KEEP) : log });
        this.sender.changeOutbox(echoed(this.state.outbox, event));
        if (this.state.title === null && event.kind === "ActionEvent") void this.readInfo();
    }

    private takeStateUpdate(event: StateUpdateEvent): void {
        if (event.key === "execution_status") this.takeStatus(event.value as ExecutionStatus);
        if (event.key === "stats") this.change({ stats: event.value as Stats });
        if (event.key !== "full_state") return;
        void this.reader.check();
        const value = event.value as { execution_status?: ExecutionStatus; stats?: Stats } | null;
        if (value?.stats !== undefined) this.change({ stats: value.stats });
        if (value?.execution_status !== undefined) this.takeStatus(value.execution_status);
    }

    private takeStatus(status: ExecutionStatus): void {
        if (status === this.state.status) return;
        this.change({ status });
        noteConversation({ id: this.id, execution_status: status });
        /* The server may have generated a title at the end of a run. */
        if (status !== "running") void this.readInfo();
    }
}
