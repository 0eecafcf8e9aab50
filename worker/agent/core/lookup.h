/*
 * Secrets that are kept elsewhere and that a conversation only refers to, by the user on this
 * server or behind an address: read when they are needed, so that a renewed one works in the next
 * command. Neither the reference nor its headers leave deft.
 */
#ifndef DEFT_WORKER_AGENT_CORE_LOOKUP_H
#define DEFT_WORKER_AGENT_CORE_LOOKUP_H

#include <jansson.h>

#include "base/attr.h"

struct agent;

/* What the user keeps here, into agent->secrets: what comes back is masked with it from the start.
 * Addresses are not asked before a command names their secret. */
void lookup_all(struct agent *agent) NONNULL;
/* Anew, those that the command names. Waits up to 30 s for an address; a stop wakes it. */
void lookup_named(struct agent *agent, const char *command) NONNULL;
/* The secrets that were stored with the conversation; NULL when there are none. A new reference. */
json_t *agent_open_secrets(const struct agent *agent) NONNULL MUST_CHECK;

#endif
