/* The items of the timeline. */
import type { EventBase, Tagged } from "../api/wire";

export type Outcome =
    | { state: "running" }
    | { state: "waiting" }
    /** No result, and nothing runs that could bring one. */
    | { state: "open" }
    | { state: "done"; observation: Tagged }
    | { state: "failed"; error: string }
    | { state: "rejected"; reason: string }
    | { state: "stopped" };

interface Placed {
    readonly id: string;
    readonly at: string;
}

export interface MessageItem extends Placed {
    type: "message";
    author: "user" | "agent" | "environment";
    text: string;
    images: readonly string[];
    /** The event up to which a branch includes it; null for words that are part of a call. */
    branchId: string | null;
    isEditable: boolean;
}

export interface ThinkingItem extends Placed {
    type: "thinking";
    text: string;
}

export interface ToolItem extends Placed {
    type: "tool";
    tool: string;
    summary: string | null;
    risk: string | null;
    /** The arguments; null if that part of the history is not loaded, or the call could not be parsed. */
    action: Tagged | null;
    /** The model's own text of the arguments, for calls that could not be read. */
    rawArguments: string | null;
    outcome: Outcome;
}

export interface FinishItem extends Placed {
    type: "finish";
    text: string;
    branchId: string;
}

export interface TroubleItem extends Placed {
    type: "trouble";
    code: string;
    detail: string;
}

export interface NoteItem extends Placed {
    type: "note";
    note: "paused" | "stopped" | "condensed" | "hookBlocked" | "hookFailed" | "hookAdded" | "guardFailed";
    detail: string | null;
}

export interface UnknownItem extends Placed {
    type: "unknown";
    event: EventBase;
}

export type Item = MessageItem | ThinkingItem | ToolItem | FinishItem | TroubleItem | NoteItem | UnknownItem;

/** A member of an action or observation that should be text; empty when it is not. */
export function textOf(tagged: Tagged | null, member: string): string {
    const value = tagged?.[member];
    return typeof value === "string" ? value : "";
}

function isSameOutcome(a: Outcome, b: Outcome): boolean {
    if (a.state !== b.state) return false;
    return a.state !== "done" || b.state !== "done" || a.observation === b.observation;
}

/** True when both would be drawn alike; event bodies never change, so they are compared by identity. */
export function isSameItem(a: Item, b: Item): boolean {
    if (a.type !== b.type || a.id !== b.id) return false;
    if (a.type === "finish" && b.type === "finish") return a.branchId === b.branchId;
    if (a.type !== "tool" || b.type !== "tool") return true;
    return a.action === b.action && isSameOutcome(a.outcome, b.outcome);
}
