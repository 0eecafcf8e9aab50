/*
 * What a client sends on its socket: the first frame may bring its key, later ones are messages.
 *
 * Ownership: an inbox outlives its subscriber until its last message is stored.
 */
#ifndef DEFT_GATEWAY_INBOX_H
#define DEFT_GATEWAY_INBOX_H

#include "base/attr.h"

struct inbox;
struct subscriber;

/*
 * Handles one whole frame of the client (subscriber->incoming). A bad one is answered on the socket
 * itself; a wrong key closes it.
 */
void inbox_handle(struct subscriber *subscriber) NONNULL;
/* The subscriber goes away; what it said is stored all the same. NULL is fine. */
void inbox_leave(struct inbox *inbox);

#endif
