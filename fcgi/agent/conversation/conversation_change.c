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
#include "fcgi/agent/agent_api.h"
#include "fcgi/agent/conversation/conversation_edit.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/request_defaults.h"
#include "fcgi/settings/unmasked_secrets.h"
#include "model/agent/analyzer_spec.h"
#include "model/agent/policy.h"
#include "model/conversation/llm_switch.h"
#include "model/limits.h"
#include "start/start_expand.h"

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

static int plan_title(struct conversation_edit *edit, struct error *err)
{
    const struct text_rule rule = {1, TITLE_MAX_CHARS, false};
    const struct validation_error blank = {"value_error", "Value error, title cannot be blank",
                                           NULL};
    const char *title = NULL;

    if (request_member_text(edit->request, edit->body, "title", &rule, &title, err) < 0)
        return -1;
    if (title == NULL)
        return 0;
    if (text_is_blank(title))
        return request_problem(edit->request, REQUEST_JSON_PATH("body", "title"), &blank,
                               json_object_get(edit->body, "title"), err);
    edit->title = trimmed(title);
    edit->write.title = edit->title;
    return 0;
}

static int plan_tags(struct conversation_edit *edit, struct error *err)
{
    json_t *tags = json_object_get(edit->body, "tags");

    if (tags == NULL || json_is_null(tags))
        return 0;
    if (conversation_edit_check_tags(edit->request, tags, err) < 0)
        return -1;
    conversation_edit_set_spec(edit, "tags", json_deep_copy(tags));
    return 0;
}

/* null removes it. */
static int plan_budget(struct conversation_edit *edit, struct error *err)
{
    static const char member[] = "max_budget_per_run";
    const struct validation_error not_amount = {
        "greater_than_equal", "Input should be a number of at least 0, or null", NULL};
    json_t *budget = json_object_get(edit->body, member);

    if (budget == NULL)
        return 0;
    if (!json_is_null(budget) && !(json_is_number(budget) && json_number_value(budget) >= 0))
        return request_problem(edit->request, REQUEST_JSON_PATH("body", member), &not_amount,
                               budget, err);
    if (edit->request->principal.kind == PRINCIPAL_SANDBOX_KEY)
        return error_set(err, ERROR_FORBIDDEN, "A sandbox's key may not change the budget");
    if (!json_equal(budget, json_object_get(edit->conversation.spec, member)))
        conversation_edit_set_spec(edit, member, json_incref(budget));
    return 0;
}

static int plan_patch(struct conversation_edit *edit, struct error *err)
{
    if (plan_title(edit, err) < 0 || plan_tags(edit, err) < 0)
        return -1;
    return plan_budget(edit, err);
}

/* PATCH {"title", "tags", "max_budget_per_run"} -> 200 | 403 | 404 | 422 */
static int conversation_patch(const struct request *request, struct reply *reply, struct error *err)
{
    return conversation_edit_and_reply(request, reply, plan_patch, err);
}

/* A sandbox's key may make more actions need confirmation, not fewer. */
static int check_stricter(const struct conversation_edit *edit, const json_t *policy,
                          struct error *err)
{
    const json_t *old = json_object_get(edit->conversation.spec, "confirmation_policy");

    if (edit->request->principal.kind != PRINCIPAL_SANDBOX_KEY ||
        policy_strictness(policy) > policy_strictness(old))
        return 0;
    if (policy_strictness(policy) > 0 && json_equal(policy, old))
        return 0;
    return error_set(err, ERROR_FORBIDDEN,
                     "A sandbox's key may only make the confirmation policy stricter");
}

static int plan_policy(struct conversation_edit *edit, struct error *err)
{
    json_t *input = conversation_edit_required_member(edit, "policy", err);
    json_auto_t *policy = NULL;

    if (input == NULL)
        return -1;
    policy = policy_read(input, REQUEST_JSON_PATH("body", "policy"), edit->request->problems);
    if (conversation_edit_check_noted(edit->request, err) < 0 ||
        check_stricter(edit, policy, err) < 0)
        return -1;
    /* Setting the current value is no change, and adds no event. */
    if (!json_equal(policy, json_object_get(edit->conversation.spec, "confirmation_policy")))
        conversation_edit_set_spec(edit, "confirmation_policy", json_incref(policy));
    return 0;
}

