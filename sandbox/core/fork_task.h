/*
 * Blocking work of an action, done by a fork of the process while the loop continues; the result
 * comes back as JSON. Like http/fork_request.h, but a client that disconnects does not end it.
 *
 * Ownership: a task is its caller's until `told` is called, or fork_task_free().
 * Threading: the loop's thread; the work runs alone in its own process.
 */
#ifndef DEFT_SANDBOX_CORE_FORK_TASK_H
#define DEFT_SANDBOX_CORE_FORK_TASK_H

#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

#include "base/attr.h"

struct error;
struct event_loop;
struct fork_task;

struct fork_task_spec {
    json_t *(*work)(const void *what); /* a new reference; runs in the fork */
    const void *what;                  /* as it is when the task starts */
    int64_t deadline_ms;
    /*
     * NULL, or of fork_task_session_new(): there the work names a program that has a session of its
     * own, which is then killed with the work; 0: none. The task frees it, also when it fails to
     * start.
     */
    pid_t *session;
    /*
     * Called once, from the loop: with the result of the work (a new reference), or NULL and the
     * error. The task is freed then.
     */
    void (*told)(void *owner, json_t *found, const struct error *why);
    void *owner;
};

/* Memory shared with forks, initially 0; NULL when there is none. */
pid_t *fork_task_session_new(void) MUST_CHECK;
/* Starts the work; *fork_task_out is for the functions below. ERROR_UNAVAILABLE. */
int fork_task_start(struct event_loop *loop, const struct fork_task_spec *order,
                    struct fork_task **fork_task_out, struct error *err) NONNULL MUST_CHECK;
/* Kills the work: `told` is called with ERROR_CANCELLED. */
void fork_task_interrupt(struct fork_task *task) NONNULL;
/* Kills the work without calling `told`; NULL is allowed. */
void fork_task_free(struct fork_task *task);

#endif
