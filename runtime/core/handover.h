/*
 * What a sandbox is given once it listens: the session's key and the environment of its shells. It
 * serves nothing before, and neither stands in the engine's or the sandbox's own records.
 *
 * Threading: any thread.
 */
#ifndef DEFT_RUNTIME_CORE_HANDOVER_H
#define DEFT_RUNTIME_CORE_HANDOVER_H

#include <jansson.h>

#include "base/attr.h"

struct error;
struct runtime;
struct service;
struct strbuf;

/* To a dormant sandbox at `url` of that runtime. ERROR_UNAVAILABLE when it does not take them. */
int handover_do(struct service *service, const struct runtime *runtime, const char *url,
                const char *init_key, struct error *err) NONNULL MUST_CHECK;
/* The same to one that was claimed: its row holds address and sealed init key. */
int handover_claimed(struct service *service, const struct runtime *runtime,
                     struct error *err) NONNULL MUST_CHECK;
/* What of a start's environment a sandbox gets: all that says nothing of the server itself. A new
 * reference. */
json_t *handover_environment(json_t *wanted) NONNULL MUST_CHECK;
/* Seals the init key of the sandbox that will be the runtime `id`. */
void handover_seal(struct service *service, const char *id, const char *init_key,
                   struct strbuf *sealed) NONNULL;

#endif
