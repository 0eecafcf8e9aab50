#include "model/secrets/secret_places.h"

#include "base/attr.h"
#include "base/json.h"
#include "base/text.h"

static const struct secret_place places[] = {
    {"agent/llm/api_key", true},
    {"agent/llm/aws_access_key_id", true},
    {"agent/llm/aws_secret_access_key", true},
    {"agent/llm/aws_session_token", true},
    {"agent/llm/extra_headers/*", false},
    {"agent/condenser/llm/api_key", true},
    {"agent/condenser/llm/aws_access_key_id", true},
    {"agent/condenser/llm/aws_secret_access_key", true},
    {"agent/condenser/llm/aws_session_token", true},
    {"agent/condenser/llm/extra_headers/*", false},
    {"agent/condenser/condensers/*/llm/api_key", true},
    {"agent/condenser/condensers/*/llm/aws_access_key_id", true},
    {"agent/condenser/condensers/*/llm/aws_secret_access_key", true},
    {"agent/condenser/condensers/*/llm/aws_session_token", true},
    {"agent/condenser/condensers/*/llm/extra_headers/*", false},
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
    {"security_analyzer/api_key", true},
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
