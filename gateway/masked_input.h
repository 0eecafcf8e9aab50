/*
 * Sees to it that clients mask their frames. libwebsockets takes others as well, and tells nothing
 * of a frame's head. It reads its sockets by recv(), so this program has a recv() of its own, which
 * reads along on the sockets that are watched and hands over nothing from the first frame on that
 * is not masked.
 *
 * Threading: opened before there are other threads, then the service thread's. recv() is called by
 * any thread, for sockets of its own.
 */
#ifndef DEFT_GATEWAY_MASKED_INPUT_H
#define DEFT_GATEWAY_MASKED_INPUT_H

#include <stddef.h>

#include "base/attr.h"

struct error;

/* Called once for a socket, by the service thread, from within libwebsockets' read. */
typedef void masked_input_refuse(void *owner);

/* Makes room for as many sockets as the process may open. */
int masked_input_open(struct error *err) NONNULL MUST_CHECK;
/* No socket may be read any more. */
void masked_input_close(void);
/* Watches a socket; the next n_head_bytes on it are those of the upgrade. */
void masked_input_watch(int fd, size_t n_head_bytes);
/* Says whom to tell; without it the bytes are withheld all the same. */
void masked_input_tell(int fd, masked_input_refuse *refuse, void *owner) NONNULL;
/* The socket is about to be closed. */
void masked_input_forget(int fd);

#endif
