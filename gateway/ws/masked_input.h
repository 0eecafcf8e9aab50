/*
 * Enforces that clients mask their frames. libwebsockets also accepts unmasked ones, and does not
 * expose frame heads. It reads its sockets with recv(), so this program overrides recv(): it parses
 * the input of watched sockets and passes nothing on from the first unmasked frame.
 *
 * Threading: opened before other threads start, then used by the service thread only. recv() may be
 * called by any thread, for its own sockets.
 */
#ifndef DEFT_GATEWAY_WS_MASKED_INPUT_H
#define DEFT_GATEWAY_WS_MASKED_INPUT_H

#include "base/attr.h"

struct error;

/* Called once for a socket, by the service thread, from within libwebsockets' read. */
typedef void masked_input_refuse(void *owner);

/* Allocates room for as many sockets as the process may open. */
int masked_input_open(struct error *err) NONNULL MUST_CHECK;
/* No socket may be read after this. */
void masked_input_close(void);
/* Watches a new connection: frames follow the head of its request. */
void masked_input_watch(int fd);
/* Sets the callback; without one the bytes are still withheld. */
void masked_input_tell(int fd, masked_input_refuse *refuse, void *owner) NONNULL;
/* The socket is about to be closed. */
void masked_input_forget(int fd);

#endif
