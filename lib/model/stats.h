/*
 * What the model calls of a conversation cost: Metrics by usage id.
 */
#ifndef DEFT_MODEL_STATS_H
#define DEFT_MODEL_STATS_H

#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

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
    double cost; /* US dollars */
    double latency_s;
    double at_s; /* unix seconds */
};

/* {"usage_to_metrics": {}}. A new reference. */
json_t *stats_new(void) MUST_CHECK;
/* Adds one call: sums, except context_window = max and per_turn_token = this call's. */
void stats_add(json_t *stats, const struct llm_usage *usage) NONNULL;
/* The form of state updates: without the three lists. A new reference. */
json_t *stats_snapshot(const json_t *stats) NONNULL MUST_CHECK;

#endif
