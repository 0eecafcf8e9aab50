/*
 * HTTP calls of the service thread, which does not wait for them: the client library's own thread
 * moves them, and tells by a descriptor when one is over.
 *
 * Ownership: an errand is a part of its owner, who drops it before it goes away.
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
    int done_fd; /* readable when a call is over */
    struct errand *first;
};

struct errand {
    struct errand *next; /* of those under way */
    struct errand *previous;
    struct errands *errands;
    struct http_call *call; /* NULL: nothing is under way */
    /* The call is over, with err or without (NULL). It is borrowed; the errand may begin anew. */
    void (*done)(struct errand *errand, const struct http_call *call, const struct error *err);
};

int errands_open(struct errands *errands, struct error *err) NONNULL MUST_CHECK;
/* Nothing may be under way. */
void errands_close(struct errands *errands) NONNULL;
/* Calls done() for what is over: when done_fd is readable. */
void errands_pump(struct errands *errands) NONNULL;

/* Sends the request to a sandbox, as sandbox_call_start() does; the errand was idle. */
int errand_begin(struct errand *errand, struct errands *errands,
                 const struct sandbox_endpoint *endpoint, const struct http_request *request,
                 struct error *err) NONNULL MUST_CHECK;
/* The same for a call that was started with errands->done_fd. */
void errand_adopt(struct errand *errand, struct errands *errands, struct http_call *call) NONNULL;
bool errand_is_busy(const struct errand *errand) NONNULL MUST_CHECK;
/* Takes it back: done() is not called. */
void errand_drop(struct errand *errand) NONNULL;

#endif
