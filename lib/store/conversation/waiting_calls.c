#include "store/conversation/waiting_calls.h"

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "base/uuid.h"
#include "model/conversation/conversation.h"
#include "model/event/status.h"
#include "store/conversation/event_row.h"
#include "store/conversation/event_store.h"
#include "store/conversation/open_calls_query.h"
#include "store/db/db_query.h"

static const char SQL_OPEN_CALLS[] = OPEN_CALLS_QUERY;

int open_calls_read(const PGresult *rows, struct history *open, struct error *err)
{
    for (int row = 0; row < PQntuples(rows); row++) {
        if (event_row_read(rows, row, open, err) < 0)
            return -1;
    }
    return 0;
}

static bool is_executable(const struct stored_event *event)
{
    return json_is_object(json_object_get(stored_event_json(event), "action"));
}

void open_calls_keep_executable(struct history *open)
{
    size_t n = 0;

    for (size_t i = 0; i < open->n; i++) {
        if (is_executable(&open->items[i]))
            open->items[n++] = open->items[i];
        else
            stored_event_drop(&open->items[i]);
    }
    open->n = n;
}

int open_calls_load(struct db *db, const struct conversation *conversation, struct history *open,
                    struct error *err)
{
    CLEANUP(db_rows_done) PGresult *rows = NULL;
    struct db_int n_copied = db_int(conversation_n_copied(conversation));

    if (db_read(db, SQL_OPEN_CALLS, DB_PARAMS(conversation->id.text, n_copied.text), &rows, err) <
        0)
        return error_wrap(err, "finding the open calls of %s", conversation->id.text);
    return open_calls_read(rows, open, err);
}

int waiting_calls_load(struct db *db, const struct conversation *conversation,
                       struct history *waiting, struct error *err)
{
    if (open_calls_load(db, conversation, waiting, err) < 0)
        return -1;
    open_calls_keep_executable(waiting);
    return 0;
}

/* Clients may write ids without their dashes. */
static bool is_named(const json_t *ids, const struct uuid *id)
{
    json_t *named = NULL;
    size_t i = 0;

    json_array_foreach ((json_t *)(uintptr_t)ids, i, named) {
        struct uuid parsed = UUID_INIT;

        if (json_is_string(named) && uuid_parse(json_string_value(named), &parsed) &&
            text_equal(parsed.text, id->text))
            return true;
    }
    return false;
}

bool waiting_calls_refuse(const struct history *waiting, const struct seen_calls *seen,
                          struct error *err)
{
    if (seen->ids == NULL)
        return false;
    for (size_t i = 0; i < waiting->n; i++) {
        const struct stored_event *call = &waiting->items[i];

        if (is_named(seen->ids, &call->id))
            continue;
        error_ignore(
            error_set(err, ERROR_CONFLICT,
                      "The agent waits for a decision about a call of %.60s (action %s) that this "
                      "request does not name. Nothing was changed: review that call, then decide.",
                      json_text_or(stored_event_json(call), "tool_name", "a tool"), call->id.text),
            "the caller checks the result");
        return true;
    }
    if (!seen->is_decision || waiting->n > 0)
        return false;
    error_ignore(error_set(err, ERROR_CONFLICT,
                           "These actions no longer wait for a decision. Nothing was changed: "
                           "check their results."),
                 "the caller checks the result");
    return true;
}

/* A run in progress has decided what it does; a finished conversation's run does nothing. */
static bool is_settled(enum execution_status status)
{
    return status == STATUS_RUNNING || status == STATUS_FINISHED;
}

bool waiting_calls_matter(const struct conversation *conversation, const struct seen_calls *seen)
{
    return seen->ids != NULL && (!is_settled(conversation->status) || seen->is_decision);
}

int waiting_calls_check(struct db *db, const struct conversation *conversation,
                        const struct seen_calls *seen, bool *is_refused_out, struct error *err)
{
    CLEANUP(history_done) struct history waiting = HISTORY_INIT;

    *is_refused_out = false;
    if (!waiting_calls_matter(conversation, seen))
        return 0;
    if (!is_settled(conversation->status) &&
        waiting_calls_load(db, conversation, &waiting, err) < 0)
        return -1;
    *is_refused_out = waiting_calls_refuse(&waiting, seen, err);
    return 0;
}