/* POST {"policy": Policy} -> 200 | 404 | 422 */
static int set_policy(const struct request *request, struct reply *reply, struct error *err)
{
    return conversation_edit_and_reply(request, reply, plan_policy, err);
}

/* Takes over the analyzer, which includes its secrets. */
static int switch_analyzer(struct conversation_edit *edit, json_t *analyzer, struct error *err)
{
    json_auto_t *secrets = NULL;

    if (conversation_edit_open_secrets(edit, &secrets, err) < 0)
        return -1;
    if (!conversation_switch_analyzer(&edit->conversation, secrets, analyzer))
        return 0;
    conversation_edit_seal_secrets(edit, secrets);
    event_add_state(&edit->events, "security_analyzer",
                    json_object_get(edit->conversation.spec, "security_analyzer"));
    return 0;
}

static int plan_analyzer(struct conversation_edit *edit, struct error *err)
{
    const struct start_context context = request_start_context(edit->request);
    json_t *input = conversation_edit_required_member(edit, "security_analyzer", err);
    json_auto_t *analyzer = NULL;

    if (input == NULL || start_expand_analyzer(&context, input, err) < 0)
        return -1;
    analyzer =
        analyzer_read(input, &context.defaults, REQUEST_JSON_PATH("body", "security_analyzer"),
                      edit->request->problems);
    if (conversation_edit_check_noted(edit->request, err) < 0)
        return -1;
    if (json_is_null(analyzer) && edit->request->principal.kind == PRINCIPAL_SANDBOX_KEY)
        return error_set(err, ERROR_FORBIDDEN,
                         "A sandbox's key may not remove the security analyzer");
    return switch_analyzer(edit, analyzer, err);
}

/* POST {"security_analyzer": Analyzer | null} -> 200 | 404 | 422 */
static int set_analyzer(const struct request *request, struct reply *reply, struct error *err)
{
    return conversation_edit_and_reply(request, reply, plan_analyzer, err);
}

static int plan_secrets(struct conversation_edit *edit, struct error *err)
{
    const struct start_context context = request_start_context(edit->request);
    json_t *update = conversation_edit_required_member(edit, "secrets", err);
    json_auto_t *secrets = NULL;
    json_auto_t *problems = NULL;

    if (update == NULL)
        return -1;
    if (!json_is_object(update))
        return request_problem(
            edit->request, REQUEST_JSON_PATH("body", "secrets"),
            &(struct validation_error){"dict_type", "Input should be a valid dictionary", NULL},
            update, err);
    if (start_expand_lookups(&context, update, err) < 0 ||
        conversation_edit_open_secrets(edit, &secrets, err) < 0)
        return -1;
    assert(secrets != NULL);
    if (conversation_update_secrets(&edit->conversation, secrets, update, &problems, err) < 0) {
        if (problems != NULL)
            (void)json_array_extend(edit->request->problems, problems);
        return -1;
    }
    conversation_edit_seal_secrets(edit, secrets);
    /* A run under way learns of it from the event, and its next call has the new secrets. */
    if (edit->conversation.is_wanted)
        event_add_state(&edit->events, "secret_registry",
                        json_object_get(edit->conversation.spec, "secret_registry"));
    return 0;
}

/* POST {"secrets": {name: text | SecretSource}} -> 200 | 404 | 422 */
static int update_secrets(const struct request *request, struct reply *reply, struct error *err)
{
    json_auto_t *body = NULL;

    if (request_json_object(request, &body, err) < 0 ||
        conversation_edit_apply(request, body, plan_secrets, err) < 0)
        return -1;
    /* The contract's reply has no member for the warning. */
    unmasked_secrets_warn(reply, json_object_get(body, "secrets"), NULL);
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
