/*
 * Requests from deft itself to the server in a sandbox, with a JSON answer. The answer is
 * untrusted: its size and depth are bounded here, callers check its members.
 */
#ifndef DEFT_FCGI_SANDBOX_SANDBOX_REQUEST_H
#define DEFT_FCGI_SANDBOX_SANDBOX_REQUEST_H

#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "fcgi/sandbox/sandbox_locate.h"

struct error;
struct fcgi_context;
struct reply;

struct sandbox_request {
    struct sandbox_owner owner;
    const char *method; /* NULL: POST */
    const char *path;   /* of an idempotent call */
    const json_t *body; /* NULL: none */
    int64_t timeout_ms;
    const char *conversation; /* the conversation whose action it is; NULL: not an action */
    int64_t fence;            /* of that conversation */
};

/*
 * Sends the request, starting the sandbox when it is down. ERROR_UNAVAILABLE with a message when
 * there is none, when its server does not know the request (it is older), or sends a malformed
 * answer; ERROR_INVALID with the sandbox's message for a 4xx, ERROR_CONFLICT for a 409. Takes a
 * waiting slot of the owner's user: also errors of wait_slot_take().
 */
int sandbox_request_send(const struct fcgi_context *context, const struct sandbox_request *request,
                         json_t **answer_out, struct error *err) NONNULL MUST_CHECK;

/* As above for a running sandbox: starts none. ERROR_NOT_FOUND when it is not running. */
int sandbox_request_send_running(const struct fcgi_context *context,
                                 const struct sandbox_request *request, json_t **answer_out,
                                 struct error *err) NONNULL MUST_CHECK;

/* As above at a known endpoint; ignores the request's owner. */
int sandbox_request_send_at(const struct fcgi_context *context,
                            const struct sandbox_request *request,
                            const struct sandbox_endpoint *endpoint, json_t **answer_out,
                            struct error *err) NONNULL MUST_CHECK;

/*
 * Handles a failed request for a handler: replies 502 with a message if there is no sandbox; other
 * errors are passed on. Returns the handler's result.
 */
int sandbox_request_failed(struct reply *reply, const struct error *err) NONNULL MUST_CHECK;

#endif
