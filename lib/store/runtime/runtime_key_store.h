/*
 * Keys of the Runtime API. Each is a tenant, which sees only its own runtimes. Tokens arrive as
 * keyed hashes (keyring_hash_token()).
 */
#ifndef DEFT_STORE_RUNTIME_RUNTIME_KEY_STORE_H
#define DEFT_STORE_RUNTIME_RUNTIME_KEY_STORE_H

#include <stdint.h>

#include "base/attr.h"
#include "base/uuid.h"

struct db;
struct error;

struct tenant {
    struct uuid id;
    struct uuid user_id;  /* owner of what runs in its sandboxes */
    int64_t max_runtimes; /* running at a time; 0: the service's setting */
};

/* clang-format off */
#define TENANT_INIT {UUID_INIT, UUID_INIT, 0}
/* clang-format on */

/* max_runtimes 0: the service's setting. */
int runtime_key_store_add(struct db *db, const struct tenant *tenant, const char *name,
                          const char *key_hash, struct error *err) NONNULL MUST_CHECK;
/* max_runtimes of a key, even a revoked one; 0: the service's setting. ERROR_NOT_FOUND. */
int runtime_key_store_load_most(struct db *db, const struct uuid *id, int64_t *max_runtimes_out,
                                struct error *err) NONNULL MUST_CHECK;
/* ERROR_UNAUTHENTICATED when no live key has that hash. */
int runtime_key_store_find(struct db *db, const char *key_hash, struct tenant *tenant_out,
                           struct error *err) NONNULL MUST_CHECK;

#endif
