/*
 * Open sockets whose caller's key, session or sandbox may be revoked: they are then closed with
 * 4001. A hint names the one that ended; the database is asked to confirm it.
 *
 * A hint may come between the look-up of a key and the opening of its socket: a joining subscriber
 * passes the number of hints seen at its look-up, and is checked again if more have come since.
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
    int64_t n_hints; /* received so far */
    struct ended_question question;
    const char **asked; /* NULL: no answer is awaited */
};

/* A subscriber's link in the list of callers. */
struct caller_link {
    struct subscriber *next;
    struct subscriber *previous;
    bool is_listed;
    bool is_doubted; /* to be checked */
};

void callers_init(struct callers *callers, struct gateway *gateway) NONNULL;
void callers_done(struct callers *callers) NONNULL;
/* Starts watching an authenticated subscriber; n_hints: the count when its key was looked up. */
void callers_join(struct subscriber *subscriber, int64_t n_hints) NONNULL;
/* Does nothing for one that has not joined. */
void callers_leave(struct subscriber *subscriber) NONNULL;
/* Checks that key, session or sandbox. */
void callers_doubt(struct callers *callers, const char *key_id) NONNULL;
/* Checks all: hints may have been missed. */
void callers_doubt_all(struct callers *callers) NONNULL;

#endif
