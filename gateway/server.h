/*
 * The WebSocket server: libwebsockets' callbacks and its event loop.
 */
#ifndef DEFT_GATEWAY_SERVER_H
#define DEFT_GATEWAY_SERVER_H

#include <stdint.h>

#include "base/attr.h"

struct error;
struct gateway;

/* Creates libwebsockets' context. It has no listening socket: the acceptor hands sockets over. */
int server_open(struct gateway *gateway, struct error *err) NONNULL MUST_CHECK;
/* Ticks within that time; -1: within a second. */
void server_schedule(struct gateway *gateway, int64_t in_ms) NONNULL;
/* Serves until stop_fd (a signalfd) is readable. */
int server_run(struct gateway *gateway, int stop_fd, struct error *err) NONNULL MUST_CHECK;
void server_close(struct gateway *gateway) NONNULL;

#endif
