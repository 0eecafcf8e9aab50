/*
 * Stores the model's answer as events: its cost, then its calls or its text.
 */
#ifndef DEFT_WORKER_AGENT_LLM_LLM_RESPONSE_H
#define DEFT_WORKER_AGENT_LLM_LLM_RESPONSE_H

#include "base/attr.h"

struct agent;
struct error;
struct llm_reply;

/*
 * Stores the answer in one append. Calls are left pending, or await confirmation where the policy
 * requires it; an answer with text only ends the run, unless the user has sent a message since the
 * model was asked. Errors as event_writer_append().
 */
int llm_response_store(struct agent *agent, const struct llm_reply *reply,
                       struct error *err) NONNULL MUST_CHECK;

#endif
