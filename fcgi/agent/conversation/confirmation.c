/*
 * POST …/events/respond_to_confirmation: the user accepts or rejects the agent's pending calls.
 */
#include "auth/principal.h"
#include "base/error.h"
#include "base/json.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/agent/conversation/open_calls.h"
#include "fcgi/agent/conversation/seen_calls.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "model/conversation/conversation.h"
#include "model/event/event.h"
#include "model/event/status.h"
#include "store/conversation/conversation_post.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/waiting_calls.h"

enum { TRIES_MAX = 50, REASON_MAX_CHARS = 10000 };

/* The user's decision as read from the body. */
struct decision {
    bool accept;
    bool run; /* after a rejection: the agent continues, and sees the reason */
    const char *reason;
    struct seen_calls seen;
};

/* A run executes the waiting calls. One that is under way already does. */
static int accept_calls(const struct request *request, const struct uuid *id,
                        const struct seen_calls *seen, struct error *err)
{
    const struct conversation_scope scope = principal_scope(&request->principal);
    const struct run_request wanted = {request->context->catalogue, seen};
    enum post_result result = POST_WRITTEN;

    if (agent_check_room(request, id, err) < 0)
        return -1;
    if (conversation_post_run(request->context->db, &scope, id, &wanted, &result, err) < 0)
        return agent_unknown(UNKNOWN_NAMED, id, err);
    return 0;
}

/*
 * A rejection without action ids means the calls that wait now; one with ids may reject a paused
 * call, too.
 */
static bool has_something_to_reject(const struct conversation *conversation,
                                    const struct decision *decision)
{
    return conversation->status == STATUS_WAITING_FOR_CONFIRMATION || decision->seen.ids != NULL;
}

static int try_reject(const struct request *request, const struct decision *decision,
                      bool *is_refused_out, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    const struct call_end end = {event_add_rejection, decision->reason};
    struct conversation_write write = {.guard = GUARD_NO_LEASE,
                                       .status = status_to_string(STATUS_IDLE)};

    if (agent_load_conversation(request, UNKNOWN_NAMED, &conversation, err) < 0 ||
        waiting_calls_check(request->context->db, &conversation, &decision->seen, is_refused_out,
                            err) < 0)
        return -1;
    if (*is_refused_out || !has_something_to_reject(&conversation, decision))
        return 0;
    event_add_status(&events, STATUS_IDLE);
    if (open_calls_end(request, &conversation, &end, &events, err) < 0)
        return -1;
    if (decision->run) {
        event_add_status(&events, STATUS_RUNNING);
        write.status = status_to_string(STATUS_RUNNING);
        write.want_run = true;
    }
    return conversation_store_write(request->context->db, &conversation, &events, &write, err);
}

static int reject_calls(const struct request *request, const struct decision *decision,
                        struct error *err)
{
    bool is_refused = false;
    int rc = try_reject(request, decision, &is_refused, err);

    for (int i = 1; i < TRIES_MAX && rc < 0 && error_is_lost_race(err); i++)
        rc = try_reject(request, decision, &is_refused, err);
    return is_refused ? -1 : rc;
}

static int read_accept(const struct request *request, json_t *body, bool *accept_out,
                       struct error *err)
{
    if (json_object_get(body, "accept") == NULL)
        return request_problem(request, REQUEST_JSON_PATH("body", "accept"),
                               &(struct validation_error){"missing", "Field required", NULL}, body,
                               err);
    return request_member_bool(request, body, "accept", accept_out, err);
}

static int read_decision(const struct request *request, json_t *body, struct decision *decision,
                         struct error *err)
{
    const struct text_rule rule = {0, REASON_MAX_CHARS, false};

    if (read_accept(request, body, &decision->accept, err) < 0 ||
        request_member_text(request, body, "reason", &rule, &decision->reason, err) < 0 ||
        request_member_bool(request, body, "run", &decision->run, err) < 0 ||
        seen_calls_read(request, body, &decision->seen, err) < 0)
        return -1;
    if (decision->reason == NULL)
        decision->reason = "User rejected the action.";
    decision->seen.is_decision = true;
    return 0;
}

/* If the run limit is reached, the rejection is stored all the same. */
static int look_for_room(const struct request *request, const struct uuid *id,
                         struct decision *decision, bool *is_full_out, struct error *err)
{
    if (!decision->run || agent_check_room(request, id, err) == 0)
        return 0;
    if (err->code != ERROR_RATE_LIMITED)
        return -1;
    decision->run = false;
    *is_full_out = true;
    return 0;
}

static int reject(const struct request *request, const struct uuid *id, struct decision *decision,
                  struct error *err)
{
    bool is_full = false;

    if (look_for_room(request, id, decision, &is_full, err) < 0 ||
        reject_calls(request, decision, err) < 0)
        return -1;
    if (!is_full)
        return 0;
    return error_set(
        err, ERROR_RATE_LIMITED,
        "Conversation run limit reached. The actions are rejected; request the run again later.");
}

/*
 * POST {"accept": bool, "reason"?, "action_ids"?: […], "run"?: bool} -> 200, also when no call
 * waits and no action is named | 404 | 409 | 422 | 429
 */
static int respond(const struct request *request, struct reply *reply, struct error *err)
{
    struct decision decision = {.seen = SEEN_CALLS_UNSAID};
    json_auto_t *body = NULL;
    struct uuid id = UUID_INIT;
    int rc = -1;

    if (agent_conversation_id(request, &id, err) < 0 ||
        request_json_object(request, &body, err) < 0 ||
        read_decision(request, body, &decision, err) < 0)
        return -1;
    rc = decision.accept ? accept_calls(request, &id, &decision.seen, err)
                         : reject(request, &id, &decision, err);
    return rc < 0 ? -1 : reply_success(reply);
}

const struct route confirmation_routes[] = {
    {HTTP_POST, "/api/conversations/{conversation_id}/events/respond_to_confirmation", ORIGIN_BOTH,
     ACCESS_CALLER, SANDBOX_DRIVES, BODY_SMALL_BYTES, respond},
    {.handle = NULL},
};
