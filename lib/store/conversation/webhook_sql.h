/*
 * Parts of SQL statements about webhooks; only lib/store includes this.
 */
#ifndef DEFT_STORE_CONVERSATION_WEBHOOK_SQL_H
#define DEFT_STORE_CONVERSATION_WEBHOOK_SQL_H

/* Receivers not served by any worker for this long are removed. */
#define WEBHOOK_KEPT "interval '7 days'"

/*
 * The last event of a conversation before receiver w was registered: older ones are never
 * delivered. 0 when the conversation is younger than w.
 */
#define WEBHOOK_START(conversation)                                                                \
    "coalesce((SELECT e.seq FROM events e WHERE e.conversation_id = " conversation ".id"           \
    "  AND " conversation ".created_at < w.since AND e.timestamp"                                  \
    "   < to_char(w.since AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US')"                     \
    "  ORDER BY e.seq DESC LIMIT 1), 0)"

/*
 * For a delete: $1 the conversation, $2 its last ConversationInfo. Each receiver's cursor gets the
 * farewell, and its undelivered events are set aside, up to the size of a queue. Cursors are locked
 * in the same order as everywhere.
 */
#define WEBHOOK_PART                                                                               \
    "parted AS (INSERT INTO webhook_cursors (webhook_id, conversation_id, seq, due_at, farewell)"  \
    "  SELECT w.id, gone.id, " WEBHOOK_START(                                                      \
        "gone") ", now(), $2 FROM webhooks w, gone"                                                \
                "   WHERE $2::text IS NOT NULL AND w.scanned_to > now() - " WEBHOOK_KEPT           \
                "   ORDER BY w.id"                                                                 \
                "  ON CONFLICT (webhook_id, conversation_id) DO UPDATE"                            \
                "   SET farewell = EXCLUDED.farewell, due_at = now(), attempts = 0"                \
                "  RETURNING webhook_id, conversation_id, seq),"                                   \
                " kept AS (INSERT INTO webhook_leftovers (webhook_id, conversation_id, seq, body)" \
                "  SELECT p.webhook_id, p.conversation_id, e.seq, e.body FROM parted p, LATERAL (" \
                "   SELECT f.seq, f.body, row_number() OVER newest AS n,"                          \
                "    sum(octet_length(f.body)) OVER newest AS bytes FROM (SELECT g.seq, g.body "   \
                "FROM events g"                                                                    \
                "     WHERE g.conversation_id = p.conversation_id AND g.seq > p.seq"               \
                "     ORDER BY g.seq DESC LIMIT 1000) f WINDOW newest AS (ORDER BY f.seq DESC)) e" \
                "  WHERE e.n = 1 OR e.bytes <= 52428800)"

#endif
