/*
 * The cookie of a signed-in browser. Where TLS is, its name begins with __Host-, so that no page of
 * another name below the same domain, a preview's above all, can put one of its own in its place
 * (RFC 6265bis, section 4.1.3.2). The name without is read there, too, for one version: sessions of
 * before go on to work.
 */
#ifndef DEFT_FCGI_SESSION_COOKIE_H
#define DEFT_FCGI_SESSION_COOKIE_H

#include <stdbool.h>
#include <stdint.h>

#include "auth/session.h"
#include "base/attr.h"

struct reply;
struct request;

/* Copies the token of the browser's session; false when it brings none. */
bool session_cookie_read(const struct request *request,
                         char token_out[SESSION_TOKEN_MAX_BYTES]) NONNULL MUST_CHECK;
/* Gives the browser a token for max_age_s seconds; "" and 0 take it away. */
void session_cookie_set(const struct request *request, struct reply *reply, const char *token,
                        int64_t max_age_s) NONNULL;

#endif
