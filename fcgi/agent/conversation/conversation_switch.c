/*
 * Changes the model, profile or plugin of a conversation that has begun.
 */
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/agent/conversation/conversation_edit.h"
#include "fcgi/core/reply.h"
#include "fcgi/core/request_defaults.h"
#include "fcgi/settings/user_documents.h"
#include "model/agent/agent_spec.h"
#include "model/agent/llm_spec.h"
#include "model/conversation/llm_switch.h"
#include "start/start_expand.h"
#include "store/user/profile_store.h"

enum { NAME_MAX_CHARS = 1000 };

/* Takes over llm, which includes its secrets. */
static int switch_to(struct conversation_edit *edit, json_t *llm, struct error *err)
{
    json_auto_t *secrets = NULL;

    if (conversation_edit_open_secrets(edit, &secrets, err) < 0)
        return -1;
    conversation_switch_llm(&edit->conversation, secrets, llm);
    conversation_edit_seal_secrets(edit, secrets);
    event_add_state(&edit->events, "agent", conversation_agent(&edit->conversation));
    return 0;
}

static int plan_switch_llm(struct conversation_edit *edit, struct error *err)
{
    static const struct validation_error not_object = {"model_attributes_type",
                                                       "Input should be a valid dictionary", NULL};
    const struct start_context context = request_start_context(edit->request);
    json_t *input = conversation_edit_required_member(edit, "llm", err);
    json_auto_t *llm = NULL;

    if (input == NULL)
        return -1;
    if (!json_is_object(input))
        return request_problem(edit->request, REQUEST_JSON_PATH("body", "llm"), &not_object, input,
                               err);
    if (start_expand_llm(&context, input, err) < 0)
        return -1;
    llm = llm_spec_read(input, &context.defaults, REQUEST_JSON_PATH("body", "llm"),
                        edit->request->problems);
    if (conversation_edit_check_noted(edit->request, err) < 0)
        return -1;
    return switch_to(edit, llm, err);
}

/* POST {"llm": LLM} -> 200 | 403 | 404 | 422 */
static int switch_llm(const struct request *request, struct reply *reply, struct error *err)
{
    return conversation_edit_and_reply(request, reply, plan_switch_llm, err);
}

static int plan_switch_profile(struct conversation_edit *edit, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf usage_id = STRBUF_INIT;
    const struct text_rule rule = {1, NAME_MAX_CHARS, true};
    const struct start_context context = request_start_context(edit->request);
    const struct document_scope scope = start_document_scope(&context);
    json_auto_t *llm = NULL;
    const char *name = NULL;

    if (request_member_text(edit->request, edit->body, "profile_name", &rule, &name, err) < 0 ||
        start_check_user(&context, err) < 0 || profile_store_load_llm(&scope, name, &llm, err) < 0)
        return -1;
    strbuf_appendf(&usage_id, "profile:%s", name);
    json_put_text(llm, "usage_id", usage_id.text);
    return switch_to(edit, llm, err);
}

/* POST {"profile_name": text} -> 200 | 403 | 404 | 422 */
static int switch_profile(const struct request *request, struct reply *reply, struct error *err)
{
    return conversation_edit_and_reply(request, reply, plan_switch_profile, err);
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
                  "marketplace that this server could fetch it from.",
                  err);
}

/* POST {"model": text} -> 400 | 404 | 422 */
static int switch_acp_model(const struct request *request, struct reply *reply, struct error *err)
{
    return refuse(
        request, reply, "model",
        "This conversation's agent is not an ACP agent: use switch_llm to change its model.", err);
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
