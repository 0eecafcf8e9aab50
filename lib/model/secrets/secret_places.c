#include "model/secrets/secret_places.h"

#include "base/attr.h"
#include "base/json.h"
#include "base/text.h"
#include "model/secrets/secret_paths.h"

static const struct secret_place places[] = {
    LLM_SECRETS("agent/llm/"),
    LLM_SECRETS("agent/condenser/llm/"),
    LLM_SECRETS("agent/condenser/condensers/*/llm/"),
    {"agent/critic/api_key", true},
    {"agent/critic/llm/api_key", true},
    {"agent/mcp_config/*/env/*", false},
    {"agent/mcp_config/*/headers/*", false},
    {"agent/mcp_config/*/auth/value", false},
    {"agent/mcp_config/*/auth/password", false},
    {"agent/mcp_config/*/auth/headers/*", false},
    {"agent/mcp_config/*/auth/authentication/client_secret", false},
    {"agent/mcp_config/*/auth/state/tokens/access_token", false},
    {"agent/mcp_config/*/auth/state/tokens/refresh_token", false},
    {"agent/mcp_config/*/auth/state/tokens/id_token", false},
    {"agent/mcp_config/*/auth/state/client_info/client_secret", false},
    {"agent/mcp_config/*/auth/state/client_info/registration_access_token", false},
    {"agent/agent_context/secrets/*", false},
    {"agent/agent_context/secrets/*/value", true},
    {"agent/agent_context/secrets/*/headers/*", false},
    ANALYZER_SECRETS("security_analyzer/"),
    {"secret_registry/secret_sources/*/value", true},
    {"secret_registry/secret_sources/*/headers/*", false},
};

static const struct secret_table table = {places, ARRAY_SIZE(places)};

static json_t *take_secret(void *context, const struct secret_place *place, const char *where,
                           const char *text)
{
    (void)place;
    if (!text_equal(text, secret_marker))
        json_put_text(context, where, text);
    return json_text_of(secret_marker);
}

void secret_places_take(json_t *spec, json_t *members)
{
    secret_walk(&table, spec, &(struct secret_visitor){take_secret, members});
}

static json_t *restore(void *context, const struct secret_place *place, const char *where,
                       const char *text)
{
    (void)place;
    (void)text;
    return json_deep_copy(json_object_get(context, where));
}

void secret_places_restore(json_t *spec, const json_t *members)
{
    json_auto_t *readable = json_deep_copy(members);

    secret_walk(&table, spec, &(struct secret_visitor){restore, readable});
}

static json_t *blank(void *context, const struct secret_place *place, const char *where,
                     const char *text)
{
    (void)context;
    (void)where;
    (void)text;
    return place->is_blanked ? json_null() : NULL;
}

void secret_places_blank(json_t *spec)
{
    secret_walk(&table, spec, &(struct secret_visitor){blank, NULL});
}
