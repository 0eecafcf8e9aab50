/*
 * Frames from a client: the first may bring its key, later ones are messages or commands.
 */
#ifndef DEFT_GATEWAY_WS_RECEIVE_H
#define DEFT_GATEWAY_WS_RECEIVE_H

#include "base/attr.h"

struct subscriber;

/*
 * Handles one whole frame of the client (subscriber->incoming). A bad frame gets an error reply on
 * the socket; a wrong key closes it.
 */
void receive_frame(struct subscriber *subscriber) NONNULL;

#endif
