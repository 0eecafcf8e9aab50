/*
 * A call passed on to the server in the sandbox, and its answer passed back: both as streams, in
 * constant memory. A sandbox that does not answer is started once more, when nothing was sent yet.
 */
#ifndef DEFT_FCGI_SANDBOX_PROXY_H
#define DEFT_FCGI_SANDBOX_PROXY_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "fcgi/sandbox_link.h"

struct error;
struct reply;
struct request;

/* What to call; borrows. */
struct sandbox_call {
    struct sandbox_owner owner;
    const char *inside; /* the folder that the call's path or cwd must lie in; NULL: any */
    const char *scope;  /* conversation's uuid, to keep its commands apart; NULL: the shared ones */
    const char *method; /* NULL: the request's */
    const char *path;   /* "/api/bash/…", encoded */
    const char *query;  /* raw; NULL or "": none */
    const char *body;   /* NULL: the request's own, as a stream where the route says so */
    size_t body_len;
    const char *directory; /* made before the call when it is not there; NULL: none */
    int64_t silence_ms;    /* longest wait for the next byte; 0: a minute */
};

/*
 * Answers the request with what the sandbox answers. A sandbox that cannot be had is an answer too
 * (502 with words). Errors: ERROR_CANCELLED when one side went away in the middle; those of
 * waits_begin(), since it waits in a place of the owner's user.
 */
int sandbox_proxy(const struct request *request, struct reply *reply,
                  const struct sandbox_call *call, struct error *err) NONNULL MUST_CHECK;

#endif
