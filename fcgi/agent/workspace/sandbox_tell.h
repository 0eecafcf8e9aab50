/*
 * Best-effort notifications to a sandbox: replies do not depend on them.
 */
#ifndef DEFT_FCGI_AGENT_WORKSPACE_SANDBOX_TELL_H
#define DEFT_FCGI_AGENT_WORKSPACE_SANDBOX_TELL_H

#include "base/attr.h"

struct conversation;
struct request;

/*
 * The conversation is deleted: ends its shells in a shared sandbox. A sandbox of its own is removed
 * whole.
 */
void sandbox_forget(const struct request *request, const struct conversation *conversation) NONNULL;
/* The run is over: sends Ctrl-C to whatever still runs in its shells. */
void sandbox_interrupt(const struct request *request,
                       const struct conversation *conversation) NONNULL;

#endif
