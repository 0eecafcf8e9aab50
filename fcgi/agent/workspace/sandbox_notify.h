/*
 * Best-effort notifications to a sandbox: replies do not depend on them.
 */
#ifndef DEFT_FCGI_AGENT_WORKSPACE_SANDBOX_NOTIFY_H
#define DEFT_FCGI_AGENT_WORKSPACE_SANDBOX_NOTIFY_H

#include "base/attr.h"

struct conversation;
struct request;

/*
 * Ends a deleted conversation's shells in a shared sandbox. Does nothing for a sandbox of its own,
 * which is removed whole.
 */
void sandbox_notify_deleted(const struct request *request,
                            const struct conversation *conversation) NONNULL;
/* The run is over: sends Ctrl-C to whatever still runs in its shells. */
void sandbox_notify_interrupted(const struct request *request,
                                const struct conversation *conversation) NONNULL;

#endif
