/*
 * POST …/children: starts a conversation from another one, with the same agent and a task of its
 * own.
 */
#include "auth/principal.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/agent/agent.h"
#include "fcgi/agent/conversation/worktree.h"
#include "fcgi/context.h"
#include "fcgi/reply.h"
#include "model/conversation/worktree.h"
#include "model/event/event.h"
#include "model/limits.h"
#include "model/tools/child.h"
#include "store/conversation/conversation_post.h"
#include "store/conversation/conversation_store.h"

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
        request, REQUEST_PLACE("body", "isolation"),
        &(struct problem){"literal_error", "Input should be 'worktree' or 'shared'", ctx},
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

/* Creates a worktree if there is a repository; *isolation_out is the isolation in effect. */
static int isolate(const struct request *request, const struct child_request *wanted,
                   struct conversation *child, const char **isolation_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    *isolation_out = "shared";
    if (text_equal(wanted->isolation, "shared"))
        return 0;
    if (worktree_add(request, child, NULL, &path, err) < 0)
        return err->code == ERROR_NOT_FOUND ? 0 : -1;
    worktree_enter(child, path.text);
    *isolation_out = "worktree";
    return 0;
}

static int store(const struct request *request, struct conversation *child, const char *task,
                 struct error *err)
{
    CLEANUP(event_list_done) struct event_list events = EVENT_LIST_INIT;
    CLEANUP(conversation_change_done) struct conversation_change change = CONVERSATION_CHANGE_INIT;
    struct conversation_write write = {.guard = GUARD_NONE};
    bool was_there = false;

    if (child_plan(child, task, &events, &change, err) < 0)
        return -1;
    conversation_write_change(&change, &write);
    if (conversation_store_create(request->context->db, child, &events, &write, &was_there, err) <
        0)
        return -1;
    agent_hint_work(request, &child->id);
    agent_hint_events(request, &child->id);
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
    struct child_request wanted = {.task = NULL};
    json_auto_t *body = NULL;
    json_auto_t *answer = NULL;
    const char *isolation = NULL;

    if (agent_load_conversation(request, UNKNOWN_PLAIN, &parent, err) < 0)
        return error_reword(err, ERROR_NOT_FOUND, "Parent conversation not found");
    if (request_json_object(request, &body, err) < 0 ||
        read_child(request, body, &wanted, err) < 0 ||
        conversation_store_check_child(request->context->db, &parent.id, err) < 0 ||
        agent_check_room(request, NULL, err) < 0 ||
        child_make(&request->context->keyring, &parent, wanted.title, &child, err) < 0 ||
        isolate(request, &wanted, &child, &isolation, err) < 0 ||
        store(request, &child, wanted.task, err) < 0)
        return -1;
    agent_hint_events(request, &parent.id);
    answer = child_to_json(&child, isolation);
    return reply_json(reply, 201, answer);
}

const struct route conversation_children_routes[] = {
    {HTTP_POST, "/api/conversations/{conversation_id}/children", ORIGIN_BOTH, ACCESS_CALLER,
     SANDBOX_DRIVES, BODY_LARGE_BYTES, conversation_start_child},
    {.handle = NULL},
};
