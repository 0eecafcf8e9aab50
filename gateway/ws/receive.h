/*
 * Frames from a client: the first may bring its key, later ones are messages or commands.
 */
#ifndef DEFT_GATEWAY_WS_RECEIVE_H
#define DEFT_GATEWAY_WS_RECEIVE_H

#include <stddef.h>

#include "base/attr.h"

struct subscriber;

/*
 * Takes a part of a frame. A frame that is too long closes the socket: 1 MiB, or 8 KiB before the
 * client has authenticated. Input of a closing socket is discarded.
 */
void receive_bytes(struct subscriber *subscriber, const void *bytes, size_t len) NONNULL;
/*
 * Handles the frame, which is whole now. A bad frame gets an error reply on the socket; a wrong key
 * closes it.
 */
void receive_frame(struct subscriber *subscriber) NONNULL;

#endif
