/*
 * A short wait for a job that a command has just put into the background: its first output, such as
 * a server's address or a failure, belongs to the command's observation.
 *
 * Only for a running job that prints to the terminal.
 * Threading: the loop's thread.
 * Decision: docs/decisions/0048-background-jobs.md
 */
#ifndef DEFT_SANDBOX_TERMINAL_BACKGROUND_WAIT_H
#define DEFT_SANDBOX_TERMINAL_BACKGROUND_WAIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "sandbox/core/event_loop.h"

struct background_wait {
    struct event_loop *loop;
    struct event_loop_timer timer;
    struct event_loop_source end; /* pidfd of the job, readable at its end; fd -1: not available */
    pid_t pid;
    int64_t begun_ms;
    int64_t until_ms;
    bool is_on;
    bool has_heard; /* something was printed: ends after a short delay */
    void (*over)(void *owner);
    void *owner;
};

/* over(owner) is called from the loop when a wait ends. */
void background_wait_init(struct background_wait *wait, struct event_loop *loop,
                          void (*over)(void *owner), void *owner) NONNULL;
/*
 * Waits for at most wait_ms. False when there is nothing to wait for; else over() is called, unless
 * the wait is cleared.
 */
bool background_wait_begin(struct background_wait *wait, pid_t pid,
                           int64_t wait_ms) NONNULL MUST_CHECK;
/* To be called when the terminal printed something. */
void background_wait_hear(struct background_wait *wait) NONNULL;
/* Ends the wait without a call of over(). */
void background_wait_clear(struct background_wait *wait) NONNULL;

#endif
