/*
 * POST /api/conversations
 */
#include <string.h>

#include "auth/principal.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "client/runtime_api.h"
#include "fcgi/agent/agent.h"
#include "fcgi/agent/conversation/info.h"
#include "fcgi/agent/conversation/launch.h"
#include "fcgi/agent/conversation/observability.h"
#include "fcgi/agent/conversation/worktree.h"
#include "fcgi/context.h"
#include "fcgi/reply.h"
#include "model/conversation/vault.h"
#include "model/conversation/worktree.h"
#include "model/event/event.h"
#include "model/limits.h"
#include "model/schema/problem.h"
#include "store/conversation/conversation_post.h"
#include "store/conversation/conversation_store.h"

#define NANO_PER_CPU 1e9

static const struct place body_place = {NULL, "body", 0};
static const struct place container_place = {&body_place, "container", 0};
static const struct place memory_place = {&container_place, "memory", 0};
static const struct place cpus_place = {&container_place, "cpus", 0};

/* A conversation being created. */
struct creation {
    struct conversation conversation;
    struct event_list events;
    struct conversation_change change;
    struct conversation_write write; /* made from change, from which it borrows */
    struct secret secrets;
    json_t *content;    /* of the initial message; NULL when there is none */
    const char *sender; /* of the message; lives as long as the request's body */
};

/* clang-format off */
#define CREATION_INIT                                                                              \
    {.conversation = CONVERSATION_INIT, .events = EVENT_LIST_INIT, .secrets = SECRET_INIT}
/* clang-format on */

static void creation_done(struct creation *creation)
{
    conversation_done(&creation->conversation);
    event_list_done(&creation->events);
    conversation_change_done(&creation->change);
    secret_done(&creation->secrets);
    json_decref(creation->content);
}

/* launched: launched_agent_profile, or NULL. */
static int read_request(const struct request *request, json_t *body, json_t *launched,
                        struct creation *creation, struct error *err)
{
    const struct conversation_defaults defaults = agent_defaults(request);
    json_auto_t *problems = NULL;

    if (conversation_from_request(body, &defaults, &creation->conversation, &creation->secrets,
                                  &creation->content, &problems, err) == 0) {
        creation->sender = json_text_or(json_object_get(body, "initial_message"), "sender", NULL);
        if (launched != NULL)
            json_put(creation->conversation.spec, "launched_agent_profile", json_incref(launched));
        return 0;
    }
    if (problems != NULL)
        (void)json_array_extend(request->problems, problems);
    return -1;
}

static void check_memory(const struct request *request, json_t *memory)
{
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    int64_t most = request->context->settings->sandbox_max_memory_bytes;
    int64_t bytes = 0;

    if (!json_is_string(memory))
        return;
    bytes = runtime_memory_bytes(json_string_value(memory));
    if (bytes >= SANDBOX_MEMORY_MIN_BYTES && bytes <= most)
        return;
    strbuf_appendf(&words, "a sandbox has from %lld to %lld bytes of memory here",
                   (long long)SANDBOX_MEMORY_MIN_BYTES, (long long)most);
    problem_add_value(request->problems, &memory_place, words.text, memory);
}

static void check_cpus(const struct request *request, json_t *cpus)
{
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    double most = (double)request->context->settings->sandbox_max_nano_cpus / NANO_PER_CPU;

    if (!json_is_number(cpus) || json_number_value(cpus) <= most)
        return;
    strbuf_appendf(&words, "a sandbox has at most %g processors here", most);
    problem_add_value(request->problems, &cpus_place, words.text, cpus);
}

/* The runtime rejects these, too, but only when the conversation runs. */
static int check_container(const struct request *request, const struct conversation *conversation,
                           struct error *err)
{
    const json_t *container = json_object_get(conversation->spec, "container");

    check_memory(request, json_object_get(container, "memory"));
    check_cpus(request, json_object_get(container, "cpus"));
    if (json_array_size(request->problems) > 0)
        return error_set(err, ERROR_INVALID, "the container is too small or too large");
    return 0;
}

/* A child has its parent's working directory, and the caller must be able to see the parent. */
static int check_parent(const struct request *request, const struct conversation *child,
                        struct error *err)
{
    CLEANUP(conversation_done) struct conversation parent = CONVERSATION_INIT;
    const struct conversation_scope scope = principal_scope(&request->principal);

    if (!uuid_is_set(&child->parent_id))
        return 0;
    if (conversation_store_load(request->context->db, &scope, &child->parent_id, &parent, err) < 0)
        return err->code == ERROR_NOT_FOUND
                   ? error_set(err, ERROR_INVALID, "Parent conversation not found: %s",
                               child->parent_id.text)
                   : -1;
    if (!text_equal(conversation_working_dir(&parent), conversation_working_dir(child)))
        return error_set(err, ERROR_INVALID,
                         "A child conversation has the workspace of its parent");
    return conversation_store_check_child(request->context->db, &child->parent_id, err);
}

static int place_in_runtime(const struct request *request, struct conversation *conversation,
                            struct error *err)
{
    const struct principal *caller = &request->principal;

    conversation->user_id = caller->user_id;
    if (conversation->runtime_kind == RUNTIME_DOCKER) {
        if (caller->kind == PRINCIPAL_SANDBOX_KEY)
            return error_set(err, ERROR_INVALID,
                             "A sandbox's key starts conversations in that sandbox only");
        conversation->runtime_session =
            conversation_own_session(&conversation->user_id, &conversation->id);
        return 0;
    }
    mem_free(conversation->runtime_session);
    conversation->runtime_session = mem_dup_text(caller->runtime_session);
    return 0;
}

