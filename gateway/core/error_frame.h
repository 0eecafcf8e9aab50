/*
 * The error frame for a client's bad frame, or one that had no effect; the socket stays open. Each
 * kind of socket has its own format.
 */
#ifndef DEFT_GATEWAY_COMPLAINT_H
#define DEFT_GATEWAY_COMPLAINT_H

#include "base/attr.h"

struct subscriber;

/* code: for programs, such as "ValidationError"; detail: for people. */
void complaint_send(struct subscriber *subscriber, const char *code, const char *detail) NONNULL;

#endif
