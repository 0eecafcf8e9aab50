import type { Stats } from "../api/wire";

export interface Totals {
    readonly costUsd: number;
    readonly tokens: number;
}

/** Everything the conversation's models have used, whatever they were used for. */
export function totalsOf(stats: Stats | undefined): Totals {
    let costUsd = 0;
    let tokens = 0;
    for (const metrics of Object.values(stats?.usage_to_metrics ?? {})) {
        costUsd += metrics.accumulated_cost ?? 0;
        tokens += metrics.accumulated_token_usage?.prompt_tokens ?? 0;
        tokens += metrics.accumulated_token_usage?.completion_tokens ?? 0;
    }
    return { costUsd, tokens };
}

export function formatCost(costUsd: number): string {
    return `$${costUsd.toFixed(costUsd < 1 ? 4 : 2)}`;
}

export function formatTokens(tokens: number): string {
    if (tokens < 1000) return String(tokens);
    if (tokens < 1_000_000) return `${(tokens / 1000).toFixed(tokens < 10_000 ? 1 : 0)}k`;
    return `${(tokens / 1_000_000).toFixed(1)}M`;
}
