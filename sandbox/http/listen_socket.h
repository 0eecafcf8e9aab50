/*
 * The TCP socket that deft-action listens on.
 */
#ifndef DEFT_SANDBOX_HTTP_LISTEN_SOCKET_H
#define DEFT_SANDBOX_HTTP_LISTEN_SOCKET_H

#include <stdint.h>

#include "base/attr.h"

struct action_config;
struct error;

/* Binds and listens; ERROR_INVALID for a malformed address, ERROR_UNAVAILABLE when it is in use. */
int listen_socket_open(const struct action_config *config, int *fd_out,
                       struct error *err) NONNULL MUST_CHECK;
/* Takes the inherited socket with that number; ERROR_INVALID when it does not listen. */
int listen_socket_inherit(int64_t number, int *fd_out, struct error *err) NONNULL MUST_CHECK;
/* The port of a listening socket. */
int listen_socket_port(int fd) MUST_CHECK;

#endif
