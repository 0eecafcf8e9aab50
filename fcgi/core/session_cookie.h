/*
 * The cookie of a signed-in browser. With TLS its name begins with __Host-, so that a page of
 * another name below the same domain, such as a preview, cannot replace it (RFC 6265bis, section
 * 4.1.3.2). For one version the name without the prefix is read there, too, so that existing
 * sessions keep working.
 * Decision: docs/decisions/0047-callers.md
 */
#ifndef DEFT_FCGI_CORE_SESSION_COOKIE_H
#define DEFT_FCGI_CORE_SESSION_COOKIE_H

#include <stdbool.h>
#include <stdint.h>

#include "auth/session.h"
#include "base/attr.h"

struct reply;
struct request;

/* Copies the token of the browser's session; false when there is none. */
bool session_cookie_read(const struct request *request,
                         char token_out[SESSION_TOKEN_MAX_BYTES]) NONNULL MUST_CHECK;
/* Sets the token for max_age_s seconds; "" and 0 delete the cookie. */
void session_cookie_set(const struct request *request, struct reply *reply, const char *token,
                        int64_t max_age_s) NONNULL;

#endif
