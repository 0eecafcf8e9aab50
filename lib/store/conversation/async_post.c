#include "store/conversation/async_post.h"

#include <stdbool.h>
#include <stddef.h>

#include <libpq-fe.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "model/conversation/conversation.h"
#include "model/conversation/goal.h"
#include "model/event/event.h"
#include "model/prompt/planned_events.h"
#include "store/conversation/conversation_post.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/conversation_write.h"
#include "store/conversation/event_store.h"
#include "store/conversation/open_calls_query.h"
#include "store/conversation/run_quota.h"
#include "store/conversation/waiting_calls.h"
#include "store/db/async_statement.h"
#include "store/db/db_async.h"
#include "store/db/db_query.h"

/*
 * Each lost race means that another writer's event was stored: a busy worker adds a few per second.
 */
enum { TRIES_MAX = 100 };

static const char SQL_ROOM[] = RUN_QUOTA_QUERY;
static const char SQL_OPEN_CALLS[] = OPEN_CALLS_QUERY;

void async_post_free(struct async_post *post)
{
    if (post == NULL)
        return;
    async_query_cancel(&post->asking);
    async_query_cancel(&post->finding);
    async_query_cancel(&post->state.pending);
    async_query_cancel(&post->writing);
    conversation_done(&post->state.conversation);
    json_decref(post->message);
    mem_free(post);
}

static void on_written(void *owner, const PGresult *rows, const struct error *err)
{
    struct async_post *post = owner;
    struct error full = ERROR_INIT;

    (void)rows;
    if (err != NULL && error_is_lost_race(err) && post->n_tries < TRIES_MAX) {
        conversation_done(&post->state.conversation);
        async_post_start(post);
        return;
    }
    /* A write whose answer was lost may be committed. */
    if (err == NULL || err->code == ERROR_UNAVAILABLE)
        async_hint(post->async, post->hints, post->state.conversation_id.text);
    if (err == NULL && post->is_full) {
        error_ignore(error_set(&full, ERROR_RATE_LIMITED,
                               "Conversation run limit reached. The message is stored; request the "
                               "run again later."),
                     "the caller reports the error");
        err = &full;
    }
    post->done(post, err);
}

static int ask_write(struct async_post *post, struct error *err)
{
    struct conversation *conversation = &post->state.conversation;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(conversation_change_done) struct conversation_change change = CONVERSATION_CHANGE_INIT;
    struct conversation_write write = {.guard = GUARD_NONE};
    struct async_statement query = {.done = on_written, .owner = post, .pending = &post->writing};

    const struct planned_message message = {.catalogue = post->catalogue,
                                            .content = json_object_get(post->message, "content"),
                                            .run = post->is_full ? MESSAGE_ONLY : MESSAGE_AND_RUN};
    bool is_spec_new = goal_give_way(conversation, &events);

    if (conversation_plan_message(conversation, &message, &events, &change, err) < 0)
        return -1;
    event_list_set_sender(&events, json_text_or(post->message, "sender", NULL));
    conversation_write_change(&change, &write);
    if (conversation_note_skills(conversation, &events) || is_spec_new)
        write.spec = conversation->spec;
    post->hints = conversation_write_hints(conversation, &events, &write);
    return conversation_write_ask(post->async, conversation, &events, &write, &query, err);
}

static struct seen_calls seen_of(const struct async_post *post)
{
    return (struct seen_calls){.ids = json_object_get(post->message, "action_ids")};
}

/* The waiting calls were read after the row: an event in between makes the write fail. */
static void on_open_calls(void *owner, const PGresult *rows, const struct error *err)
{
    struct async_post *post = owner;
    const struct seen_calls seen = seen_of(post);
    CLEANUP(history_done) struct history waiting = HISTORY_INIT;
    struct error bad = ERROR_INIT;

    if (err != NULL) {
        post->done(post, err);
        return;
    }
    if (open_calls_read(rows, &waiting, &bad) < 0) {
        post->done(post, &bad);
        return;
    }
    open_calls_keep_executable(&waiting);
    if (waiting_calls_refuse(&waiting, &seen, &bad) || ask_write(post, &bad) < 0)
        post->done(post, &bad);
}

static void ask_open_calls(struct async_post *post)
{
    struct db_int n_copied = db_int(conversation_n_copied(&post->state.conversation));
    struct async_statement query = {.sql = SQL_OPEN_CALLS,
                                    .params =
                                        DB_PARAMS(post->state.conversation_id.text, n_copied.text),
                                    .effect = ASYNC_READS,
                                    .done = on_open_calls,
                                    .owner = post,
                                    .pending = &post->finding};

    db_async_send(post->async, &query);
}

/* Without room no run is requested, so nothing is executed. */
static void on_loaded(struct state_query *state, const struct error *err)
{
    struct async_post *post =
        (struct async_post *)((char *)state - offsetof(struct async_post, state));
    const struct seen_calls seen = seen_of(post);
    struct error bad = ERROR_INIT;

    if (err == NULL && !post->is_full && waiting_calls_matter(&state->conversation, &seen)) {
        ask_open_calls(post);
        return;
    }
    if (err == NULL && ask_write(post, &bad) == 0)
        return;
    post->done(post, err != NULL ? err : &bad);
}

struct async_post *async_post_new(struct db_async *async, const struct conversation_scope *scope,
                                  const struct uuid *id, json_t *message,
                                  const struct run_limits *limits)
{
    struct async_post *post = NEW(struct async_post);

    post->async = async;
    post->message = json_incref(message);
    post->limits = *limits;
    post->state.conversation_id = *id;
    post->state.user_id = scope->user_id;
    post->state.runtime_session = scope->runtime_session;
    post->state.conversation = (struct conversation)CONVERSATION_INIT;
    post->state.done = on_loaded;
    return post;
}

static void on_room(void *owner, const PGresult *rows, const struct error *err)
{
    struct async_post *post = owner;

    if (err != NULL) {
        post->done(post, err);
        return;
    }
    post->is_full = PQntuples(rows) == 0 || !db_bool(rows, 0, 0);
    async_store_read_state(post->async, &post->state);
}

void async_post_start(struct async_post *post)
{
    struct db_int slots = db_int(post->limits.n_slots);
    struct db_int queue = db_int(post->limits.n_queued);
    struct async_statement query = {.sql = SQL_ROOM,
                                    .params = DB_PARAMS(post->state.user_id.text,
                                                        post->state.conversation_id.text,
                                                        slots.text, queue.text),
                                    .effect = ASYNC_READS,
                                    .done = on_room,
                                    .owner = post,
                                    .pending = &post->asking};

    post->n_tries++;
    db_async_send(post->async, &query);
}
