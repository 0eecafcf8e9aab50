#include "fcgi/settings/agent_profile_default.h"

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "fcgi/settings/user_documents.h"
#include "fcgi/settings/user_settings.h"
#include "model/agent/agent_profile.h"
#include "model/agent/agent_settings.h"
#include "model/schema/validation_error.h"

static const char DEFAULT_NAME[] = "default";
static const struct json_path path = {NULL, "settings", 0};

static void move_members(json_t *from, const char *const *names, size_t n, json_t *to)
{
    for (size_t i = 0; i < n; i++) {
        json_t *value = json_object_get(from, names[i]);

        if (value != NULL)
            json_put(to, names[i], json_incref(value));
    }
}

/* The settings in the form of a profile, without their secrets. */
static json_t *profile_of_settings(const struct document *settings)
{
    static const char *const of_openhands[] = {
        "agent",        "tools",
        "persona",      "condenser",
        "verification", "enable_classify_and_switch_llm_tool",
        "agent_kind",   "tool_concurrency_limit"};
    static const char *const of_acp[] = {"agent_kind",         "acp_server",
                                         "acp_model",          "acp_session_mode",
                                         "acp_prompt_timeout", "acp_startup_timeout"};
    static const char *const of_context[] = {"system_message_suffix", "disabled_skills"};
    const char *active = user_settings_pointer(settings, "active_profile");
    json_t *agent = json_object_get(settings->body, "agent_settings");
    json_t *profile = json_object();

    if (agent_settings_are_acp(agent)) {
        move_members(agent, of_acp, ARRAY_SIZE(of_acp), profile);
        return profile;
    }
    move_members(agent, of_openhands, ARRAY_SIZE(of_openhands), profile);
    move_members(json_object_get(agent, "agent_context"), of_context, ARRAY_SIZE(of_context),
                 profile);
    json_put_text(profile, "llm_profile_ref", active != NULL ? active : DEFAULT_NAME);
    json_put_text(profile, "meta_profile_ref",
                  user_settings_pointer(settings, "active_meta_profile"));
    return profile;
}

/* Makes `default` from the settings: their active LLM profile, or their own LLM. */
static int make_default(const struct request *request, const struct document *settings,
                        struct document *profile_out, struct error *err)
{
    CLEANUP(document_done) struct document profile =
        document_new(COLLECTION_AGENT_PROFILES, DEFAULT_NAME);
    const struct document_scope scope = user_documents_scope(request);
    json_auto_t *input = profile_of_settings(settings);
    json_auto_t *problems = json_array();

    json_decref(profile.body);
    profile.body = agent_profile_read(input, &path, problems);
    if (document_store_put(&scope, &profile, 0, err) < 0)
        return -1;
    *profile_out = profile;
    profile = (struct document)DOCUMENT_INIT;
    return 0;
}

int agent_profile_ensure_default(const struct request *request, const struct document *settings,
                                 struct document *profile_out, struct error *err)
{
    const struct document_scope scope = user_documents_scope(request);

    if (document_store_get(&scope, COLLECTION_AGENT_PROFILES, DEFAULT_NAME, profile_out, err) == 0)
        return 0;
    return err->code == ERROR_NOT_FOUND ? make_default(request, settings, profile_out, err) : -1;
}

static bool is_listed(const struct document_list *list, const char *id)
{
    for (size_t i = 0; i < list->n && id != NULL; i++) {
        if (text_equal(list->items[i].id.text, id))
            return true;
    }
    return false;
}

int agent_profile_ensure_active(const struct request *request, struct document *settings,
                                const struct document_list *list, struct error *err)
{
    CLEANUP(document_done) struct document profile = DOCUMENT_INIT;

    if (is_listed(list, user_settings_pointer(settings, "active_agent_profile_id")))
        return 0;
    if (agent_profile_ensure_default(request, settings, &profile, err) < 0)
        return -1;
    json_put_text(settings->body, "active_agent_profile_id", profile.id.text);
    return user_settings_put(request, settings, err);
}
