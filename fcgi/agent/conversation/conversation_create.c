/*
 * POST /api/conversations
 */
#include "base/error.h"
#include "base/json.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/agent/conversation/info.h"
#include "fcgi/agent/conversation/tracing_headers.h"
#include "fcgi/agent/conversation/worktree.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/request_defaults.h"
#include "fcgi/settings/unmasked_secrets.h"
#include "start/start.h"
#include "start/start_context.h"
#include "start/start_store.h"
#include "store/conversation/conversation_store.h"

/* Replies with the refusal of an agent profile; other failures are passed on. */
static int refuse(struct reply *reply, const struct start *start)
{
    return start->request.refusal != NULL ? reply_json(reply, 422, start->request.refusal) : -1;
}

int conversation_begin(const struct request *request, json_t *body, struct reply *reply,
                       struct uuid *id_out, struct error *err)
{
    CLEANUP(start_done) struct start start = START_INIT;
    const struct start_context context = request_start_context(request);
    enum start_outcome outcome = START_STORED;

    if (start_prepare(&context, body, NULL, &start, err) < 0)
        return refuse(reply, &start);
    if (start_store(&context, &start.plan, &outcome, err) < 0)
        return -1;
    *id_out = start.plan.conversation.id;
    return 0;
}

/* Its worktree may still be under way for another request, or for one that died. */
static int answer_existing(const struct request *request, struct reply *reply,
                           struct conversation *conversation, struct error *err)
{
    enum info_skills skills = INFO_WITHOUT_SKILLS;
    json_auto_t *info = NULL;

    if (info_skills_read(request, &skills, err) < 0 ||
        worktree_wait(request, conversation, err) < 0)
        return -1;
    info = info_plain(conversation, skills);
    return reply_json(reply, 200, info);
}

/* Another request has created it since start_find_existing(). */
static int answer_stored(const struct request *request, const struct start_context *context,
                         struct reply *reply, const struct uuid *id, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;

    if (conversation_store_load(context->db, &context->caller.scope, id, &conversation, err) < 0)
        return -1;
    return answer_existing(request, reply, &conversation, err);
}

/* The reply is the contract's Info, which has no member for the warning. */
static void warn_unmasked(struct reply *reply, const struct start_request *request)
{
    const json_t *context = json_object_get(request->agent, "agent_context");

    unmasked_secrets_warn(reply, request->secrets, NULL);
    unmasked_secrets_warn(reply, json_object_get(context, "secrets"), NULL);
}

static int store(const struct request *request, const struct start_context *context,
                 struct start_plan *plan, enum start_outcome *outcome_out, struct error *err)
{
    const struct start_order order = start_order_of(context, plan);

    return worktree_store(request, context, &order, outcome_out, err);
}

static int create(const struct request *request, json_t *body, const struct start_context *context,
                  struct reply *reply, struct error *err)
{
    CLEANUP(start_done) struct start start = START_INIT;
    enum start_outcome outcome = START_STORED;
    enum info_skills skills = INFO_WITHOUT_SKILLS;
    json_auto_t *tracing = NULL;
    json_auto_t *info = NULL;

    if (tracing_headers_read(request, body, &tracing, err) < 0)
        return -1;
    if (start_prepare(context, body, tracing, &start, err) < 0)
        return refuse(reply, &start);
    if (info_skills_read(request, &skills, err) < 0 ||
        store(request, context, &start.plan, &outcome, err) < 0)
        return -1;
    if (outcome == START_EXISTED)
        return answer_stored(request, context, reply, &start.plan.conversation.id, err);
    info = info_plain(&start.plan.conversation, skills);
    warn_unmasked(reply, &start.request);
    return reply_json(reply, 201, info);
}

/* POST StartConversationRequest -> 201 Info | 200 Info when it exists | 404 profile | 422 */
static int conversation_create(const struct request *request, struct reply *reply,
                               struct error *err)
{
    CLEANUP(conversation_done) struct conversation existing = CONVERSATION_INIT;
    const struct start_context context = request_start_context(request);
    json_auto_t *body = NULL;
    bool is_found = false;

    if (request_json_object(request, &body, err) < 0 ||
        start_find_existing(&context, body, &is_found, &existing, err) < 0)
        return -1;
    return is_found ? answer_existing(request, reply, &existing, err)
                    : create(request, body, &context, reply, err);
}

const struct route conversation_create_routes[] = {
    {HTTP_POST, "/api/conversations", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_DRIVES, BODY_LARGE_BYTES,
     conversation_create},
    {.handle = NULL},
};
