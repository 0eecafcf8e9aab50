/*
 * The only place where deft-action waits: descriptors, timers and child processes, on one epoll
 * descriptor which the HTTP server watches together with its connections.
 *
 * Ownership: sources, timers and children belong to the caller that adds them, which removes them.
 * Threading: one thread. What is removed inside a callback is not called any more.
 */
#ifndef DEFT_SANDBOX_CORE_LOOP_H
#define DEFT_SANDBOX_CORE_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"

struct error;
struct loop;

struct loop_source {
    int fd;
    void (*ready)(void *owner, uint32_t events);
    void *owner;
};

struct loop_timer {
    void (*expired)(void *owner);
    void *owner;
    int64_t due_ms; /* 0: not set */
    struct loop_timer *next;
};

struct loop_child {
    pid_t pid;
    void (*exited)(void *owner, int status); /* status as of waitpid() */
    void *owner;
    struct loop_child *next;
};

/* Blocks SIGCHLD, SIGTERM and SIGINT, which arrive as events from then on. */
int loop_new(struct loop **loop_out, struct error *err) NONNULL MUST_CHECK;
void loop_free(struct loop *loop);
/* Readable when loop_dispatch() has work. */
int loop_descriptor(const struct loop *loop) NONNULL MUST_CHECK;
/* Handles due events and timers; never blocks. */
void loop_dispatch(struct loop *loop) NONNULL;
/* True after SIGTERM or SIGINT; as PID 1 only after one from outside its PID namespace. */
bool loop_stop_requested(const struct loop *loop) NONNULL MUST_CHECK;

/* events: EPOLLIN, EPOLLOUT. */
int loop_add(struct loop *loop, struct loop_source *source, uint32_t events,
             struct error *err) NONNULL MUST_CHECK;
void loop_change(struct loop *loop, struct loop_source *source, uint32_t events) NONNULL;
/* Removes a source; one that was never added is allowed. Does not close the descriptor. */
void loop_remove(struct loop *loop, struct loop_source *source) NONNULL;

/* Sets or resets the timer to expire once, delay_ms from now. */
void loop_timer_set(struct loop *loop, struct loop_timer *timer, int64_t delay_ms) NONNULL;
void loop_timer_clear(struct loop *loop, struct loop_timer *timer) NONNULL;

/* Calls child->exited once; other children of the process are reaped silently. */
void loop_child_watch(struct loop *loop, struct loop_child *child) NONNULL;
void loop_child_forget(struct loop *loop, struct loop_child *child) NONNULL;

#endif
