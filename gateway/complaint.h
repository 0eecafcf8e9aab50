/*
 * What a socket is told about a bad frame of its client, or one that came to nothing; it stays
 * open. Each kind of socket has its own words for it.
 */
#ifndef DEFT_GATEWAY_COMPLAINT_H
#define DEFT_GATEWAY_COMPLAINT_H

#include "base/attr.h"

struct subscriber;

/* code: a name for programs, such as "ValidationError"; detail: for a person. */
void complaint_send(struct subscriber *subscriber, const char *code, const char *detail) NONNULL;

#endif
