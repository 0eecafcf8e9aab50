/*
 * Turns events into timeline items. An action and its result become one card, even if a page of events ends between
 * them; a call that the user stopped is distinguished from one that failed.
 */
import type {
    ActionEvent,
    AgentErrorEvent,
    CondensationEvent,
    ConversationErrorEvent,
    EventBase,
    ExecutionStatus,
    HookExecutionEvent,
    MessageEvent,
    ObservationEvent,
    SecurityAnalysisEvent,
    UserRejectEvent,
} from "../api/wire";
import { guardsOf } from "./analysis";
import { contentImages, contentText } from "./content";
import { isPlainText } from "./edit";
import { type Item, type MessageItem, type NoteItem, type Outcome, textOf } from "./items";

/** Items under construction, and the indices of calls without a result. */
interface Builder {
    readonly items: Item[];
    readonly byActionId: Map<string, number>;
    readonly byCallId: Map<string, number>;
    readonly stoppedErrors: ReadonlySet<string>;
    readonly openOutcome: Outcome;
}

/** Tools whose result only repeats their action. */
const SILENT_OBSERVATIONS: ReadonlySet<string> = new Set(["ThinkObservation", "FinishObservation"]);

function openOutcomeOf(status: ExecutionStatus): Outcome {
    if (status === "running") return { state: "running" };
    if (status === "waiting_for_confirmation") return { state: "waiting" };
    return { state: "open" };
}

/** The errors of the calls that an interrupt cut off: they precede it directly. */
function findStoppedErrors(events: readonly EventBase[]): Set<string> {
    const found = new Set<string>();
    events.forEach((event, index) => {
        if (event.kind !== "InterruptEvent") return;
        for (let i = index - 1; i >= 0; i--) {
            const before = events[i];
            if (before?.kind === "ConversationStateUpdateEvent") continue;
            if (before?.kind !== "AgentErrorEvent") break;
            found.add(before.id);
        }
    });
    return found;
}

function authorOf(event: MessageEvent): MessageItem["author"] {
    if (event.source === "user") return "user";
    return event.source === "agent" ? "agent" : "environment";
}

function addThinking(builder: Builder, id: string, at: string, thinking: string | null | undefined): void {
    if (thinking === undefined || thinking === null || thinking.trim() === "") return;
    builder.items.push({ type: "thinking", id, at, text: thinking });
}

function addMessage(builder: Builder, event: MessageEvent): void {
    addThinking(builder, `${event.id}:thinking`, event.timestamp, event.llm_message.reasoning_content);
    builder.items.push({
        type: "message",
        id: event.id,
        at: event.timestamp,
        author: authorOf(event),
        text: contentText(event.llm_message.content),
        images: contentImages(event.llm_message.content),
        branchId: event.id,
        isEditable: event.source === "user" && isPlainText(event.llm_message.content),
    });
}

/** Without a summary of the model the server writes `tool: {arguments}`, which says less than the card. */
function ownSummary(event: ActionEvent): string | null {
    const summary = event.summary?.trim() ?? "";
    return summary === "" || summary.startsWith(`${event.tool_name}: {`) ? null : summary;
}

function addToolCall(builder: Builder, event: ActionEvent): void {
    const risk = event.security_risk;
    builder.byActionId.set(event.id, builder.items.length);
    builder.byCallId.set(event.tool_call_id, builder.items.length);
    builder.items.push({
        type: "tool",
        id: event.id,
        at: event.timestamp,
        tool: event.tool_name,
        summary: ownSummary(event),
        risk: risk === "MEDIUM" || risk === "HIGH" ? risk : null,
        action: event.action ?? null,
        rawArguments: event.tool_call?.arguments ?? null,
        outcome: builder.openOutcome,
    });
}

function addAction(builder: Builder, event: ActionEvent): void {
    const thought = contentText(event.thought);
    addThinking(builder, `${event.id}:thinking`, event.timestamp, event.reasoning_content);
    if (thought.trim() !== "") {
        builder.items.push({
            type: "message",
            id: `${event.id}:thought`,
            at: event.timestamp,
            author: "agent",
            text: thought,
            images: [],
            branchId: null,
            isEditable: false,
        });
    }
    switch (event.action?.kind) {
        case "ThinkAction":
            addThinking(builder, event.id, event.timestamp, textOf(event.action, "thought"));
            break;
        case "FinishAction":
            builder.byActionId.set(event.id, builder.items.length);
            builder.items.push({
                type: "finish",
                id: event.id,
                at: event.timestamp,
                text: textOf(event.action, "message"),
                branchId: event.id,
            });
            break;
        default:
            addToolCall(builder, event);
    }
}

/** Puts a result into its call's card, or makes a card of it alone when the call is not among the events. */
function settle(
    builder: Builder,
    event: EventBase & { tool_name: string },
    index: number | undefined,
    outcome: Outcome,
): void {
    const item = index === undefined ? undefined : builder.items[index];
    if (index !== undefined && item?.type === "tool") {
        builder.items[index] = { ...item, outcome };
        return;
    }
    builder.items.push({
        type: "tool",
        id: event.id,
        at: event.timestamp,
        tool: event.tool_name,
        summary: null,
        risk: null,
        action: null,
        rawArguments: null,
        outcome,
    });
}

