/*
 * A listening socket in the event loop: accepts connections, up to a limit of its own, so that the
 * clients of one listener cannot lock out those of another.
 *
 * While descriptors or memory are short, accepting pauses: the loop would be woken without end.
 * Ownership: the acceptor belongs to its caller, and owns the socket.
 * Threading: the loop's thread.
 */
#ifndef DEFT_SANDBOX_CORE_CONNECTION_ACCEPTOR_H
#define DEFT_SANDBOX_CORE_CONNECTION_ACCEPTOR_H

#include <stddef.h>

#include "base/attr.h"
#include "sandbox/core/event_loop.h"

struct error;

struct connection_acceptor {
    struct event_loop *loop;
    struct event_loop_source source; /* fd -1: does not listen */
    struct event_loop_timer pause;
    void (*accepted)(void *owner, int fd); /* takes the descriptor, which is non-blocking */
    void *owner;
    size_t n_max;
    size_t n_open; /* counted by the owner's connections; beyond n_max new ones are closed */
};

/* Begins to accept from a listening, non-blocking socket. ERROR_UNAVAILABLE. */
int connection_acceptor_start(struct connection_acceptor *acceptor, struct event_loop *loop,
                              struct error *err) NONNULL MUST_CHECK;
/* Closes the socket; one that was never started is allowed. */
void connection_acceptor_done(struct connection_acceptor *acceptor) NONNULL;

#endif
