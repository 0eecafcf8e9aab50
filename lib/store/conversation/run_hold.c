#include "store/conversation/run_hold.h"

#include <string.h>

#include <libpq-fe.h>

#include "base/error.h"
#include "store/conversation/conversation_store.h"
#include "store/db/db_query.h"

/* A stop request also locks this row before it reads who runs it. */
static const char SQL_HOLD[] =
    "SELECT coalesce(stop_requested, '') FROM conversations WHERE id = $1::uuid"
    " AND lease_owner = $2::uuid AND lease_fence = $3::bigint AND lease_expires_at > now()"
    " FOR NO KEY UPDATE";

int run_hold(struct db_tx *tx, const struct lease *lease, char stop_out[STOP_WORD_BYTES],
             struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int fence = db_int(lease->fence);
    const char *stop = NULL;

    if (db_tx_query(tx, SQL_HOLD,
                    DB_PARAMS(lease->conversation_id.text, lease->owner.text, fence.text), &rows,
                    err) < 0)
        return -1;
    if (PQntuples(rows) == 0)
        return error_set(err, ERROR_STALE, "the lease of %s is lost", lease->conversation_id.text);
    stop = PQgetvalue(rows, 0, 0);
    if (stop[0] == '\0')
        return 0;
    memset(stop_out, 0, STOP_WORD_BYTES);
    memcpy(stop_out, stop, strnlen(stop, STOP_WORD_BYTES - 1));
    return error_set(err, ERROR_CANCELLED, "the run was asked to stop (%s)", stop_out);
}
