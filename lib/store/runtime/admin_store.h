/*
 * Attempts to sign in as the administrator of the Runtime API: each challenge is tried once, and
 * there are only so many failures in a time, whichever process is asked.
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
    int64_t most_failures; /* within that */
};

/*
 * Notes an attempt, as a failure for the time being. ERROR_RATE_LIMITED after too many,
 * ERROR_CONFLICT when the challenge was tried already.
 */
int admin_store_try(struct db *db, const char *challenge, const struct admin_limits *limits,
                    struct error *err) NONNULL MUST_CHECK;
/* It was none. */
int admin_store_succeed(struct db *db, const char *challenge, struct error *err) NONNULL MUST_CHECK;

/*
 * Appends the JSON list of the keys that let somebody in: id, name, key_value (null: it is not
 * kept), max_runtimes (fallback where the key has no number of its own), remaining_credits (null).
 */
int admin_store_list_keys(struct db *db, int64_t fallback, struct strbuf *json_out,
                          struct error *err) NONNULL MUST_CHECK;

#endif
