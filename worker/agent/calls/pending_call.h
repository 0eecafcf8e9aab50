/*
 * Runs a stored tool call that has no result yet, and stores its result.
 */
#ifndef DEFT_WORKER_AGENT_CALLS_PENDING_CALL_H
#define DEFT_WORKER_AGENT_CALLS_PENDING_CALL_H

#include <stddef.h>

#include "base/attr.h"

struct agent;
struct error;
struct index_list;

/*
 * Runs pending->items[at], an index into the history, and stores the result. A `finish` ends the
 * run, unless the user has sent a message since the model was asked; the calls after it get an
 * error each. Errors: as event_writer_append(); ERROR_CANCELLED after a stop request;
 * ERROR_UNAVAILABLE if no sandbox is available, with a message for the user.
 */
int pending_call_run(struct agent *agent, const struct index_list *pending, size_t at,
                     struct error *err) NONNULL MUST_CHECK;

#endif
