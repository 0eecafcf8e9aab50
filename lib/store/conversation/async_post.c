#include "store/conversation/live_post.h"

#include <stdbool.h>
#include <stddef.h>

#include <libpq-fe.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "model/conversation/conversation.h"
#include "model/conversation/goal.h"
#include "model/event/event.h"
#include "store/conversation/conversation_post.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/conversation_write.h"
#include "store/conversation/event_store.h"
#include "store/conversation/open_calls_query.h"
#include "store/conversation/run_room.h"
#include "store/conversation/waiting_calls.h"
#include "store/db/db_pipe.h"
#include "store/db/db_pipe_query.h"
#include "store/db/db_query.h"

/*
 * Each lost race means that another writer's event was stored: a busy worker adds a few per second.
 */
enum { TRIES_MAX = 100 };

static const char SQL_ROOM[] = RUN_ROOM_QUERY;
static const char SQL_OPEN_CALLS[] = OPEN_CALLS_QUERY;

void live_post_free(struct live_post *post)
{
    if (post == NULL)
        return;
    db_ticket_forget(&post->asking);
    db_ticket_forget(&post->finding);
    db_ticket_forget(&post->state.ticket);
    db_ticket_forget(&post->writing);
    conversation_done(&post->state.conversation);
    json_decref(post->message);
    mem_free(post);
}

static void on_written(void *owner, const PGresult *rows, const struct error *err)
{
    struct live_post *post = owner;
    struct error full = ERROR_INIT;

    (void)rows;
    if (err != NULL && error_is_lost_race(err) && post->n_tries < TRIES_MAX) {
        conversation_done(&post->state.conversation);
        live_post_start(post);
        return;
    }
    if (err == NULL && post->is_full) {
        error_ignore(error_set(&full, ERROR_RATE_LIMITED,
                               "Conversation run limit reached. The message is stored; ask for the "
                               "run again later."),
                     "it is told");
        err = &full;
    }
    post->done(post, err);
}

static int ask_write(struct live_post *post, struct error *err)
{
    struct conversation *conversation = &post->state.conversation;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(conversation_change_done) struct conversation_change change = CONVERSATION_CHANGE_INIT;
    struct conversation_write write = {.guard = GUARD_NONE};
    struct db_question question = {.done = on_written, .owner = post, .ticket = &post->writing};

    bool is_spec_new = goal_give_way(conversation, &events);

    if (conversation_plan_message(conversation, json_object_get(post->message, "content"),
                                  !post->is_full, &events, &change, err) < 0)
        return -1;
    event_list_set_sender(&events, json_text_or(post->message, "sender", NULL));
    conversation_write_change(&change, &write);
    if (conversation_note_skills(conversation, &events) || is_spec_new)
        write.spec = conversation->spec;
    return conversation_write_ask(post->pipe, conversation, &events, &write, &question, err);
}

static struct seen_calls seen_of(const struct live_post *post)
{
    return (struct seen_calls){.ids = json_object_get(post->message, "action_ids")};
}

/* The waiting calls were read after the row: an event in between makes the write fail. */
static void on_open_calls(void *owner, const PGresult *rows, const struct error *err)
{
    struct live_post *post = owner;
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

static void ask_open_calls(struct live_post *post)
{
    struct db_int n_copied = db_int(conversation_n_copied(&post->state.conversation));
    struct db_question question = {.sql = SQL_OPEN_CALLS,
                                   .params =
                                       DB_PARAMS(post->state.conversation_id.text, n_copied.text),
                                   .effect = DB_PIPE_READS,
                                   .done = on_open_calls,
                                   .owner = post,
                                   .ticket = &post->finding};

    db_pipe_ask(post->pipe, &question);
}

/* Without room no run is requested, so nothing is executed. */
static void on_loaded(struct state_question *state, const struct error *err)
{
    struct live_post *post =
        (struct live_post *)((char *)state - offsetof(struct live_post, state));
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

struct live_post *live_post_new(struct db_pipe *pipe, const struct conversation_scope *scope,
                                const struct uuid *id, json_t *message,
                                const struct run_limits *limits)
{
    struct live_post *post = NEW(struct live_post);

    post->pipe = pipe;
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
    struct live_post *post = owner;

    if (err != NULL) {
        post->done(post, err);
        return;
    }
    post->is_full = PQntuples(rows) == 0 || !db_bool(rows, 0, 0);
    live_ask_state(post->pipe, &post->state);
}

void live_post_start(struct live_post *post)
{
    struct db_int slots = db_int(post->limits.n_slots);
    struct db_int queue = db_int(post->limits.n_queued);
    struct db_question question = {.sql = SQL_ROOM,
                                   .params = DB_PARAMS(post->state.user_id.text,
                                                       post->state.conversation_id.text, slots.text,
                                                       queue.text),
                                   .effect = DB_PIPE_READS,
                                   .done = on_room,
                                   .owner = post,
                                   .ticket = &post->asking};

    post->n_tries++;
    db_pipe_ask(post->pipe, &question);
}
