/*
 * What clients set on a conversation: title and tags, policy, analyzer, secrets. Each is planned on
 * the conversation as it is, written with its event, and planned again when somebody was faster.
 */
#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/agent/agent.h"
#include "fcgi/context.h"
#include "fcgi/reply.h"
#include "model/event.h"
#include "model/limits.h"
#include "model/policy.h"
#include "store/conversation_store.h"

enum { TRIES_MAX = 50 };

/* A change on its way: what the body says, and what becomes of it. */
struct change {
    const struct request *request;
    json_t *body;
    struct conversation conversation;
    struct event_list events;
    struct conversation_write write;
    char *title;  /* write.title */
    char *sealed; /* write.secrets */
};

/* clang-format off */
#define CHANGE_INIT {.conversation = CONVERSATION_INIT, .events = EVENT_LIST_INIT}
/* clang-format on */

static void change_done(struct change *change)
{
    conversation_done(&change->conversation);
    event_list_done(&change->events);
    mem_free(change->title);
    mem_free(change->sealed);
}

static int try_change(const struct request *request, json_t *body,
                      int (*plan)(struct change *change, struct error *err), struct error *err)
{
    CLEANUP(change_done) struct change change = CHANGE_INIT;

    change.request = request;
    change.body = body;
    if (agent_load_conversation(request, UNKNOWN_PLAIN, &change.conversation, err) < 0 ||
        plan(&change, err) < 0 ||
        conversation_store_write(request->context->db, &change.conversation, &change.events,
                                 &change.write, err) < 0)
        return -1;
    if (change.events.n > 0)
        agent_hint_events(request, &change.conversation.id);
    return 0;
}

/* Somebody else wrote, or deleted it: the next try sees which. */
static bool is_lost_race(const struct error *err)
{
    return err->code == ERROR_CONFLICT || err->code == ERROR_STALE;
}

static int change_conversation(const struct request *request, struct reply *reply,
                               int (*plan)(struct change *change, struct error *err),
                               struct error *err)
{
    json_auto_t *body = NULL;
    int rc = -1;

    if (request_json_object(request, &body, err) < 0)
        return -1;
    rc = try_change(request, body, plan, err);
    for (int i = 1; i < TRIES_MAX && rc < 0 && is_lost_race(err); i++)
        rc = try_change(request, body, plan, err);
    return rc < 0 ? -1 : reply_success(reply);
}

/* Sets a member of the specification and tells about it; takes the value over. */
static void set_spec(struct change *change, const char *key, json_t *value)
{
    json_put(change->conversation.spec, key, value);
    change->write.spec = change->conversation.spec;
    event_add_state(&change->events, key, value);
}

static int check_noted(const struct request *request, struct error *err)
{
    return json_array_size(request->problems) > 0 ? request_problems_noted(err) : 0;
}

/* Without the white space around it. */
static char *trimmed(const char *text)
{
    static const char space[] = " \t\r\n\f\v";
    const char *start = text + strspn(text, space);
    size_t len = strlen(start);

    while (len > 0 && strchr(space, start[len - 1]) != NULL)
        len--;
    return mem_dup_bytes(start, len);
}

static int plan_title(struct change *change, struct error *err)
{
    const struct text_rule rule = {1, TITLE_MAX_CHARS, false};
    const struct problem blank = {"value_error", "Value error, title cannot be blank", NULL};
    const char *title = NULL;

    if (request_member_text(change->request, change->body, "title", &rule, &title, err) < 0)
        return -1;
    if (title == NULL)
        return 0;
    if (text_is_blank(title))
        return request_problem(change->request, REQUEST_PLACE("body", "title"), &blank,
                               json_object_get(change->body, "title"), err);
    change->title = trimmed(title);
    change->write.title = change->title;
    return 0;
}

static int check_tag_values(const struct request *request, json_t *tags, struct error *err)
{
    const struct place *place = REQUEST_PLACE("body", "tags");
    const char *name = NULL;
    json_t *value = NULL;

    if (!json_is_object(tags))
        return request_problem(
            request, place,
            &(struct problem){"dict_type", "Input should be a valid dictionary", NULL}, tags, err);
    json_object_foreach (tags, name, value) {
        const struct place at = {place, name, 0};

        if (!json_is_string(value))
            problem_add(request->problems, &at,
                        &(struct problem){"string_type", "Input should be a valid string", NULL},
                        value);
    }
    tags_check(tags, place, request->problems);
    return check_noted(request, err);
}

static int plan_tags(struct change *change, struct error *err)
{
    json_t *tags = json_object_get(change->body, "tags");

    if (tags == NULL || json_is_null(tags))
        return 0;
    if (check_tag_values(change->request, tags, err) < 0)
        return -1;
    set_spec(change, "tags", json_deep_copy(tags));
    return 0;
}

static int plan_patch(struct change *change, struct error *err)
{
    return plan_title(change, err) < 0 ? -1 : plan_tags(change, err);
}

/* PATCH {"title", "tags"} -> 200 | 404 | 422 */
static int conversation_patch(const struct request *request, struct reply *reply, struct error *err)
{
    return change_conversation(request, reply, plan_patch, err);
}

/* A member that must be there; NULL with the problem noted when it is not. Borrowed. */
static json_t *required_member(const struct change *change, const char *name, struct error *err)
{
    json_t *value = json_object_get(change->body, name);

    if (value == NULL)
        error_ignore(request_problem(change->request, REQUEST_PLACE("body", name),
                                     &(struct problem){"missing", "Field required", NULL},
                                     change->body, err),
                     "NULL says it");
    return value;
}

