/*
 * Reads a conversation's row into a struct; shared by the store modules that need it.
 */
#ifndef DEFT_STORE_CONVERSATION_CONVERSATION_ROW_H
#define DEFT_STORE_CONVERSATION_CONVERSATION_ROW_H

#include <libpq-fe.h>

#include "base/attr.h"

struct conversation;
struct error;

/*
 * The columns that conversation_row_read() expects, for a row of conversations named c. The newest
 * event is found by the primary key; the leaf skips state updates, which rarely come in a row.
 * Where the log was continued from an earlier event, the leaf is after that event or the event
 * itself. xmin changes with each write to the row. Pauses and condensation requests do not count as
 * talk.
 */
#define CONVERSATION_TALK                                                                          \
    "EXISTS (SELECT FROM events e WHERE e.conversation_id = c.id AND e.kind NOT IN"                \
    " ('ConversationStateUpdateEvent', 'PauseEvent', 'InterruptEvent', 'CondensationRequest')"
#define CONVERSATION_COLUMNS                                                                       \
    "c.id, c.user_id, c.parent_id, c.runtime_kind, c.runtime_session, c.title, c.spec, c.secrets," \
    " c.execution_status, c.stats, c.agent_state, c.last_user_message_id, c.snapshot_version,"     \
    " c.wanted_at IS NOT NULL, c.lease_expires_at IS NOT NULL AND c.lease_expires_at > now(),"     \
    " (extract(epoch FROM c.created_at) * 1000000)::bigint,"                                       \
    " (extract(epoch FROM c.updated_at) * 1000000)::bigint,"                                       \
    " coalesce(newest.seq, 0), coalesce(newest.timestamp, ''), leaf.id, c.xmin,"                   \
    " branch.from_seq IS NOT NULL,"                                                                \
    " (SELECT string_agg(k.id::text, ',' ORDER BY k.created_at, k.id) FROM conversations k"        \
    "   WHERE k.parent_id = c.id),"                                                                \
    " c.is_sub_agent,"                                                                             \
    " " CONVERSATION_TALK " AND e.seq >= coalesce(branch.from_seq, 0)) OR"                         \
    " " CONVERSATION_TALK " AND e.seq <= branch.parent_seq), hashtextextended(c.stats, 0)"
#define CONVERSATION_LEAF                                                                          \
    "SELECT e.id FROM events e WHERE e.conversation_id = c.id"                                     \
    " AND e.kind <> 'ConversationStateUpdateEvent'"
#define CONVERSATION_LOG_END                                                                       \
    " LEFT JOIN LATERAL (SELECT e.seq, e.timestamp FROM events e WHERE e.conversation_id = c.id"   \
    "   ORDER BY e.seq DESC LIMIT 1) newest ON true" CONVERSATION_LEAF_JOIN
#define CONVERSATION_LEAF_JOIN                                                                     \
    " LEFT JOIN LATERAL (SELECT b.from_seq, b.parent_seq FROM branches b"                          \
    "   WHERE b.conversation_id = c.id ORDER BY b.from_seq DESC LIMIT 1) branch ON true"           \
    " LEFT JOIN LATERAL (SELECT coalesce((" CONVERSATION_LEAF                                      \
    "    AND e.seq >= coalesce(branch.from_seq, 0) ORDER BY e.seq DESC LIMIT 1), "                 \
    "(" CONVERSATION_LEAF                                                                          \
    "    AND e.seq <= branch.parent_seq ORDER BY e.seq DESC LIMIT 1)) AS id) leaf ON true"
#define CONVERSATION_N_COLUMNS 26

/* Fills conversation_out (as after CONVERSATION_INIT) from a row, its columns from `column` on. */
int conversation_row_read(const PGresult *rows, int row, int column,
                          struct conversation *conversation_out,
                          struct error *err) NONNULL MUST_CHECK;

/* The row's version (struct conversation), as a query gave it. */
void conversation_row_set_version(struct conversation *conversation, const char *version) NONNULL;

#endif
