/*
 * Asynchronous HTTP calls of the service thread: the client library's own thread performs them and
 * signals completion through a descriptor.
 *
 * Ownership: an errand is embedded in its owner, who drops it before it is freed.
 * Threading: the service thread.
 */
#ifndef DEFT_GATEWAY_ERRAND_H
#define DEFT_GATEWAY_ERRAND_H

#include <stdbool.h>

#include "base/attr.h"

struct error;
struct errand;
struct http;
struct http_call;
struct http_request;
struct sandbox_endpoint;

struct errands {
    struct http *http;
    int done_fd; /* readable when a call has completed */
    struct errand *first;
};

struct errand {
    struct errand *next; /* in the list of those under way */
    struct errand *previous;
    struct errands *errands;
    struct http_call *call; /* NULL: nothing is under way */
    /*
     * The call has completed, with err or without (NULL); it is borrowed. The callback may start a
     * new call on the errand.
     */
    void (*done)(struct errand *errand, const struct http_call *call, const struct error *err);
};

int errands_open(struct errands *errands, struct error *err) NONNULL MUST_CHECK;
/* No call may be under way. */
void errands_close(struct errands *errands) NONNULL;
/* Calls done() for completed calls; call when done_fd is readable. */
void errands_pump(struct errands *errands) NONNULL;

/* Sends the request to a sandbox, as sandbox_call_start() does; the errand must be idle. */
int errand_begin(struct errand *errand, struct errands *errands,
                 const struct sandbox_endpoint *endpoint, const struct http_request *request,
                 struct error *err) NONNULL MUST_CHECK;
/* As above, for a call that was started with errands->done_fd. */
void errand_adopt(struct errand *errand, struct errands *errands, struct http_call *call) NONNULL;
bool errand_is_busy(const struct errand *errand) NONNULL MUST_CHECK;
/* Cancels the call: done() is not called. */
void errand_drop(struct errand *errand) NONNULL;

#endif
