/*
 * A server with a deferred start serves only its health until it is initialized; after that it
 * never becomes dormant again, whichever process took the call.
 */
#ifndef DEFT_FCGI_CORE_DEFERRED_INIT_H
#define DEFT_FCGI_CORE_DEFERRED_INIT_H

#include <stdbool.h>

#include "base/attr.h"

struct error;
struct fcgi_context;
struct request;

/* The reply of dormant routes. */
#define DEFERRED_INIT_DETAIL "server is in deferred-init state 'dormant'; call POST /api/init first"

/* Whether the server still waits for its initialization. */
int deferred_init_is_dormant(const struct fcgi_context *context, bool *is_dormant_out,
                             struct error *err) NONNULL MUST_CHECK;
/*
 * Sets *is_blocked_out to true while the server is dormant and the request's route depends on that.
 */
int deferred_init_blocks(const struct request *request, bool *is_blocked_out,
                         struct error *err) NONNULL MUST_CHECK;

#endif
