/*
 * The socket server: libwebsockets' callbacks, and its loop.
 */
#ifndef DEFT_GATEWAY_SERVER_H
#define DEFT_GATEWAY_SERVER_H

#include <stdint.h>

#include "base/attr.h"

struct error;
struct gateway;

/* Makes libwebsockets' context; it listens nowhere: the door hands sockets over. */
int server_open(struct gateway *gateway, struct error *err) NONNULL MUST_CHECK;
/* Ticks in that time at the latest; -1: in a second. */
void server_schedule(struct gateway *gateway, int64_t in_ms) NONNULL;
/* Serves until stop_fd (a signalfd) is readable. */
int server_run(struct gateway *gateway, int stop_fd, struct error *err) NONNULL MUST_CHECK;
void server_close(struct gateway *gateway) NONNULL;

#endif