/** A branch from a finish needs its result: a call without one is not part of what the model reads. */
function endFinish(builder: Builder, event: ObservationEvent): void {
    const index = builder.byActionId.get(event.action_id);
    const item = index === undefined ? undefined : builder.items[index];
    if (index !== undefined && item?.type === "finish") builder.items[index] = { ...item, branchId: event.id };
}

function addObservation(builder: Builder, event: ObservationEvent): void {
    if (SILENT_OBSERVATIONS.has(event.observation.kind)) {
        endFinish(builder, event);
        return;
    }
    const outcome: Outcome = { state: "done", observation: event.observation };
    settle(builder, event, builder.byActionId.get(event.action_id), outcome);
}

function addAgentError(builder: Builder, event: AgentErrorEvent): void {
    const outcome: Outcome = builder.stoppedErrors.has(event.id)
        ? { state: "stopped" }
        : { state: "failed", error: event.error };
    settle(builder, event, builder.byCallId.get(event.tool_call_id), outcome);
}

function addReject(builder: Builder, event: UserRejectEvent): void {
    const outcome: Outcome = { state: "rejected", reason: event.rejection_reason ?? "" };
    settle(builder, event, builder.byActionId.get(event.action_id), outcome);
}

function addNote(builder: Builder, event: EventBase, note: NoteItem["note"], detail: string | null): void {
    builder.items.push({ type: "note", id: event.id, at: event.timestamp, note, detail });
}

/** As a block of code: it is not Markdown. */
function asPlainText(lines: readonly (string | null | undefined)[]): string {
    return lines.filter((line) => line).join("\n").replace(/^/gm, "    ");
}

/** A hook that found nothing to say is left out. */
function addHook(builder: Builder, event: HookExecutionEvent): void {
    if (event.blocked) addNote(builder, event, "hookBlocked", asPlainText([event.hook_command, event.reason]));
    else if (!event.success) addNote(builder, event, "hookFailed", asPlainText([event.hook_command, event.error, event.stderr]));
    else if (event.additional_context) addNote(builder, event, "hookAdded", asPlainText([event.hook_command, event.additional_context]));
}

/** The risks are shown with the calls; an analyzer that could not tell them is news. */
function addAnalysis(builder: Builder, event: SecurityAnalysisEvent): void {
    const errors = guardsOf(event).filter(({ error }) => error !== "").map(({ model, error }) => `${model}: ${error}`);
    if (errors.length > 0) addNote(builder, event, "guardFailed", asPlainText(errors));
}

function addTrouble(builder: Builder, event: ConversationErrorEvent): void {
    builder.items.push({
        type: "trouble",
        id: event.id,
        at: event.timestamp,
        code: event.code,
        detail: event.detail,
    });
}

type Adder = (builder: Builder, event: EventBase) => void;

const ADDERS: Readonly<Record<string, Adder>> = {
    MessageEvent: (builder, event) => { addMessage(builder, event as MessageEvent); },
    ActionEvent: (builder, event) => { addAction(builder, event as ActionEvent); },
    ObservationEvent: (builder, event) => { addObservation(builder, event as ObservationEvent); },
    AgentErrorEvent: (builder, event) => { addAgentError(builder, event as AgentErrorEvent); },
    UserRejectObservation: (builder, event) => { addReject(builder, event as UserRejectEvent); },
    ConversationErrorEvent: (builder, event) => { addTrouble(builder, event as ConversationErrorEvent); },
    ServerErrorEvent: (builder, event) => { addTrouble(builder, event as ConversationErrorEvent); },
    PauseEvent: (builder, event) => { addNote(builder, event, "paused", null); },
    InterruptEvent: (builder, event) => { addNote(builder, event, "stopped", null); },
    Condensation: (builder, event) => {
        addNote(builder, event, "condensed", (event as CondensationEvent).summary ?? null);
    },
    HookExecutionEvent: (builder, event) => { addHook(builder, event as HookExecutionEvent); },
    SecurityAnalysisEvent: (builder, event) => { addAnalysis(builder, event as SecurityAnalysisEvent); },
};

/** One unreadable event must not affect the others: it is shown as raw JSON. */
function addEvent(builder: Builder, event: EventBase): void {
    const adder = ADDERS[event.kind];
    const nBefore = builder.items.length;
    try {
        if (adder !== undefined) {
            adder(builder, event);
            return;
        }
    } catch {
        builder.items.length = nBefore;
    }
    builder.items.push({ type: "unknown", id: event.id, at: event.timestamp, event });
}

/** `events` are oldest first and without repeats. */
export function buildTimeline(events: readonly EventBase[], status: ExecutionStatus): Item[] {
    const builder: Builder = {
        items: [],
        byActionId: new Map(),
        byCallId: new Map(),
        stoppedErrors: findStoppedErrors(events),
        openOutcome: openOutcomeOf(status),
    };
    events.forEach((event) => { addEvent(builder, event); });
    return builder.items;
}
