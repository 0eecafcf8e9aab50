/* The agent's calls without a result: the next run executes them, and a decision applies to them. */
import type { ActionEvent, AgentErrorEvent, EventBase, ExecutionStatus, ObservationEvent, UserRejectEvent } from "../api/wire";

/** In these states nothing runs, and a run would execute the open calls. */
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
 * The calls that a message names as seen: none if its run would execute calls that wait for a decision, so that the
 * server refuses it, also when a decision made on this page has not arrived yet.
 */
export function seenByMessage(events: readonly EventBase[], status: ExecutionStatus): string[] {
    return DECISION_STATES.has(status) ? [] : openCalls(events).map((call) => call.id);
}

/**
 * The open calls that wait for the user's decision; none if all of them were decided on this page already and only
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
