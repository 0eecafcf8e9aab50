/*
 * Callers from outside: each sees its own runtimes, under names that no other tenant can meet, and
 * has so many at a time.
 *
 * Threading: any thread.
 */
#ifndef DEFT_RUNTIME_CORE_TENANT_H
#define DEFT_RUNTIME_CORE_TENANT_H

#include <stdint.h>

#include "base/attr.h"

struct error;
struct keyring;
struct runtime;
struct service;
struct start_spec;
struct tenant;

/* "t-" and 32 hex digits: fits wherever a session of ours does, however long the tenant's name. */
#define TENANT_SESSION_BYTES 35

/* ERROR_UNAUTHENTICATED for a key that is none; NULL is none. */
int tenant_find(struct service *service, const char *key, struct tenant *tenant_out,
                struct error *err) __attribute__((nonnull(1, 3, 4))) MUST_CHECK;
/* How many runtimes whoever owns this one may have running; 0: it is no tenant's. */
int tenant_load_most(struct service *service, const struct runtime *runtime, int64_t *most_out,
                     struct error *err) NONNULL MUST_CHECK;
/* What the tenant's session is called among ours. */
void tenant_name_session(const struct keyring *keyring, const struct tenant *tenant,
                         const char *session, char name_out[TENANT_SESSION_BYTES]) NONNULL;
/* Makes the start the tenant's: its name, its user, and none of what only our own may say. */
void tenant_own_start(const struct keyring *keyring, const struct tenant *tenant,
                      struct start_spec *spec) NONNULL;
/* ERROR_NOT_FOUND unless the caller may see the runtime; tenant NULL: our own, which sees all. */
int tenant_check(const struct tenant *tenant, const struct runtime *runtime, struct error *err)
    __attribute__((nonnull(2, 3))) MUST_CHECK;

#endif
