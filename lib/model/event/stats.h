/*
 * Cost of a conversation's model calls: Metrics by usage id. They are stored at every step, so list
 * entries, which never change, are kept as text.
 *
 * Ownership: struct stats owns its content until stats_free().
 * Threading: pure.
 */
#ifndef DEFT_MODEL_EVENT_STATS_H
#define DEFT_MODEL_EVENT_STATS_H

#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

struct strbuf;

/* The cost of a call whose price is unknown; it adds nothing to a sum, and is not 0: that is the
 * cost of a call that is free. */
#define COST_UNKNOWN (-1.0)

/* Costs that are added up are kept in billionths of a US dollar. */
#define NANOS_PER_DOLLAR 1000000000.0

struct llm_usage {
    const char *usage_id; /* "agent" */
    const char *model;
    const char *response_id;
    int64_t prompt_tokens;
    int64_t completion_tokens;
    int64_t cache_read_tokens;
    int64_t cache_write_tokens;
    int64_t reasoning_tokens;
    int64_t context_window;
    double cost; /* US dollars; COST_UNKNOWN if the price is unknown */
    double latency_s;
    double at_s; /* unix seconds */
};

struct stats;

/* Returns the stored form of no calls: {"usage_to_metrics": {}}. A new reference. */
json_t *stats_new(void) MUST_CHECK;

/* Continues from the stored form; NULL: from no calls. */
struct stats *stats_open(const json_t *stored) MUST_CHECK;
void stats_free(struct stats *stats);
void stats_freep(struct stats **stats) NONNULL;
/* Adds a usage id with no cost yet; a known one is left unchanged. */
void stats_register(struct stats *stats, const char *usage_id, const char *model) NONNULL;
/* Adds one call: sums, except context_window = max and per_turn_token = this call's. */
void stats_add(struct stats *stats, const struct llm_usage *usage) NONNULL;
/* Sets the cost of a usage id to the sum of all of another conversation's, from its stored form. */
void stats_set_sum(struct stats *stats, const char *usage_id, const json_t *stored) NONNULL;
/* A cost in US dollars as billionths, at least 0; 0 for an unknown one. */
int64_t cost_to_nanos(double cost) MUST_CHECK;
/* The cost of all usage ids, in US dollars. */
double stats_total_cost(const struct stats *stats) NONNULL MUST_CHECK;
/* Appends the stored form. */
void stats_append_text(const struct stats *stats, struct strbuf *out) NONNULL;
/* Returns the form used in state updates: without the three lists. A new reference. */
json_t *stats_snapshot(const struct stats *stats) NONNULL MUST_CHECK;

#endif
