/*
 * The address of a conversation's sandbox: requested early from the Runtime API, waited for late.
 *
 * Ownership: the struct owns its call and the endpoint; it borrows the agent.
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
    struct http_call *call; /* in progress, or NULL */
    struct sandbox_endpoint endpoint;
    bool is_doubted; /* no answer at its last known address */
};

/* agent: borrowed; sends no request yet. */
void sandbox_address_init(struct sandbox_address *address, const struct agent *agent) NONNULL;
void sandbox_address_done(struct sandbox_address *address) NONNULL;
/* Sends the request and returns; no-op if already done. */
void sandbox_address_begin(struct sandbox_address *address) NONNULL;
/* Waits until the address is known; errors of sandbox_ready(). */
int sandbox_address_wait(struct sandbox_address *address, struct error *err) NONNULL MUST_CHECK;
/*
 * Finds a running sandbox's address unless it is known; starts nothing. ERROR_NOT_FOUND,
 * ERROR_UNAVAILABLE and ERROR_TIMEOUT if it has none, or there is no answer in time.
 */
int sandbox_address_find(struct sandbox_address *address, int64_t timeout_ms,
                         struct error *err) NONNULL MUST_CHECK;
/* Takes the reply to sandbox_address_begin() if it has come: true if the address is known then. */
bool sandbox_address_take(struct sandbox_address *address) NONNULL MUST_CHECK;
bool sandbox_address_is_known(const struct sandbox_address *address) NONNULL MUST_CHECK;
/* No answer at the address: the next wait requests it again. The sandbox's id is kept. */
void sandbox_address_forget(struct sandbox_address *address) NONNULL;

#endif
