/*
 * A conversation as a job sees it: loaded whole, sent to the model, and written to without
 * disturbing a run. A job has no lease; if another writer is first, it reads those events and
 * writes after them.
 *
 * Ownership: struct job_conversation owns what it has loaded until job_conversation_done().
 * Threading: belongs to its job's thread; a stop request reaches it through its control.
 */
#ifndef DEFT_WORKER_JOBS_JOB_CONVERSATION_H
#define DEFT_WORKER_JOBS_JOB_CONVERSATION_H

#include <stdbool.h>

#include "base/attr.h"
#include "worker/agent/core/agent.h"

struct run_control;
struct conversation_write;
struct error;
struct event_list;
struct job;
struct llm_reply;
struct worker_context;

struct job_conversation {
    struct agent agent; /* without a lease */
    struct job_hold hold;
};

/*
 * Loads row and history. ERROR_NOT_FOUND if the conversation was deleted. job_conversation_done()
 * also after that.
 */
int job_conversation_open(struct job_conversation *target, struct worker_context *context,
                          struct run_control *control, const struct job *job,
                          struct error *err) NONNULL MUST_CHECK;
void job_conversation_done(struct job_conversation *target);

/* A job's write: `plan` fills in events and change, on each attempt for the row as it is then. */
struct job_note {
    const struct llm_reply *reply; /* its cost is added to the stats; NULL: none */
    bool tells_cost;               /* adds an event for the cost */
    void (*plan)(struct conversation *now, const void *what, struct event_list *events,
                 struct conversation_write *change); /* NULL: the cost only */
    const void *what;
};

/*
 * Writes after events of other writers and notifies subscribers. ERROR_STALE if another worker has
 * taken over the job, which then writes.
 */
int job_conversation_write(struct job_conversation *target, const struct job_note *note,
                           struct error *err) NONNULL MUST_CHECK;

#endif
