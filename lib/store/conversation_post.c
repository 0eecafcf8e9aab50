#include "store/conversation_post.h"

#include "base/error.h"
#include "model/conversation.h"
#include "model/event.h"
#include "model/goal.h"
#include "store/conversation_store.h"
#include "store/db.h"

/* Each lost race means that somebody else's event went in: a busy worker adds a few per second. */
enum { TRIES_MAX = 100 };

void conversation_write_change(const struct conversation_change *change,
                               struct conversation_write *write)
{
    write->status = status_to_string(change->status);
    write->want_run = change->wants_run;
    write->last_user_message_id = change->last_user_message_id;
    write->first_title = change->first_title;
    write->stats = change->stats;
    if (change->wants_title)
        write->job.kind = "title";
}

/* spec: where it has changed; else NULL. */
static int write_change(struct db *db, struct conversation *conversation, struct event_list *events,
                        const struct conversation_change *change, const json_t *spec,
                        struct error *err)
{
    struct conversation_write write = {.guard = GUARD_NONE};

    conversation_write_change(change, &write);
    write.spec = spec;
    return conversation_store_write(db, conversation, events, &write, err);
}

static int try_message(struct db *db, const struct conversation_scope *scope, const struct uuid *id,
                       json_t *content, bool run, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(conversation_change_done) struct conversation_change change = CONVERSATION_CHANGE_INIT;

    bool is_spec_new = false;

    if (conversation_store_load(db, scope, id, &conversation, err) < 0)
        return -1;
    is_spec_new = goal_give_way(&conversation, &events);
    if (conversation_plan_message(&conversation, content, run, &events, &change, err) < 0)
        return -1;
    is_spec_new = conversation_note_skills(&conversation, &events) || is_spec_new;
    return write_change(db, &conversation, &events, &change, is_spec_new ? conversation.spec : NULL,
                        err);
}

/*
 * The status a message leaves behind is decided on the row as it was loaded. If the row moves on in
 * the meantime, so does its log, and the write is refused: each change of status has its event.
 */
int conversation_post_message(struct db *db, const struct conversation_scope *scope,
                              const struct uuid *id, json_t *content, bool run, struct error *err)
{
    int rc = try_message(db, scope, id, content, run, err);

    for (int i = 1; i < TRIES_MAX && rc < 0 && error_is_lost_race(err); i++)
        rc = try_message(db, scope, id, content, run, err);
    return rc;
}

enum run_result { RUN_WRITTEN, RUN_UNDER_WAY };

static int try_run(struct db *db, const struct conversation_scope *scope, const struct uuid *id,
                   enum run_result *result_out, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(conversation_change_done) struct conversation_change change = CONVERSATION_CHANGE_INIT;

    if (conversation_store_load(db, scope, id, &conversation, err) < 0)
        return -1;
    if (conversation.is_wanted && conversation.status == STATUS_RUNNING) {
        *result_out = RUN_UNDER_WAY;
        return 0;
    }
    *result_out = RUN_WRITTEN;
    conversation_plan_run(&conversation, &events, &change);
    return write_change(db, &conversation, &events, &change, NULL, err);
}

int conversation_post_run(struct db *db, const struct conversation_scope *scope,
                          const struct uuid *id, struct error *err)
{
    enum run_result result = RUN_WRITTEN;
    int rc = try_run(db, scope, id, &result, err);

    for (int i = 1; i < TRIES_MAX && rc < 0 && error_is_lost_race(err); i++)
        rc = try_run(db, scope, id, &result, err);
    if (rc == 0 && result == RUN_UNDER_WAY)
        return error_set(err, ERROR_CONFLICT,
                         "Conversation already running. Wait for completion or pause first.");
    return rc;
}
