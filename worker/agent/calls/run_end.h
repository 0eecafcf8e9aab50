/*
 * The ways a run can end; each is one append that also releases the lease.
 *
 * Errors of all: as event_writer_append(). ERROR_CONFLICT means that there are new events; the loop
 * decides again.
 */
#ifndef DEFT_WORKER_AGENT_CALLS_RUN_END_H
#define DEFT_WORKER_AGENT_CALLS_RUN_END_H

#include <stdbool.h>

#include "base/attr.h"
#include "model/event/status.h"

struct agent;
struct conversation_write;
struct error;
struct event_list;

/*
 * Adds the status update to `events` and everything that ends the run in that status to `change`.
 */
void run_end_plan(struct event_list *events, enum execution_status status,
                  struct conversation_write *change) NONNULL;
/* As run_end_plan() with status finished. With Stop hooks only the status: the loop asks them next,
 * unless this was the run's last iteration. */
void run_end_plan_finish(const struct agent *agent, struct event_list *events,
                         struct conversation_write *change) NONNULL;
/* True if Stop hooks have a say in the end of this run. */
bool run_end_asks_hooks(const struct agent *agent) NONNULL MUST_CHECK;
/* Status error. code: a class name of the wire contract; detail: for the user. */
int run_end_error(struct agent *agent, const char *code, const char *detail,
                  struct error *err) NONNULL MUST_CHECK;
/* Ends a run that had nothing to do; subscribers are notified. */
int run_end_nothing(struct agent *agent, struct error *err) NONNULL MUST_CHECK;
int run_end_stuck(struct agent *agent, struct error *err) NONNULL MUST_CHECK;
int run_end_pause(struct agent *agent, struct error *err) NONNULL MUST_CHECK;
/* Status paused; calls without a result get an error each. */
int run_end_interrupt(struct agent *agent, struct error *err) NONNULL MUST_CHECK;
/* Releases the lease so that another worker continues the run. */
void run_end_hand_over(struct agent *agent) NONNULL;

#endif
