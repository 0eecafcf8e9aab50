/*
 * Paths of secrets: one list per kind of object, composed with path prefixes.
 */
#include "base/attr.h"
#include "model/secrets/secret_paths.h"
#include "model/secrets/secret_walk.h"

/* clang-format off */
#define MCP_SECRETS(prefix)                                                                        \
    {prefix "env/*", false},                                                                       \
    {prefix "headers/*", false},                                                                   \
    {prefix "auth/value", false},                                                                  \
    {prefix "auth/password", false},                                                               \
    {prefix "auth/headers/*", false},                                                              \
    {prefix "auth/authentication/client_secret", false},                                           \
    {prefix "auth/state/tokens/access_token", false},                                              \
    {prefix "auth/state/tokens/refresh_token", false},                                             \
    {prefix "auth/state/tokens/id_token", false},                                                  \
    {prefix "auth/state/client_info/client_secret", false},                                        \
    {prefix "auth/state/client_info/registration_access_token", false}

#define CONTEXT_SECRETS(prefix)                                                                    \
    {prefix "secrets/*", false},                                                                   \
    {prefix "secrets/*/value", true},                                                              \
    {prefix "secrets/*/headers/*", false}
/* clang-format on */

static const struct secret_place llm_places[] = {LLM_SECRETS("")};
const struct secret_table llm_secrets = {llm_places, ARRAY_SIZE(llm_places)};

static const struct secret_place settings_places[] = {
    LLM_SECRETS("llm/"),
    LLM_SECRETS("meta_profile_llms/*/"),
    MCP_SECRETS("mcp_config/*/"),
    CONTEXT_SECRETS("agent_context/"),
    {"verification/critic_api_key", true},
};
const struct secret_table settings_secrets = {settings_places, ARRAY_SIZE(settings_places)};

static const struct secret_place mcp_server_places[] = {MCP_SECRETS("")};
const struct secret_table mcp_server_secrets = {mcp_server_places, ARRAY_SIZE(mcp_server_places)};

static const struct secret_place start_request_places[] = {
    LLM_SECRETS("agent/llm/"),
    LLM_SECRETS("agent/condenser/llm/"),
    LLM_SECRETS("agent/condenser/condensers/*/llm/"),
    {"agent/critic/api_key", true},
    {"agent/critic/llm/api_key", true},
    MCP_SECRETS("agent/mcp_config/*/"),
    MCP_SECRETS("agent/mcp_config/mcpServers/*/"),
    CONTEXT_SECRETS("agent/agent_context/"),
    LLM_SECRETS("agent_settings/llm/"),
    LLM_SECRETS("agent_settings/meta_profile_llms/*/"),
    MCP_SECRETS("agent_settings/mcp_config/*/"),
    MCP_SECRETS("agent_settings/mcp_config/mcpServers/*/"),
    CONTEXT_SECRETS("agent_settings/agent_context/"),
    {"agent_settings/verification/critic_api_key", true},
    ANALYZER_SECRETS("security_analyzer/"),
    {"secrets/*", false},
    {"secrets/*/value", true},
    {"secrets/*/headers/*", false},
};
const struct secret_table start_request_secrets = {start_request_places,
                                                   ARRAY_SIZE(start_request_places)};
