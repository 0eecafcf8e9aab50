/*
 * Takes over a conversation's row into a run: at the claim, and again after a client has changed
 * it.
 */
#ifndef DEFT_WORKER_AGENT_CORE_AGENT_ROW_H
#define DEFT_WORKER_AGENT_CORE_AGENT_ROW_H

#include "base/attr.h"

struct agent;
struct conversation;

/* Loads the secrets stored with the conversation and its user, and the model to use. */
void agent_take_secrets(struct agent *agent) NONNULL;
/* Makes the tools, and the prompt, anew: both depend on the specification. */
void agent_renew_tools(struct agent *agent) NONNULL;
/* Applies a client's changes: takes the row's specification, secrets and stats. */
void agent_take_row(struct agent *agent, struct conversation *now) NONNULL;

#endif
