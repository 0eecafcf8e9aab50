/*
 * Authenticates a sandbox that calls with its own key, on the routes for sandboxes.
 */
#ifndef DEFT_FCGI_CORE_SANDBOX_CALLER_H
#define DEFT_FCGI_CORE_SANDBOX_CALLER_H

#include "base/attr.h"

struct error;
struct request;

/*
 * Sets the request's principal by X-Session-API-Key. *why_out: the message for the 401, in the
 * wording that clients know; NULL when the key belongs to a user's running sandbox.
 */
int sandbox_caller_identify(struct request *request, const char **why_out,
                            struct error *err) NONNULL MUST_CHECK;

#endif
