/*
 * A user's sandboxes: the runtimes that the user owns and that have no tenant.
 *
 * Ownership: lists are the caller's, runtime_list_done().
 */
#ifndef DEFT_STORE_RUNTIME_SANDBOX_STORE_H
#define DEFT_STORE_RUNTIME_SANDBOX_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/uuid.h"

struct db;
struct error;
struct runtime;
struct runtime_list;

/* Prefix of the sessions of sandboxes that the user created explicitly. */
#define SANDBOX_SESSION_PREFIX "s-"

/* Where a page begins: at the newest sandbox that is not newer than this. */
struct sandbox_cursor {
    int64_t created_at_us; /* 0: the newest of all */
    char id[17];
};

/* Newest first, at most limit + 1: the extra one begins the next page. */
int sandbox_store_search(struct db *db, const struct uuid *user_id,
                         const struct sandbox_cursor *from, int64_t limit,
                         struct runtime_list *list_out, struct error *err) NONNULL MUST_CHECK;
/* Those of the ids that are the user's, in no order. */
int sandbox_store_get_many(struct db *db, const struct uuid *user_id, const char *const *ids,
                           size_t n, struct runtime_list *list_out,
                           struct error *err) NONNULL MUST_CHECK;
/* ERROR_NOT_FOUND. */
int sandbox_store_get(struct db *db, const struct uuid *user_id, const char *id,
                      struct runtime *runtime_out, struct error *err) NONNULL MUST_CHECK;
/*
 * Of the user's explicitly created, running sandboxes other than except_id: the oldest ones in
 * excess of `most`. A sandbox in which a conversation runs is counted but not listed.
 */
int sandbox_store_list_surplus(struct db *db, const struct uuid *user_id, int64_t most,
                               const char *except_id, struct runtime_list *list_out,
                               struct error *err) NONNULL MUST_CHECK;

#endif
