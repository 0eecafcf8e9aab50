#include "store/conversation/conversation_insert.h"

#include <libpq-fe.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "model/event/stats.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/event_insert.h"
#include "store/conversation/job_insert.h"
#include "store/db/db_query.h"

static const char SQL_CREATE[] =
    "INSERT INTO conversations (id, user_id, parent_id, runtime_kind, runtime_session, title, spec,"
    " secrets, execution_status, stats, agent_state, last_user_message_id, wanted_at, is_sub_agent,"
    " spec_info, leaf_event_id, is_leaf_known)"
    " VALUES ($1::uuid, $2::uuid, $3::uuid, $4, $5, $6, $7, $8, $9, $10, $11, $12::uuid,"
    "  CASE WHEN $13::boolean THEN now() END, $14::boolean, $15, $16::uuid, $17::boolean)"
    " ON CONFLICT (id) DO NOTHING"
    " RETURNING (extract(epoch FROM created_at) * 1000000)::bigint";

static const char SQL_ADD_EVENTS[] =
    "INSERT INTO events (conversation_id, seq, id, kind, source, timestamp, result_of, body)"
    " SELECT $1::uuid, e.n, e.id, e.kind, e.source, e.timestamp, e.result_of, e.body"
    " FROM unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::uuid[], $7::text[])"
    "  WITH ORDINALITY AS e (id, kind, source, timestamp, result_of, body, n)";

static const char SQL_ADD_JOB[] = JOB_INSERT_QUERY;

int conversation_insert_row(struct db_tx *tx, const struct new_conversation *inserted,
                            bool *is_new_out, struct error *err)
{
    struct conversation *conversation = inserted->conversation;
    const struct conversation_write *write = inserted->write;
    const struct event_list *events = inserted->events;
    const struct uuid *leaf = events != NULL ? event_list_leaf(events) : NULL;
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(mem_freep) char *spec = json_to_text(conversation->spec);
    CLEANUP(mem_freep) char *spec_info = conversation_spec_info(conversation->spec);
    json_auto_t *no_stats = stats_new();
    CLEANUP(mem_freep) char *stats =
        json_to_text(conversation->stats != NULL ? conversation->stats : no_stats);
    CLEANUP(mem_freep) char *agent_state = db_json_text(conversation->agent_state);
    const char *status =
        write->status != NULL ? write->status : status_to_string(conversation->status);

    if (db_tx_query(
            tx, SQL_CREATE,
            DB_PARAMS(conversation->id.text, conversation->user_id.text,
                      db_uuid(&conversation->parent_id),
                      conversation->runtime_kind == RUNTIME_DOCKER ? "docker" : "local",
                      conversation->runtime_session,
                      conversation->title != NULL ? conversation->title : write->first_title, spec,
                      conversation->secrets, status, write->stats != NULL ? write->stats : stats,
                      agent_state != NULL ? agent_state : "{}",
                      db_uuid(&write->last_user_message_id), db_flag(write->want_run),
                      db_flag(conversation->is_sub_agent), spec_info,
                      leaf != NULL ? leaf->text : NULL, db_flag(events != NULL)),
            &rows, err) < 0)
        return -1;
    *is_new_out = PQntuples(rows) == 1;
    if (*is_new_out) {
        conversation->created_at_us = db_number(rows, 0, 0);
        conversation->updated_at_us = conversation->created_at_us;
    }
    return 0;
}

static int insert_first_events(struct db_tx *tx, const struct conversation *conversation,
                               struct event_list *events, struct error *err)
{
    CLEANUP(event_insert_done) struct event_insert arrays = EVENT_INSERT_INIT;
    CLEANUP(db_rows_done) PGresult *rows = NULL;

    if (events->n == 0)
        return 0;
    if (event_insert_fill(&arrays, conversation, events, err) < 0)
        return -1;
    return db_tx_query(tx, SQL_ADD_EVENTS,
                       DB_PARAMS(conversation->id.text, arrays.id.text, arrays.kind.text,
                                 arrays.source.text, arrays.timestamp.text, arrays.result_of.text,
                                 arrays.body.text),
                       &rows, err);
}

static int insert_job(struct db_tx *tx, const struct conversation *conversation,
                      const struct job_request *job, struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    CLEANUP(mem_freep) char *payload = db_json_text(job->payload);

    if (job->kind == NULL)
        return 0;
    return db_tx_query(tx, SQL_ADD_JOB,
                       DB_PARAMS(job->kind, conversation->id.text, payload, db_uuid(&job->key)),
                       &rows, err);
}

int conversation_insert_whole(struct db_tx *tx, const struct new_conversation *inserted,
                              bool *is_new_out, struct error *err)
{
    event_list_stamp(inserted->events, inserted->conversation);
    if (conversation_insert_row(tx, inserted, is_new_out, err) < 0)
        return -1;
    if (!*is_new_out)
        return 0;
    if (insert_first_events(tx, inserted->conversation, inserted->events, err) < 0)
        return -1;
    return insert_job(tx, inserted->conversation, &inserted->write->job, err);
}
