/*
 * Which addresses a call may reach, depending on who supplied its address: addresses from users and
 * sandboxes may only be on the public internet; the administrator's may also be on private
 * networks. Cloud metadata services are always refused.
 *
 * The check is made on the resolved address, so neither the spelling of a host nor a name server
 * can get around it.
 * Source: IANA special-purpose address registries (RFC 6890 and its updates).
 * Decision: docs/decisions/0041-private-addresses.md
 */
#ifndef DEFT_CLIENT_ADDRESS_FILTER_H
#define DEFT_CLIENT_ADDRESS_FILTER_H

#include <stdbool.h>

#include "base/attr.h"

struct sockaddr;

/* The supplier of a call's address; every call states it. */
enum address_owner {
    ADDRESS_UNSTATED,         /* a programming error: the call is refused */
    ADDRESS_OF_DEFT,          /* a service of deft's own, or a sandbox as the runtime placed it */
    ADDRESS_OF_ADMINISTRATOR, /* a setting of the process */
    ADDRESS_OF_USER,          /* a user's settings or request */
    ADDRESS_OF_SANDBOX,       /* a request with a sandbox's key */
};

/*
 * Whether an address from that source may be private. are_users_trusted: only the host's
 * administrator can reach this instance, so users are trusted like the administrator.
 */
bool address_filter_allows_private(enum address_owner owner, bool are_users_trusted) MUST_CHECK;

/* False also for address families other than IPv4 and IPv6. */
bool address_filter_allows(const struct sockaddr *address, bool allow_private) NONNULL MUST_CHECK;
/* As above for a textual address such as "192.0.2.1" or "2001:db8::1"; false if it is not one. */
bool address_filter_allows_text(const char *address, bool allow_private) NONNULL MUST_CHECK;

#endif
