/*
 * Actions of deft itself in a conversation's sandbox, such as a hook: like a tool call of the model
 * they have an id, by which the sandbox runs each once, whichever worker began it.
 *
 * Threading: the conversation's thread.
 */
#ifndef DEFT_WORKER_AGENT_SANDBOX_OWN_ACTION_H
#define DEFT_WORKER_AGENT_SANDBOX_OWN_ACTION_H

#include <jansson.h>

#include "base/attr.h"

struct action_request;
struct agent;
struct error;
struct strbuf;

/*
 * Waits until the sandbox runs, runs the action there, or waits for it, and gives its observation,
 * a new reference; or NULL, and appends to *problem why there is none. The order's runtime_id is
 * filled in. ERROR_CANCELLED after a stop request, ERROR_STALE if the lease is lost,
 * ERROR_UNAVAILABLE if there is no sandbox, with a message for the user.
 */
int own_action_run(struct agent *agent, struct action_request *order, json_t **observation_out,
                   struct strbuf *problem, struct error *err) NONNULL MUST_CHECK;

#endif
