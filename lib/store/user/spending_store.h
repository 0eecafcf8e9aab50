/*
 * What a user's model calls have cost, and by how much the budget of a day was raised. Costs are
 * booked with the write that stores them (conversation_store_write()); those of deleted
 * conversations stay. Days are those of UTC, by the database's clock.
 *
 * Decision: docs/decisions/0095-budgets-of-users.md
 */
#ifndef DEFT_STORE_USER_SPENDING_STORE_H
#define DEFT_STORE_USER_SPENDING_STORE_H

#include <stdint.h>

#include "base/attr.h"

struct db;
struct error;
struct uuid;

/* Limits in US cents; 0: none. */
struct budget_limits {
    int64_t per_user_cents;
    int64_t per_day_cents;
};

/* Amounts in billionths of a US dollar (model/event/stats.h). What has no limit is not counted. */
struct spending {
    int64_t user_limit_nanos; /* 0: none */
    int64_t user_nanos;       /* spent ever */
    int64_t day_limit_nanos;  /* of today, with its extension; 0: none */
    int64_t day_nanos;        /* spent today */
    int64_t extension_nanos;  /* by how much the limit of today was raised */
};

/* Reads what a user may spend and has spent. limits: for users who have none of their own. */
int spending_store_read(struct db *db, const struct uuid *user_id,
                        const struct budget_limits *limits, struct spending *spending_out,
                        struct error *err) NONNULL MUST_CHECK;
/*
 * Raises the user's budget of today, at most to EXTENSION_MAX_NANOS above the instance's:
 * ERROR_INVALID beyond.
 */
int spending_store_extend(struct db *db, const struct uuid *user_id, int64_t amount_nanos,
                          struct error *err) NONNULL MUST_CHECK;

/* A million dollars. */
#define EXTENSION_MAX_NANOS (INT64_C(1000000) * 1000000000)

#endif
