/*
 * POST …/children: starts a conversation from another one, with the same agent and a task of its
 * own.
 */
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/agent/conversation/worktree.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/request_defaults.h"
#include "model/conversation/child_conversation.h"
#include "model/conversation/conversation.h"
#include "model/conversation/worktree.h"
#include "model/event/event.h"
#include "model/limits.h"
#include "start/start_context.h"
#include "start/start_place.h"

/* The body; texts are borrowed from it. */
struct child_request {
    const char *task;
    const char *title;
    const char *isolation;
};

static int read_isolation(const struct request *request, json_t *body, const char **isolation_out,
                          struct error *err)
{
    const struct text_rule rule = {0, TITLE_MAX_CHARS, false};
    json_t *ctx = NULL;

    *isolation_out = "worktree";
    if (json_object_get(body, "isolation") == NULL)
        return 0;
    if (request_member_text(request, body, "isolation", &rule, isolation_out, err) < 0)
        return -1;
    if (*isolation_out != NULL &&
        (text_equal(*isolation_out, "worktree") || text_equal(*isolation_out, "shared")))
        return 0;
    ctx = json_object();
    json_put_text(ctx, "expected", "'worktree' or 'shared'");
    return request_problem(
        request, REQUEST_JSON_PATH("body", "isolation"),
        &(struct validation_error){"literal_error", "Input should be 'worktree' or 'shared'", ctx},
        json_object_get(body, "isolation"), err);
}

static int read_child(const struct request *request, json_t *body, struct child_request *child,
                      struct error *err)
{
    const struct text_rule task_rule = {1, CHILD_TASK_MAX_CHARS, true};
    const struct text_rule title_rule = {0, TITLE_MAX_CHARS, false};

    if (request_member_text(request, body, "task", &task_rule, &child->task, err) < 0 ||
        request_member_text(request, body, "title", &title_rule, &child->title, err) < 0)
        return -1;
    return read_isolation(request, body, &child->isolation, err);
}

/* With a worktree if there is a repository; *isolation_out is the isolation in effect. */
static int store(const struct request *request, const struct start_context *context,
                 const struct child_request *wanted, struct conversation *child,
                 const char **isolation_out, struct error *err)
{
    json_auto_t *content = json_array();
    const struct start_order order = {
        .catalogue = context->catalogue,
        .conversation = child,
        .content = content,
        .folder = text_equal(wanted->isolation, "shared") ? START_IN_FOLDER : START_IN_WORKTREE};
    enum start_outcome outcome = START_STORED;

    json_push(content, text_content(wanted->task));
    if (worktree_store(request, context, &order, &outcome, err) < 0)
        return -1;
    *isolation_out = worktree_is_entered(child) ? "worktree" : "shared";
    return 0;
}

static json_t *child_to_json(const struct conversation *child, const char *isolation)
{
    json_t *json = json_object();

    json_put_text(json, "conversation_id", child->id.text);
    json_put_text(json, "parent_conversation_id", child->parent_id.text);
    json_put_text(json, "status", "idle");
    json_put(json, "title", json_text_of(child->title));
    json_put(json, "url", json_null());
    json_put_text(json, "workspace", conversation_working_dir(child));
    json_put_text(json, "isolation", isolation);
    return json;
}

/* POST {"task", "title", "isolation"} -> 201 | 404 | 422 | 429 */
static int conversation_start_child(const struct request *request, struct reply *reply,
                                    struct error *err)
{
    CLEANUP(conversation_done) struct conversation parent = CONVERSATION_INIT;
    CLEANUP(conversation_done) struct conversation child = CONVERSATION_INIT;
    const struct start_context context = request_start_context(request);
    struct child_request wanted = {.task = NULL};
    json_auto_t *body = NULL;
    json_auto_t *answer = NULL;
    const char *isolation = NULL;

    if (agent_load_conversation(request, UNKNOWN_PLAIN, &parent, err) < 0)
        return error_reword(err, ERROR_NOT_FOUND, "Parent conversation not found");
    if (request_json_object(request, &body, err) < 0 ||
        read_child(request, body, &wanted, err) < 0 ||
        child_conversation_make(context.keyring, &parent, wanted.title, &child, err) < 0 ||
        start_place_child(&context, &parent, &child, err) < 0 ||
        start_check_quota(&context, err) < 0 ||
        store(request, &context, &wanted, &child, &isolation, err) < 0)
        return -1;
    answer = child_to_json(&child, isolation);
    return reply_json(reply, 201, answer);
}

const struct route conversation_children_routes[] = {
    {HTTP_POST, "/api/conversations/{conversation_id}/children", ORIGIN_BOTH, ACCESS_CALLER,
     SANDBOX_DRIVES, BODY_LARGE_BYTES, conversation_start_child},
    {.handle = NULL},
};
