/*
 * Fork and navigate: continues a conversation from an earlier event, in a copy or in place.
 */
#include "base/error.h"
#include "base/json.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/agent/conversation/conversation_edit.h"
#include "fcgi/agent/conversation/info.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/request_defaults.h"
#include "model/limits.h"
#include "start/start_context.h"
#include "start/start_fork.h"
#include "store/conversation/branch_store.h"
#include "store/conversation/conversation_store.h"

enum { EVENT_ID_MAX_CHARS = 100 };

static int read_id(const struct request *request, json_t *body, struct uuid *id_out,
                   struct error *err)
{
    static const struct validation_error bad = {"uuid_parsing", "Input should be a valid UUID",
                                                NULL};
    json_t *id = json_object_get(body, "id");

    if (id == NULL || json_is_null(id))
        return 0;
    if (!json_is_string(id) || !uuid_parse(json_string_value(id), id_out))
        return request_problem(request, REQUEST_JSON_PATH("body", "id"), &bad, id, err);
    return 0;
}

static int read_tags(const struct request *request, json_t *body, const json_t **tags_out,
                     struct error *err)
{
    json_t *tags = json_object_get(body, "tags");

    if (tags == NULL || json_is_null(tags))
        return 0;
    if (conversation_edit_check_tags(request, tags, err) < 0)
        return -1;
    *tags_out = tags;
    return 0;
}

static int read_fork(const struct request *request, json_t *body, struct fork_order *order,
                     struct error *err)
{
    const struct text_rule title_rule = {0, TITLE_MAX_CHARS, false};
    const struct text_rule event_rule = {0, EVENT_ID_MAX_CHARS, false};
    bool resets_metrics = true;

    if (read_id(request, body, &order->id, err) < 0 ||
        read_tags(request, body, &order->tags, err) < 0 ||
        request_member_text(request, body, "title", &title_rule, &order->title, err) < 0 ||
        request_member_text(request, body, "from_event_id", &event_rule, &order->from_event_id,
                            err) < 0 ||
        request_member_bool(request, body, "reset_metrics", &resets_metrics, err) < 0)
        return -1;
    order->metrics = resets_metrics ? FORK_RESETS_METRICS : FORK_KEEPS_METRICS;
    return 0;
}

/* POST {id, title, tags, reset_metrics, from_event_id}? -> 201 Info | 404 | 409 | 422 */
static int conversation_fork(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(conversation_done) struct conversation source = CONVERSATION_INIT;
    CLEANUP(conversation_done) struct conversation copy = CONVERSATION_INIT;
    const struct start_context context = request_start_context(request);
    struct fork_order order = FORK_ORDER_INIT;
    enum info_skills skills = INFO_WITHOUT_SKILLS;
    json_auto_t *body = NULL;
    json_auto_t *info = NULL;

    if (agent_load_conversation(request, UNKNOWN_PLAIN, &source, err) < 0)
        return error_reword(err, ERROR_NOT_FOUND, "Source conversation not found");
    if (request_json_object_or_empty(request, &body, err) < 0 ||
        read_fork(request, body, &order, err) < 0 || info_skills_read(request, &skills, err) < 0)
        return -1;
    if (start_fork(&context, &source, &order, &copy, err) < 0)
        return error_reword(err, ERROR_NOT_FOUND, "Unknown from_event_id: %s",
                            order.from_event_id != NULL ? order.from_event_id : "null");
    info = info_plain(&copy, skills);
    return reply_json(reply, 201, info);
}

static int read_event_id(const struct request *request, json_t *body, const char **id_out,
                         struct error *err)
{
    const struct text_rule rule = {0, EVENT_ID_MAX_CHARS, false};
    const struct validation_error missing = {"missing", "Field required", NULL};

    if (json_object_get(body, "event_id") == NULL)
        return request_problem(request, REQUEST_JSON_PATH("body", "event_id"), &missing, body, err);
    return request_member_text(request, body, "event_id", &rule, id_out, err);
}

/* POST {"event_id": text | null} -> 200 Info | 404 | 409 while it runs | 422 */
static int conversation_navigate(const struct request *request, struct reply *reply,
                                 struct error *err)
{
    CLEANUP(conversation_done) struct conversation before = CONVERSATION_INIT;
    CLEANUP(conversation_done) struct conversation after = CONVERSATION_INIT;
    json_auto_t *body = NULL;
    json_auto_t *info = NULL;
    enum info_skills skills = INFO_WITHOUT_SKILLS;
    const char *event_id = NULL;

    if (agent_load_conversation(request, UNKNOWN_PLAIN, &before, err) < 0 ||
        request_json_object(request, &body, err) < 0 ||
        read_event_id(request, body, &event_id, err) < 0 ||
        info_skills_read(request, &skills, err) < 0)
        return -1;
    if (branch_store_navigate(request->context->db, &before.id, event_id, err) < 0)
        return error_reword(err, ERROR_NOT_FOUND, "Unknown event_id: %s",
                            event_id != NULL ? event_id : "null");
    if (agent_load_conversation(request, UNKNOWN_PLAIN, &after, err) < 0)
        return -1;
    info = info_plain(&after, skills);
    return reply_json(reply, 200, info);
}

const struct route conversation_branch_routes[] = {
    {HTTP_POST, "/api/conversations/{conversation_id}/fork", ORIGIN_BOTH, ACCESS_CALLER,
     SANDBOX_DRIVES, BODY_SMALL_BYTES, conversation_fork},
    {HTTP_POST, "/api/conversations/{conversation_id}/navigate", ORIGIN_BOTH, ACCESS_CALLER,
     SANDBOX_DRIVES, BODY_SMALL_BYTES, conversation_navigate},
    {.handle = NULL},
};
