/*
 * Gives a sandbox its session key and the environment of its shells once it listens. It serves no
 * requests before; neither value is in the engine's or the sandbox's own records.
 *
 * Threading: any thread.
 */
#ifndef DEFT_RUNTIME_CORE_SANDBOX_INIT_H
#define DEFT_RUNTIME_CORE_SANDBOX_INIT_H

#include <jansson.h>

#include "base/attr.h"

struct error;
struct runtime;
struct service;
struct strbuf;

/* A dormant sandbox; all texts are borrowed. */
struct dormant_sandbox {
    const char *url;
    const char *init_key;
    const char *egress; /* its policy, as egress_assign() appends it */
};

/* To the runtime's dormant sandbox. ERROR_UNAVAILABLE if it does not accept them. */
int sandbox_init_send(struct service *service, const struct runtime *runtime,
                      const struct dormant_sandbox *sandbox, struct error *err) NONNULL MUST_CHECK;
/* As above for a claimed sandbox: its row contains its address and sealed init key. */
int sandbox_init_send_claimed(struct service *service, const struct runtime *runtime,
                              const char *egress, struct error *err) NONNULL MUST_CHECK;
/* Environment for the sandbox: the start request's, without variables reserved for the server. A
 * new reference. */
json_t *sandbox_init_environment(json_t *wanted) NONNULL MUST_CHECK;
/* Seals the init key of the sandbox that will be the runtime `id`. */
void sandbox_init_seal_key(struct service *service, const char *id, const char *init_key,
                           struct strbuf *sealed) NONNULL;

#endif
