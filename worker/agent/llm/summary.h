/*
 * Summaries: a condenser's model reads a part of the history and writes the text that replaces it.
 *
 * Threading: the agent's thread.
 */
#ifndef DEFT_WORKER_AGENT_LLM_SUMMARY_H
#define DEFT_WORKER_AGENT_LLM_SUMMARY_H

#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"
#include "worker/agent/core/model_view.h"

struct agent;
struct error;
struct event_list;
struct llm_failure;
struct llm_reply;

/*
 * The conversation's LLMSummarizingCondenser with its secrets filled in. A new reference, or NULL.
 */
json_t *summary_condenser(const struct agent *agent) NONNULL MUST_CHECK;
/* The rule of a condenser, NULL for the defaults, with max_size 0 (any length). */
struct model_view_rule summary_rule(const json_t *condenser) MUST_CHECK;

/* Most characters of a text that a condenser's model is shown. */
#define SUMMARY_PREVIEW_CHARS 500
/* Most events that one summary replaces: see EVENT_MAX_BYTES. */
#define SUMMARY_MAX_EVENTS 20000

struct summary_request {
    const json_t *condenser;        /* summary_condenser() */
    struct model_view_range *range; /* of the agent's history */
    size_t preview_chars; /* most characters of each of its texts; SUMMARY_PREVIEW_CHARS */
};

/*
 * Calls the condenser's model. As llm_call_run(); an answer without words is a failure, too
 * (NO_RESPONSE).
 */
int summary_ask(struct agent *agent, const struct summary_request *request,
                struct llm_reply *reply_out, struct llm_failure *failure_out,
                struct error *err) NONNULL MUST_CHECK;
/* Characters of the longest text that a request for the range shows, at most
 * SUMMARY_PREVIEW_CHARS. */
size_t summary_longest_preview(const struct agent *agent,
                               const struct model_view_range *range) NONNULL MUST_CHECK;
/* Adds the Condensation that replaces the range by the reply. */
void summary_add(const struct agent *agent, const struct model_view_range *range,
                 const struct llm_reply *reply, struct event_list *events) NONNULL;

#endif