/* The worktree is created now: the reply contains its path. */
static int take_worktree(const struct request *request, struct conversation *conversation,
                         struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    if (json_bool_or(conversation->spec, "worktree", 0) == 0)
        return 0;
    if (worktree_add(request, conversation, json_object_get(conversation->spec, "worktree_options"),
                     &path, err) < 0)
        return err->code == ERROR_NOT_FOUND ? 0 : -1;
    worktree_enter(conversation, path.text);
    return 0;
}

static void seal_secrets(const struct request *request, struct creation *creation)
{
    mem_free(creation->conversation.secrets);
    creation->conversation.secrets =
        vault_seal_text(&request->context->keyring, &creation->conversation, &creation->secrets);
}

static int plan_first_message(const struct request *request, struct creation *creation,
                              struct error *err)
{
    if (creation->content == NULL)
        return 0;
    if (agent_check_room(request, NULL, err) < 0)
        return -1;
    if (conversation_plan_message(&creation->conversation, creation->content, true,
                                  &creation->events, &creation->change, err) < 0)
        return -1;
    event_list_set_sender(&creation->events, creation->sender);
    conversation_write_change(&creation->change, &creation->write);
    return 0;
}

static int answer_existing(const struct request *request, struct reply *reply,
                           const struct uuid *id, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    const struct conversation_scope scope = principal_scope(&request->principal);
    enum info_skills skills = INFO_WITHOUT_SKILLS;
    json_auto_t *info = NULL;

    if (info_skills_read(request, &skills, err) < 0 ||
        conversation_store_load(request->context->db, &scope, id, &conversation, err) < 0)
        return -1;
    info = info_plain(&conversation, skills);
    return reply_json(reply, 200, info);
}

/* Whether the body names an existing conversation: the rest of it is then ignored. */
static bool names_existing(const struct request *request, const json_t *body, struct uuid *id_out)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    const struct conversation_scope scope = principal_scope(&request->principal);
    struct error ignored = ERROR_INIT;

    return uuid_parse(json_text_or(body, "conversation_id", ""), id_out) &&
           conversation_store_load(request->context->db, &scope, id_out, &conversation, &ignored) ==
               0;
}

/* Reads the body as expanded by launch_prepare(), and plans everything that is to be stored. */
static int plan(const struct request *request, json_t *body, const struct launch *launch,
                struct creation *creation, struct error *err)
{
    if (read_request(request, body, launch->profile, creation, err) < 0 ||
        check_container(request, &creation->conversation, err) < 0 ||
        place_in_runtime(request, &creation->conversation, err) < 0 ||
        check_parent(request, &creation->conversation, err) < 0 ||
        take_worktree(request, &creation->conversation, err) < 0 ||
        plan_first_message(request, creation, err) < 0)
        return -1;
    seal_secrets(request, creation);
    return 0;
}

static int store(const struct request *request, struct creation *creation, bool *was_there_out,
                 struct error *err)
{
    const struct uuid *id = &creation->conversation.id;

    if (conversation_store_create(request->context->db, &creation->conversation, &creation->events,
                                  &creation->write, was_there_out, err) < 0)
        return -1;
    if (!*was_there_out && creation->events.n > 0) {
        agent_hint_work(request, id);
        agent_hint_events(request, id);
    }
    return 0;
}

int conversation_begin(const struct request *request, json_t *body, struct reply *reply,
                       struct uuid *id_out, struct error *err)
{
    CLEANUP(creation_done) struct creation creation = CREATION_INIT;
    CLEANUP(launch_done) struct launch launch = LAUNCH_INIT;
    bool was_there = false;

    if (launch_prepare(request, body, reply, &launch, err) < 0)
        return -1;
    if (launch.is_answered)
        return 0;
    if (plan(request, body, &launch, &creation, err) < 0 ||
        store(request, &creation, &was_there, err) < 0)
        return -1;
    *id_out = creation.conversation.id;
    return 0;
}

/* The reply is the contract's Info, which has no member for the warning. */
static void warn_unmasked(struct reply *reply, const json_t *body)
{
    const json_t *context = json_object_get(json_object_get(body, "agent"), "agent_context");

    agent_warn_unmasked(reply, json_object_get(body, "secrets"), NULL);
    agent_warn_unmasked(reply, json_object_get(context, "secrets"), NULL);
}

/* POST StartConversationRequest -> 201 Info | 200 Info when it exists | 404 profile | 422 */
static int conversation_create(const struct request *request, struct reply *reply,
                               struct error *err)
{
    CLEANUP(creation_done) struct creation creation = CREATION_INIT;
    CLEANUP(launch_done) struct launch launch = LAUNCH_INIT;
    enum info_skills skills = INFO_WITHOUT_SKILLS;
    json_auto_t *body = NULL;
    json_auto_t *info = NULL;
    struct uuid id = UUID_INIT;
    bool was_there = false;

    if (request_json_object(request, &body, err) < 0)
        return -1;
    if (names_existing(request, body, &id))
        return answer_existing(request, reply, &id, err);
    if (observability_fill(request, body, err) < 0 ||
        launch_prepare(request, body, reply, &launch, err) < 0)
        return -1;
    if (launch.is_answered)
        return 0;
    if (plan(request, body, &launch, &creation, err) < 0 ||
        info_skills_read(request, &skills, err) < 0 ||
        store(request, &creation, &was_there, err) < 0)
        return -1;
    if (was_there)
        return answer_existing(request, reply, &creation.conversation.id, err);
    info = info_plain(&creation.conversation, skills);
    warn_unmasked(reply, body);
    return reply_json(reply, 201, info);
}

const struct route conversation_create_routes[] = {
    {HTTP_POST, "/api/conversations", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_DRIVES, BODY_LARGE_BYTES,
     conversation_create},
    {.handle = NULL},
};
