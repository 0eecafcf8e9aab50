/*
 * Network traffic that sandboxes were refused: a bounded number of entries for each, the latest.
 */
#ifndef DEFT_STORE_RUNTIME_REFUSAL_STORE_H
#define DEFT_STORE_RUNTIME_REFUSAL_STORE_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

struct db;
struct error;

/* Entries per runtime. */
#define REFUSALS_MAX 100

/* A number of equal refusals; borrows. */
struct refusal {
    const char *network; /* of the sandbox */
    const char *host;    /* destination */
    const char *protocol;
    const char *reason;
    int port; /* 0: no port */
    int64_t count;
    int64_t first_us; /* UTC */
    int64_t last_us;
};

/*
 * Merges with the stored entries, and drops those whose last refusal is oldest. Entries of networks
 * that belong to no runtime are ignored.
 */
int refusal_store_add(struct db *db, const struct refusal *refusals, size_t n,
                      struct error *err) NONNULL MUST_CHECK;
/* A list of {"host","port","protocol","reason","count","first_at","last_at"}, the latest first. */
int refusal_store_list(struct db *db, const char *runtime_id, json_t **list_out,
                       struct error *err) NONNULL MUST_CHECK;

#endif
