/*
 * Parameters of a server's WWW-Authenticate header.
 *
 * Threading: pure.
 * Source: RFC 9110, section 11.6.1; RFC 6750, section 3.
 */
#ifndef DEFT_CLIENT_AUTH_CHALLENGE_H
#define DEFT_CLIENT_AUTH_CHALLENGE_H

#include "base/attr.h"

struct strbuf;

/* Appends the value of the header's first parameter of that name; nothing if there is none. */
void auth_challenge_append(struct strbuf *out, const char *header, const char *name) NONNULL;

#endif
