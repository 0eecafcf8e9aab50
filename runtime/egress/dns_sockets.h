/*
 * The sockets at which sandboxes with a list of destinations ask for names: one for UDP and one for
 * TCP at the gateway of each such sandbox.
 *
 * Ownership: they are closed once their bridge is gone, or by egress_free().
 * Threading: any thread.
 */
#ifndef DEFT_RUNTIME_EGRESS_DNS_SOCKETS_H
#define DEFT_RUNTIME_EGRESS_DNS_SOCKETS_H

#include "base/attr.h"
#include "runtime/egress/egress_state.h"

struct error;

/* Opens the socket at a bridge's gateway if needed; no-op if the bridge is gone. */
int dns_sockets_open(struct egress *egress, const char *bridge,
                     struct error *err) NONNULL MUST_CHECK;
/* Closes sockets of bridges that are gone. */
void dns_sockets_close_gone(struct egress *egress) NONNULL;
/*
 * A copy of a bridge's socket, since both may be gone before the reply; -1: there is none, or no
 * descriptor for it.
 */
int dns_sockets_copy(struct egress *egress, enum dns_protocol protocol,
                     unsigned bridge_index) NONNULL MUST_CHECK;
/* Lets the next thread take a connection of that bridge. */
void dns_sockets_resume(struct egress *egress, unsigned bridge_index) NONNULL;
/*
 * Waits a moment for other threads to close descriptors, or for the stop: a query that cannot be
 * taken for lack of one is ready again at once.
 */
void dns_sockets_pause(struct egress *egress) NONNULL;
void dns_socket_close(struct dns_socket *socket) NONNULL;

#endif
