/*
 * Summaries: a condenser's model reads a part of the history and writes the text that replaces it.
 *
 * Threading: the agent's thread.
 */
#ifndef DEFT_WORKER_AGENT_LLM_SUMMARY_H
#define DEFT_WORKER_AGENT_LLM_SUMMARY_H

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
/* Calls the condenser's model on a range of the agent's history. As llm_call_run(). */
int summary_ask(struct agent *agent, const json_t *condenser, const struct model_view_range *range,
                struct llm_reply *reply_out, struct llm_failure *failure_out,
                struct error *err) NONNULL MUST_CHECK;
/* Adds the Condensation that replaces the range by the reply. */
void summary_add(const struct agent *agent, const struct model_view_range *range,
                 const struct llm_reply *reply, struct event_list *events) NONNULL;

#endif
