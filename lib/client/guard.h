/*
 * Which addresses a call may reach, by whose word it goes there: those that a user or a sandbox
 * named only on the public internet; the administrator's on private networks, too, but nowhere
 * where clouds keep their metadata.
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

/* Whose word named the address of a call: every call says so. */
enum address_owner {
    ADDRESS_UNSTATED,         /* a mistake: the call is refused */
    ADDRESS_OF_DEFT,          /* a service of deft's own, or a sandbox as the runtime placed it */
    ADDRESS_OF_ADMINISTRATOR, /* a setting of the process */
    ADDRESS_OF_USER,          /* a user's settings or request */
    ADDRESS_OF_SANDBOX,       /* a request with a sandbox's key */
};

/*
 * Whether such an address may be private. are_users_trusted: nobody but the host's administrator
 * reaches this instance, so that a user's word is the administrator's.
 */
bool guard_allows_private(enum address_owner owner, bool are_users_trusted) MUST_CHECK;

/* False for addresses of other families than IPv4 and IPv6, too. */
bool guard_allows(const struct sockaddr *address, bool allow_private) NONNULL MUST_CHECK;
/* The same for an address as text, such as "192.0.2.1" or "2001:db8::1"; false when it is none. */
bool guard_text_allows(const char *address, bool allow_private) NONNULL MUST_CHECK;

#endif
