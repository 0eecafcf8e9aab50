/*
 * A sandbox that calls with its own key, on routes that are for sandboxes.
 */
#ifndef DEFT_FCGI_SANDBOX_CALLER_H
#define DEFT_FCGI_SANDBOX_CALLER_H

#include "base/attr.h"

struct error;
struct request;

/*
 * Sets the request's principal by X-Session-API-Key. *why_out: what the caller is told with 401,
 * in the words that clients know; NULL when it is a user's sandbox, and runs.
 */
int sandbox_caller_identify(struct request *request, const char **why_out,
                            struct error *err) NONNULL MUST_CHECK;

#endif
