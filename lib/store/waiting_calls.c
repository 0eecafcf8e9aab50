#include "store/waiting_calls.h"

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "base/uuid.h"
#include "model/conversation.h"
#include "model/status.h"
#include "store/branch_store.h"
#include "store/event_store.h"

/* A result stands near its call, as a rule: the search ends soon. */
static bool has_result(const struct history *history, size_t call)
{
    const struct uuid *id = &history->items[call].id;

    for (size_t i = call + 1; i < history->n; i++) {
        if (text_equal(history->items[i].result_of.text, id->text))
            return true;
    }
    return false;
}

static bool is_executable(const struct stored_event *event)
{
    return json_is_object(json_object_get(event->json, "action"));
}

static bool is_open(const struct history *history, size_t i, int64_t n_copied)
{
    const struct stored_event *event = &history->items[i];

    return event->seq > n_copied && text_equal(event->kind, "ActionEvent") &&
           !has_result(history, i);
}

/* Events after the one that is looked at are untouched, so that their results are still found. */
static void keep_open(struct history *history, int64_t n_copied)
{
    size_t n = 0;

    for (size_t i = 0; i < history->n; i++) {
        struct stored_event event = history->items[i];

        if (is_open(history, i, n_copied))
            history->items[n++] = event;
        else
            json_decref(event.json);
    }
    history->n = n;
}

static void keep_executable(struct history *history)
{
    size_t n = 0;

    for (size_t i = 0; i < history->n; i++) {
        if (is_executable(&history->items[i]))
            history->items[n++] = history->items[i];
        else
            json_decref(history->items[i].json);
    }
    history->n = n;
}

int open_calls_load(struct db *db, const struct conversation *conversation, struct history *open,
                    struct error *err)
{
    if (event_store_load_after(db, &conversation->id, open, err) < 0)
        return -1;
    if (conversation->is_branched && branch_store_prune(db, &conversation->id, open, err) < 0)
        return -1;
    keep_open(open, conversation_n_copied(conversation));
    return 0;
}

int waiting_calls_load(struct db *db, const struct conversation *conversation,
                       struct history *waiting, struct error *err)
{
    if (open_calls_load(db, conversation, waiting, err) < 0)
        return -1;
    keep_executable(waiting);
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
        error_ignore(error_set(err, ERROR_CONFLICT,
                               "The agent waits for a decision about a call of %.60s (action %s) "
                               "that this request does not name. Nothing was done: look at it, "
                               "then decide.",
                               json_text_or(call->json, "tool_name", "a tool"), call->id.text),
                     "it is the verdict");
        return true;
    }
    if (!seen->is_decision || waiting->n > 0)
        return false;
    error_ignore(error_set(err, ERROR_CONFLICT,
                           "These actions no longer wait for a decision. Nothing was done: look at "
                           "what became of them."),
                 "it is the verdict");
    return true;
}

/* A run under way has decided what it does; a finished conversation's run does nothing. */
static bool is_settled(enum execution_status status)
{
    return status == STATUS_RUNNING || status == STATUS_FINISHED;
}

int waiting_calls_check(struct db *db, const struct conversation *conversation,
                        const struct seen_calls *seen, bool *is_refused_out, struct error *err)
{
    CLEANUP(history_done) struct history waiting = HISTORY_INIT;

    *is_refused_out = false;
    if (seen->ids == NULL || (is_settled(conversation->status) && !seen->is_decision))
        return 0;
    if (!is_settled(conversation->status) &&
        waiting_calls_load(db, conversation, &waiting, err) < 0)
        return -1;
    *is_refused_out = waiting_calls_refuse(&waiting, seen, err);
    return 0;
}