static int plan_policy(struct change *change, struct error *err)
{
    json_t *input = required_member(change, "policy", err);
    json_auto_t *policy = NULL;

    if (input == NULL)
        return -1;
    policy = policy_read(input, REQUEST_PLACE("body", "policy"), change->request->problems);
    if (check_noted(change->request, err) < 0)
        return -1;
    /* Setting what is set is no change, and has no event. */
    if (!json_equal(policy, json_object_get(change->conversation.spec, "confirmation_policy")))
        set_spec(change, "confirmation_policy", json_incref(policy));
    return 0;
}

/* POST {"policy": Policy} -> 200 | 404 | 422 */
static int set_policy(const struct request *request, struct reply *reply, struct error *err)
{
    return change_conversation(request, reply, plan_policy, err);
}

static int plan_analyzer(struct change *change, struct error *err)
{
    json_t *input = required_member(change, "security_analyzer", err);
    json_auto_t *analyzer = NULL;

    if (input == NULL)
        return -1;
    analyzer =
        analyzer_read(input, REQUEST_PLACE("body", "security_analyzer"), change->request->problems);
    if (check_noted(change->request, err) < 0)
        return -1;
    if (!json_equal(analyzer, json_object_get(change->conversation.spec, "security_analyzer")))
        set_spec(change, "security_analyzer", json_incref(analyzer));
    return 0;
}

/* POST {"security_analyzer": Analyzer | null} -> 200 | 404 | 422 */
static int set_analyzer(const struct request *request, struct reply *reply, struct error *err)
{
    return change_conversation(request, reply, plan_analyzer, err);
}

static void append_seal_context(const struct conversation *conversation, struct strbuf *out)
{
    strbuf_appendf(out, "conversations.secrets:%s", conversation->id.text);
}

/* The opened secrets; an empty object when there are none yet. */
static int open_secrets(const struct change *change, json_t **secrets_out, struct error *err)
{
    CLEANUP(secret_done) struct secret plain = SECRET_INIT;
    CLEANUP(strbuf_done) struct strbuf context = STRBUF_INIT;
    const char *sealed = change->conversation.secrets;

    if (sealed == NULL) {
        *secrets_out = json_object();
        return 0;
    }
    append_seal_context(&change->conversation, &context);
    if (keyring_open(&change->request->context->keyring, context.text, sealed, &plain, err) < 0 ||
        json_parse(secret_reveal(&plain), plain.len, secrets_out, err) < 0)
        return error_set(err, ERROR_INTERNAL, "the secrets of conversation %s cannot be read",
                         change->conversation.id.text);
    return 0;
}

static void seal_secrets(struct change *change, const json_t *secrets)
{
    CLEANUP(secret_done) struct secret plain = SECRET_INIT;
    CLEANUP(strbuf_done) struct strbuf context = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf sealed = STRBUF_INIT;
    CLEANUP(mem_freep) char *text = json_to_text(secrets);

    secret_set(&plain, text);
    explicit_bzero(text, strlen(text));
    append_seal_context(&change->conversation, &context);
    keyring_seal(&change->request->context->keyring, context.text, &plain, &sealed);
    change->sealed = strbuf_take(&sealed);
    change->write.secrets = change->sealed;
    change->write.spec = change->conversation.spec;
}

static int plan_secrets(struct change *change, struct error *err)
{
    json_t *update = required_member(change, "secrets", err);
    json_auto_t *secrets = NULL;
    json_auto_t *problems = NULL;

    if (update == NULL)
        return -1;
    if (!json_is_object(update))
        return request_problem(
            change->request, REQUEST_PLACE("body", "secrets"),
            &(struct problem){"dict_type", "Input should be a valid dictionary", NULL}, update,
            err);
    if (open_secrets(change, &secrets, err) < 0)
        return -1;
    assert(secrets != NULL);
    if (conversation_update_secrets(&change->conversation, secrets, update, &problems, err) < 0) {
        if (problems != NULL)
            (void)json_array_extend(change->request->problems, problems);
        return -1;
    }
    seal_secrets(change, secrets);
    return 0;
}

/* POST {"secrets": {name: text | SecretSource}} -> 200 | 404 | 422 */
static int update_secrets(const struct request *request, struct reply *reply, struct error *err)
{
    return change_conversation(request, reply, plan_secrets, err);
}

const struct route conversation_change_routes[] = {
    {HTTP_PATCH, "/api/conversations/{conversation_id}", ORIGIN_BOTH, ACCESS_CALLER,
     BODY_SMALL_BYTES, conversation_patch},
    {HTTP_POST, "/api/conversations/{conversation_id}/confirmation_policy", ORIGIN_BOTH,
     ACCESS_CALLER, BODY_SMALL_BYTES, set_policy},
    {HTTP_POST, "/api/conversations/{conversation_id}/security_analyzer", ORIGIN_BOTH,
     ACCESS_CALLER, BODY_SMALL_BYTES, set_analyzer},
    {HTTP_POST, "/api/conversations/{conversation_id}/secrets", ORIGIN_BOTH, ACCESS_CALLER,
     BODY_LARGE_BYTES, update_secrets},
    {.handle = NULL},
};
