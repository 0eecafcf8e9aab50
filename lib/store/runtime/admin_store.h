/*
 * Attempts to sign in as the administrator of the Runtime API: each challenge can be tried once,
 * and failures per period are limited, across all processes.
 */
#ifndef DEFT_STORE_RUNTIME_ADMIN_STORE_H
#define DEFT_STORE_RUNTIME_ADMIN_STORE_H

#include <stdint.h>

#include "base/attr.h"

struct db;
struct error;
struct strbuf;

struct admin_limits {
    int64_t window_s;
    int64_t most_failures; /* within that time */
};

/*
 * Records an attempt, as a failure until admin_store_succeed(). ERROR_RATE_LIMITED after too many,
 * ERROR_CONFLICT when the challenge was tried already.
 */
int admin_store_try(struct db *db, const char *challenge, const struct admin_limits *limits,
                    struct error *err) NONNULL MUST_CHECK;
/* Marks the attempt as successful. */
int admin_store_succeed(struct db *db, const char *challenge, struct error *err) NONNULL MUST_CHECK;

/*
 * Appends the JSON list of valid keys: id, name, key_value (null: it is not kept), max_runtimes
 * (fallback where the key has no number of its own), remaining_credits (null).
 */
int admin_store_list_keys(struct db *db, int64_t fallback, struct strbuf *json_out,
                          struct error *err) NONNULL MUST_CHECK;

#endif
