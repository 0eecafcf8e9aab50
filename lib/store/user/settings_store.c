#include "store/user/settings_store.h"

#include <stddef.h>

#include "base/error.h"
#include "base/json.h"
#include "model/agent/agent_settings.h"
#include "model/schema/validation_error.h"
#include "model/secrets/secret_walk.h"
#include "store/user/document_store.h"

static const char DOCUMENT_NAME[] = "settings";
static const struct json_path nowhere = {NULL, "settings", 0};

/* Settings stored by an older deft get the members added since. */
static void fill_in(struct document *settings, const struct conversation_defaults *defaults)
{
    json_auto_t *problems = json_array();
    json_auto_t *agent = NULL;
    json_t *conversation = json_need_object(settings->body, "conversation_settings");

    (void)json_need_object(settings->body, "agent_settings");
    (void)json_need_object(settings->body, "misc_settings");
    json_put(settings->body, "conversation_settings",
             conversation_settings_read(conversation, &nowhere, problems));
    agent = settings_store_agent(settings);
    settings_store_set_agent(settings, defaults, agent, &nowhere, problems);
}

int settings_store_load(const struct document_scope *scope,
                        const struct conversation_defaults *defaults, struct document *settings_out,
                        struct error *err)
{
    if (document_store_get_or_new(scope, COLLECTION_SETTINGS, DOCUMENT_NAME, settings_out, err) < 0)
        return -1;
    fill_in(settings_out, defaults);
    return 0;
}

json_t *settings_store_agent(const struct document *settings)
{
    json_t *agent = json_deep_copy(json_object_get(settings->body, "agent_settings"));

    secrets_restore(&settings_secrets, agent, settings->secrets);
    return agent;
}

void settings_store_set_agent(struct document *settings,
                              const struct conversation_defaults *defaults, json_t *agent,
                              const struct json_path *place, json_t *problems)
{
    size_t n_problems = json_array_size(problems);
    json_auto_t *clear = json_deep_copy(agent);
    json_auto_t *read = NULL;
    json_t *members = NULL;

    secrets_restore(&settings_secrets, clear, settings->secrets);
    read = agent_settings_read(clear, defaults, place, problems);
    if (json_array_size(problems) > n_problems)
        return;
    members = json_object();
    secrets_take(&settings_secrets, read, members);
    json_put(settings->body, "agent_settings", json_incref(read));
    json_decref(settings->secrets);
    settings->secrets = members;
}
