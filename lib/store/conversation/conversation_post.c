#include "store/conversation/conversation_post.h"

#include "base/error.h"
#include "model/conversation/conversation.h"
#include "model/conversation/goal.h"
#include "model/event/event.h"
#include "model/prompt/planned_events.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/waiting_calls.h"
#include "store/db/db.h"

/*
 * Each lost race means that another writer's event was stored: a busy worker adds a few per second.
 */
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

/* spec: NULL unless it has changed. */
static int write_change(struct db *db, struct conversation *conversation, struct event_list *events,
                        const struct conversation_change *change, const json_t *spec,
                        struct error *err)
{
    struct conversation_write write = {.guard = GUARD_NONE};

    conversation_write_change(change, &write);
    write.spec = spec;
    return conversation_store_write(db, conversation, events, &write, err);
}

static int check_seen(struct db *db, const struct conversation *conversation,
                      const struct seen_calls *seen, bool *is_refused_out, struct error *err)
{
    *is_refused_out = false;
    return seen == NULL ? 0 : waiting_calls_check(db, conversation, seen, is_refused_out, err);
}

static int try_message(struct db *db, const struct conversation_scope *scope, const struct uuid *id,
                       const struct user_message *message, bool *is_refused_out, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(conversation_change_done) struct conversation_change change = CONVERSATION_CHANGE_INIT;

    const struct planned_message planned = {message->catalogue, message->content, message->run};
    bool is_spec_new = false;

    if (conversation_store_load(db, scope, id, &conversation, err) < 0 ||
        check_seen(db, &conversation, message->run == MESSAGE_AND_RUN ? message->seen : NULL,
                   is_refused_out, err) < 0)
        return -1;
    if (*is_refused_out)
        return 0;
    is_spec_new = goal_give_way(&conversation, &events);
    if (conversation_plan_message(&conversation, &planned, &events, &change, err) < 0)
        return -1;
    event_list_set_sender(&events, message->sender);
    is_spec_new = conversation_note_skills(&conversation, &events) || is_spec_new;
    return write_change(db, &conversation, &events, &change, is_spec_new ? conversation.spec : NULL,
                        err);
}

/*
 * The status after a message, and the waiting calls, are decided from the row as it was loaded. If
 * the row changes before the write, so does its log, and the write is refused: each change of
 * status has its event.
 */
int conversation_post_message(struct db *db, const struct conversation_scope *scope,
                              const struct uuid *id, const struct user_message *message,
                              struct error *err)
{
    bool is_refused = false;
    int rc = try_message(db, scope, id, message, &is_refused, err);

    for (int i = 1; i < TRIES_MAX && rc < 0 && error_is_lost_race(err); i++)
        rc = try_message(db, scope, id, message, &is_refused, err);
    return is_refused ? -1 : rc;
}

/* True when a run is in progress that makes a second request redundant. */
static bool is_under_way(const struct conversation *conversation)
{
    return conversation->is_wanted && conversation->status == STATUS_RUNNING;
}

static int write_run(struct db *db, const struct run_request *wanted,
                     struct conversation *conversation, struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(conversation_change_done) struct conversation_change change = CONVERSATION_CHANGE_INIT;

    conversation_plan_run(wanted->catalogue, conversation, &events, &change);
    return write_change(db, conversation, &events, &change, NULL, err);
}

/* Outcome of one attempt that did not fail. */
struct run_try {
    enum post_result result;
    bool is_refused; /* because of calls that the client has not seen */
};

static int try_run(struct db *db, const struct conversation_scope *scope, const struct uuid *id,
                   const struct run_request *wanted, struct run_try *try_out, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;

    *try_out = (struct run_try){.result = POST_WRITTEN};
    if (conversation_store_load(db, scope, id, &conversation, err) < 0 ||
        check_seen(db, &conversation, wanted->seen, &try_out->is_refused, err) < 0)
        return -1;
    if (try_out->is_refused)
        return 0;
    if (is_under_way(&conversation)) {
        try_out->result = POST_UNDER_WAY;
        return 0;
    }
    return write_run(db, wanted, &conversation, err);
}

int conversation_post_run(struct db *db, const struct conversation_scope *scope,
                          const struct uuid *id, const struct run_request *wanted,
                          enum post_result *result_out, struct error *err)
{
    struct run_try last = {.result = POST_WRITTEN};
    int rc = try_run(db, scope, id, wanted, &last, err);

    for (int i = 1; i < TRIES_MAX && rc < 0 && error_is_lost_race(err); i++)
        rc = try_run(db, scope, id, wanted, &last, err);
    if (rc < 0 || last.is_refused)
        return -1;
    *result_out = last.result;
    return 0;
}
