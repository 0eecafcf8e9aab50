/*
 * How the main thread reaches a conversation's thread: a stop request, the news that the lease was
 * renewed or lost, and a way to wake the thread from what it waits in.
 *
 * Ownership: a control belongs to its pool slot and outlives the conversation's thread.
 * Threading: control_begin_wait(), _end_wait() and _sleep() from the conversation's thread; all
 * others from any thread.
 */
#ifndef DEFT_WORKER_AGENT_CORE_CONTROL_H
#define DEFT_WORKER_AGENT_CORE_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/lock.h"

struct error;

/* In the order of their weight: a heavier one replaces a lighter one, never the other way. */
enum stop_kind {
    STOP_NONE,
    STOP_HAND_OVER, /* the worker shuts down: another one goes on */
    STOP_PAUSE,     /* after the step in flight */
    STOP_INTERRUPT, /* at once */
    STOP_LOST,      /* the lease is gone: touch nothing any more */
    STOP_N_KINDS
};

/* What a conversation's thread waits in. */
enum wait_kind { WAIT_MODEL, WAIT_SANDBOX, WAIT_TOOL, WAIT_N_KINDS };

struct control {
    struct lock lock; /* guards all below */
    struct condition changed;
    enum stop_kind stop;
    int64_t stop_at_ms;
    int64_t lease_until_ms;     /* clock_monotonic_ms() */
    void (*cancel)(void *what); /* NULL: waits in nothing; called under the lock: never blocks */
    void *waited;
    enum wait_kind wait;
};

void control_init(struct control *control, int64_t lease_until_ms) NONNULL;
void control_done(struct control *control) NONNULL;

/* Asks for a stop; wakes what the request may not wait for. */
void control_request(struct control *control, enum stop_kind stop) NONNULL;
/* The same by the word that the store has for it, "pause" or "interrupt"; nothing for another. */
void control_request_word(struct control *control, const char *word) NONNULL;
/* Wakes a wait that a soft stop (pause, hand over) has been patient with for long enough. */
void control_tick(struct control *control) NONNULL;
enum stop_kind control_stop(struct control *control) NONNULL MUST_CHECK;

/* The lease holds until then. */
void control_renew(struct control *control, int64_t until_ms) NONNULL;
/* False when the lease may have run out: nothing may be begun that another worker may begin too. */
bool control_has_lease(struct control *control) NONNULL MUST_CHECK;

/*
 * The thread is about to wait in `what`; cancel(what) wakes it, until control_end_wait(). -1 with
 * ERROR_CANCELLED, and nothing registered, when a stop is asked for that would wake it at once.
 */
int control_begin_wait(struct control *control, enum wait_kind wait, void (*cancel)(void *what),
                       void *what, struct error *err) NONNULL MUST_CHECK;
void control_end_wait(struct control *control) NONNULL;
/* Sleeps for ms milliseconds, or until a stop or a renewal; ERROR_STALE when the lease is lost. */
int control_sleep(struct control *control, int64_t ms, struct error *err) NONNULL MUST_CHECK;

#endif
