/*
 * A stored tool call that has no result yet: how it runs, and its result.
 */
#ifndef DEFT_WORKER_AGENT_CALLS_PENDING_CALL_H
#define DEFT_WORKER_AGENT_CALLS_PENDING_CALL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

struct agent;
struct error;
struct index_list;
struct planned_call;
struct sandbox_tool_call;

/*
 * Sets what the call at that index of the history occupies, and whether it runs alone, from the
 * agent's tools as they are now.
 */
void pending_call_plan(const struct agent *agent, size_t action,
                       struct planned_call *planned) NONNULL;
/*
 * Runs pending->items[at], an index into the history, and stores the result; or sends it to the
 * sandbox: then *sent_out is set, for pending_call_end(); or does nothing yet and sets
 * *is_early_out (sandbox_call_is_early()). A `finish` ends the run, unless the user has sent a
 * message since the model was asked; the calls after it get an error each. Errors: as
 * event_writer_append(); ERROR_CANCELLED after a stop request; ERROR_UNAVAILABLE if no sandbox is
 * available, with a message for the user.
 */
int pending_call_begin(struct agent *agent, const struct index_list *pending, size_t at,
                       struct sandbox_tool_call **sent_out, bool *is_early_out,
                       struct error *err) NONNULL MUST_CHECK;
/* Stores the result of a call that sandbox_call_wait() found. Errors as above. */
int pending_call_end(struct agent *agent, struct sandbox_tool_call *sent,
                     struct error *err) NONNULL MUST_CHECK;

#endif
