/*
 * One request to the server in a sandbox and its reply. During a long request the sandbox is polled
 * for the action's state, so that one that hangs or is unreachable is noticed long before the
 * request times out.
 *
 * Ownership: everything is borrowed; the caller frees a call it starts.
 * Threading: the conversation's thread; a stop request reaches the wait through the agent's
 * control.
 * Source:    docs/api/action-server.md, section 3
 */
#ifndef DEFT_WORKER_AGENT_SANDBOX_SANDBOX_HTTP_H
#define DEFT_WORKER_AGENT_SANDBOX_SANDBOX_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

struct agent;
struct error;
struct http_call;
struct sandbox_endpoint;

/* The state of an action. */
enum sandbox_state {
    SANDBOX_UNKNOWN,     /* the sandbox does not know the action */
    SANDBOX_RUNNING,     /* in progress */
    SANDBOX_FINISHED,    /* has an observation */
    SANDBOX_INTERRUPTED, /* begun, and will never finish */
};

struct sandbox_http_request {
    const char *method;
    const char *path;
    const json_t *content; /* NULL: no body */
    int64_t timeout_ms;
    bool is_watched;        /* path is an action's: waited for by sandbox_http_watch() */
    bool is_detached;       /* another thread waits for the reply */
    size_t max_reply_bytes; /* 0: those of a result */
};

/* A watched request on its way. */
struct sandbox_exchange {
    const struct sandbox_http_request *question;
    struct http_call *call; /* NULL: not sent */
    int64_t began_ms;
    int64_t look_at_ms; /* when the action's state is polled */
    int n_silences;     /* polls in a row without an answer */
};

/* Sends the request and returns; the caller frees the call. */
int sandbox_http_start(const struct agent *agent, const struct sandbox_endpoint *endpoint,
                       const struct sandbox_http_request *question, struct http_call **call_out,
                       struct error *err) NONNULL MUST_CHECK;
/*
 * Waits for the reply to a short request, whatever its status. ERROR_CANCELLED after a stop
 * request, ERROR_UNAVAILABLE if the sandbox cannot be reached.
 */
int sandbox_http_wait(const struct agent *agent, struct http_call *call,
                      struct error *err) NONNULL MUST_CHECK;
/* sandbox_http_start() for a watched request, which is borrowed until the exchange's end. */
int sandbox_exchange_begin(const struct agent *agent, const struct sandbox_endpoint *endpoint,
                           const struct sandbox_http_request *question,
                           struct sandbox_exchange *exchange_out,
                           struct error *err) NONNULL MUST_CHECK;
void sandbox_exchange_done(struct sandbox_exchange *exchange);
/*
 * Waits until one of the exchanges, all of which were sent, is over or hangs, and gives its index.
 * Fewer than HTTP_WAIT_MAX. The index is n if the agent's side work has ended first.
 * ERROR_CANCELLED after a stop request, unless sandbox_exchange_end() will say so.
 */
int sandbox_http_watch(const struct agent *agent, const struct sandbox_endpoint *endpoint,
                       struct sandbox_exchange *const *exchanges, size_t n, size_t *index_out,
                       struct error *err) NONNULL MUST_CHECK;
/*
 * The outcome of an exchange that sandbox_http_watch() found, whatever the reply's status: errors
 * as sandbox_http_wait(), and ERROR_TIMEOUT, or ERROR_UNAVAILABLE if the sandbox hangs.
 */
int sandbox_exchange_end(const struct sandbox_exchange *exchange,
                         struct error *err) NONNULL MUST_CHECK;
/* Sets the error for a status other than 200; returns -1. */
int sandbox_http_refusal(struct http_call *call, struct error *err) NONNULL MUST_CHECK;
/* Parses the member `state` of an action's reply; ERROR_INVALID if it is not a state. */
int sandbox_state_read(json_t *reply, enum sandbox_state *state_out,
                       struct error *err) NONNULL MUST_CHECK;

#endif
