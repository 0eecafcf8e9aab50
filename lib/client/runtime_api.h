/*
 * Client of the Runtime API: requests the sandbox of a session and learns its address.
 *
 * Threading: any thread.
 */
#ifndef DEFT_CLIENT_RUNTIME_API_H
#define DEFT_CLIENT_RUNTIME_API_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "client/sandbox_call.h"

struct error;
struct http;
struct http_call;
struct secret;

/* How to reach the Runtime API; borrows. */
struct runtime_api {
    struct http *http;
    const char *url;    /* without a trailing slash */
    const char *socket; /* NULL: over TCP */
    const struct secret *key;
    int done_fd; /* eventfd signaled when a call from runtime_api_begin_*() is over; 0: none */
};

/* A start request; borrows. */
struct sandbox_start {
    const char *session_id;
    const char *owner_id;        /* user's uuid */
    const char *conversation_id; /* NULL for a shared sandbox */
    const char *image;
    int64_t wait_ms;         /* for readiness; 0..120000 */
    const json_t *container; /* {"memory": text, "cpus": number} from the creator, or NULL */
    bool is_doubted;  /* it did not answer the caller: if it does not answer the service either, it
                         is ended and started anew with the same files */
    bool keeps_image; /* a later start that names another image still gets this one */
};

/*
 * Starts, wakes or finds the session's sandbox and waits until it answers. Errors:
 * ERROR_UNAVAILABLE, with a message for a person, if it cannot run; ERROR_TIMEOUT if it is still
 * starting after wait_ms; ERROR_CANCELLED; ERROR_RATE_LIMITED.
 */
int runtime_api_start(const struct runtime_api *api, const struct sandbox_start *start,
                      struct sandbox_endpoint *endpoint_out, struct error *err) NONNULL MUST_CHECK;
/*
 * Asynchronous form: runtime_api_begin_*() returns at once; the caller waits with http_wait(), then
 * calls runtime_api_read_start(). Errors of the two together as above or, after begin_find(), as
 * runtime_api_find().
 */
int runtime_api_begin_start(const struct runtime_api *api, const struct sandbox_start *start,
                            struct http_call **call_out, struct error *err) NONNULL MUST_CHECK;
int runtime_api_begin_find(const struct runtime_api *api, const char *session_id,
                           int64_t timeout_ms, struct http_call **call_out,
                           struct error *err) NONNULL MUST_CHECK;
int runtime_api_read_start(const struct http_call *call, struct sandbox_endpoint *endpoint_out,
                           struct error *err) NONNULL MUST_CHECK;
/*
 * Address of the session's sandbox if it runs; starts nothing. ERROR_NOT_FOUND, or as above.
 * timeout_ms: for the whole call.
 */
int runtime_api_find(const struct runtime_api *api, const char *session_id, int64_t timeout_ms,
                     struct sandbox_endpoint *endpoint_out, struct error *err) NONNULL MUST_CHECK;
/* Wakes the runtime and waits at most wait_ms until it answers. Errors as runtime_api_start(). */
int runtime_api_resume(const struct runtime_api *api, const char *runtime_id, int64_t wait_ms,
                       struct error *err) NONNULL MUST_CHECK;
/*
 * {"logged","detail","refusals"}: network connections that were refused to the runtime. A new
 * reference; ERROR_NOT_FOUND.
 */
int runtime_api_refusals(const struct runtime_api *api, const char *runtime_id, json_t **reply_out,
                         struct error *err) NONNULL MUST_CHECK;
/* As runtime_api_start(), but returns as soon as the sandbox's id is known. */
int runtime_api_create(const struct runtime_api *api, const struct sandbox_start *start,
                       char id_out[RUNTIME_ID_MAX_BYTES], struct error *err) NONNULL MUST_CHECK;

enum runtime_order {
    RUNTIME_ORDER_PAUSE,
    RUNTIME_ORDER_RESUME, /* answered before it runs, unless it can continue at once */
    RUNTIME_ORDER_STOP,   /* keeps the workspace */
    RUNTIME_ORDER_FORGET, /* keeps nothing */
};
/*
 * Applies the order to the runtime. ERROR_NOT_FOUND if there is none, else as runtime_api_start().
 */
int runtime_api_order(const struct runtime_api *api, enum runtime_order order,
                      const char *runtime_id, struct error *err) NONNULL MUST_CHECK;

#endif
