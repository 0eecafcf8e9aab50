/*
 * Access to previews of sandbox ports: one-time passes that the page's session gets, and the
 * cookies of preview origins that they are exchanged for. Tokens are kept as keyed hashes.
 */
#ifndef DEFT_STORE_USER_PREVIEW_STORE_H
#define DEFT_STORE_USER_PREVIEW_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "store/runtime/runtime_store.h"

struct db;
struct error;

/* A port of a sandbox; borrows. */
struct preview_key {
    const char *runtime_id;
    int port;
};

/* Hashes of all cookies that a browser sent under one name: another page may have added one. */
struct preview_hashes {
    const char *const *items;
    size_t n;
};

struct preview_grant {
    const char *pass_hash;
    const char *state_hash;
    const char *session_hash; /* of the page's session */
    int64_t valid_s;
};

/* The sandbox of a preview. */
struct preview_sandbox {
    enum runtime_status status;
    enum runtime_desire desired;
    char *url; /* NULL until known */
};

/* clang-format off */
#define PREVIEW_SANDBOX_INIT {.url = NULL}
/* clang-format on */

void preview_sandbox_done(struct preview_sandbox *sandbox);

/* Stores a pass. ERROR_NOT_FOUND without a valid session, or when its user has no such sandbox. */
int preview_store_add_pass(struct db *db, const struct preview_key *key,
                           const struct preview_grant *grant, struct error *err) NONNULL MUST_CHECK;
/*
 * Uses a pass up, whatever the result, and stores a cookie for it. ERROR_UNAUTHENTICATED when it
 * was used, has expired, or is for another browser, port or sandbox.
 */
int preview_store_use_pass(struct db *db, const struct preview_key *key, const char *pass_hash,
                           const struct preview_hashes *states, const char *cookie_hash,
                           struct error *err) NONNULL MUST_CHECK;
/*
 * Finds the sandbox by any of the cookies, and records its use. ERROR_UNAUTHENTICATED when none is
 * valid for that port of that sandbox.
 */
int preview_store_find(struct db *db, const struct preview_key *key,
                       const struct preview_hashes *cookies, struct preview_sandbox *sandbox_out,
                       struct error *err) NONNULL MUST_CHECK;

#endif
