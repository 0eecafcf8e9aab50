/*
 * Secrets that the user keeps on the server and a conversation only refers to: read when they are
 * needed, so that a renewed one works in the next command. The reference never leaves deft.
 */
#ifndef DEFT_WORKER_AGENT_LOOKUP_H
#define DEFT_WORKER_AGENT_LOOKUP_H

#include "base/attr.h"

struct agent;

/* All that the conversation refers to, into agent->secrets: what comes back is masked with them. */
void lookup_all(struct agent *agent) NONNULL;
/* Anew, those that the command names. */
void lookup_named(struct agent *agent, const char *command) NONNULL;

#endif
