/*
 * A conversation as a job sees it: read whole, asked about, and told something in a write that
 * stands beside a run, not in its way. It has no lease; who was faster is read and written behind.
 *
 * Ownership: struct side owns what it has loaded until side_done().
 * Threading: belongs to its job's thread; a stop request reaches it by its control.
 */
#ifndef DEFT_WORKER_JOBS_SIDE_H
#define DEFT_WORKER_JOBS_SIDE_H

#include <stdbool.h>

#include "base/attr.h"
#include "worker/agent/core/agent.h"

struct control;
struct conversation_write;
struct error;
struct event_list;
struct job;
struct llm_reply;
struct worker_context;

struct side {
    struct agent agent; /* its lease is none */
    struct job_hold hold;
};

/* Row and history. ERROR_NOT_FOUND when the conversation is gone. side_done() also after that. */
int side_open(struct side *side, struct worker_context *context, struct control *control,
              const struct job *job, struct error *err) NONNULL MUST_CHECK;
void side_done(struct side *side);

/* What a job writes: it fills in events and change, each time for the row as it is then. */
struct side_note {
    const struct llm_reply *reply; /* whose cost is added to the stats; NULL: none */
    bool tells_cost;               /* by an event */
    void (*plan)(struct conversation *now, const void *what, struct event_list *events,
                 struct conversation_write *change); /* NULL: nothing but the cost */
    const void *what;
};

/*
 * Writes behind whatever others wrote, and tells subscribers. ERROR_STALE when the job is another
 * worker's by now: it writes, too.
 */
int side_write(struct side *side, const struct side_note *note,
               struct error *err) NONNULL MUST_CHECK;

#endif
