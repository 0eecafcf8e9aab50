/*
 * SQL of lists of conversations: the statements that read a page, by the columns wanted. Only
 * lib/store includes this.
 *
 * Parameters: $1 user, $2 sandbox's session or NULL, $3 status or NULL, $4 first of the page or
 * NULL, $5 limit; one row more than the limit is read.
 */
#ifndef DEFT_STORE_CONVERSATION_CONVERSATION_PAGE_SQL_H
#define DEFT_STORE_CONVERSATION_CONVERSATION_PAGE_SQL_H

#define CONVERSATION_PAGE_START(column, fallback)                                                  \
    "coalesce((SELECT f." column " FROM conversations f"                                           \
    " WHERE f.id = $4::uuid AND f.user_id = $1::uuid), '" fallback "')"
/* clang-format off */
/*
 * Selects the ids by the index alone, then their rows. The index can use only the plain bound on
 * the column: with it a deep page costs no more than the first.
 */
#define CONVERSATION_PAGE(column, compare, direction, end, last_id)                                \
    "SELECT s.id, s." column " FROM conversations s"                                               \
    " WHERE s.user_id = $1::uuid AND ($2::text IS NULL OR s.runtime_session = $2)"                 \
    " AND ($3::text IS NULL OR s.execution_status = $3)"                                           \
    " AND s." column " " compare " " CONVERSATION_PAGE_START(column, end)                          \
    " AND (s." column ", s.id) " compare                                                           \
    " (" CONVERSATION_PAGE_START(column, end) ", " CONVERSATION_PAGE_START("id", last_id) ")"      \
    " ORDER BY s." column " " direction ", s.id " direction                                        \
    " LIMIT $5::bigint + 1"
#define CONVERSATION_SEARCH(columns, joins, column, compare, direction, end, last_id)              \
    "SELECT " columns                                                                              \
    " FROM (" CONVERSATION_PAGE(column, compare, direction, end, last_id) ") p"                    \
    " JOIN conversations c ON c.id = p.id" joins                                                   \
    " ORDER BY p." column " " direction ", p.id " direction
/* clang-format on */

#define CONVERSATION_ID_FIRST "00000000-0000-0000-0000-000000000000"
#define CONVERSATION_ID_LAST "ffffffff-ffff-ffff-ffff-ffffffffffff"

/* Four orders, four statements, [by_updated][ascending]: a sort direction cannot be a parameter. */
#define CONVERSATION_SEARCHES(columns, joins)                                                      \
    {                                                                                              \
        {                                                                                          \
            CONVERSATION_SEARCH(columns, joins, "created_at", "<=", "DESC", "infinity",            \
                                CONVERSATION_ID_LAST),                                             \
            CONVERSATION_SEARCH(columns, joins, "created_at", ">=", "ASC", "-infinity",            \
                                CONVERSATION_ID_FIRST),                                            \
        },                                                                                         \
        {                                                                                          \
            CONVERSATION_SEARCH(columns, joins, "updated_at", "<=", "DESC", "infinity",            \
                                CONVERSATION_ID_LAST),                                             \
            CONVERSATION_SEARCH(columns, joins, "updated_at", ">=", "ASC", "-infinity",            \
                                CONVERSATION_ID_FIRST),                                            \
        },                                                                                         \
    }

#endif
