/*
 * From a caller and a conversation to the sandbox that serves them. Nothing is kept between
 * requests: the runtime's row says where it listened last, the Runtime API makes it so again.
 *
 * Ownership: the endpoint is the caller's.
 */
#ifndef DEFT_FCGI_SANDBOX_LINK_H
#define DEFT_FCGI_SANDBOX_LINK_H

#include <jansson.h>

#include "base/attr.h"
#include "client/runtime_api.h"

struct conversation;
struct error;
struct fcgi_context;
struct principal;
struct runtime;

/* Whose sandbox: the conversation's, or with NULL the one that all of the caller's share. Borrows.
 */
struct sandbox_owner {
    const struct principal *principal;
    const struct conversation *conversation;
};

/* The session at the Runtime API: "u-…" or "c-…". Borrowed from the owner. */
const char *sandbox_session(const struct sandbox_owner *owner) NONNULL MUST_CHECK;
/* The row of that session; ERROR_NOT_FOUND when it never had a sandbox. */
int sandbox_load_row(const struct fcgi_context *context, const struct sandbox_owner *owner,
                     struct runtime *runtime_out, struct error *err) NONNULL MUST_CHECK;
/* What the row says, when it says running; ERROR_NOT_FOUND otherwise. Starts nothing. */
int sandbox_find(const struct fcgi_context *context, const struct sandbox_owner *owner,
                 struct sandbox_endpoint *endpoint_out, struct error *err) NONNULL MUST_CHECK;
/* Starts or wakes it and waits until it answers. Errors: see runtime_api_start(). */
int sandbox_start(const struct fcgi_context *context, const struct sandbox_owner *owner,
                  struct sandbox_endpoint *endpoint_out, struct error *err) NONNULL MUST_CHECK;
/* The same of one where nobody answered just now: the service looks itself, and starts it anew
 * where nobody does. */
int sandbox_start_doubted(const struct fcgi_context *context, const struct sandbox_owner *owner,
                          struct sandbox_endpoint *endpoint_out,
                          struct error *err) NONNULL MUST_CHECK;
/* Wakes a sandbox that is known by its id alone, and waits until it answers. */
int sandbox_wake(const struct fcgi_context *context, const char *runtime_id,
                 struct error *err) NONNULL MUST_CHECK;
/* Where a runtime with an address listens, by its row. */
int sandbox_open(const struct fcgi_context *context, const struct runtime *runtime,
                 struct sandbox_endpoint *endpoint_out, struct error *err) NONNULL MUST_CHECK;
/* Asks for a new one; errors as runtime_api_create(). */
int sandbox_create(const struct fcgi_context *context, const struct sandbox_start *start,
                   char id_out[RUNTIME_ID_MAX_BYTES], struct error *err) NONNULL MUST_CHECK;
/* Has that done to one that is known by its id; errors as runtime_api_order(). */
int sandbox_order(const struct fcgi_context *context, enum runtime_order order,
                  const char *runtime_id, struct error *err) NONNULL MUST_CHECK;
/* Stops it, keeping the workspace. ERROR_NOT_FOUND when there is none. */
int sandbox_stop(const struct fcgi_context *context, const struct sandbox_owner *owner,
                 struct error *err) NONNULL MUST_CHECK;
/* {"logged","detail","refusals"}: what it was refused on the network. A new reference;
 * ERROR_NOT_FOUND when there is none. */
int sandbox_refusals(const struct fcgi_context *context, const struct sandbox_owner *owner,
                     json_t **refusals_out, struct error *err) NONNULL MUST_CHECK;

#endif
