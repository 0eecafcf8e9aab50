/*
 * How a run ends: each way is one append that says so and gives the lease back.
 *
 * Errors of all: as record_behind(); ERROR_CONFLICT means that there is news, and the loop decides
 * again.
 */
#ifndef DEFT_WORKER_AGENT_CALLS_ENDING_H
#define DEFT_WORKER_AGENT_CALLS_ENDING_H

#include "base/attr.h"
#include "model/event/status.h"

struct agent;
struct conversation_write;
struct error;
struct event_list;

/* Adds the status update, and to `change` all that ends the run in that status. */
void ending_plan(struct event_list *events, enum execution_status status,
                 struct conversation_write *change) NONNULL;
/* status error, then why: a class name of the wire contract, and words for the user. */
int ending_error(struct agent *agent, const char *code, const char *detail,
                 struct error *err) NONNULL MUST_CHECK;
/* There was nothing to do: subscribers hear that the run is over. */
int ending_nothing(struct agent *agent, struct error *err) NONNULL MUST_CHECK;
int ending_stuck(struct agent *agent, struct error *err) NONNULL MUST_CHECK;
int ending_pause(struct agent *agent, struct error *err) NONNULL MUST_CHECK;
/* Calls without a result get an error each. */
int ending_interrupt(struct agent *agent, struct error *err) NONNULL MUST_CHECK;
/* Gives the lease to whoever wants it; the run goes on there. */
void ending_hand_over(struct agent *agent) NONNULL;

#endif
