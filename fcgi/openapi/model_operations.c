/*
 * Models, their providers, and MCP servers.
 */
#include "base/attr.h"
#include "fcgi/openapi/operation.h"
#include "model/schema/object_schema.h"

static const struct field llm_models_query_fields[] = {
    {.name = "provider", .kind = FIELD_TEXT},
};
static const struct object_schema llm_models_query = SCHEMA(llm_models_query_fields);

static const struct field providers_fields[] = {
    {.name = "providers", .kind = FIELD_TEXTS, .rules = FIELD_REQUIRED},
};
static const struct object_schema providers_schema = SCHEMA(providers_fields);

static const struct field models_fields[] = {
    {.name = "models", .kind = FIELD_TEXTS, .rules = FIELD_REQUIRED},
};
static const struct object_schema models_schema = SCHEMA(models_fields);

static const struct field verified_models_fields[] = {
    {.name = "models", .kind = FIELD_MAP, .rules = FIELD_REQUIRED},
};
static const struct object_schema verified_models_schema = SCHEMA(verified_models_fields);

static const struct field subscription_models_fields[] = {
    {.name = "vendor", .kind = FIELD_TEXT},
    {.name = "models", .kind = FIELD_TEXTS, .rules = FIELD_REQUIRED},
};
static const struct object_schema subscription_models_schema = SCHEMA(subscription_models_fields);

static const struct field subscription_status_fields[] = {
    {.name = "vendor", .kind = FIELD_TEXT},
    {.name = "connected", .kind = FIELD_BOOL, .rules = FIELD_REQUIRED},
    {.name = "account_email", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "expires_at", .kind = FIELD_INT, .rules = FIELD_NULLABLE},
};
static const struct object_schema subscription_status_schema = SCHEMA(subscription_status_fields);

static const struct field subscription_device_start_fields[] = {
    {.name = "device_code", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "user_code", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "verification_uri", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "verification_uri_complete", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "expires_at", .kind = FIELD_INT, .rules = FIELD_REQUIRED},
    {.name = "interval_seconds", .kind = FIELD_INT, .rules = FIELD_REQUIRED},
};
static const struct object_schema subscription_device_start_schema =
    SCHEMA(subscription_device_start_fields);

