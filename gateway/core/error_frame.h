/*
 * The error frame for a client's bad frame, or one that had no effect; the socket stays open. Each
 * kind of socket has its own format.
 */
#ifndef DEFT_GATEWAY_CORE_ERROR_FRAME_H
#define DEFT_GATEWAY_CORE_ERROR_FRAME_H

#include "base/attr.h"

struct connection;

/* code: for programs, such as "ValidationError"; detail: for people. */
void error_frame_send(struct connection *connection, const char *code, const char *detail) NONNULL;

#endif
