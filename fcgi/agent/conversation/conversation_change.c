/*
 * Client changes to a conversation: title and tags, policy, analyzer, secrets. Each is planned on
 * the conversation's current state, written with its event, and planned again after a concurrent
 * change.
 */
#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "fcgi/agent/agent.h"
#include "fcgi/agent/conversation/change.h"
#include "fcgi/agent/conversation/launch.h"
#include "fcgi/reply.h"
#include "model/agent/policy.h"
#include "model/limits.h"

/* A copy without surrounding white space. */
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

static int plan_tags(struct change *change, struct error *err)
{
    json_t *tags = json_object_get(change->body, "tags");

    if (tags == NULL || json_is_null(tags))
        return 0;
    if (change_check_tags(change->request, tags, err) < 0)
        return -1;
    change_set_spec(change, "tags", json_deep_copy(tags));
    return 0;
}

static int plan_patch(struct change *change, struct error *err)
{
    return plan_title(change, err) < 0 ? -1 : plan_tags(change, err);
}

/* PATCH {"title", "tags"} -> 200 | 404 | 422 */
static int conversation_patch(const struct request *request, struct reply *reply, struct error *err)
{
    return change_and_reply(request, reply, plan_patch, err);
}

/* A sandbox's key may make more actions need confirmation, not fewer. */
static int check_stricter(const struct change *change, const json_t *policy, struct error *err)
{
    const json_t *old = json_object_get(change->conversation.spec, "confirmation_policy");

    if (change->request->principal.kind != PRINCIPAL_SANDBOX_KEY ||
        policy_strictness(policy) > policy_strictness(old))
        return 0;
    if (policy_strictness(policy) > 0 && json_equal(policy, old))
        return 0;
    return error_set(err, ERROR_FORBIDDEN,
                     "A sandbox's key may make the confirmation policy stricter only");
}

static int plan_policy(struct change *change, struct error *err)
{
    json_t *input = change_required_member(change, "policy", err);
    json_auto_t *policy = NULL;

    if (input == NULL)
        return -1;
    policy = policy_read(input, REQUEST_PLACE("body", "policy"), change->request->problems);
    if (change_check_noted(change->request, err) < 0 || check_stricter(change, policy, err) < 0)
        return -1;
    /* Setting the current value is no change, and adds no event. */
    if (!json_equal(policy, json_object_get(change->conversation.spec, "confirmation_policy")))
        change_set_spec(change, "confirmation_policy", json_incref(policy));
    return 0;
}

/* POST {"policy": Policy} -> 200 | 404 | 422 */
static int set_policy(const struct request *request, struct reply *reply, struct error *err)
{
    return change_and_reply(request, reply, plan_policy, err);
}

static int plan_analyzer(struct change *change, struct error *err)
{
    json_t *input = change_required_member(change, "security_analyzer", err);
    json_auto_t *analyzer = NULL;

    if (input == NULL)
        return -1;
    analyzer =
        analyzer_read(input, REQUEST_PLACE("body", "security_analyzer"), change->request->problems);
    if (change_check_noted(change->request, err) < 0)
        return -1;
    if (json_is_null(analyzer) && change->request->principal.kind == PRINCIPAL_SANDBOX_KEY)
        return error_set(err, ERROR_FORBIDDEN, "A sandbox's key may not remove the analyzer");
    if (!json_equal(analyzer, json_object_get(change->conversation.spec, "security_analyzer")))
        change_set_spec(change, "security_analyzer", json_incref(analyzer));
    return 0;
}

/* POST {"security_analyzer": Analyzer | null} -> 200 | 404 | 422 */
static int set_analyzer(const struct request *request, struct reply *reply, struct error *err)
{
    return change_and_reply(request, reply, plan_analyzer, err);
}

static int plan_secrets(struct change *change, struct error *err)
{
    json_t *update = change_required_member(change, "secrets", err);
    json_auto_t *secrets = NULL;
    json_auto_t *problems = NULL;

    if (update == NULL)
        return -1;
    if (!json_is_object(update))
        return request_problem(
            change->request, REQUEST_PLACE("body", "secrets"),
            &(struct problem){"dict_type", "Input should be a valid dictionary", NULL}, update,
            err);
    if (launch_take_lookups(change->request, update, err) < 0 ||
        change_open_secrets(change, &secrets, err) < 0)
        return -1;
    assert(secrets != NULL);
    if (conversation_update_secrets(&change->conversation, secrets, update, &problems, err) < 0) {
        if (problems != NULL)
            (void)json_array_extend(change->request->problems, problems);
        return -1;
    }
    change_seal_secrets(change, secrets);
    /* A run under way learns of it from the event, and its next call has the new secrets. */
    if (change->conversation.is_wanted)
        event_add_state(&change->events, "secret_registry",
                        json_object_get(change->conversation.spec, "secret_registry"));
    return 0;
}

/* POST {"secrets": {name: text | SecretSource}} -> 200 | 404 | 422 */
static int update_secrets(const struct request *request, struct reply *reply, struct error *err)
{
    json_auto_t *body = NULL;

    if (request_json_object(request, &body, err) < 0 ||
        change_apply(request, body, plan_secrets, err) < 0)
        return -1;
    /* The contract's reply has no member for the warning. */
    agent_warn_unmasked(reply, json_object_get(body, "secrets"), NULL);
    return reply_success(reply);
}

const struct route conversation_change_routes[] = {
    {HTTP_PATCH, "/api/conversations/{conversation_id}", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_DRIVES,
     BODY_SMALL_BYTES, conversation_patch},
    {HTTP_POST, "/api/conversations/{conversation_id}/confirmation_policy", ORIGIN_BOTH,
     ACCESS_CALLER, SANDBOX_DRIVES, BODY_SMALL_BYTES, set_policy},
    {HTTP_POST, "/api/conversations/{conversation_id}/security_analyzer", ORIGIN_BOTH,
     ACCESS_CALLER, SANDBOX_DRIVES, BODY_SMALL_BYTES, set_analyzer},
    {HTTP_POST, "/api/conversations/{conversation_id}/secrets", ORIGIN_BOTH, ACCESS_CALLER,
     SANDBOX_DRIVES, BODY_LARGE_BYTES, update_secrets},
    {.handle = NULL},
};
