/*
 * Handles one request: route, authentication, body, handler, reply, log line.
 */
#ifndef DEFT_FCGI_CORE_DISPATCH_H
#define DEFT_FCGI_CORE_DISPATCH_H

#include "base/attr.h"

struct fcgi_context;
struct reply;
struct request_input;

/* Never fails: errors become the reply. The caller sets the reply's output. */
void dispatch(const struct fcgi_context *context, const struct request_input *input,
              struct reply *reply) NONNULL;

#endif
