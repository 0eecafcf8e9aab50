/*
 * The Runtime API as its callers see it: ask for the sandbox of a session, get where it listens.
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

/* Where the Runtime API is; borrows. */
struct runtime_api {
    struct http *http;
    const char *url;    /* without a slash at the end */
    const char *socket; /* NULL: over TCP */
    const struct secret *key;
    int done_fd; /* an eventfd that hears when a call of the halves below is over; 0: none */
};

/* What is asked for; borrows. */
struct sandbox_start {
    const char *session_id;
    const char *owner_id;        /* user's uuid */
    const char *conversation_id; /* NULL for a shared one */
    const char *image;
    int64_t wait_ms;         /* for readiness; 0..120000 */
    const json_t *container; /* {"memory": text, "cpus": number} of the creator, or NULL */
    bool is_doubted;         /* nobody answered there: one that does not answer the service either
                                is ended, and started anew on the same files */
    bool keeps_image;        /* whoever wakes it later by another image's name gets this one */
};

/*
 * Starts, wakes or finds the session's sandbox and waits until it answers. Errors:
 * ERROR_UNAVAILABLE with words for a person when it cannot run, ERROR_TIMEOUT when it still starts
 * after wait_ms, ERROR_CANCELLED, ERROR_RATE_LIMITED.
 */
int runtime_api_start(const struct runtime_api *api, const struct sandbox_start *start,
                      struct sandbox_endpoint *endpoint_out, struct error *err) NONNULL MUST_CHECK;
/* In two halves, for who has other things to do meanwhile: asks and returns; the caller waits for
 * the call with http_wait(), then reads its answer. Together they have the errors of the above, or
 * with begin_find() those of runtime_api_find(). */
int runtime_api_begin_start(const struct runtime_api *api, const struct sandbox_start *start,
                            struct http_call **call_out, struct error *err) NONNULL MUST_CHECK;
int runtime_api_begin_find(const struct runtime_api *api, const char *session_id,
                           int64_t timeout_ms, struct http_call **call_out,
                           struct error *err) NONNULL MUST_CHECK;
int runtime_api_read_start(const struct http_call *call, struct sandbox_endpoint *endpoint_out,
                           struct error *err) NONNULL MUST_CHECK;
/*
 * Where the session's sandbox listens, if it runs: starts nothing. ERROR_NOT_FOUND, or as above.
 * timeout_ms: for the whole call.
 */
int runtime_api_find(const struct runtime_api *api, const char *session_id, int64_t timeout_ms,
                     struct sandbox_endpoint *endpoint_out, struct error *err) NONNULL MUST_CHECK;
/* Wakes the runtime and waits until it answers, at most wait_ms. Errors as runtime_api_start(). */
int runtime_api_resume(const struct runtime_api *api, const char *runtime_id, int64_t wait_ms,
                       struct error *err) NONNULL MUST_CHECK;
/* {"logged","detail","refusals"}: what the runtime was refused on the network. A new reference;
 * ERROR_NOT_FOUND. */
int runtime_api_refusals(const struct runtime_api *api, const char *runtime_id, json_t **reply_out,
                         struct error *err) NONNULL MUST_CHECK;
/* Asks for a sandbox as runtime_api_start() does, and waits for nothing but its id. */
int runtime_api_create(const struct runtime_api *api, const struct sandbox_start *start,
                       char id_out[RUNTIME_ID_MAX_BYTES], struct error *err) NONNULL MUST_CHECK;

enum runtime_order {
    RUNTIME_ORDER_PAUSE,
    RUNTIME_ORDER_RESUME, /* is answered before it runs, unless it goes on at once */
    RUNTIME_ORDER_STOP,   /* keeps its workspace */
    RUNTIME_ORDER_FORGET, /* keeps nothing */
};
/* Has that done to the runtime. ERROR_NOT_FOUND when there is none, else as runtime_api_start(). */
int runtime_api_order(const struct runtime_api *api, enum runtime_order order,
                      const char *runtime_id, struct error *err) NONNULL MUST_CHECK;

/* "512m", "4g", "2GiB" as bytes; 0 when it is none of that form. */
int64_t runtime_memory_bytes(const char *text) NONNULL MUST_CHECK;

#endif
