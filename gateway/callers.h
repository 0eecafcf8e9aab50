/*
 * Sockets of callers whose key, session or sandbox may end while they are open: then they are
 * closed with 4001. A hint says which one has ended; that it has is asked of the database.
 *
 * A hint may come between the look-up of a key and the opening of its socket: who joins says which
 * hints had come when it was looked up, and is asked about again when there are more by now.
 */
#ifndef DEFT_GATEWAY_CALLERS_H
#define DEFT_GATEWAY_CALLERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "store/conversation/live_store.h"

struct gateway;
struct subscriber;

struct callers {
    struct gateway *gateway;
    struct subscriber *first;
    int64_t n_hints; /* that have come */
    struct ended_question question;
    const char **asked; /* NULL: no answer is awaited */
};

/* A subscriber's place among them. */
struct caller_link {
    struct subscriber *next;
    struct subscriber *previous;
    bool is_listed;
    bool is_doubted; /* to be asked about */
};

void callers_init(struct callers *callers, struct gateway *gateway) NONNULL;
void callers_done(struct callers *callers) NONNULL;
/* Watches over an authenticated subscriber; n_hints: when its key was looked up. */
void callers_join(struct subscriber *subscriber, int64_t n_hints) NONNULL;
/* Does nothing to one that has not joined. */
void callers_leave(struct subscriber *subscriber) NONNULL;
/* Asks about that key, session or sandbox. */
void callers_doubt(struct callers *callers, const char *key_id) NONNULL;
/* Asks about all: hints may have been missed. */
void callers_doubt_all(struct callers *callers) NONNULL;

#endif
