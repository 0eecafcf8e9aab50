/*
 * Forwards a call to the server in the sandbox, and its response to the client: both as streams, in
 * constant memory. If the sandbox does not respond and nothing was sent yet, it is started once
 * more.
 */
#ifndef DEFT_FCGI_SANDBOX_SANDBOX_PROXY_H
#define DEFT_FCGI_SANDBOX_SANDBOX_PROXY_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "fcgi/sandbox/sandbox_locate.h"

struct error;
struct reply;
struct request;

/* The call to make; borrows. */
struct sandbox_call {
    struct sandbox_owner owner;
    const char *inside; /* folder that must contain the call's path or cwd; NULL: any */
    const char *scope;  /* conversation's uuid, to separate its commands; NULL: the shared ones */
    const char *method; /* NULL: the request's */
    const char *path;   /* "/api/bash/…", encoded */
    const char *query;  /* raw; NULL or "": none */
    const char *body;   /* NULL: the request's own, as a stream if the route says so */
    size_t body_len;
    const char *directory; /* created before the call if it is missing; NULL: none */
    int64_t silence_ms;    /* longest wait for the next byte; 0: a minute */
};

/*
 * Replies with the sandbox's response. If no sandbox can be started that is a reply, too (502 with
 * a message). Errors: ERROR_CANCELLED when one side disconnected; those of wait_slot_take(), since
 * the call takes a waiting slot of the owner's user.
 */
int sandbox_proxy(const struct request *request, struct reply *reply,
                  const struct sandbox_call *call, struct error *err) NONNULL MUST_CHECK;

#endif
