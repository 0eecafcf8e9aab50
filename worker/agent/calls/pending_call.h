/*
 * A stored tool call that has no result yet: how it runs, and its result.
 */
#ifndef DEFT_WORKER_AGENT_CALLS_PENDING_CALL_H
#define DEFT_WORKER_AGENT_CALLS_PENDING_CALL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "worker/agent/calls/sub_agent_work.h"

struct agent;
struct error;
struct index_list;
struct planned_call;
struct sandbox_tool_call;
struct server_call;
struct server_talks;

/* A call that was begun and has no result yet; all empty if it has, or was not begun. */
struct begun_call {
    struct sandbox_tool_call *in_sandbox;
    struct server_call *at_server;
    struct sub_agent_waits waits;
    bool is_program; /* in_sandbox is a call of an MCP server there */
    bool is_early;   /* not begun: see sandbox_call_is_early() */
};

/* clang-format off */
#define BEGUN_CALL_INIT {.is_early = false}
/* clang-format on */

/* Ends a call at a server; one in the sandbox continues there. */
void begun_call_done(struct begun_call *call);

/*
 * Sets what the call at that index of the history occupies, and which calls may run with it, from
 * the agent's tools as they are now.
 */
void pending_call_plan(const struct agent *agent, size_t action,
                       struct planned_call *planned) NONNULL;
/*
 * Runs pending->items[at], an index into the history, and stores the result; or sends it to the
 * sandbox, or to a server in that group: then *begun_out has it, for pending_call_end(); or gives
 * it to a sub-agent, for sub_agent_work_wait(). A `finish` ends the run, unless the user has sent a
 * message since the model was asked; the calls after it get an error each. Errors: as
 * event_writer_append(); ERROR_CANCELLED after a stop request; ERROR_UNAVAILABLE if no sandbox is
 * available, with a message for the user.
 */
int pending_call_begin(struct agent *agent, const struct index_list *pending, size_t at,
                       struct server_talks *talks, struct begun_call *begun_out,
                       struct error *err) NONNULL MUST_CHECK;
/* Stores the result of a call that sandbox_call_wait() found, or that is over at its server. Errors
 * as above. */
int pending_call_end(struct agent *agent, const struct begun_call *begun,
                     struct error *err) NONNULL MUST_CHECK;

#endif
