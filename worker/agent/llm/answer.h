/*
 * The model's answer as events: what it cost, then its calls or its words.
 */
#ifndef DEFT_WORKER_AGENT_LLM_ANSWER_H
#define DEFT_WORKER_AGENT_LLM_ANSWER_H

#include "base/attr.h"

struct agent;
struct error;
struct llm_reply;

/*
 * Stores the answer in one append. Calls are left pending, or wait for a person where the policy
 * asks for one; words alone end the run, unless the user has spoken meanwhile. Errors as
 * record_behind().
 */
int answer_store(struct agent *agent, const struct llm_reply *reply,
                 struct error *err) NONNULL MUST_CHECK;

#endif
