/*
 * Calls the model and stores its answer: as calls to run, as text that ends the run, or as an error
 * that ends it.
 */
#ifndef DEFT_WORKER_AGENT_LLM_ASK_H
#define DEFT_WORKER_AGENT_LLM_ASK_H

#include "base/attr.h"

struct agent;
struct error;

/* Errors: as record_behind(); ERROR_CANCELLED after a stop request. */
int ask_model(struct agent *agent, struct error *err) NONNULL MUST_CHECK;

#endif
