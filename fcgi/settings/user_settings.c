#include "fcgi/settings/user_settings.h"
#include "fcgi/agent/agent.h"

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "model/agent/agent_settings.h"
#include "model/schema/problem.h"
#include "store/user/profile_store.h"

static const char DOCUMENT_NAME[] = "settings";
static const struct place nowhere = {NULL, "settings", 0};

/* Settings stored by an older deft get the members added since. */
static void fill_in(const struct request *request, struct document *settings)
{
    json_auto_t *problems = json_array();
    json_auto_t *agent = NULL;
    json_t *conversation = json_need_object(settings->body, "conversation_settings");

    (void)json_need_object(settings->body, "agent_settings");
    (void)json_need_object(settings->body, "misc_settings");
    json_put(settings->body, "conversation_settings",
             conversation_settings_read(conversation, &nowhere, problems));
    agent = user_settings_agent(settings);
    user_settings_set_agent(request, settings, agent, &nowhere, problems);
}

int user_settings_load(const struct request *request, struct document *settings_out,
                       struct error *err)
{
    const struct shelf shelf = keep_shelf(request);

    if (document_store_get_or_new(&shelf, COLLECTION_SETTINGS, DOCUMENT_NAME, settings_out, err) <
        0)
        return -1;
    fill_in(request, settings_out);
    return 0;
}

int user_settings_put(const struct request *request, struct document *settings, struct error *err)
{
    const struct shelf shelf = keep_shelf(request);

    return document_store_put(&shelf, settings, 0, err);
}

json_t *user_settings_agent(const struct document *settings)
{
    json_t *agent = json_deep_copy(json_object_get(settings->body, "agent_settings"));

    secrets_restore(&settings_secrets, agent, settings->secrets);
    return agent;
}

void user_settings_set_agent(const struct request *request, struct document *settings,
                             json_t *agent, const struct place *place, json_t *problems)
{
    const struct conversation_defaults defaults = agent_defaults(request);
    size_t n_problems = json_array_size(problems);
    json_auto_t *clear = json_deep_copy(agent);
    json_auto_t *read = NULL;
    json_t *members = NULL;

    secrets_restore(&settings_secrets, clear, settings->secrets);
    read = agent_settings_read(clear, &defaults, place, problems);
    if (json_array_size(problems) > n_problems)
        return;
    members = json_object();
    secrets_take(&settings_secrets, read, members);
    json_put(settings->body, "agent_settings", json_incref(read));
    json_decref(settings->secrets);
    settings->secrets = members;
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
    const struct shelf shelf = keep_shelf(request);
    json_auto_t *agent = user_settings_agent(settings);
    json_t *llm = json_object_get(agent, "llm");

    if (llm != NULL && profile_store_resolve_llm(&shelf, llm, err) < 0 &&
        err->code != ERROR_INVALID)
        return -1;
    *is_set_out = llm != NULL && keep_llm_key(request, llm)[0] != '\0';
    return 0;
}

/* In clear, a linked connection is resolved, too: the reader needs it to call the model. */
static int expose_agent(const struct request *request, const struct document *settings,
                        enum exposure exposure, json_t **agent_out, struct error *err)
{
    const struct shelf shelf = keep_shelf(request);
    json_t *agent = json_deep_copy(json_object_get(settings->body, "agent_settings"));
    json_t *llm = json_object_get(agent, "llm");

    keep_expose(request, &settings_secrets, agent, settings->secrets, exposure);
    *agent_out = agent;
    if (exposure != EXPOSE_PLAIN || llm == NULL ||
        profile_store_resolve_llm(&shelf, llm, err) == 0 || err->code == ERROR_INVALID)
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
