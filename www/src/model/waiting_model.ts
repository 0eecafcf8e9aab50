/* Why there is no answer of the model yet: an attempt failed and another follows, or the model is silent. */
import type { EventBase, ExecutionStatus, Frame } from "../api/wire";
import { openCalls } from "./open_calls";

/** An attempt that failed, and when the next one begins. */
export interface Retry {
    readonly reason: string;
    /** The attempt that follows, and how many there are at most. */
    readonly attempt: number;
    readonly attempts: number;
    /** By this browser's clock; milliseconds since the epoch. */
    readonly nextAt: number;
    /** When an outage is no longer waited out, by the same clock; null: not an outage. */
    readonly givesUpAt: number | null;
}

export function retryOf(frame: Extract<Frame, { type: "item_aborted" }>, now: number): Retry | null {
    if (typeof frame.attempts !== "number" || typeof frame.retry_in_ms !== "number") return null;
    return {
        reason: frame.reason ?? "",
        attempt: frame.attempt + 1,
        attempts: frame.attempts,
        nextAt: now + frame.retry_in_ms,
        givesUpAt: typeof frame.gives_up_in_ms === "number" ? now + frame.gives_up_in_ms : null,
    };
}

/** After this time without a sign of progress the page says that the model is silent. */
export const SILENT_AFTER_MS = 20_000;

/** True while the run waits for the model: no call is being executed. */
export function asksModel(events: readonly EventBase[], status: ExecutionStatus): boolean {
    return status === "running" && openCalls(events).length === 0;
}
