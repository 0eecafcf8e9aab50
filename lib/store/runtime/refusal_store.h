/*
 * What sandboxes were refused on the network: a bounded number of entries each, the latest.
 */
#ifndef DEFT_STORE_RUNTIME_REFUSAL_STORE_H
#define DEFT_STORE_RUNTIME_REFUSAL_STORE_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

struct db;
struct error;

/* Of one runtime. */
#define REFUSALS_MAX 100

/* So many of one kind; borrows. */
struct refusal {
    const char *network; /* of the sandbox */
    const char *host;    /* where it was to go */
    const char *protocol;
    const char *reason;
    int port; /* 0: it has none */
    int64_t count;
    int64_t first_us; /* UTC */
    int64_t last_us;
};

/* Adds to what is there, and forgets what was last refused longest ago. Those of networks that are
 * no runtime's are left out. */
int refusal_store_add(struct db *db, const struct refusal *refusals, size_t n,
                      struct error *err) NONNULL MUST_CHECK;
/* A list of {"host","port","protocol","reason","count","first_at","last_at"}, the latest first. */
int refusal_store_list(struct db *db, const char *runtime_id, json_t **list_out,
                       struct error *err) NONNULL MUST_CHECK;

#endif
