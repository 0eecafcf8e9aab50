/*
 * Secrets that a conversation only refers to: stored for the user on this server, or served at a
 * URL. They are read when needed, so that a renewed secret works in the next command. Neither the
 * reference nor its headers leave deft.
 */
#ifndef DEFT_WORKER_AGENT_CORE_SECRET_LOOKUP_H
#define DEFT_WORKER_AGENT_CORE_SECRET_LOOKUP_H

#include <jansson.h>

#include "base/attr.h"

struct agent;

/*
 * Reads the user's stored secrets into agent->secrets, so that output is masked from the start.
 * URLs are not fetched before a command names their secret.
 */
void secret_lookup_all(struct agent *agent) NONNULL;
/* Reads again the secrets that the command names. Waits up to 30 s for a URL; a stop wakes it. */
void secret_lookup_named(struct agent *agent, const char *command) NONNULL;
/* The secrets stored with the conversation; NULL if there are none. A new reference. */
json_t *agent_open_secrets(const struct agent *agent) NONNULL MUST_CHECK;

#endif
