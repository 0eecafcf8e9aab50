/*
 * One question to the server in a sandbox and its answer. A long one is watched: the sandbox is
 * asked now and then whether it is still at it, so that one that hangs, or that no packet reaches
 * any more, is noticed long before the question's own time is over.
 *
 * Ownership: everything is borrowed; who starts a call frees it.
 * Threading: the conversation's thread; a stop request reaches the wait by the agent's control.
 * Source:    docs/api/action-server.md, section 3
 */
#ifndef DEFT_WORKER_AGENT_SANDBOX_SANDBOX_QUESTION_H
#define DEFT_WORKER_AGENT_SANDBOX_SANDBOX_QUESTION_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

struct agent;
struct error;
struct http_call;
struct sandbox_endpoint;

/* Where an action stands. */
enum sandbox_state {
    SANDBOX_UNKNOWN,     /* it never heard of this action */
    SANDBOX_RUNNING,     /* it is at it */
    SANDBOX_FINISHED,    /* with an observation */
    SANDBOX_INTERRUPTED, /* begun, and never to be finished */
};

struct sandbox_question {
    const char *method;
    const char *path;
    const json_t *content; /* NULL: no body */
    int64_t timeout_ms;
    bool is_watched; /* an action's own path: its state is asked for meanwhile */
};

/* Sends it and returns; the caller frees the call. */
int sandbox_question_start(const struct agent *agent, const struct sandbox_endpoint *endpoint,
                           const struct sandbox_question *question, struct http_call **call_out,
                           struct error *err) NONNULL MUST_CHECK;
/*
 * Waits for the answer, whatever its status. ERROR_CANCELLED after a stop request,
 * ERROR_UNAVAILABLE when nobody is there or the sandbox hangs, ERROR_TIMEOUT when a watched
 * question's time is over.
 */
int sandbox_question_wait(const struct agent *agent, const struct sandbox_endpoint *endpoint,
                          const struct sandbox_question *question, struct http_call *call,
                          struct error *err) NONNULL MUST_CHECK;
/* -1: what a status other than 200 means. */
int sandbox_question_refusal(struct http_call *call, struct error *err) NONNULL MUST_CHECK;
/* The member `state` of an action's answer; ERROR_INVALID when it is none. */
int sandbox_state_read(json_t *reply, enum sandbox_state *state_out,
                       struct error *err) NONNULL MUST_CHECK;

#endif
