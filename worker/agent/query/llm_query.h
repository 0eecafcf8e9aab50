/*
 * A model call outside the steps of a run: a title, a summary, an answer to a side question.
 *
 * Threading: the agent's thread; a stop request reaches it through the agent's control.
 */
#ifndef DEFT_WORKER_AGENT_QUERY_LLM_QUERY_H
#define DEFT_WORKER_AGENT_QUERY_LLM_QUERY_H

#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

struct agent;
struct error;
struct llm_failure;
struct llm_listener;
struct llm_reply;
struct model_choice;

struct llm_query {
    const struct model_choice *choice;
    const json_t *messages; /* neutral, see llm/llm_prompt.h */
    const json_t *tools;    /* see llm_prompt_set_tools(); NULL for none */
    const char *usage_id;
    const struct llm_listener *listener; /* NULL: none */
};

/* Calls the model; a stop request ends the wait. As llm_call_run(). */
int llm_query_run(struct agent *agent, const struct llm_query *query, struct llm_reply *reply_out,
                  struct llm_failure *failure_out, struct error *err) NONNULL MUST_CHECK;
/* Gives the model one attempt, of at most that time. */
void llm_query_limit(struct model_choice *choice, int64_t timeout_ms) NONNULL;
/*
 * Stores what the reply cost, by a write of its own: it was paid for, whatever becomes of the run.
 * Its events and a change of the row may be newer than what the caller has planned on. A failure is
 * logged.
 */
void llm_query_store_cost(struct agent *agent, const struct llm_reply *reply) NONNULL;

#endif
