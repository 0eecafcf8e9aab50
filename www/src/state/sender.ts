/*
 * Sends what the user enters in an open conversation: messages, one at a time and kept until they
 * have arrived, and decisions about calls that wait.
 *
 * While calls wait for a decision, a text rejects them: it must never approve them. Each request names the
 * calls that were seen, and the server refuses it where others wait by then.
 */
import { approveCalls, rejectCalls, sendMessage } from "../api/conversations";
import { ApiError, messageOf } from "../api/http";
import { seenByMessage, waitingCalls } from "../model/open_calls";
import { type Outbox, type OutgoingMessage, marked, queued, removed } from "../model/outbox";
import { newId } from "./ids";
import type { Decision, SessionState } from "./session_state";
import { saveOutbox } from "./storage";

const STATUS_OTHERS_WAIT = 409;
const STATUS_TOO_MANY_RUNS = 429;

function hasStatus(cause: unknown, status: number): boolean {
    return cause instanceof ApiError && cause.status === status;
}

export class Sender {
    private isSending = false;
    /** The keys of all messages that were in the outbox. */
    private readonly own = new Set<string>();
    /** When the last decision was made here; milliseconds since the epoch. */
    decidedAt = 0;

    constructor(
        private readonly id: string,
        private readonly state: () => SessionState,
        private readonly change: (part: Partial<SessionState>) => void,
    ) {}

    send(message: string): void {
        const entry = { key: newId(), text: message, writtenAt: Date.now(), state: "sending" as const, error: null };
        this.changeOutbox(queued(this.state().outbox, { ...entry, ...this.purpose() }));
        void this.sendQueued();
    }

    /** A message that is not sent before resend(); after a reload it counts as one that failed. Returns its key. */
    hold(message: string): string {
        return this.add(message, "held", null);
    }

    /** A message that was not sent, with the reason. */
    keep(message: string, error: string): void {
        this.add(message, "failed", error);
    }

    fail(key: string, error: string): void {
        this.changeOutbox(marked(this.state().outbox, key, "failed", error));
    }

    /** Whether the text is a message or a rejection depends on the calls that wait now. */
    resend(key: string): void {
        const again = { ...this.purpose(), state: "sending" as const, error: null };
        this.changeOutbox(this.state().outbox.map((held) => (held.key === key ? { ...held, ...again } : held)));
        void this.sendQueued();
    }

    discard(key: string): void {
        this.changeOutbox(removed(this.state().outbox, key));
    }

    /** The user's decision about waiting calls; ids: those on the screen. */
    async decide(decision: Decision, ids: readonly string[]): Promise<void> {
        const { asked, decided } = this.state();
        if (asked !== null || ids.every((id) => decided.has(id))) return;
        this.noteDecided(ids);
        this.change({ asked: decision, controlError: null });
        try {
            await (decision === "approve" ? approveCalls(this.id, ids) : rejectCalls(this.id, ids, null));
        } catch (cause) {
            this.takeRefusal(cause, ids);
            this.change({ controlError: messageOf(cause) });
        }
        this.change({ asked: null });
    }

    changeOutbox(outbox: Outbox): void {
        if (outbox === this.state().outbox) return;
        for (const { key } of [...this.state().outbox, ...outbox]) this.own.add(key);
        this.change({ outbox });
        saveOutbox(this.id, outbox, this.own);
    }

    private add(message: string, state: OutgoingMessage["state"], error: string | null): string {
        const entry = { key: newId(), text: message, writtenAt: Date.now(), state, error, seen: [], isRejection: false };
        this.changeOutbox(queued(this.state().outbox, entry));
        return entry.key;
    }

    private purpose(): Pick<OutgoingMessage, "seen" | "isRejection"> {
        const { log, status, decided } = this.state();
        const waiting = waitingCalls(log.events, status, decided).map((call) => call.id);
        if (waiting.length === 0) return { seen: seenByMessage(log.events, status), isRejection: false };
        this.noteDecided(waiting);
        return { seen: waiting, isRejection: true };
    }

    private noteDecided(ids: readonly string[]): void {
        this.decidedAt = Date.now();
        this.change({ decided: new Set([...this.state().decided, ...ids]) });
    }

    /** If the server refuses the decision, the calls no longer wait; after any other failure they still do. */
    private takeRefusal(cause: unknown, ids: readonly string[]): void {
        if (hasStatus(cause, STATUS_OTHERS_WAIT)) return;
        this.change({ decided: new Set([...this.state().decided].filter((id) => !ids.includes(id))) });
    }

    /** One at a time, so that messages arrive in the order in which they were written. */
    private async sendQueued(): Promise<void> {
        if (this.isSending) return;
        this.isSending = true;
        for (;;) {
            const next = this.state().outbox.find((message) => message.state === "sending");
            if (next === undefined) break;
            await (next.isRejection ? this.sendReason(next) : this.sendOne(next));
        }
        this.isSending = false;
    }

    private async sendReason({ key, text: reason, seen }: OutgoingMessage): Promise<void> {
        try {
            await rejectCalls(this.id, seen, reason);
            this.discard(key);
        } catch (cause) {
            if (hasStatus(cause, STATUS_TOO_MANY_RUNS)) {
                /* The calls are rejected; only the run has to wait. */
                this.discard(key);
                this.change({ controlError: messageOf(cause) });
                return;
            }
            this.takeRefusal(cause, seen);
            this.fail(key, messageOf(cause));
        }
    }

    private async sendOne({ key, text: message, seen }: OutgoingMessage): Promise<void> {
        try {
            await sendMessage(this.id, message, seen);
            this.changeOutbox(marked(this.state().outbox, key, "sent", null));
        } catch (cause) {
            if (hasStatus(cause, STATUS_TOO_MANY_RUNS)) {
                /* The message is stored; only its run has to wait. */
                this.changeOutbox(marked(this.state().outbox, key, "sent", null));
                this.change({ controlError: messageOf(cause) });
                return;
            }
            this.fail(key, messageOf(cause));
        }
    }
}
