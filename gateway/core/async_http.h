/*
 * Asynchronous HTTP calls of the service thread: the client library's own thread performs them and
 * signals completion through a descriptor.
 *
 * Ownership: a call is embedded in its owner, who drops it before it is freed.
 * Threading: the service thread.
 */
#ifndef DEFT_GATEWAY_CORE_ASYNC_HTTP_H
#define DEFT_GATEWAY_CORE_ASYNC_HTTP_H

#include <stdbool.h>
#include <sys/queue.h>

#include "base/attr.h"

struct error;
struct http;
struct http_call;
struct http_request;
struct sandbox_endpoint;

struct async_http {
    struct http *http;
    int done_fd; /* readable when a call has completed */
    LIST_HEAD(async_calls, async_call) calls;
};

struct async_call {
    LIST_ENTRY(async_call) link; /* while one is under way */
    struct http_call *call;      /* NULL: nothing is under way */
    /*
     * The call has completed, with err or without (NULL); it is borrowed. The callback may start a
     * new call on the async_call.
     */
    void (*done)(struct async_call *call, const struct http_call *answer, const struct error *err);
};

/* Starts the transport, and opens done_fd for the event loop. ERROR_UNAVAILABLE. */
int async_http_open(struct async_http *http, struct error *err) NONNULL MUST_CHECK;
/* No call may be under way. */
void async_http_close(struct async_http *http) NONNULL;
/* Calls done() for completed calls; call when done_fd is readable. */
void async_http_pump(struct async_http *http) NONNULL;

/* Sends the request to a sandbox, as sandbox_call_start() does; the call must be idle. */
int async_call_begin(struct async_call *call, struct async_http *http,
                     const struct sandbox_endpoint *endpoint, const struct http_request *request,
                     struct error *err) NONNULL MUST_CHECK;
/* As above, for a request that was started with http->done_fd. */
void async_call_adopt(struct async_call *call, struct async_http *http,
                      struct http_call *started) NONNULL;
bool async_call_is_busy(const struct async_call *call) NONNULL MUST_CHECK;
/* Cancels the call: done() is not called. */
void async_call_drop(struct async_call *call) NONNULL;

#endif
