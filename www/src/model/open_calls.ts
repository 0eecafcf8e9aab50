/* The calls of the agent that have no result yet: what the next run carries out, and what a decision is about. */
import type { ActionEvent, AgentErrorEvent, EventBase, ExecutionStatus, ObservationEvent, UserRejectEvent } from "../api/wire";

/** In these states nothing runs, and a run would carry the open calls out. */
const DECISION_STATES: ReadonlySet<ExecutionStatus> = new Set(["waiting_for_confirmation", "paused"]);

function isExecutable(event: EventBase): event is ActionEvent {
    const action = event.kind === "ActionEvent" ? (event as ActionEvent).action : null;
    return typeof action === "object" && action !== null;
}

/** Oldest first. A call without an action could not be read, and is never executed. */
export function openCalls(events: readonly EventBase[]): ActionEvent[] {
    const settled = new Set<string>();
    for (const event of events) {
        if (event.kind === "ObservationEvent") settled.add((event as ObservationEvent).action_id);
        if (event.kind === "UserRejectObservation") settled.add((event as UserRejectEvent).action_id);
        if (event.kind === "AgentErrorEvent") settled.add((event as AgentErrorEvent).tool_call_id);
    }
    return events.filter(isExecutable).filter((call) => !settled.has(call.id) && !settled.has(call.tool_call_id));
}

/**
 * What a message may name as seen. Where a run would carry out what waits for a decision it names nothing, so that the
 * server refuses it: also when a decision made on this page has not arrived.
 */
export function seenByMessage(events: readonly EventBase[], status: ExecutionStatus): string[] {
    return DECISION_STATES.has(status) ? [] : openCalls(events).map((call) => call.id);
}

/**
 * The open calls that wait for the user's decision; none where all of them were decided on this page already and only
 * the server's answer is missing.
 */
export function waitingCalls(
    events: readonly EventBase[],
    status: ExecutionStatus,
    decided: ReadonlySet<string>,
): ActionEvent[] {
    if (!DECISION_STATES.has(status)) return [];
    const open = openCalls(events);
    return open.every((call) => decided.has(call.id)) ? [] : open;
}
