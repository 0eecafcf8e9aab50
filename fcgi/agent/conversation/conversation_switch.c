/*
 * Changes the model, profile or plugin of a conversation that has begun.
 */
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "fcgi/agent/agent.h"
#include "fcgi/agent/conversation/change.h"
#include "fcgi/agent/conversation/launch.h"
#include "fcgi/reply.h"
#include "fcgi/settings/keep.h"
#include "model/agent/agent_spec.h"
#include "model/agent/llm_spec.h"
#include "model/conversation/llm_switch.h"
#include "store/user/profile_store.h"

enum { NAME_MAX_CHARS = 1000 };

/* Takes over llm, which includes its secrets. */
static int switch_to(struct change *change, json_t *llm, struct error *err)
{
    json_auto_t *secrets = NULL;

    if (change_open_secrets(change, &secrets, err) < 0)
        return -1;
    conversation_switch_llm(&change->conversation, secrets, llm);
    change_seal_secrets(change, secrets);
    event_add_state(&change->events, "agent", conversation_agent(&change->conversation));
    return 0;
}

static int plan_switch_llm(struct change *change, struct error *err)
{
    static const struct problem not_object = {"model_attributes_type",
                                              "Input should be a valid dictionary", NULL};
    const struct conversation_defaults defaults = agent_defaults(change->request);
    json_t *input = change_required_member(change, "llm", err);
    json_auto_t *llm = NULL;

    if (input == NULL)
        return -1;
    if (!json_is_object(input))
        return request_problem(change->request, REQUEST_PLACE("body", "llm"), &not_object, input,
                               err);
    if (launch_open_llm(change->request, input, err) < 0)
        return -1;
    llm = llm_spec_read(input, &defaults, REQUEST_PLACE("body", "llm"), change->request->problems);
    if (change_check_noted(change->request, err) < 0)
        return -1;
    return switch_to(change, llm, err);
}

/* POST {"llm": LLM} -> 200 | 403 | 404 | 422 */
static int switch_llm(const struct request *request, struct reply *reply, struct error *err)
{
    return change_and_reply(request, reply, plan_switch_llm, err);
}

static int plan_switch_profile(struct change *change, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf usage_id = STRBUF_INIT;
    const struct text_rule rule = {1, NAME_MAX_CHARS, true};
    const struct shelf shelf = keep_shelf(change->request);
    json_auto_t *llm = NULL;
    const char *name = NULL;

    if (request_member_text(change->request, change->body, "profile_name", &rule, &name, err) < 0 ||
        launch_check_user(change->request, err) < 0 ||
        profile_store_load_llm(&shelf, name, &llm, err) < 0)
        return -1;
    strbuf_appendf(&usage_id, "profile:%s", name);
    json_put_text(llm, "usage_id", usage_id.text);
    return switch_to(change, llm, err);
}

/* POST {"profile_name": text} -> 200 | 403 | 404 | 422 */
static int switch_profile(const struct request *request, struct reply *reply, struct error *err)
{
    return change_and_reply(request, reply, plan_switch_profile, err);
}

/* Refuses with this message once body and conversation have been validated. */
static int refuse(const struct request *request, struct reply *reply, const char *member,
                  const char *words, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    const struct text_rule rule = {1, NAME_MAX_CHARS, true};
    json_auto_t *body = NULL;
    const char *value = NULL;

    if (agent_load_conversation(request, UNKNOWN_PLAIN, &conversation, err) < 0 ||
        request_json_object(request, &body, err) < 0 ||
        request_member_text(request, body, member, &rule, &value, err) < 0)
        return -1;
    return reply_detail(reply, 400, words);
}

/* POST {"plugin_ref": text} -> 400 | 404 | 422 */
static int load_plugin(const struct request *request, struct reply *reply, struct error *err)
{
    return refuse(request, reply, "plugin_ref",
                  "No plugin can be loaded into this conversation: its agent has no registered "
                  "marketplace that this server could fetch one from.",
                  err);
}

/* POST {"model": text} -> 400 | 404 | 422 */
static int switch_acp_model(const struct request *request, struct reply *reply, struct error *err)
{
    return refuse(request, reply, "model",
                  "This conversation's agent is no ACP agent: switch_llm gives it another model.",
                  err);
}

#define CONVERSATION "/api/conversations/{conversation_id}"

const struct route conversation_switch_routes[] = {
    {HTTP_POST, CONVERSATION "/switch_llm", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_DRIVES,
     BODY_LARGE_BYTES, switch_llm},
    {HTTP_POST, CONVERSATION "/switch_profile", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_REFUSED,
     BODY_SMALL_BYTES, switch_profile},
    {HTTP_POST, CONVERSATION "/load_plugin", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_DRIVES,
     BODY_SMALL_BYTES, load_plugin},
    {HTTP_POST, CONVERSATION "/switch_acp_model", ORIGIN_BOTH, ACCESS_CALLER, SANDBOX_DRIVES,
     BODY_SMALL_BYTES, switch_acp_model},
    {.handle = NULL},
};
