/*
 * References to a conversation's secrets in the configuration of MCP servers, and in calls of their
 * tools.
 *
 * Threading: the conversation's thread.
 */
#ifndef DEFT_WORKER_AGENT_MCP_VARIABLES_H
#define DEFT_WORKER_AGENT_MCP_VARIABLES_H

#include <jansson.h>

#include "base/attr.h"

struct agent;

/*
 * A copy of a value in whose texts $NAME and ${NAME} are replaced by the secret of that name, and
 * ${NAME:-TEXT} by TEXT if there is none. What names no secret stays as it is. Looks up those that
 * are elsewhere. A new reference.
 */
json_t *variables_expand(struct agent *agent, const json_t *value)
    __attribute__((nonnull(1))) MUST_CHECK;

#endif
