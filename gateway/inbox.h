/*
 * Frames from a client: the first may bring its key, later ones are messages.
 *
 * Ownership: an inbox outlives its subscriber until its last message is stored.
 */
#ifndef DEFT_GATEWAY_INBOX_H
#define DEFT_GATEWAY_INBOX_H

#include "base/attr.h"

struct inbox;
struct subscriber;

/*
 * Handles one whole frame of the client (subscriber->incoming). A bad frame gets an error reply on
 * the socket; a wrong key closes it.
 */
void inbox_handle(struct subscriber *subscriber) NONNULL;
/* Detaches the subscriber; messages already received are still stored. Accepts NULL. */
void inbox_leave(struct inbox *inbox);

#endif
