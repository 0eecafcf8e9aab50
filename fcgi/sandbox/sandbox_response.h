/*
 * Filters a sandbox's response for the client. A sandbox is hostile, and its response appears on an
 * origin that has the user's session: status, type and headers pass only by allowlist, and a
 * browser gets the body as a download or as a document of a separate origin.
 * Decision: docs/decisions/0037-answers-of-sandboxes.md
 */
#ifndef DEFT_FCGI_SANDBOX_SANDBOX_RESPONSE_H
#define DEFT_FCGI_SANDBOX_SANDBOX_RESPONSE_H

#include "base/attr.h"

struct error;
struct http_call;
struct reply;

/*
 * Sends the head of the reply for the call's response. reply->content_policy, if set, begins with
 * "sandbox" and means that the response is to be displayed, not downloaded. Errors: ERROR_INVALID
 * for a status that is not allowed; ERROR_CANCELLED when the client is gone.
 */
int sandbox_response_begin(struct reply *reply, const struct http_call *call,
                           struct error *err) NONNULL MUST_CHECK;

#endif
