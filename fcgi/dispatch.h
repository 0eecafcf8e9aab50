/*
 * One request from its first byte to its last: route, who calls, body, handler, answer, log line.
 */
#ifndef DEFT_FCGI_DISPATCH_H
#define DEFT_FCGI_DISPATCH_H

#include "base/attr.h"

struct fcgi_context;
struct reply;
struct request_input;

/* Never fails: what goes wrong is the answer. The reply's output is set by the caller. */
void dispatch(const struct fcgi_context *context, const struct request_input *input,
              struct reply *reply) NONNULL;

#endif
