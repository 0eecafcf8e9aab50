/*
 * A listening Unix socket, which nginx connects to.
 */
#ifndef DEFT_GATEWAY_CORE_LISTENER_H
#define DEFT_GATEWAY_CORE_LISTENER_H

#include "base/attr.h"

struct error;

/*
 * Listens; replaces an old socket file. *fd_out is non-blocking and owned by the caller.
 * ERROR_INVALID for a path that is too long, else ERROR_UNAVAILABLE.
 */
int listener_open(const char *socket_path, int *fd_out, struct error *err) NONNULL MUST_CHECK;

#endif
