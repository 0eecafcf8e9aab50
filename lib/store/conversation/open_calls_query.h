/*
 * SQL: a conversation's calls without a result. Shared by the blocking and the non-blocking store.
 * Only lib/store includes this.
 */
#ifndef DEFT_STORE_CONVERSATION_OPEN_CALLS_QUERY_H
#define DEFT_STORE_CONVERSATION_OPEN_CALLS_QUERY_H

#include <libpq-fe.h>

#include "base/attr.h"
#include "store/conversation/event_row.h"

struct error;
struct history;

/*
 * $1 conversation, $2 number of its events copied by a fork. The path is made of segments of the
 * log, the newest first: each begins where a client went back, and continues at the event that it
 * went back to. A call counts as made even if its result is off the path.
 */
#define OPEN_CALLS_QUERY                                                                           \
    "WITH RECURSIVE path (low, high, rest) AS ("                                                   \
    " SELECT coalesce(b.from_seq, 1), 9223372036854775807, coalesce(b.parent_seq, 0)"              \
    " FROM (VALUES (1)) AS one (x) LEFT JOIN LATERAL (SELECT n.from_seq, n.parent_seq"             \
    "  FROM branches n WHERE n.conversation_id = $1::uuid ORDER BY n.from_seq DESC LIMIT 1) b"     \
    "  ON true"                                                                                    \
    " UNION ALL"                                                                                   \
    " SELECT coalesce(b.from_seq, 1), p.rest, coalesce(b.parent_seq, 0)"                           \
    " FROM path p LEFT JOIN LATERAL (SELECT n.from_seq, n.parent_seq FROM branches n"              \
    "  WHERE n.conversation_id = $1::uuid AND n.from_seq <= p.rest"                                \
    "  ORDER BY n.from_seq DESC LIMIT 1) b ON true WHERE p.rest > 0)"                              \
    " SELECT " EVENT_ROW_COLUMNS " FROM events e"                                                  \
    " WHERE e.conversation_id = $1::uuid AND e.kind = 'ActionEvent' AND e.seq > $2::bigint"        \
    " AND EXISTS (SELECT 1 FROM path p WHERE e.seq BETWEEN p.low AND p.high)"                      \
    " AND NOT EXISTS (SELECT 1 FROM events r WHERE r.conversation_id = $1::uuid"                   \
    "  AND r.result_of = e.id) ORDER BY e.seq"

/* Adds the query's rows to a history. */
int open_calls_read(const PGresult *rows, struct history *open,
                    struct error *err) NONNULL MUST_CHECK;
/* Removes calls that cannot be executed. */
void open_calls_keep_executable(struct history *open) NONNULL;

#endif
