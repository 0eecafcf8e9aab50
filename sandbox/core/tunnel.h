/*
 * Bytes both ways between two sockets, until both ends have said all.
 *
 * Ownership: a tunnel owns its sockets; tunnel_free() closes them, also before its end.
 * Threading: one thread, the loop's.
 */
#ifndef DEFT_SANDBOX_CORE_TUNNEL_H
#define DEFT_SANDBOX_CORE_TUNNEL_H

#include "base/attr.h"

struct loop;
struct strbuf;
struct tunnel;

/* Whom to tell that it is over; he frees the tunnel. */
struct tunnel_owner {
    void (*ended)(void *owner);
    void *owner;
};

/* Takes both over, which do not block. first: what the second one hears before all else. */
struct tunnel *tunnel_new(struct loop *loop, int one, int other, const struct strbuf *first,
                          const struct tunnel_owner *owner) NONNULL MUST_CHECK;
void tunnel_free(struct tunnel *tunnel);

#endif
