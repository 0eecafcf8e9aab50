#include "fcgi/settings/user_settings.h"
#include "fcgi/core/request_defaults.h"
#include "fcgi/core/router.h"

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "model/agent/agent_settings.h"
#include "model/schema/validation_error.h"
#include "store/user/profile_store.h"
#include "store/user/settings_store.h"

static const struct json_path nowhere = {NULL, "settings", 0};

int user_settings_load(const struct request *request, struct document *settings_out,
                       struct error *err)
{
    const struct document_scope scope = user_documents_scope(request);
    const struct conversation_defaults defaults = request_conversation_defaults(request);

    return settings_store_load(&scope, &defaults, settings_out, err);
}

int user_settings_put(const struct request *request, struct document *settings, struct error *err)
{
    const struct document_scope scope = user_documents_scope(request);

    return document_store_put(&scope, settings, 0, err);
}

json_t *user_settings_agent(const struct document *settings)
{
    return settings_store_agent(settings);
}

void user_settings_set_agent(const struct request *request, struct document *settings,
                             json_t *agent, const struct json_path *path, json_t *problems)
{
    const struct conversation_defaults defaults = request_conversation_defaults(request);

    settings_store_set_agent(settings, &defaults, agent, path, problems);
}

bool user_settings_set_llm(const struct request *request, struct document *settings, json_t *llm)
{
    json_auto_t *problems = json_array();
    json_auto_t *agent = user_settings_agent(settings);

    if (agent_settings_are_acp(agent))
        return false;
    json_put(agent, "llm", json_deep_copy(llm));
    user_settings_set_agent(request, settings, agent, &nowhere, problems);
    return true;
}

bool user_settings_set_meta(struct document *settings, const char *name)
{
    json_t *agent = json_object_get(settings->body, "agent_settings");
    bool is_acp = agent_settings_are_acp(agent);

    json_put(settings->body, "active_meta_profile", json_text_of(name));
    if (is_acp)
        return false;
    json_put(agent, "active_meta_profile", json_text_of(name));
    json_put(agent, "enable_classify_and_switch_llm_tool", json_boolean(name != NULL));
    return true;
}

const char *user_settings_pointer(const struct document *settings, const char *name)
{
    return json_text_or(settings->body, name, NULL);
}

static json_t *pointer_or_null(const struct document *settings, const char *name)
{
    const char *text = user_settings_pointer(settings, name);

    return json_text_of(text);
}

/* Whether a call would have a key: its own, or its connection's. */
static int look_for_key(const struct request *request, const struct document *settings,
                        bool *is_set_out, struct error *err)
{
    const struct document_scope scope = user_documents_scope(request);
    json_auto_t *agent = user_settings_agent(settings);
    json_t *llm = json_object_get(agent, "llm");

    if (llm != NULL && profile_store_resolve_llm(&scope, llm, err) < 0 &&
        err->code != ERROR_INVALID)
        return -1;
    *is_set_out = llm != NULL && user_documents_llm_key(request, llm)[0] != '\0';
    return 0;
}

/* In clear, a linked connection is resolved, too: the reader needs it to call the model. */
static int expose_agent(const struct request *request, const struct document *settings,
                        enum exposure exposure, json_t **agent_out, struct error *err)
{
    const struct document_scope scope = user_documents_scope(request);
    json_t *agent = json_deep_copy(json_object_get(settings->body, "agent_settings"));
    json_t *llm = json_object_get(agent, "llm");

    user_documents_expose(request, &settings_secrets, agent, settings->secrets, exposure);
    *agent_out = agent;
    if (exposure != EXPOSE_PLAIN || llm == NULL ||
        profile_store_resolve_llm(&scope, llm, err) == 0 || err->code == ERROR_INVALID)
        return 0;
    json_decref(agent);
    return -1;
}

json_t *user_settings_to_json(const struct request *request, const struct document *settings,
                              enum exposure exposure, struct error *err)
{
    static const char *const pointers[] = {"active_profile", "active_agent_profile_id",
                                           "active_meta_profile"};
    json_t *agent = NULL;
    json_t *json = NULL;
    bool has_key = false;

    if (look_for_key(request, settings, &has_key, err) < 0 ||
        expose_agent(request, settings, exposure, &agent, err) < 0)
        return NULL;
    json = json_object();
    json_put(json, "agent_settings", agent);
    json_put(json, "conversation_settings",
             json_incref(json_object_get(settings->body, "conversation_settings")));
    json_put(json, "llm_api_key_is_set", json_boolean(has_key));
    for (size_t i = 0; i < ARRAY_SIZE(pointers); i++)
        json_put(json, pointers[i], pointer_or_null(settings, pointers[i]));
    json_put(json, "misc_settings", json_incref(json_object_get(settings->body, "misc_settings")));
    return json;
}
