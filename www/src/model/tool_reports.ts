/* How far running calls are, as their tools report it. Nothing of it is stored. */
import type { EventBase, Frame, ObservationEvent } from "../api/wire";

export interface ToolReport {
    readonly done: number;
    /** What done is a part of; null: not known. */
    readonly total: number | null;
    readonly message: string;
}

/** By the id of the call's event. */
export type ToolReports = ReadonlyMap<string, ToolReport>;

export const NO_REPORTS: ToolReports = new Map();

/** More calls than can run at once; the oldest go first. */
const REPORTS_MAX = 64;

function withReport(reports: ToolReports, frame: Extract<Frame, { type: "tool_progress" }>): ToolReports {
    const next = new Map(reports);
    next.delete(frame.action_id);
    next.set(frame.action_id, {
        done: frame.progress,
        total: typeof frame.total === "number" && frame.total > 0 ? frame.total : null,
        message: typeof frame.message === "string" ? frame.message : "",
    });
    const oldest = next.keys().next();
    if (next.size > REPORTS_MAX && oldest.done !== true) next.delete(oldest.value);
    return next;
}

function withoutCallOf(reports: ToolReports, event: EventBase): ToolReports {
    const id = event.kind === "ObservationEvent" ? (event as ObservationEvent).action_id : "";
    if (!reports.has(id)) return reports;
    const next = new Map(reports);
    next.delete(id);
    return next;
}

export function reduceReports(reports: ToolReports, frame: Frame): ToolReports {
    switch (frame.type) {
        case "tool_progress":
            return withReport(reports, frame);
        case "durable":
            return withoutCallOf(reports, frame.event);
        case "sync":
            /* What was reported during a break is not sent again. */
            return reports.size === 0 ? reports : NO_REPORTS;
        default:
            return reports;
    }
}

/** The share that is done, from 0 to 1; null if that cannot be said. */
export function shareOf(report: ToolReport): number | null {
    if (report.total === null || report.done < 0 || report.done > report.total) return null;
    return report.done / report.total;
}
