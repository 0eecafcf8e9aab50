/*
 * Audit log of stored secrets that were read with a sandbox's key; append-only.
 */
#ifndef DEFT_STORE_USER_SECRET_READ_STORE_H
#define DEFT_STORE_USER_SECRET_READ_STORE_H

#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

struct db;
struct error;
struct uuid;

/* Records that the sandbox read its user's secret of that name; stored when this returns 0. */
int secret_read_store_add(struct db *db, const struct uuid *user_id, const char *runtime_id,
                          const char *name, struct error *err) NONNULL MUST_CHECK;
/* A page of reads: the latest before before_id (0: the latest of all), limit at most. */
struct secret_read_query {
    const char *runtime_id; /* of that sandbox; NULL: of all, also deleted ones */
    int64_t before_id;
    int64_t limit;
};

/*
 * A page {"items": [{"id", "name", "sandbox_id", "read_at"}], "next_page_id"} of what sandboxes
 * read of that user's secrets, the latest first. A new reference.
 */
int secret_read_store_list(struct db *db, const struct uuid *user_id,
                           const struct secret_read_query *query, json_t **page_out,
                           struct error *err) NONNULL MUST_CHECK;
/*
 * {"items": [{"name", "sandbox_id", "read_at"}]}: the last read of each secret, by name, limit
 * names at most; includes secrets that were deleted since. A new reference.
 */
int secret_read_store_latest(struct db *db, const struct uuid *user_id, int64_t limit,
                             json_t **list_out, struct error *err) NONNULL MUST_CHECK;

#endif
