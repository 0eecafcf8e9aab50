/*
 * Fork and navigate: continues a conversation from an earlier event, in a copy or in place, with
 * the files as they were. The checkpoints of these.
 */
#include "auth/principal.h"
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/agent/conversation/conversation_edit.h"
#include "fcgi/agent/conversation/info.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/request_defaults.h"
#include "model/conversation/file_restore.h"
#include "model/limits.h"
#include "start/start_context.h"
#include "start/start_fork.h"
#include "store/conversation/branch_store.h"
#include "store/conversation/checkpoint_store.h"
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

static bool is_given(const json_t *body, const char *name)
{
    const json_t *value = json_object_get(body, name);

    return value != NULL && !json_is_null(value);
}

static int read_files(const struct request *request, json_t *body, enum fork_files *files_out,
                      struct error *err)
{
    bool restores = false;

    if (!is_given(body, "restore_files"))
        return 0;
    if (request_member_bool(request, body, "restore_files", &restores, err) < 0)
        return -1;
    *files_out = restores ? FORK_FILES_RESTORED : FORK_FILES_AS_THEY_ARE;
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
        request_member_bool(request, body, "reset_metrics", &resets_metrics, err) < 0 ||
        read_files(request, body, &order->files, err) < 0)
        return -1;
    order->metrics = resets_metrics ? FORK_RESETS_METRICS : FORK_KEEPS_METRICS;
    return 0;
}

/* POST {id, title, tags, reset_metrics, from_event_id, restore_files}? -> 201 Info | 403 | 404 |
 * 409 | 422 */
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

static int refuse_missing(const struct found_checkpoint *found, struct error *err)
{
    return error_set(err, ERROR_CONFLICT, "There is no checkpoint of the files at that event%s%s",
                     found->reason != NULL ? ": " : "", found->reason != NULL ? found->reason : "");
}

/* Goes back with the files, which need no order if they are still as they were. */
static int navigate_with_files(struct db *db, const struct uuid *id, const char *event_id,
                               struct error *err)
{
    CLEANUP(found_checkpoint_done) struct found_checkpoint found = FOUND_CHECKPOINT_INIT;
    const struct uuid order_id = uuid_random();
    struct file_restore restore = {.id = order_id.text, .is_required = true};

    if (checkpoint_store_find(db, id, event_id, &found, err) < 0)
        return -1;
    if (found.state == CHECKPOINT_IS_MISSING)
        return refuse_missing(&found, err);
    restore.tree = found.tree;
    restore.runtime_session = found.runtime_session;
    restore.runtime_id = found.runtime_id;
    return branch_store_navigate_with_files(
        db, id, event_id, found.state == CHECKPOINT_IS_STORED ? &restore : NULL, err);
}

/* POST {"event_id": text | null, "restore_files"?} -> 200 Info | 404 | 409 while it runs, or if
 * there is no checkpoint | 422 */
static int conversation_navigate(const struct request *request, struct reply *reply,
                                 struct error *err)
{
    CLEANUP(conversation_done) struct conversation before = CONVERSATION_INIT;
    CLEANUP(conversation_done) struct conversation after = CONVERSATION_INIT;
    json_auto_t *body = NULL;
    json_auto_t *info = NULL;
    enum info_skills skills = INFO_WITHOUT_SKILLS;
    const char *event_id = NULL;
    bool restores = false;
    int rc = 0;

    if (agent_load_conversation(request, UNKNOWN_PLAIN, &before, err) < 0 ||
        request_json_object(request, &body, err) < 0 ||
        read_event_id(request, body, &event_id, err) < 0 ||
        request_member_bool(request, body, "restore_files", &restores, err) < 0 ||
        info_skills_read(request, &skills, err) < 0)
        return -1;
    rc = restores ? navigate_with_files(request->context->db, &before.id, event_id, err)
                  : branch_store_navigate(request->context->db, &before.id, event_id, err);
    if (rc < 0)
        return error_reword(err, ERROR_NOT_FOUND, "Unknown event_id: %s",
                            event_id != NULL ? event_id : "null");
    if (agent_load_conversation(request, UNKNOWN_PLAIN, &after, err) < 0)
        return -1;
    info = info_plain(&after, skills);
    return reply_json(reply, 200, info);
}

