/*
 * The sandbox of a conversation: status, restart, key, denied network connections, stop.
 */
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "client/runtime_api.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/agent/conversation/info.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/wait_slots.h"
#include "fcgi/sandbox/sandbox_locate.h"
#include "web/reply_status.h"

static int answer_info(const struct request *request, struct reply *reply,
                       const struct conversation *conversation, struct error *err)
{
    json_auto_t *info = runtime_info(request, conversation, err);

    return info == NULL ? -1 : reply_json(reply, 200, info);
}

/*
 * Replies with the reason why there is no sandbox, as text for a user. 429 when the limit of
 * running sandboxes is reached.
 */
static int answer_failed_start(struct reply *reply, const struct error *why, struct error *err)
{
    *err = *why;
    if (why->code == ERROR_RATE_LIMITED)
        return -1;
    log_warning("sandbox.start_failed", LOG_ERROR(why));
    return reply_exception(reply, 502, why->message);
}

/* GET -> 200 RuntimeInfo | 404 */
static int runtime_get(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;

    if (agent_load_conversation(request, UNKNOWN_PLAIN, &conversation, err) < 0)
        return -1;
    return answer_info(request, reply, &conversation, err);
}

static int start(const struct request *request, const struct sandbox_owner *owner,
                 struct sandbox_endpoint *endpoint_out, struct error *err)
{
    struct wait_slots *slots = request->context->wait_slots;
    int rc = wait_slot_take(slots, &request->principal.user_id, err);

    if (rc < 0)
        return -1;
    rc = sandbox_start(request->context, owner, endpoint_out, err);
    wait_slot_return(slots, &request->principal.user_id);
    return rc;
}

/* POST -> 200 RuntimeInfo | 404 | 429 | 502 */
static int runtime_reprovision(const struct request *request, struct reply *reply,
                               struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;
    const struct sandbox_owner owner = {&request->principal, &conversation};
    struct error why = ERROR_INIT;

    if (agent_load_conversation(request, UNKNOWN_PLAIN, &conversation, err) < 0)
        return -1;
    if (start(request, &owner, &endpoint, &why) < 0)
        return answer_failed_start(reply, &why, err);
    return answer_info(request, reply, &conversation, err);
}

/* POST -> 200 {"session_api_key"} | 404, also for a shared sandbox */
static int runtime_credentials(const struct request *request, struct reply *reply,
                               struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint endpoint = SANDBOX_ENDPOINT_INIT;
    const struct sandbox_owner owner = {&request->principal, &conversation};
    struct error why = ERROR_INIT;
    json_auto_t *json = NULL;

    if (agent_load_conversation(request, UNKNOWN_PLAIN, &conversation, err) < 0)
        return -1;
    if (conversation.runtime_kind != RUNTIME_DOCKER)
        return error_set(err, ERROR_NOT_FOUND, "%s", reply_phrase(404));
    if (sandbox_find(request->context, &owner, &endpoint, &why) < 0 &&
        start(request, &owner, &endpoint, &why) < 0)
        return answer_failed_start(reply, &why, err);
    json = json_object();
    json_put_text(json, "session_api_key", secret_reveal(&endpoint.session_key));
    return reply_json(reply, 200, json);
}

/* DELETE -> 204 | 404 | 405 for a shared sandbox. Keeps history and workspace. */
static int runtime_release(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    const struct sandbox_owner owner = {&request->principal, &conversation};
    struct error why = ERROR_INIT;

    if (agent_load_conversation(request, UNKNOWN_PLAIN, &conversation, err) < 0)
        return -1;
    if (conversation.runtime_kind != RUNTIME_DOCKER) {
        reply_header(reply, "Allow", "GET");
        return reply_detail(reply, 405, reply_phrase(405));
    }
    if (sandbox_stop(request->context, &owner, &why) == 0)
        return reply_empty(reply, 204);
    if (why.code == ERROR_NOT_FOUND)
        return error_set(err, ERROR_NOT_FOUND, "%s", reply_phrase(404));
    return answer_failed_start(reply, &why, err);
}

/* GET -> 200 {"logged", "detail", "refusals": [{"host","port","protocol","reason","count",
 * "first_at","last_at"}]} | 404; of a conversation that never had a sandbox, none */
static int egress_refusals(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    const struct sandbox_owner owner = {&request->principal, &conversation};
    json_auto_t *refusals = NULL;

    if (agent_load_conversation(request, UNKNOWN_PLAIN, &conversation, err) < 0)
        return -1;
    if (sandbox_refusals(request->context, &owner, &refusals, err) == 0)
        return reply_json(reply, 200, refusals);
    if (err->code != ERROR_NOT_FOUND)
        return -1;
    refusals = json_build(err, "{s:b, s:s, s:[]}", "logged", 0, "detail",
                          "the conversation has no sandbox yet", "refusals");
    return refusals != NULL ? reply_json(reply, 200, refusals) : -1;
}

#define RUNTIME "/api/conversations/{conversation_id}/runtime"

const struct route runtime_routes[] = {
    {HTTP_GET, RUNTIME, ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_READS, 0, runtime_get},
    {HTTP_DELETE, RUNTIME, ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_REFUSED, 0, runtime_release},
    {HTTP_POST, RUNTIME "/reprovision", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_REFUSED,
     BODY_SMALL_BYTES, runtime_reprovision},
    {HTTP_POST, RUNTIME "/credentials", ORIGIN_BOTH, ACCESS_USER, SANDBOX_REFUSED, BODY_SMALL_BYTES,
     runtime_credentials},
    {HTTP_GET, "/api/conversations/{conversation_id}/egress_refusals", ORIGIN_BOTH, ACCESS_CALLER,
     SANDBOX_READS, 0, egress_refusals},
    {.handle = NULL},
};
