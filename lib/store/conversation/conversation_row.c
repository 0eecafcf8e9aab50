#include "store/conversation/conversation_row.h"

#include <string.h>

#include <libpq-fe.h>

#include "base/error.h"
#include "base/text.h"
#include "model/conversation/conversation.h"
#include "store/db/db_query.h"

static int read_times(const PGresult *rows, int row, int column, struct conversation *conversation,
                      struct error *err)
{
    const char *newest = db_text(rows, row, column + 18);

    conversation->created_at_us = db_number(rows, row, column + 15);
    conversation->updated_at_us = db_number(rows, row, column + 16);
    conversation->last_seq = db_number(rows, row, column + 17);
    if (newest == NULL || newest[0] == '\0')
        return 0;
    return db_read_time(newest, &conversation->last_timestamp_us, err);
}

void conversation_row_set_version(struct conversation *conversation, const char *version)
{
    size_t len = strnlen(version, sizeof(conversation->version) - 1);

    memcpy(conversation->version, version, len);
    conversation->version[len] = '\0';
}

int conversation_row_read(const PGresult *rows, int row, int column,
                          struct conversation *conversation_out, struct error *err)
{
    CLEANUP(conversation_done) struct conversation read = CONVERSATION_INIT;
    const char *status = db_text(rows, row, column + 8);

    read.id = db_cell_uuid(rows, row, column);
    read.user_id = db_cell_uuid(rows, row, column + 1);
    read.parent_id = db_cell_uuid(rows, row, column + 2);
    read.runtime_kind =
        text_equal(PQgetvalue(rows, row, column + 3), "docker") ? RUNTIME_DOCKER : RUNTIME_LOCAL;
    read.runtime_session = db_dup(rows, row, column + 4);
    read.title = db_dup(rows, row, column + 5);
    read.secrets = db_dup(rows, row, column + 7);
    read.last_user_message_id = db_cell_uuid(rows, row, column + 11);
    read.snapshot_version = db_number(rows, row, column + 12);
    read.is_wanted = db_bool(rows, row, column + 13);
    read.is_leased = db_bool(rows, row, column + 14);
    conversation_row_set_version(&read, PQgetvalue(rows, row, column + 20));
    read.leaf_event_id = db_cell_uuid(rows, row, column + 19);
    read.is_branched = db_bool(rows, row, column + 21);
    read.children = db_dup(rows, row, column + 22);
    read.is_sub_agent = db_bool(rows, row, column + 23);
    read.is_begun = db_bool(rows, row, column + 24);
    read.stats_hash = db_number(rows, row, column + 25);
    read.has_stats_hash = true;
    if (status == NULL || !status_from_string(status, &read.status))
        return error_set(err, ERROR_INTERNAL, "unknown status in the database");
    if (db_json(rows, row, column + 6, &read.spec, err) < 0 ||
        db_json(rows, row, column + 9, &read.stats, err) < 0 ||
        db_json(rows, row, column + 10, &read.agent_state, err) < 0 ||
        read_times(rows, row, column, &read, err) < 0)
        return -1;
    *conversation_out = read;
    read = (struct conversation)CONVERSATION_INIT;
    return 0;
}
