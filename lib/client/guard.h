/*
 * Which addresses a call made on a stranger's word may reach: only those of the public internet,
 * or, where private ones are allowed, all but link-local ones, where clouds keep their metadata.
 *
 * The address itself is judged, after the name was resolved, so that no spelling of a host and no
 * name server can talk its way in.
 * Source: IANA special-purpose address registries (RFC 6890 and its updates).
 */
#ifndef DEFT_CLIENT_GUARD_H
#define DEFT_CLIENT_GUARD_H

#include <stdbool.h>

#include "base/attr.h"

struct sockaddr;

/* False for addresses of other families than IPv4 and IPv6, too. */
bool guard_allows(const struct sockaddr *address, bool allow_private) NONNULL MUST_CHECK;
/* The same for an address as text, such as "192.0.2.1" or "2001:db8::1"; false when it is none. */
bool guard_text_allows(const char *address, bool allow_private) NONNULL MUST_CHECK;

#endif
