#include "store/conversation/outage_store.h"

#include <libpq-fe.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "base/uuid.h"
#include "model/conversation/conversation.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/outage_sql.h"
#include "store/db/db_query.h"

/* A row of an earlier outage is replaced; a further wait keeps the beginning of its own. */
static const char SQL_WAIT[] =
    "WITH c AS (UPDATE conversations SET lease_owner = NULL, lease_expires_at = NULL,"
    "  claim_count = 0, updated_at = now() WHERE id = $1::uuid RETURNING id, wanted_at)"
    " INSERT INTO model_outages AS m"
    "  (conversation_id, wanted_at, began_at, next_at, n_waits, asked_seq, reason)"
    " SELECT c.id, c.wanted_at, now() - $2::bigint * interval '1 millisecond',"
    "  now() + $3::bigint * interval '1 millisecond', $4::bigint, $5::bigint, $6 FROM c"
    " ON CONFLICT (conversation_id) DO UPDATE SET wanted_at = EXCLUDED.wanted_at,"
    "  began_at = CASE WHEN EXCLUDED.n_waits > 1 THEN m.began_at ELSE EXCLUDED.began_at END,"
    "  next_at = EXCLUDED.next_at, n_waits = EXCLUDED.n_waits,"
    "  asked_seq = EXCLUDED.asked_seq, reason = EXCLUDED.reason";

#define UTC(column) "to_char(" column " AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"
static const char SQL_SHOW[] =
    "SELECT json_build_object('since', " UTC("m.began_at") ", 'next_attempt_at', " UTC(
        "m.next_at") ","
                     " 'waits', m.n_waits, 'reason', m.reason)::text"
                     " FROM conversations c JOIN model_outages m ON " OUTAGE_LASTS("c") //
    " WHERE c.id = $1::uuid AND (c.lease_expires_at IS NULL OR c.lease_expires_at <= now())";

static int release(struct db_tx *tx, const struct outage_wait *wait, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int lasted = db_int(wait->lasted_ms);
    struct db_int next = db_int(wait->next_ms);
    struct db_int n_waits = db_int(wait->n_waits);
    struct db_int asked = db_int(wait->asked_seq);

    return db_tx_query(tx, SQL_WAIT,
                       DB_PARAMS(wait->lease->conversation_id.text, lasted.text, next.text,
                                 n_waits.text, asked.text, wait->reason),
                       &rows, err);
}

int outage_store_wait(struct db *db, const struct outage_wait *wait, char stop_out[STOP_WORD_BYTES],
                      struct error *err)
{
    CLEANUP(db_tx_end) struct db_tx tx = DB_TX_INIT;
    const char *id = wait->lease->conversation_id.text;

    if (db_tx_begin(db, &tx, err) < 0 || run_hold(&tx, wait->lease, stop_out, err) < 0 ||
        release(&tx, wait, err) < 0)
        return error_wrap(err, "suspending %s until its model answers", id);
    if (db_tx_commit(&tx, err) < 0)
        return error_wrap(err, "suspending %s until its model answers", id);
    return 0;
}

int outage_store_append_json(struct db *db, const struct uuid *conversation_id,
                             struct strbuf *json_out, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (db_read(db, SQL_SHOW, DB_PARAMS(conversation_id->text), &rows, err) < 0)
        return error_wrap(err, "reading the outage of %s", conversation_id->text);
    if (PQntuples(rows) == 1)
        strbuf_append(json_out, PQgetvalue(rows, 0, 0));
    return 0;
}