/* The id of the path, if the conversation is the caller's. */
static int find_own(const struct request *request, struct uuid *id_out, struct error *err)
{
    const struct conversation_scope scope = principal_scope(&request->principal);

    if (agent_conversation_id(request, id_out, err) < 0)
        return -1;
    if (conversation_store_check(request->context->db, &scope, id_out, err) < 0)
        return agent_unknown(UNKNOWN_PLAIN, id_out, err);
    return 0;
}

/* GET -> 200 {"items": […]} | 404 */
static int conversation_checkpoints(const struct request *request, struct reply *reply,
                                    struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf json = STRBUF_INIT;
    struct uuid id = UUID_INIT;

    if (find_own(request, &id, err) < 0)
        return -1;
    if (checkpoint_store_list(request->context->db, &id, &json, err) < 0)
        return -1;
    return reply_json_text(reply, 200, &json);
}

/* GET ?event_id=… -> 200 {"state", "reason"} | 404 */
static int conversation_files_at(const struct request *request, struct reply *reply,
                                 struct error *err)
{
    static const char *const states[] = {
        [CHECKPOINT_IS_PRESENT] = "unchanged",
        [CHECKPOINT_IS_STORED] = "stored",
        [CHECKPOINT_IS_MISSING] = "missing",
    };
    CLEANUP(found_checkpoint_done) struct found_checkpoint found = FOUND_CHECKPOINT_INIT;
    const char *event_id = request_query(request, "event_id");
    struct uuid id = UUID_INIT;
    json_auto_t *json = NULL;

    if (find_own(request, &id, err) < 0)
        return -1;
    if (checkpoint_store_find(request->context->db, &id, event_id, &found, err) < 0)
        return error_reword(err, ERROR_NOT_FOUND, "Unknown event_id: %s",
                            event_id != NULL ? event_id : "null");
    json = json_object();
    json_put_text(json, "state", states[found.state]);
    json_put(json, "reason",
             json_text_of(found.state == CHECKPOINT_IS_MISSING ? found.reason : NULL));
    return reply_json(reply, 200, json);
}

/* GET -> 200 {"items": […]} | 404 */
static int conversation_branches(const struct request *request, struct reply *reply,
                                 struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf json = STRBUF_INIT;
    struct uuid id = UUID_INIT;

    if (find_own(request, &id, err) < 0 ||
        branch_store_list(request->context->db, &id, &json, err) < 0)
        return -1;
    return reply_json_text(reply, 200, &json);
}

const struct route conversation_branch_routes[] = {
    {HTTP_GET, "/api/conversations/{conversation_id}/branches", ORIGIN_BOTH, ACCESS_CALLER,
     SANDBOX_READS, 0, conversation_branches},
    {HTTP_GET, "/api/conversations/{conversation_id}/checkpoints/at", ORIGIN_BOTH, ACCESS_CALLER,
     SANDBOX_READS, 0, conversation_files_at},
    {HTTP_GET, "/api/conversations/{conversation_id}/checkpoints", ORIGIN_BOTH, ACCESS_CALLER,
     SANDBOX_READS, 0, conversation_checkpoints},
    {HTTP_POST, "/api/conversations/{conversation_id}/fork", ORIGIN_BOTH, ACCESS_CALLER,
     SANDBOX_DRIVES, BODY_SMALL_BYTES, conversation_fork},
    {HTTP_POST, "/api/conversations/{conversation_id}/navigate", ORIGIN_BOTH, ACCESS_CALLER,
     SANDBOX_DRIVES, BODY_SMALL_BYTES, conversation_navigate},
    {.handle = NULL},
};
