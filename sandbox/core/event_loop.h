/*
 * The only place where deft-action waits: for descriptors, timers and child processes, with epoll.
 *
 * Ownership: sources, timers and children belong to the caller that adds them, which removes them.
 * Threading: one thread. What is removed inside a callback is not called any more.
 */
#ifndef DEFT_SANDBOX_CORE_EVENT_LOOP_H
#define DEFT_SANDBOX_CORE_EVENT_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"

struct error;
struct event_loop;

struct event_loop_source {
    int fd;
    void (*ready)(void *owner, uint32_t events);
    void *owner;
};

struct event_loop_timer {
    void (*expired)(void *owner);
    void *owner;
    int64_t due_ms; /* 0: not set */
    struct event_loop_timer *next;
};

struct event_loop_child {
    pid_t pid;
    void (*exited)(void *owner, int status); /* status as of waitpid() */
    void *owner;
    struct event_loop_child *next;
};

/* Blocks SIGCHLD, SIGTERM and SIGINT, which arrive as events from then on. */
int event_loop_new(struct event_loop **event_loop_out, struct error *err) NONNULL MUST_CHECK;
void event_loop_free(struct event_loop *loop);
/* Waits for events and timers, and handles those that are due. */
void event_loop_dispatch(struct event_loop *loop) NONNULL;
/* True after SIGTERM or SIGINT; as PID 1 only after one from outside its PID namespace. */
bool event_loop_stop_requested(const struct event_loop *loop) NONNULL MUST_CHECK;

/* events: EPOLLIN, EPOLLOUT, EPOLLRDHUP. */
int event_loop_add(struct event_loop *loop, struct event_loop_source *source, uint32_t events,
                   struct error *err) NONNULL MUST_CHECK;
void event_loop_change(struct event_loop *loop, struct event_loop_source *source,
                       uint32_t events) NONNULL;
/* Removes a source; one that was never added is allowed. Does not close the descriptor. */
void event_loop_remove(struct event_loop *loop, struct event_loop_source *source) NONNULL;

/* Sets or resets the timer to expire once, delay_ms from now. */
void event_loop_timer_set(struct event_loop *loop, struct event_loop_timer *timer,
                          int64_t delay_ms) NONNULL;
void event_loop_timer_clear(struct event_loop *loop, struct event_loop_timer *timer) NONNULL;

/* Calls child->exited once; other children of the process are reaped silently. */
void event_loop_child_watch(struct event_loop *loop, struct event_loop_child *child) NONNULL;
void event_loop_child_forget(struct event_loop *loop, struct event_loop_child *child) NONNULL;

#endif
