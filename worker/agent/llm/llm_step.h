/*
 * Calls the model and stores its answer: as calls to run, as text that ends the run, or as an error
 * that ends it.
 */
#ifndef DEFT_WORKER_AGENT_LLM_LLM_STEP_H
#define DEFT_WORKER_AGENT_LLM_LLM_STEP_H

#include "base/attr.h"

struct agent;
struct error;

/* Errors: as event_writer_append(); ERROR_CANCELLED after a stop request. */
int llm_step_run(struct agent *agent, struct error *err) NONNULL MUST_CHECK;

#endif
