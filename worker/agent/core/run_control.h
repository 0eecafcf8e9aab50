/*
 * Lets the main thread reach a conversation's thread: stop requests, lease renewal and loss, and
 * waking the thread from a blocking call.
 *
 * Ownership: a control belongs to its pool slot and outlives the conversation's thread.
 * Threading: run_control_begin_wait(), _end_wait() and _sleep() from the conversation's thread; all
 * others from any thread.
 */
#ifndef DEFT_WORKER_AGENT_CORE_RUN_CONTROL_H
#define DEFT_WORKER_AGENT_CORE_RUN_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/lock.h"

struct error;

/* In increasing priority: a higher one replaces a lower one, never the reverse. */
enum stop_kind {
    STOP_NONE,
    STOP_HAND_OVER, /* the worker shuts down; another one continues */
    STOP_PAUSE,     /* after the step in flight */
    STOP_INTERRUPT, /* immediately */
    STOP_LOST,      /* the lease is lost: write nothing more */
    STOP_N_KINDS
};

/* Operations in which a conversation's thread can block. */
enum wait_kind { WAIT_MODEL, WAIT_SANDBOX, WAIT_TOOL, WAIT_N_KINDS };

struct run_control {
    struct lock lock; /* guards all below */
    struct condition changed;
    enum stop_kind stop;
    int64_t stop_at_ms;
    int64_t lease_until_ms;     /* clock_monotonic_ms() */
    void (*cancel)(void *what); /* NULL: not waiting; called under the lock, so must not block */
    void *waited;
    enum wait_kind wait;
};

void run_control_init(struct run_control *control, int64_t lease_until_ms) NONNULL;
void run_control_done(struct run_control *control) NONNULL;

/* Requests a stop; wakes a wait that the stop does not allow to finish. */
void run_control_request(struct run_control *control, enum stop_kind stop) NONNULL;
/* As above by the store's word, "pause" or "interrupt"; ignores any other. */
void run_control_request_word(struct run_control *control, const char *word) NONNULL;
/* Wakes a wait whose grace period after a soft stop (pause, hand over) has passed. */
void run_control_tick(struct run_control *control) NONNULL;
enum stop_kind run_control_stop(struct run_control *control) NONNULL MUST_CHECK;

/* Extends the lease until until_ms. */
void run_control_renew(struct run_control *control, int64_t until_ms) NONNULL;
/* False if the lease may have expired: do not start anything that another worker may also start. */
bool run_control_has_lease(struct run_control *control) NONNULL MUST_CHECK;

/*
 * Registers a wait in `what`; cancel(what) wakes it, until run_control_end_wait(). Returns -1 with
 * ERROR_CANCELLED, registering nothing, if a requested stop would wake it at once.
 */
int run_control_begin_wait(struct run_control *control, enum wait_kind wait,
                           void (*cancel)(void *what), void *what,
                           struct error *err) NONNULL MUST_CHECK;
void run_control_end_wait(struct run_control *control) NONNULL;
/* Waits until the lease certainly has not expired; ERROR_STALE if it is lost. */
int run_control_wait_for_lease(struct run_control *control, struct error *err) NONNULL MUST_CHECK;
/* Sleeps for ms milliseconds, or until a stop or a renewal; ERROR_STALE if the lease is lost. */
int run_control_sleep(struct run_control *control, int64_t ms,
                      struct error *err) NONNULL MUST_CHECK;

#endif
