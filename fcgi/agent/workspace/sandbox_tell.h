/*
 * Things that a sandbox should know, and that nobody waits for: an answer does not depend on them.
 */
#ifndef DEFT_FCGI_AGENT_WORKSPACE_SANDBOX_TELL_H
#define DEFT_FCGI_AGENT_WORKSPACE_SANDBOX_TELL_H

#include "base/attr.h"

struct conversation;
struct request;

/* The conversation is deleted: its shells in a shared sandbox end. One of its own goes whole. */
void sandbox_forget(const struct request *request, const struct conversation *conversation) NONNULL;
/* The run is over: what is still at work in its shells gets Ctrl-C. */
void sandbox_interrupt(const struct request *request,
                       const struct conversation *conversation) NONNULL;

#endif
