/*
 * Run, pause, interrupt. If a worker holds the conversation, the worker stops it; otherwise it is
 * stopped here, in one write that succeeds only while no worker holds it.
 */
#include "auth/principal.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/agent/conversation/open_calls.h"
#include "fcgi/agent/conversation/seen_calls.h"
#include "fcgi/agent/workspace/sandbox_notify.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/wait_slots.h"
#include "model/conversation/goal.h"
#include "model/event/event.h"
#include "store/conversation/conversation_post.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/waiting_calls.h"

enum { TRIES_MAX = 50 };

/* The two kinds of stop, and how long the caller waits for each. */
struct stop {
    const char *word;
    int64_t wait_ms;
    void (*add_event)(struct event_list *list);
};

static const struct stop stop_pause = {"pause", 30000, event_add_pause};
static const struct stop stop_interrupt = {"interrupt", 10000, event_add_interrupt};

/* POST {"action_ids"?: […]} -> 200 | 404 | 409 | 422 */
static int conversation_run(const struct request *request, struct reply *reply, struct error *err)
{
    const struct conversation_scope scope = principal_scope(&request->principal);
    struct seen_calls seen = SEEN_CALLS_UNSAID;
    const struct run_request wanted = {request->context->catalogue, &seen};
    enum post_result result = POST_WRITTEN;
    json_auto_t *body = NULL;
    struct uuid id = UUID_INIT;

    if (agent_conversation_id(request, &id, err) < 0 ||
        request_json_object_or_empty(request, &body, err) < 0 ||
        seen_calls_read(request, body, &seen, err) < 0 || agent_check_room(request, &id, err) < 0)
        return -1;
    if (conversation_post_run(request->context->db, &scope, &id, &wanted, &result, err) < 0)
        return agent_unknown(UNKNOWN_PLAIN, &id, err);
    if (result == POST_UNDER_WAY)
        return error_set(err, ERROR_CONFLICT,
                         "Conversation already running. Wait for completion or pause first.");
    return reply_success(reply);
}

/*
 * Only running and idle conversations are stopped; in other states only the snapshot is sent again.
 */
static int plan_stop(const struct request *request, const struct stop *stop,
                     struct conversation *conversation, struct event_list *events,
                     struct conversation_write *write, struct error *err)
{
    /* A run whose worker died may have left calls open: each gets an end. */
    const struct call_end end = {event_add_agent_error, EVENT_INTERRUPTED_TEXT};
    bool is_running = conversation->status == STATUS_RUNNING;

    write->bump_snapshot = true;
    if (!is_running && conversation->status != STATUS_IDLE)
        return 0;
    if (is_running && stop == &stop_interrupt &&
        open_calls_end(request, conversation, &end, events, err) < 0)
        return -1;
    event_add_status(events, STATUS_PAUSED);
    if (is_running)
        stop->add_event(events);
    else
        event_add_pause(events);
    write->guard = GUARD_NO_LEASE;
    write->status = status_to_string(STATUS_PAUSED);
    write->end_run = true;
    write->job.kind = goal_job(conversation);
    return 0;
}

static int stop_here(const struct request *request, const struct stop *stop, const struct uuid *id,
                     struct error *err)
{
    const struct conversation_scope scope = principal_scope(&request->principal);
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    struct conversation_write write = {.guard = GUARD_NONE};

    if (conversation_store_load(request->context->db, &scope, id, &conversation, err) < 0)
        return agent_unknown(UNKNOWN_PLAIN, id, err);
    if (plan_stop(request, stop, &conversation, &events, &write, err) < 0)
        return -1;
    if (conversation_store_write(request->context->db, &conversation, &events, &write, err) < 0)
        return -1;
    /* A command started by a worker that died may still be running. */
    if (write.end_run && stop == &stop_interrupt)
        sandbox_notify_interrupted(request, &conversation);
    return 0;
}

/*
 * The worker ends the run when its step allows, if need be after the deadline. If all waiting slots
 * are taken this returns at once, to keep the other threads free for requests.
 */
static int stop_by_worker(const struct request *request, const struct stop *stop,
                          const struct uuid *id, struct error *err)
{
    struct error busy = ERROR_INIT;
    int rc = 0;

    if (wait_slot_take(request->context->wait_slots, &request->principal.user_id, &busy) < 0)
        return 0;
    rc = conversation_store_wait_stopped(request->context->db, id,
                                         clock_monotonic_ms() + stop->wait_ms, err);
    wait_slot_return(request->context->wait_slots, &request->principal.user_id);
    return rc < 0 && err->code != ERROR_TIMEOUT ? -1 : 0;
}

/*
 * A worker may claim or release the conversation between the request and the write: then it fails
 * as a lost race.
 */
static int try_stop(const struct request *request, const struct stop *stop, const struct uuid *id,
                    struct error *err)
{
    size_t n_asked = 0;

    if (conversation_store_request_stop(request->context->db, id, stop->word, &n_asked, err) < 0)
        return -1;
    return n_asked > 0 ? stop_by_worker(request, stop, id, err) : stop_here(request, stop, id, err);
}

/* One try to interrupt, without a wait for the worker. */
static int try_interrupt(const struct request *request, const struct uuid *id, struct error *err)
{
    size_t n_asked = 0;

    if (conversation_store_request_stop(request->context->db, id, stop_interrupt.word, &n_asked,
                                        err) < 0)
        return -1;
    return n_asked > 0 ? 0 : stop_here(request, &stop_interrupt, id, err);
}

int conversation_interrupt_now(const struct request *request, const struct uuid *id,
                               struct error *err)
{
    int rc = try_interrupt(request, id, err);

    for (int i = 1; i < TRIES_MAX && rc < 0 && error_is_lost_race(err); i++)
        rc = try_interrupt(request, id, err);
    return rc;
}

static int stop_conversation(const struct request *request, struct reply *reply,
                             const struct stop *stop, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    int rc = -1;

    /* Check ownership before anything else. */
    if (agent_load_conversation(request, UNKNOWN_PLAIN, &conversation, err) < 0)
        return -1;
    rc = try_stop(request, stop, &conversation.id, err);
    for (int i = 1; i < TRIES_MAX && rc < 0 && error_is_lost_race(err); i++)
        rc = try_stop(request, stop, &conversation.id, err);
    return rc < 0 ? -1 : reply_success(reply);
}

/* POST -> 200 (also when nothing runs) | 404 */
static int conversation_pause(const struct request *request, struct reply *reply, struct error *err)
{
    return stop_conversation(request, reply, &stop_pause, err);
}

/* POST -> 200 (also when nothing runs) | 404 */
static int conversation_interrupt(const struct request *request, struct reply *reply,
                                  struct error *err)
{
    return stop_conversation(request, reply, &stop_interrupt, err);
}

const struct route conversation_run_routes[] = {
    {HTTP_POST, "/api/conversations/{conversation_id}/run", ORIGIN_BOTH, ACCESS_CALLER,
     SANDBOX_DRIVES, BODY_SMALL_BYTES, conversation_run},
    {HTTP_POST, "/api/conversations/{conversation_id}/pause", ORIGIN_BOTH, ACCESS_CALLER,
     SANDBOX_DRIVES, BODY_SMALL_BYTES, conversation_pause},
    {HTTP_POST, "/api/conversations/{conversation_id}/interrupt", ORIGIN_BOTH, ACCESS_CALLER,
     SANDBOX_DRIVES, BODY_SMALL_BYTES, conversation_interrupt},
    {.handle = NULL},
};
