/*
 * From an open socket to a place in a conversation's log: who is it, may it see the conversation,
 * where does it begin.
 *
 * Ownership: a subscriber owns its arrival, which ends by itself.
 */
#ifndef DEFT_GATEWAY_ARRIVAL_H
#define DEFT_GATEWAY_ARRIVAL_H

#include "base/attr.h"

struct arrival;
struct subscriber;

/* Asks who has the key, then goes on as arrival_begin(); a wrong one closes with 4001. */
void arrival_authenticate(struct subscriber *subscriber, const char *key) NONNULL;
/* For an authenticated subscriber: attaches it to its stream, or closes it. */
void arrival_begin(struct subscriber *subscriber) NONNULL;
void arrival_free(struct arrival *arrival);

#endif
