/* What security analyzers found of calls. A guard is an analyzer that asks a model of its own. */
import type { ActionEvent, EventBase, SecurityAnalysisEvent } from "../api/wire";

export interface GuardWords {
    readonly model: string;
    readonly answer: string;
    /** Why its risk is unknown; empty if it is known. */
    readonly error: string;
}

function asText(value: unknown): string {
    return typeof value === "string" ? value : "";
}

function wordsOf(guard: unknown): GuardWords {
    const { model, answer, error } = (typeof guard === "object" && guard !== null ? guard : {}) as Record<string, unknown>;
    return { model: asText(model), answer: asText(answer), error: asText(error) };
}

/** Of all calls of an answer: guards are asked about them together. */
export function guardsOf(analysis: SecurityAnalysisEvent): GuardWords[] {
    return Object.values(analysis.details ?? {}).flatMap(({ guards }) => (Array.isArray(guards) ? guards.map(wordsOf) : []));
}

/** The newest analysis of one of the calls; null if no analyzer has judged them. */
export function analysisOf(events: readonly EventBase[], calls: readonly ActionEvent[]): SecurityAnalysisEvent | null {
    for (let i = events.length - 1; i >= 0; i--) {
        const event = events[i];
        if (event?.kind !== "SecurityAnalysisEvent") continue;
        const analysis = event as SecurityAnalysisEvent;
        if (calls.some((call) => analysis.risks[call.id] !== undefined)) return analysis;
    }
    return null;
}
