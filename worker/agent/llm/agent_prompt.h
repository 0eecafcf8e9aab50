/*
 * The prompt of a run's model: its tools, and the messages of the history so far.
 *
 * Threading: the agent's thread.
 */
#ifndef DEFT_WORKER_AGENT_LLM_AGENT_PROMPT_H
#define DEFT_WORKER_AGENT_LLM_AGENT_PROMPT_H

#include <jansson.h>

#include "base/attr.h"

struct agent;

/* Brings agent->transcript up to date for the model of that LLM object. */
void agent_prompt_write(struct agent *agent, json_t *spec) NONNULL;
/* The same in whatever form the prompt has already; that of the LLM object if it has none. */
void agent_prompt_update(struct agent *agent, json_t *spec) NONNULL;

#endif
