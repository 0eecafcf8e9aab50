/*
 * Work that a call gives to sub-agents: it starts their runs, and the caller's run then waits for
 * all of them at once, without a lease and without a thread. It is claimed again when the run of
 * one has ended, however it ended, and its calls then see which of them have results.
 *
 * Ownership: everything is borrowed. Threading: the conversation's thread.
 * Decisions: docs/decisions/0025-tasks-give-way.md, 0102-waits-for-several-sub-agents.md
 */
#ifndef DEFT_WORKER_AGENT_CALLS_SUB_AGENT_WORK_H
#define DEFT_WORKER_AGENT_CALLS_SUB_AGENT_WORK_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/uuid.h"
#include "model/limits.h"

struct agent;
struct conversation;
struct error;

/* What open calls wait for. */
struct sub_agent_waits {
    struct uuid ids[TOOL_CONCURRENCY_MAX]; /* sub-agents that run */
    size_t n;
    bool is_paused; /* some work is left for the next run, since this one is to pause */
};

/* Adds what a call waits for; at most TOOL_CONCURRENCY_MAX sub-agents are kept. */
void sub_agent_waits_add(struct sub_agent_waits *waits, const struct sub_agent_waits *more) NONNULL;

struct sub_agent_work {
    struct agent *agent;
    json_t *state; /* the future agent_state, which records the work; NULL: unchanged */
    struct uuid child_id;
    const char *prompt;
};

/* A sub-agent that is to be made. */
struct sub_agent_plan {
    const json_t *definition; /* model/tools/sub_agents.h */
    const char *title;
    double allowance; /* at most its budget, in US dollars; -1: any amount */
};

/*
 * Stores a new sub-agent with the work, and the new agent_state with it; the agent then has that
 * state, too. No quota is checked: the caller gives its place up when it waits.
 * Errors: ERROR_INVALID, ERROR_TOO_LARGE with words for the model; ERROR_CONFLICT: the step is
 * decided again; as event_writer_append().
 */
int sub_agent_work_begin(const struct sub_agent_work *work, const struct sub_agent_plan *plan,
                         struct error *err) NONNULL MUST_CHECK;
/*
 * Gives the work to an existing sub-agent. Errors as above; ERROR_INVALID also if the conversation
 * was deleted, is not the caller's, or still runs.
 */
int sub_agent_work_go_on(const struct sub_agent_work *work, struct error *err) NONNULL MUST_CHECK;

enum sub_agent_progress { SUB_AGENT_RUNS, SUB_AGENT_PAUSED, SUB_AGENT_ENDED, SUB_AGENT_DELETED };

/*
 * How far a sub-agent with work is; reads its conversation into *child_out unless it was deleted.
 * One that was stopped together with its caller, which now goes on, is run again.
 */
int sub_agent_work_check(const struct sub_agent_work *work, struct conversation *child_out,
                         enum sub_agent_progress *progress_out,
                         struct error *err) NONNULL MUST_CHECK;

/*
 * Releases the lease until one of them has ended; the agent is then over. ERROR_CANCELLED if none
 * runs and some are paused.
 */
int sub_agent_work_wait(struct agent *agent, struct sub_agent_waits *waits,
                        struct error *err) NONNULL MUST_CHECK;

#endif
