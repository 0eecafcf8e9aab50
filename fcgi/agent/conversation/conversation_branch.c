/*
 * Fork and navigate: continues a conversation from an earlier event, in a copy or in place.
 */
#include "auth/principal.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "fcgi/agent/agent.h"
#include "fcgi/agent/conversation/change.h"
#include "fcgi/agent/conversation/info.h"
#include "fcgi/context.h"
#include "fcgi/reply.h"
#include "model/conversation/vault.h"
#include "model/event/stats.h"
#include "model/limits.h"
#include "store/conversation/branch_store.h"
#include "store/conversation/conversation_store.h"

enum { EVENT_ID_MAX_CHARS = 100 };

/* The body of a fork; texts are borrowed from it. */
struct fork_request {
    struct uuid id; /* unset: generate one */
    const char *title;
    json_t *tags; /* NULL: none */
    const char *from_event_id;
    bool resets_metrics;
};

static int read_id(const struct request *request, json_t *body, struct uuid *id_out,
                   struct error *err)
{
    static const struct problem bad = {"uuid_parsing", "Input should be a valid UUID", NULL};
    json_t *id = json_object_get(body, "id");

    if (id == NULL || json_is_null(id))
        return 0;
    if (!json_is_string(id) || !uuid_parse(json_string_value(id), id_out))
        return request_problem(request, REQUEST_PLACE("body", "id"), &bad, id, err);
    return 0;
}

static int read_tags(const struct request *request, json_t *body, json_t **tags_out,
                     struct error *err)
{
    json_t *tags = json_object_get(body, "tags");

    if (tags == NULL || json_is_null(tags))
        return 0;
    if (change_check_tags(request, tags, err) < 0)
        return -1;
    *tags_out = tags;
    return 0;
}

static int read_fork(const struct request *request, json_t *body, struct fork_request *fork,
                     struct error *err)
{
    const struct text_rule title_rule = {0, TITLE_MAX_CHARS, false};
    const struct text_rule event_rule = {0, EVENT_ID_MAX_CHARS, false};

    fork->resets_metrics = true;
    if (read_id(request, body, &fork->id, err) < 0 ||
        read_tags(request, body, &fork->tags, err) < 0 ||
        request_member_text(request, body, "title", &title_rule, &fork->title, err) < 0 ||
        request_member_text(request, body, "from_event_id", &event_rule, &fork->from_event_id,
                            err) < 0)
        return -1;
    return request_member_bool(request, body, "reset_metrics", &fork->resets_metrics, err);
}

/*
 * Where a copy runs: in the same shared sandbox as its source, or in a new one of its own. With a
 * sandbox's key it runs in that sandbox.
 */
static void place_copy(const struct request *request, const struct conversation *source,
                       struct conversation *copy)
{
    bool is_shared =
        source->runtime_kind == RUNTIME_LOCAL || request->principal.kind == PRINCIPAL_SANDBOX_KEY;

    copy->runtime_kind = is_shared ? RUNTIME_LOCAL : RUNTIME_DOCKER;
    copy->runtime_session = is_shared ? mem_dup_text(source->runtime_session)
                                      : conversation_own_session(&copy->user_id, &copy->id);
}

static json_t *spec_of_copy(const struct conversation *source, const struct fork_request *fork)
{
    json_t *spec = json_deep_copy(source->spec);

    json_put(spec, "tags", fork->tags != NULL ? json_deep_copy(fork->tags) : json_object());
    (void)json_object_del(spec, "goal");
    return spec;
}

static int make_copy(const struct request *request, const struct conversation *source,
                     const struct fork_request *fork, struct conversation *copy, struct error *err)
{
    copy->id = uuid_is_set(&fork->id) ? fork->id : uuid_random();
    copy->user_id = source->user_id;
    place_copy(request, source, copy);
    if (fork->title != NULL && !text_is_blank(fork->title))
        copy->title = mem_dup_text(fork->title);
    copy->spec = spec_of_copy(source, fork);
    copy->stats = fork->resets_metrics ? stats_new() : json_deep_copy(source->stats);
    copy->agent_state = json_deep_copy(source->agent_state);
    return vault_copy(&request->context->keyring, source, copy, &copy->secrets, err);
}

/* POST {id, title, tags, reset_metrics, from_event_id}? -> 201 Info | 404 | 409 | 422 */
static int conversation_fork(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(conversation_done) struct conversation source = CONVERSATION_INIT;
    CLEANUP(conversation_done) struct conversation copy = CONVERSATION_INIT;
    struct fork_request wanted = {.id = UUID_INIT};
    struct fork fork = {.source_id = UUID_INIT};
    enum info_skills skills = INFO_WITHOUT_SKILLS;
    json_auto_t *body = NULL;
    json_auto_t *info = NULL;

    if (agent_load_conversation(request, UNKNOWN_PLAIN, &source, err) < 0)
        return error_reword(err, ERROR_NOT_FOUND, "Source conversation not found");
    if (request_json_object_or_empty(request, &body, err) < 0 ||
        read_fork(request, body, &wanted, err) < 0 || info_skills_read(request, &skills, err) < 0 ||
        make_copy(request, &source, &wanted, &copy, err) < 0)
        return -1;
    fork = (struct fork){source.id, wanted.from_event_id};
    if (branch_store_fork(request->context->db, &fork, &copy, err) < 0)
        return error_reword(err, ERROR_NOT_FOUND, "Unknown from_event_id: %s",
                            fork.from_event_id != NULL ? fork.from_event_id : "null");
    info = info_plain(&copy, skills);
    return reply_json(reply, 201, info);
}

static int read_event_id(const struct request *request, json_t *body, const char **id_out,
                         struct error *err)
{
    const struct text_rule rule = {0, EVENT_ID_MAX_CHARS, false};
    const struct problem missing = {"missing", "Field required", NULL};

    if (json_object_get(body, "event_id") == NULL)
        return request_problem(request, REQUEST_PLACE("body", "event_id"), &missing, body, err);
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
    agent_hint_events(request, &before.id);
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
