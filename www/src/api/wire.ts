/*
 * The members of the server's messages that the page reads. Frames are untrusted, so everything that is
 * not needed to place an event on the timeline is optional, and unknown members pass.
 */

export type ExecutionStatus =
    | "idle"
    | "running"
    | "paused"
    | "waiting_for_confirmation"
    | "finished"
    | "error"
    | "stuck"
    | "deleting";

export interface Me {
    id: string;
    email: string;
    name: string;
    model: string;
    /** True when no model is configured and a scripted one plays. */
    scripted: boolean;
    version: string;
}

export interface TokenUsage {
    prompt_tokens?: number;
    completion_tokens?: number;
}

export interface Metrics {
    model_name?: string;
    accumulated_cost?: number;
    accumulated_token_usage?: TokenUsage | null;
}

export interface Stats {
    usage_to_metrics?: Record<string, Metrics>;
}

export interface ConversationInfo {
    id: string;
    title: string | null;
    execution_status: ExecutionStatus;
    created_at: string;
    updated_at: string;
    stats?: Stats;
    agent?: {
        llm?: {
            model?: string;
            api_key?: string | null;
            input_cost_per_token?: number | null;
            output_cost_per_token?: number | null;
        };
    };
}

export interface ConversationPage {
    items: ConversationInfo[];
    next_page_id: string | null;
}

export interface TextContent {
    type: "text";
    text: string;
}

export interface ImageContent {
    type: "image";
    image_urls: string[];
}

export type Content = TextContent | ImageContent;

export interface EventBase {
    id: string;
    timestamp: string;
    source: string;
    kind: string;
}

export interface MessageEvent extends EventBase {
    kind: "MessageEvent";
    llm_message: { role: string; content?: Content[] | string | null; reasoning_content?: string | null };
}

/** The arguments of a tool call, or what it returned: `kind` names the shape. */
export type Tagged = { kind: string } & Record<string, unknown>;

export interface ActionEvent extends EventBase {
    kind: "ActionEvent";
    thought?: TextContent[];
    reasoning_content?: string | null;
    action?: Tagged | null;
    tool_name: string;
    tool_call_id: string;
    tool_call?: { arguments?: string };
    security_risk?: string;
    summary?: string | null;
}

export interface ObservationEvent extends EventBase {
    kind: "ObservationEvent";
    tool_name: string;
    tool_call_id: string;
    action_id: string;
    observation: Tagged;
}

export interface UserRejectEvent extends EventBase {
    kind: "UserRejectObservation";
    tool_name: string;
    tool_call_id: string;
    action_id: string;
    rejection_reason?: string;
}

export interface AgentErrorEvent extends EventBase {
    kind: "AgentErrorEvent";
    tool_name: string;
    tool_call_id: string;
    error: string;
}

export interface ConversationErrorEvent extends EventBase {
    kind: "ConversationErrorEvent" | "ServerErrorEvent";
    code: string;
    detail: string;
}

export interface StateUpdateEvent extends EventBase {
    kind: "ConversationStateUpdateEvent";
    key: string;
    value: unknown;
}

export interface CondensationEvent extends EventBase {
    kind: "Condensation";
    summary?: string | null;
}

export interface HookExecutionEvent extends EventBase {
    kind: "HookExecutionEvent";
    hook_command: string;
    success: boolean;
    blocked: boolean;
    stderr?: string;
    reason?: string | null;
    additional_context?: string | null;
    error?: string | null;
}

export interface SecurityAnalysisEvent extends EventBase {
    kind: "SecurityAnalysisEvent";
    risks: Record<string, string>;
    details?: Record<string, Record<string, unknown>>;
}

export interface EventPage {
    items: EventBase[];
    next_page_id: string | null;
}

/** Frames of the session socket. */
export type Frame =
    /** silent_ms: time since the run's last sign of progress, if that is long ago. */
    | { type: "sync"; from_seq?: number; through_seq?: number; silent_ms?: number }
    | { type: "durable"; seq: number; event: EventBase }
    | { type: "transient"; event: EventBase }
    | { type: "item_started"; item_id: string; attempt: number }
    | { type: "delta"; item_id: string; attempt: number; order: number; kind: string; content: string }
    | {
          type: "item_aborted";
          item_id: string;
          attempt: number;
          reason?: string;
          /** If another attempt follows: the maximum number of attempts, and when the next one begins. */
          attempts?: number;
          retry_in_ms?: number;
          /** If the server is out of order: when it is no longer waited for. */
          gives_up_in_ms?: number;
      }
    /** How far the tool of a running call says that it is; total: of how much. */
    | { type: "tool_progress"; action_id: string; progress: number; total?: number; message?: string }
    | { type: "error"; code: string; detail: string };

function isRecord(value: unknown): value is Record<string, unknown> {
    return typeof value === "object" && value !== null;
}

/** An event can be placed when it has an id, a time and a kind; everything else may be missing. */
export function isEvent(value: unknown): value is EventBase {
    return (
        isRecord(value) &&
        typeof value.id === "string" &&
        value.id !== "" &&
        typeof value.timestamp === "string" &&
        typeof value.kind === "string"
    );
}

type FrameCheck = (value: Record<string, unknown>) => boolean;

const hasItem: FrameCheck = (value) => typeof value.item_id === "string";

/** The required members of each kind of frame. */
const FRAME_CHECKS: Readonly<Record<Frame["type"], FrameCheck>> = {
    sync: () => true,
    durable: (value) => typeof value.seq === "number" && isEvent(value.event),
    transient: (value) => isEvent(value.event),
    item_started: hasItem,
    item_aborted: hasItem,
    delta: (value) => hasItem(value) && typeof value.content === "string",
    tool_progress: (value) => typeof value.action_id === "string" && typeof value.progress === "number",
    error: () => true,
};

function parseJson(text: string): unknown {
    try {
        return JSON.parse(text) as unknown;
    } catch {
        return null;
    }
}

/** Reads one text frame; null for anything the page does not know, which is to be passed over. */
export function parseFrame(text: string): Frame | null {
    const value = parseJson(text);
    if (!isRecord(value) || typeof value.type !== "string" || !Object.hasOwn(FRAME_CHECKS, value.type)) return null;
    const frame = value as unknown as Frame;
    return FRAME_CHECKS[frame.type](value) ? frame : null;
}
