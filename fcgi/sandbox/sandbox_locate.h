/*
 * Finds the sandbox that serves a caller or a conversation. Nothing is cached between requests: the
 * runtime's row holds the last known address, the Runtime API restarts the sandbox there or
 * elsewhere.
 *
 * Ownership: the caller owns the endpoint.
 */
#ifndef DEFT_FCGI_SANDBOX_SANDBOX_LOCATE_H
#define DEFT_FCGI_SANDBOX_SANDBOX_LOCATE_H

#include <jansson.h>

#include "base/attr.h"
#include "client/runtime_api.h"

struct conversation;
struct error;
struct fcgi_context;
struct principal;
struct runtime;

/* Selects a sandbox: the conversation's, or with NULL the caller's shared one. Borrows. */
struct sandbox_owner {
    const struct principal *principal;
    const struct conversation *conversation;
};

/* The session id for the Runtime API: "u-…" or "c-…". Borrowed from the owner. */
const char *sandbox_session(const struct sandbox_owner *owner) NONNULL MUST_CHECK;
/* Loads the row of that session; ERROR_NOT_FOUND when it never had a sandbox. */
int sandbox_load_row(const struct fcgi_context *context, const struct sandbox_owner *owner,
                     struct runtime *runtime_out, struct error *err) NONNULL MUST_CHECK;
/* The row's endpoint if it is running; ERROR_NOT_FOUND otherwise. Starts nothing. */
int sandbox_find(const struct fcgi_context *context, const struct sandbox_owner *owner,
                 struct sandbox_endpoint *endpoint_out, struct error *err) NONNULL MUST_CHECK;
/* Starts or resumes it and waits until it responds. Errors: see runtime_api_start(). */
int sandbox_start(const struct fcgi_context *context, const struct sandbox_owner *owner,
                  struct sandbox_endpoint *endpoint_out, struct error *err) NONNULL MUST_CHECK;
/*
 * As above after a call got no response: the service checks the sandbox itself, and restarts it if
 * it does not respond.
 */
int sandbox_start_doubted(const struct fcgi_context *context, const struct sandbox_owner *owner,
                          struct sandbox_endpoint *endpoint_out,
                          struct error *err) NONNULL MUST_CHECK;
/* Resumes a sandbox by its id, and waits until it responds. */
int sandbox_wake(const struct fcgi_context *context, const char *runtime_id,
                 struct error *err) NONNULL MUST_CHECK;
/* The endpoint in the row of a runtime that has an address. */
int sandbox_open(const struct fcgi_context *context, const struct runtime *runtime,
                 struct sandbox_endpoint *endpoint_out, struct error *err) NONNULL MUST_CHECK;
/* Creates a new sandbox; errors as runtime_api_create(). */
int sandbox_create(const struct fcgi_context *context, const struct sandbox_start *start,
                   char id_out[RUNTIME_ID_MAX_BYTES], struct error *err) NONNULL MUST_CHECK;
/* Applies the order to a sandbox by its id; errors as runtime_api_order(). */
int sandbox_order(const struct fcgi_context *context, enum runtime_order order,
                  const char *runtime_id, struct error *err) NONNULL MUST_CHECK;
/* Stops it, keeping the workspace. ERROR_NOT_FOUND when there is none. */
int sandbox_stop(const struct fcgi_context *context, const struct sandbox_owner *owner,
                 struct error *err) NONNULL MUST_CHECK;
/*
 * {"logged","detail","refusals"}: its denied network connections. A new reference; ERROR_NOT_FOUND
 * when there is none.
 */
int sandbox_refusals(const struct fcgi_context *context, const struct sandbox_owner *owner,
                     json_t **refusals_out, struct error *err) NONNULL MUST_CHECK;

#endif
