/*
 * Open sockets whose key, session or sandbox may be revoked: they are then closed with 4001. A hint
 * names the credential that ended; the database is asked to confirm it.
 *
 * A hint may come between the look-up of a credential and the opening of its socket: a joining
 * socket passes the number of hints seen at its look-up, and is checked again if more have come
 * since.
 */
#ifndef DEFT_GATEWAY_WS_REVOCATION_H
#define DEFT_GATEWAY_WS_REVOCATION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/attr.h"
#include "store/conversation/async_store.h"

struct connection;
struct db_async;

/* A socket that depends on a credential. */
struct revocable {
    LIST_ENTRY(revocable) link;    /* while is_listed */
    const char *credential_id;     /* of the key, session or sandbox; borrowed */
    struct connection *connection; /* to close */
    bool is_listed;
    bool is_doubted; /* to be checked */
};

struct revocation {
    struct db_async *back;
    LIST_HEAD(revocables, revocable) sockets;
    int64_t n_hints; /* received so far */
    struct ended_query query;
    const char **asked; /* NULL: no answer is awaited */
};

/* back: borrowed. */
void revocation_init(struct revocation *revocation, struct db_async *back) NONNULL;
void revocation_done(struct revocation *revocation) NONNULL;
/*
 * Starts watching an authenticated socket, whose credential_id and connection are set; n_hints: the
 * count when its credential was looked up. Does nothing for one without credential ("").
 */
void revocation_join(struct revocation *revocation, struct revocable *socket,
                     int64_t n_hints) NONNULL;
/* Does nothing for one that has not joined. */
void revocation_leave(struct revocable *socket) NONNULL;
/* Checks that key, session or sandbox. */
void revocation_doubt(struct revocation *revocation, const char *credential_id) NONNULL;
/* Checks all: hints may have been missed. */
void revocation_doubt_all(struct revocation *revocation) NONNULL;

#endif
