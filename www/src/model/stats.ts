import type { Metrics, Stats } from "../api/wire";
import { text } from "../text";

export interface Totals {
    /** The known part of the cost; tokens of models without a known price add nothing. */
    readonly costUsd: number;
    readonly tokens: number;
    /** True if tokens without a known price were used: the cost is at least costUsd. */
    readonly hasUnknown: boolean;
}

/** The prices of its model that a conversation specifies. */
export interface Prices {
    readonly input_cost_per_token?: number | null;
    readonly output_cost_per_token?: number | null;
}

function tokensOf({ accumulated_token_usage: usage }: Metrics): number {
    return (usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0);
}

/** On the wire an unknown price looks like a cost of 0, the same as a model whose price is set to 0. */
function isUnpriced(metrics: Metrics, prices: Prices | undefined): boolean {
    if (tokensOf(metrics) === 0 || (metrics.accumulated_cost ?? 0) > 0) return false;
    if ((metrics.model_name ?? "").startsWith("scripted/")) return false;
    return typeof prices?.input_cost_per_token !== "number" && typeof prices?.output_cost_per_token !== "number";
}

/** Everything the conversation's models have used, whatever they were used for. */
export function totalsOf(stats: Stats | undefined, prices?: Prices): Totals {
    const all = Object.values(stats?.usage_to_metrics ?? {});
    return {
        costUsd: all.reduce((sum, metrics) => sum + (metrics.accumulated_cost ?? 0), 0),
        tokens: all.reduce((sum, metrics) => sum + tokensOf(metrics), 0),
        hasUnknown: all.some((metrics) => isUnpriced(metrics, prices)),
    };
}

/** A cost that four places would show as none is some all the same. */
const SHOWN_MIN_USD = 0.00005;

function formatUsd(costUsd: number): string {
    if (costUsd < SHOWN_MIN_USD) return text.conversation.costTiny;
    return `$${costUsd.toFixed(costUsd < 1 ? 4 : 2)}`;
}

export function formatCost({ costUsd, hasUnknown }: Pick<Totals, "costUsd" | "hasUnknown">): string {
    if (costUsd > 0) return hasUnknown ? text.conversation.costAtLeast(formatUsd(costUsd)) : formatUsd(costUsd);
    return hasUnknown ? text.conversation.costUnknown : text.conversation.costNone;
}

export function formatTokens(tokens: number): string {
    if (tokens < 1000) return String(tokens);
    if (tokens < 1_000_000) return `${(tokens / 1000).toFixed(tokens < 10_000 ? 1 : 0)}k`;
    return `${(tokens / 1_000_000).toFixed(1)}M`;
}
