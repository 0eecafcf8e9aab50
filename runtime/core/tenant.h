/*
 * Tenants: external callers. Each sees only its own runtimes, under session names that cannot
 * collide with other tenants', and has a limited number running at a time.
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

/* "t-" and 32 hex digits: fits wherever an internal session id does, whatever the tenant's. */
#define TENANT_SESSION_BYTES 35

/* ERROR_UNAUTHENTICATED for an unknown key; NULL: no key. */
int tenant_find(struct service *service, const char *key, struct tenant *tenant_out,
                struct error *err) __attribute__((nonnull(1, 3, 4))) MUST_CHECK;
/* Maximum number of running runtimes of this runtime's tenant; 0: it belongs to no tenant. */
int tenant_load_most(struct service *service, const struct runtime *runtime, int64_t *most_out,
                     struct error *err) NONNULL MUST_CHECK;
/* The internal id of the tenant's session. */
void tenant_name_session(const struct keyring *keyring, const struct tenant *tenant,
                         const char *session, char name_out[TENANT_SESSION_BYTES]) NONNULL;
/* Makes the start the tenant's: sets its session name and user, clears the fields that are reserved
 * for deft's own processes. */
void tenant_own_start(const struct keyring *keyring, const struct tenant *tenant,
                      struct start_spec *spec) NONNULL;
/* ERROR_NOT_FOUND unless the caller may see the runtime; tenant NULL: deft's own process, which
 * sees all. */
int tenant_check(const struct tenant *tenant, const struct runtime *runtime, struct error *err)
    __attribute__((nonnull(2, 3))) MUST_CHECK;

#endif
