/*
 * After a conversation is deleted: its shells in a shared sandbox end too.
 */
#ifndef DEFT_FCGI_AGENT_SANDBOX_FORGET_H
#define DEFT_FCGI_AGENT_SANDBOX_FORGET_H

#include "base/attr.h"

struct conversation;
struct request;

/* Tells a shared sandbox that runs; does not wait for one that sleeps, and cannot fail. */
void sandbox_forget(const struct request *request, const struct conversation *conversation)
    NONNULL;

#endif
