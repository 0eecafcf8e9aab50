#include "store/user/spending_store.h"

#include <libpq-fe.h>

#include "base/error.h"
#include "base/uuid.h"
#include "store/db/db_query.h"

#define TODAY "(now() AT TIME ZONE 'UTC')::date"

#define NANOS_PER_CENT INT64_C(10000000)
/* A hundred million dollars: more would not fit. */
#define MOST_CENTS "10000000000"

static const char SQL_READ[] =
    "SELECT l.per_user, l.per_day,"
    " CASE WHEN l.per_user > 0 THEN coalesce((SELECT sum(s.cost_nanos) FROM spending s"
    "  WHERE s.user_id = $1::uuid), 0) ELSE 0 END::bigint,"
    " CASE WHEN l.per_day > 0 THEN coalesce((SELECT sum(s.cost_nanos) FROM spending s"
    "  WHERE s.user_id = $1::uuid AND s.day = " TODAY "), 0) ELSE 0 END::bigint,"
    " coalesce((SELECT b.amount_nanos FROM budget_extensions b"
    "  WHERE b.user_id = $1::uuid AND b.day = " TODAY "), 0)"
    " FROM (SELECT least(coalesce(u.budget_cents, $2::bigint), " MOST_CENTS ") AS per_user,"
    "  least(coalesce(u.daily_budget_cents, $3::bigint), " MOST_CENTS ") AS per_day FROM users u"
    "  WHERE u.id = $1::uuid) AS l";

/* No row: it would be too much. */
static const char SQL_EXTEND[] =
    "INSERT INTO budget_extensions AS b (user_id, day, amount_nanos)"
    " SELECT $1::uuid, " TODAY ", $2::bigint WHERE $2::bigint <= $3::bigint"
    " ON CONFLICT (user_id, day) DO UPDATE SET amount_nanos = b.amount_nanos"
    "  + EXCLUDED.amount_nanos WHERE b.amount_nanos + EXCLUDED.amount_nanos <= $3::bigint"
    " RETURNING 1";

int spending_store_read(struct db *db, const struct uuid *user_id,
                        const struct budget_limits *limits, struct spending *spending_out,
                        struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int per_user = db_int(limits->per_user_cents);
    struct db_int per_day = db_int(limits->per_day_cents);
    struct spending spending = {.user_limit_nanos = 0};

    if (db_read(db, SQL_READ, DB_PARAMS(user_id->text, per_user.text, per_day.text), &rows, err) <
        0)
        return error_wrap(err, "reading what %s has spent", user_id->text);
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_NOT_FOUND, "there is no user %s", user_id->text);
    spending.user_limit_nanos = db_number(rows, 0, 0) * NANOS_PER_CENT;
    spending.day_limit_nanos = db_number(rows, 0, 1) * NANOS_PER_CENT;
    spending.user_nanos = db_number(rows, 0, 2);
    spending.day_nanos = db_number(rows, 0, 3);
    spending.extension_nanos = db_number(rows, 0, 4);
    if (spending.day_limit_nanos > 0)
        spending.day_limit_nanos += spending.extension_nanos;
    *spending_out = spending;
    return 0;
}

int spending_store_extend(struct db *db, const struct uuid *user_id, int64_t amount_nanos,
                          struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int amount = db_int(amount_nanos);
    struct db_int most = db_int(EXTENSION_MAX_NANOS);

    if (db_query(db, SQL_EXTEND, DB_PARAMS(user_id->text, amount.text, most.text), &rows, err) < 0)
        return error_wrap(err, "raising the budget of %s", user_id->text);
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_INVALID,
                         "The budget of a day may be raised by at most a million dollars");
    return 0;
}
