/*
 * The conversation's row as a run has it: what it says is read at the claim, and anew when a client
 * has changed it.
 */
#ifndef DEFT_WORKER_AGENT_CORE_CONVERSATION_ROW_H
#define DEFT_WORKER_AGENT_CORE_CONVERSATION_ROW_H

#include "base/attr.h"

struct agent;
struct conversation;

/* The secrets that are stored with the conversation and with its user, and the model to ask. */
void agent_take_secrets(struct agent *agent) NONNULL;
/* What a client has changed meanwhile: takes the row's specification, secrets and stats. */
void agent_take_row(struct agent *agent, struct conversation *now) NONNULL;

#endif
