/*
 * Attaches an open socket to a conversation's log: authenticates the caller, checks access to the
 * conversation and finds the first event to send.
 *
 * Ownership: a subscriber owns its arrival, which frees itself when it is done.
 */
#ifndef DEFT_GATEWAY_ARRIVAL_H
#define DEFT_GATEWAY_ARRIVAL_H

#include "base/attr.h"

struct arrival;
struct subscriber;

/* Looks up the key's owner, then continues as arrival_begin(); closes with 4001 on a wrong key. */
void arrival_authenticate(struct subscriber *subscriber, const char *key) NONNULL;
/* Attaches an authenticated subscriber to its stream, or closes it. */
void arrival_begin(struct subscriber *subscriber) NONNULL;
void arrival_free(struct arrival *arrival);

#endif
