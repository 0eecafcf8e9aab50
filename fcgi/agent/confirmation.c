/*
 * POST …/events/respond_to_confirmation: the user's word on what the agent wants to do.
 */
#include "auth/principal.h"
#include "base/error.h"
#include "base/json.h"
#include "fcgi/agent/agent.h"
#include "fcgi/agent/open_calls.h"
#include "fcgi/context.h"
#include "fcgi/reply.h"
#include "model/event.h"
#include "store/conversation_post.h"
#include "store/conversation_store.h"

enum { TRIES_MAX = 50, REASON_MAX_CHARS = 10000 };

/* To run is to do what waits. A run that is under way already has it. */
static int accept_calls(const struct request *request, const struct uuid *id, struct error *err)
{
    const struct conversation_scope scope = principal_scope(&request->principal);

    if (agent_check_room(request, id, err) < 0)
        return -1;
    if (conversation_post_run(request->context->db, &scope, id, err) < 0 &&
        err->code != ERROR_CONFLICT)
        return agent_unknown(UNKNOWN_NAMED, id, err);
    agent_hint_work(request, id);
    agent_hint_events(request, id);
    return 0;
}

static int try_reject(const struct request *request, const char *reason, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    const struct call_end end = {event_add_rejection, reason};
    const struct conversation_write write = {.guard = GUARD_NO_LEASE,
                                             .status = status_to_string(STATUS_IDLE)};

    if (agent_load_conversation(request, UNKNOWN_NAMED, &conversation, err) < 0)
        return -1;
    if (conversation.status != STATUS_WAITING_FOR_CONFIRMATION)
        return 0;
    event_add_status(&events, STATUS_IDLE);
    if (open_calls_end(request, &conversation, &end, &events, err) < 0 ||
        conversation_store_write(request->context->db, &conversation, &events, &write, err) < 0)
        return -1;
    agent_hint_events(request, &conversation.id);
    return 0;
}

static int reject_calls(const struct request *request, const char *reason, struct error *err)
{
    int rc = try_reject(request, reason, err);

    for (int i = 1; i < TRIES_MAX && rc < 0 && error_is_lost_race(err); i++)
        rc = try_reject(request, reason, err);
    return rc;
}

static int read_accept(const struct request *request, json_t *body, bool *accept_out,
                       struct error *err)
{
    if (json_object_get(body, "accept") == NULL)
        return request_problem(request, REQUEST_PLACE("body", "accept"),
                               &(struct problem){"missing", "Field required", NULL}, body, err);
    return request_member_bool(request, body, "accept", accept_out, err);
}

/* POST {"accept": bool, "reason"?} -> 200, also when nothing waits | 404 | 422 */
static int respond(const struct request *request, struct reply *reply, struct error *err)
{
    const struct text_rule rule = {0, REASON_MAX_CHARS, false};
    json_auto_t *body = NULL;
    const char *reason = NULL;
    struct uuid id = UUID_INIT;
    bool accept = false;
    int rc = -1;

    if (agent_conversation_id(request, &id, err) < 0 ||
        request_json_object(request, &body, err) < 0 ||
        read_accept(request, body, &accept, err) < 0 ||
        request_member_text(request, body, "reason", &rule, &reason, err) < 0)
        return -1;
    if (accept)
        rc = accept_calls(request, &id, err);
    else
        rc = reject_calls(request, reason != NULL ? reason : "User rejected the action.", err);
    return rc < 0 ? -1 : reply_success(reply);
}

const struct route confirmation_routes[] = {
    {HTTP_POST, "/api/conversations/{conversation_id}/events/respond_to_confirmation", ORIGIN_BOTH,
     ACCESS_CALLER, BODY_SMALL_BYTES, respond},
    {.handle = NULL},
};
