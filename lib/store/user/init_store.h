/*
 * Initialization of a server that starts deferred: it is dormant until then, and never again
 * afterwards.
 */
#ifndef DEFT_STORE_USER_INIT_STORE_H
#define DEFT_STORE_USER_INIT_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct db;
struct error;
struct uuid;

/* Context under which the settings are sealed (keyring_seal()). */
#define INIT_SEAL_CONTEXT "server_init.settings"

/* The changes of the initialization, made atomically. */
struct init_plan {
    const struct uuid *user_id;    /* the keys' owner */
    const char *const *key_hashes; /* of keys to add */
    size_t n_keys;
    int64_t n_run_slots;  /* of that user; 0: unchanged */
    const char *settings; /* sealed JSON, to store */
};

/* ERROR_CONFLICT when the server was initialized before. */
int init_store_begin(struct db *db, const struct init_plan *plan,
                     struct error *err) NONNULL MUST_CHECK;
int init_store_has_begun(struct db *db, bool *has_begun_out, struct error *err) NONNULL MUST_CHECK;
/* The settings of the initialization, sealed, or NULL. The caller frees with mem_free(). */
int init_store_load(struct db *db, char **settings_out, struct error *err) NONNULL MUST_CHECK;

#endif
