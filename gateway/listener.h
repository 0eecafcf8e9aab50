/*
 * A Unix socket to listen on, which nginx connects to.
 */
#ifndef DEFT_GATEWAY_LISTENER_H
#define DEFT_GATEWAY_LISTENER_H

#include "base/attr.h"

struct error;

/*
 * Listens; an old socket file is replaced. *fd_out does not block, and is the caller's.
 * ERROR_INVALID for a path that is too long, else ERROR_UNAVAILABLE.
 */
int listener_open(const char *socket_path, int *fd_out, struct error *err) NONNULL MUST_CHECK;

#endif
