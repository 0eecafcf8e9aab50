/*
 * Where a conversation's sandbox listens: asked of the Runtime API early, waited for late.
 *
 * Ownership: the struct owns its call and what it learned; it borrows the agent.
 * Threading: one thread; a stop request reaches the wait through the agent's control.
 */
#ifndef DEFT_WORKER_AGENT_SANDBOX_SANDBOX_ADDRESS_H
#define DEFT_WORKER_AGENT_SANDBOX_SANDBOX_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "client/runtime_api.h"

struct agent;
struct error;
struct http_call;

struct sandbox_address {
    const struct agent *agent;
    struct http_call *call; /* on its way, or NULL */
    struct sandbox_endpoint endpoint;
    bool is_doubted; /* nobody answered where it was said to be */
};

/* agent: borrowed; nothing is asked yet. */
void sandbox_address_init(struct sandbox_address *address, const struct agent *agent) NONNULL;
void sandbox_address_done(struct sandbox_address *address) NONNULL;
/* Asks for it and returns, unless that is done already. */
void sandbox_address_begin(struct sandbox_address *address) NONNULL;
/* Waits until it is known; errors of sandbox_ready(). */
int sandbox_address_wait(struct sandbox_address *address, struct error *err) NONNULL MUST_CHECK;
/*
 * Looks whether it runs, unless its address is known: starts nothing. ERROR_NOT_FOUND,
 * ERROR_UNAVAILABLE and ERROR_TIMEOUT when it has none, or nobody says so in time.
 */
int sandbox_address_find(struct sandbox_address *address, int64_t timeout_ms,
                         struct error *err) NONNULL MUST_CHECK;
bool sandbox_address_is_known(const struct sandbox_address *address) NONNULL MUST_CHECK;
/* Nobody answers there: the next wait asks again. The sandbox's id stays known. */
void sandbox_address_forget(struct sandbox_address *address) NONNULL;

#endif
