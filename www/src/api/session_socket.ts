/*
 * The live events of one conversation, over /sockets/session.
 *
 * The cursor is the highest `seq` seen. A connection that breaks is made again with `after_seq`, so nothing is
 * missed and nothing comes twice. The first connection asks for no history: its `sync` frame says how far the
 * log has got, and the history is read by pages from there.
 */
import { backoffMs } from "../model/backoff";
import { type Frame, parseFrame } from "./wire";

export type Link = "connecting" | "open" | "waiting" | "gone";

export interface SocketListener {
    onFrame(frame: Frame): void;
    onLink(link: Link): void;
    /** False while the agent rests and silence is to be expected. */
    expectsFrames(): boolean;
}

const HANDSHAKE_TIMEOUT_MS = 10_000;
/** A connection can die without a close; if a busy agent sends nothing for this long, the socket reconnects. */
const SILENCE_TIMEOUT_MS = 60_000;
const CLOSE_GONE = 4004;

export class SessionSocket {
    private socket: WebSocket | null = null;
    private cursor: number | null = null;
    private attempt = 0;
    private timer: number | undefined;
    private isStopped = false;

    constructor(
        private readonly conversationId: string,
        private readonly listener: SocketListener,
    ) {}

    start(): void {
        window.addEventListener("online", this.retryNow);
        window.addEventListener("offline", this.dropNow);
        window.addEventListener("pageshow", this.retryNow);
        document.addEventListener("visibilitychange", this.retryNow);
        this.connect();
    }

    stop(): void {
        this.isStopped = true;
        window.removeEventListener("online", this.retryNow);
        window.removeEventListener("offline", this.dropNow);
        window.removeEventListener("pageshow", this.retryNow);
        document.removeEventListener("visibilitychange", this.retryNow);
        window.clearTimeout(this.timer);
        this.socket?.close(1000);
        this.socket = null;
    }

    /** Does not wait for the back-off: the user is looking at the page. */
    readonly retryNow = (): void => {
        if (this.isStopped || this.socket !== null || document.visibilityState === "hidden") return;
        window.clearTimeout(this.timer);
        this.connect();
    };

    private readonly dropNow = (): void => {
        if (this.socket !== null) this.drop(this.socket);
    };

    private watchSilence(): void {
        window.clearTimeout(this.timer);
        this.timer = window.setTimeout(() => {
            if (this.listener.expectsFrames()) this.dropNow();
            else this.watchSilence();
        }, SILENCE_TIMEOUT_MS);
    }

    private url(): string {
        const url = new URL(`/agent/sockets/session/${encodeURIComponent(this.conversationId)}`, window.location.href);
        url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
        url.searchParams.set("tool_progress", "true");
        if (this.cursor !== null) url.searchParams.set("after_seq", String(this.cursor));
        return url.toString();
    }

    private connect(): void {
        const socket = new WebSocket(this.url());
        this.socket = socket;
        this.listener.onLink("connecting");
        this.timer = window.setTimeout(() => { this.drop(socket); }, HANDSHAKE_TIMEOUT_MS);
        socket.onmessage = (message: MessageEvent<unknown>) => {
            if (this.socket === socket && typeof message.data === "string") this.receive(message.data);
        };
        socket.onclose = (event) => {
            if (this.socket === socket) this.lost(event.code);
        };
    }

    private receive(data: string): void {
        const frame = parseFrame(data);
        if (frame === null) return;
        this.watchSilence();
        if (frame.type === "sync") {
            this.attempt = 0;
            this.cursor ??= frame.through_seq ?? -1;
            this.listener.onLink("open");
        }
        if (frame.type === "durable") {
            if (this.cursor !== null && frame.seq <= this.cursor) return;
            this.cursor = frame.seq;
        }
        this.listener.onFrame(frame);
    }

    /** A handshake that hangs is given up without waiting for its close event. */
    private drop(socket: WebSocket): void {
        if (this.socket !== socket) return;
        socket.close();
        this.lost(0);
    }

    private lost(code: number): void {
        window.clearTimeout(this.timer);
        this.socket = null;
        if (this.isStopped) return;
        if (code === CLOSE_GONE) {
            this.listener.onLink("gone");
            return;
        }
        this.listener.onLink("waiting");
        this.timer = window.setTimeout(() => { this.connect(); }, backoffMs(this.attempt, Math.random()));
        this.attempt += 1;
    }
}