static const struct field subscription_device_poll_fields[] = {
    {.name = "device_code", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct object_schema subscription_device_poll_schema =
    SCHEMA(subscription_device_poll_fields);

static const struct field acp_model_discovery_fields[] = {
    {.name = "agent_settings", .kind = FIELD_MAP, .rules = FIELD_REQUIRED},
    {.name = "secrets", .kind = FIELD_MAP},
    {.name = "refresh", .kind = FIELD_BOOL, .fallback = "false"},
};
static const struct object_schema acp_model_discovery_schema = SCHEMA(acp_model_discovery_fields);

static const struct field provider_connection_fields[] = {
    {.name = "id", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "display_name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "provider", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "base_url", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "created_at", .kind = FIELD_INT, .rules = FIELD_REQUIRED},
    {.name = "updated_at", .kind = FIELD_INT, .rules = FIELD_REQUIRED},
    {.name = "api_key_set", .kind = FIELD_BOOL},
};
static const struct object_schema provider_connection_schema = SCHEMA(provider_connection_fields);

static const struct field provider_connection_create_fields[] = {
    {.name = "display_name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "provider", .kind = FIELD_TEXT, .fallback = "\"custom\""},
    {.name = "api_key", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "base_url", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct object_schema provider_connection_create_schema =
    CLOSED_SCHEMA(provider_connection_create_fields);

static const struct field provider_connection_update_fields[] = {
    {.name = "display_name", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "provider", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "api_key", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "base_url", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct object_schema provider_connection_update_schema =
    CLOSED_SCHEMA(provider_connection_update_fields);

static const struct field mcp_tool_call_spec_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "arguments", .kind = FIELD_MAP},
};
static const struct object_schema mcp_tool_call_spec_schema = SCHEMA(mcp_tool_call_spec_fields);

static const struct field mcp_test_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .fallback = "\"test-server\""},
    {.name = "server", .kind = FIELD_ANY, .rules = FIELD_REQUIRED},
    {.name = "timeout", .kind = FIELD_NUMBER, .fallback = "15.0"},
    {.name = "tool_call",
     .kind = FIELD_OBJECT,
     .rules = FIELD_NULLABLE,
     .items = &mcp_tool_call_spec_schema},
};
static const struct object_schema mcp_test_schema = SCHEMA(mcp_test_fields);

static const struct field mcp_oauth_start_fields[] = {
    {.name = "ok", .kind = FIELD_BOOL, .rules = FIELD_REQUIRED},
    {.name = "job_id", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "authorization_url", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "error", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "error_kind",
     .kind = FIELD_TEXT,
     .rules = FIELD_NULLABLE,
     .words = "timeout|connection|unknown"},
};
static const struct object_schema mcp_oauth_start_schema = SCHEMA(mcp_oauth_start_fields);

static const struct field mcp_oauth_status_fields[] = {
    {.name = "ok", .kind = FIELD_BOOL, .rules = FIELD_REQUIRED},
    {.name = "status",
     .kind = FIELD_TEXT,
     .rules = FIELD_REQUIRED,
     .words = "pending|authorizing|succeeded|failed"},
    {.name = "job_id", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "authorization_url", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "callback_ready", .kind = FIELD_BOOL},
    {.name = "tools", .kind = FIELD_TEXTS, .rules = FIELD_NULLABLE},
    {.name = "tool_result", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
    {.name = "oauth_state", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
    {.name = "error", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "error_kind",
     .kind = FIELD_TEXT,
     .rules = FIELD_NULLABLE,
     .words = "timeout|connection|unknown"},
};
static const struct object_schema mcp_oauth_status_schema = SCHEMA(mcp_oauth_status_fields);

static const struct field mcp_oauth_callback_fields[] = {
    {.name = "callback_url", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct object_schema mcp_oauth_callback_schema = SCHEMA(mcp_oauth_callback_fields);

static const struct field mcp_redirect_query_fields[] = {
    {.name = "state", .kind = FIELD_TEXT},
    {.name = "code", .kind = FIELD_TEXT},
    {.name = "error", .kind = FIELD_TEXT},
    {.name = "iss", .kind = FIELD_TEXT},
};
static const struct object_schema mcp_redirect_query = SCHEMA(mcp_redirect_query_fields);

static const struct field acp_models_fields[] = {
    {.name = "agent_name", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "agent_version", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "current_model_id", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "available_models", .kind = FIELD_LIST},
    {.name = "supports_runtime_model_switch", .kind = FIELD_BOOL},
    {.name = "error", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
};
static const struct object_schema acp_models_schema = SCHEMA(acp_models_fields);

/* clang-format off */
const struct operation model_operations[] = {
    OPERATION(HTTP_GET, "/api/llm/providers", "List model providers", .answer = {"ProvidersResponse", &providers_schema}),
    OPERATION(HTTP_GET, "/api/llm/models", "List models, optionally of one provider", .query = &llm_models_query, .answer = {"ModelsResponse", &models_schema}),
    OPERATION(HTTP_GET, "/api/llm/models/verified", "List verified models", .answer = {"VerifiedModelsResponse", &verified_models_schema}),
    OPERATION(HTTP_GET, "/api/llm/subscription/openai/models", "Models of the subscription", .answer = {"SubscriptionModelsResponse", &subscription_models_schema}),
    OPERATION(HTTP_GET, "/api/llm/subscription/openai/status", "Whether the subscription is connected", .answer = {"SubscriptionStatusResponse", &subscription_status_schema}),
    OPERATION(HTTP_POST, "/api/llm/subscription/openai/device/start", "Start to connect the subscription", .answer = {"SubscriptionDeviceStartResponse", &subscription_device_start_schema}),
    OPERATION(HTTP_POST, "/api/llm/subscription/openai/device/poll", "Poll whether the subscription is connected", .body = {"SubscriptionDevicePollRequest", &subscription_device_poll_schema}, .answer = {"SubscriptionStatusResponse", &subscription_status_schema}),
    OPERATION(HTTP_POST, "/api/llm/subscription/openai/logout", "Disconnect the subscription", .answer = {"SubscriptionStatusResponse", &subscription_status_schema}),
    OPERATION(HTTP_POST, "/api/acp/models", "Models of an ACP agent", .body = {"ACPModelDiscoveryRequest", &acp_model_discovery_schema}, .answer = {"ACPModelDiscovery", &acp_models_schema}),
    OPERATION(HTTP_GET, "/api/llm/provider-connections", "Connections to providers", .answer = {"ProviderConnectionResponse", &provider_connection_schema}, .answer_form = ANSWER_LIST),
    OPERATION(HTTP_POST, "/api/llm/provider-connections", "Add a connection", .body = {"ProviderConnectionCreateRequest", &provider_connection_create_schema}, .answer = {"ProviderConnectionResponse", &provider_connection_schema}, .status = 201),
    OPERATION(HTTP_PATCH, "/api/llm/provider-connections/{connection_id}", "Change a connection", .body = {"ProviderConnectionUpdateRequest", &provider_connection_update_schema}, .answer = {"ProviderConnectionResponse", &provider_connection_schema}),
    OPERATION(HTTP_DELETE, "/api/llm/provider-connections/{connection_id}", "Remove a connection", .answer = {"ProviderConnectionResponse", &provider_connection_schema}),
    OPERATION(HTTP_POST, "/api/mcp/test", "Test an MCP server", .body = {"MCPTestRequest", &mcp_test_schema}),
    OPERATION(HTTP_POST, "/api/mcp/oauth/start", "Start signing in to an MCP server", .body = {"MCPTestRequest", &mcp_test_schema}, .answer = {"MCPOAuthStartResponse", &mcp_oauth_start_schema}),
    OPERATION(HTTP_GET, "/api/mcp/oauth/status/{job_id}", "Status of signing in to an MCP server", .answer = {"MCPOAuthStatusResponse", &mcp_oauth_status_schema}),
    OPERATION(HTTP_POST, "/api/mcp/oauth/callback/{job_id}", "Pass on the response of the sign-in server", .body = {"MCPOAuthCallbackRequest", &mcp_oauth_callback_schema}, .answer = {"MCPOAuthStatusResponse", &mcp_oauth_status_schema}),
    OPERATION(HTTP_GET, "/api/mcp/oauth/redirect", "Redirect target of the sign-in server", .query = &mcp_redirect_query),
    {.pattern = NULL},
};
/* clang-format on */
