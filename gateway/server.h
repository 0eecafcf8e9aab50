/*
 * The socket server: libwebsockets' callbacks, and its loop.
 */
#ifndef DEFT_GATEWAY_SERVER_H
#define DEFT_GATEWAY_SERVER_H

#include "base/attr.h"

struct error;
struct gateway;

/* Listens on the Unix socket; an old socket file is replaced. */
int server_open(struct gateway *gateway, const char *socket_path,
                struct error *err) NONNULL MUST_CHECK;
/* Serves until stop_fd (a signalfd) is readable. */
int server_run(struct gateway *gateway, int stop_fd, struct error *err) NONNULL MUST_CHECK;
void server_close(struct gateway *gateway) NONNULL;

#endif
