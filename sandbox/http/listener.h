/*
 * The TCP socket that deft-action listens on.
 */
#ifndef DEFT_SANDBOX_HTTP_LISTENER_H
#define DEFT_SANDBOX_HTTP_LISTENER_H

#include <stdint.h>

#include "base/attr.h"

struct config;
struct error;

/* Binds and listens; ERROR_INVALID for a malformed address, ERROR_UNAVAILABLE when it is in use. */
int listener_open(const struct config *config, int *fd_out, struct error *err) NONNULL MUST_CHECK;
/* Takes the inherited socket with that number; ERROR_INVALID when it does not listen. */
int listener_take(int64_t number, int *fd_out, struct error *err) NONNULL MUST_CHECK;
/* The port of a listening socket. */
int listener_port(int fd) MUST_CHECK;

#endif
