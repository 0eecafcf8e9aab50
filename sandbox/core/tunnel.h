/*
 * Forwards bytes both ways between two sockets until both ends have closed.
 *
 * Ownership: a tunnel owns its sockets; tunnel_free() closes them, also before its end.
 * Threading: the loop's thread.
 */
#ifndef DEFT_SANDBOX_CORE_TUNNEL_H
#define DEFT_SANDBOX_CORE_TUNNEL_H

#include "base/attr.h"

struct event_loop;
struct strbuf;
struct tunnel;

/* Notified when the tunnel ends; frees it. */
struct tunnel_owner {
    void (*ended)(void *owner);
    void *owner;
};

/* Takes ownership of both sockets, which are non-blocking. first: sent to the second one first. */
struct tunnel *tunnel_new(struct event_loop *loop, int one, int other, const struct strbuf *first,
                          const struct tunnel_owner *owner) NONNULL MUST_CHECK;
void tunnel_free(struct tunnel *tunnel);

#endif
