/*
 * Health, the description itself, and the OpenAI-compatible models.
 */
#include "base/attr.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/openapi/operation.h"
#include "fcgi/settings/user_documents.h"
#include "model/openai/openai_request.h"
#include "model/schema/object_schema.h"

static const struct field health_status_fields[] = {
    {.name = "status", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct object_schema health_status_schema = SCHEMA(health_status_fields);

static const struct field server_info_fields[] = {
    {.name = "uptime", .kind = FIELD_NUMBER, .rules = FIELD_REQUIRED},
    {.name = "idle_time", .kind = FIELD_NUMBER, .rules = FIELD_REQUIRED},
    {.name = "title", .kind = FIELD_TEXT},
    {.name = "version", .kind = FIELD_TEXT},
    {.name = "sdk_version", .kind = FIELD_TEXT},
    {.name = "tools_version", .kind = FIELD_TEXT},
    {.name = "workspace_version", .kind = FIELD_TEXT},
    {.name = "build_git_sha", .kind = FIELD_TEXT},
    {.name = "build_git_ref", .kind = FIELD_TEXT},
    {.name = "python_version", .kind = FIELD_TEXT},
    {.name = "usable_tools", .kind = FIELD_TEXTS},
    {.name = "runtime_idle_timeout_seconds", .kind = FIELD_NUMBER, .rules = FIELD_NULLABLE},
    {.name = "conversation_runtime", .kind = FIELD_TEXT, .words = "local|docker"},
    {.name = "available_conversation_runtimes", .kind = FIELD_TEXTS},
    {.name = "capabilities", .kind = FIELD_TEXTS},
    {.name = "app_backend_ingress_url", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "max_foreground_terminal_timeout_seconds",
     .kind = FIELD_NUMBER,
     .rules = FIELD_NULLABLE},
    {.name = "docs", .kind = FIELD_TEXT},
    {.name = "redoc", .kind = FIELD_TEXT},
};
static const struct object_schema server_info_schema = SCHEMA(server_info_fields);

static const struct field init_status_fields[] = {
    {.name = "state",
     .kind = FIELD_TEXT,
     .rules = FIELD_REQUIRED,
     .words = "dormant|initializing|ready"},
    {.name = "error", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct object_schema init_status_schema = SCHEMA(init_status_fields);

static const struct field model_list_fields[] = {
    {.name = "object", .kind = FIELD_TEXT, .words = "list"},
    {.name = "data", .kind = FIELD_LIST, .rules = FIELD_REQUIRED},
};
static const struct object_schema model_list_schema = SCHEMA(model_list_fields);

static const struct field chat_completion_fields[] = {
    {.name = "id", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "choices", .kind = FIELD_LIST, .rules = FIELD_REQUIRED},
    {.name = "created", .kind = FIELD_INT, .rules = FIELD_REQUIRED},
    {.name = "model", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "object", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED, .words = "chat.completion"},
    {.name = "moderation", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
    {.name = "service_tier",
     .kind = FIELD_TEXT,
     .rules = FIELD_NULLABLE,
     .words = "auto|default|flex|scale|priority|fast"},
    {.name = "system_fingerprint", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "usage", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
};
static const struct object_schema chat_completion_schema = SCHEMA(chat_completion_fields);

static const struct field response_fields[] = {
    {.name = "id", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "created_at", .kind = FIELD_NUMBER, .rules = FIELD_REQUIRED},
    {.name = "completed_at", .kind = FIELD_NUMBER, .rules = FIELD_REQUIRED},
    {.name = "instructions", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "metadata", .kind = FIELD_TEXT_MAP, .rules = FIELD_NULLABLE},
    {.name = "model", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "object", .kind = FIELD_TEXT, .words = "response"},
    {.name = "output", .kind = FIELD_LIST, .rules = FIELD_REQUIRED},
    {.name = "parallel_tool_calls", .kind = FIELD_BOOL},
    {.name = "previous_response_id", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "status", .kind = FIELD_TEXT, .words = "completed"},
    {.name = "tool_choice", .kind = FIELD_TEXT, .words = "none"},
    {.name = "tools", .kind = FIELD_LIST, .rules = FIELD_REQUIRED},
    {.name = "usage", .kind = FIELD_MAP, .rules = FIELD_REQUIRED},
};
static const struct object_schema response_schema = SCHEMA(response_fields);

static const struct field budget_fields[] = {
    {.name = "limit", .kind = FIELD_NUMBER, .rules = FIELD_REQUIRED | FIELD_NULLABLE},
    {.name = "spent", .kind = FIELD_NUMBER, .rules = FIELD_REQUIRED | FIELD_NULLABLE},
};
static const struct object_schema budget_schema = SCHEMA(budget_fields);

static const struct field day_budget_fields[] = {
    {.name = "limit", .kind = FIELD_NUMBER, .rules = FIELD_REQUIRED | FIELD_NULLABLE},
    {.name = "spent", .kind = FIELD_NUMBER, .rules = FIELD_REQUIRED | FIELD_NULLABLE},
    {.name = "extended_by", .kind = FIELD_NUMBER, .rules = FIELD_REQUIRED},
};
static const struct object_schema day_budget_schema = SCHEMA(day_budget_fields);

static const struct field user_budget_fields[] = {
    {.name = "per_user", .kind = FIELD_OBJECT, .rules = FIELD_REQUIRED, .items = &budget_schema},
    {.name = "per_day", .kind = FIELD_OBJECT, .rules = FIELD_REQUIRED, .items = &day_budget_schema},
};
static const struct object_schema user_budget_schema = SCHEMA(user_budget_fields);

/* clang-format off */
const struct operation server_operations[] = {
    OPERATION(HTTP_GET, "/alive", "Liveness check", .answer = {"HealthStatus", &health_status_schema}),
    OPERATION(HTTP_GET, "/health", "Liveness check", .answer = {"HealthStatus", &health_status_schema}),
    OPERATION(HTTP_GET, "/ready", "Readiness check of the server and its database"),
    OPERATION(HTTP_GET, "/server_info", "Version and capabilities of the server", .answer = {"ServerInfo", &server_info_schema}),
    OPERATION(HTTP_GET, "/api/init", "State of a deferred start", .answer = {"InitStatus", &init_status_schema}),
    OPERATION(HTTP_POST, "/api/init", "Complete a deferred start", .body = {"InitRequest", &init_request_schema}, .answer = {"InitStatus", &init_status_schema}),
    OPERATION(HTTP_GET, "/api/budget", "What the user may spend and has spent on models", .answer = {"UserBudget", &user_budget_schema}),
    OPERATION(HTTP_POST, "/api/budget/extend", "Raise the user's budget of today", .body = {"BudgetExtension", &budget_extension_schema}, .answer = {"UserBudget", &user_budget_schema}),
    OPERATION(HTTP_GET, "/v1/models", "List agent profiles as models", .answer = {"OpenAIModelListResponse", &model_list_schema}),
    OPERATION(HTTP_POST, "/v1/chat/completions", "Chat completion by a profile's agent", .body = {"OpenAIChatCompletionRequest", &openai_chat_schema}, .answer = {"ChatCompletion", &chat_completion_schema}),
    OPERATION(HTTP_POST, "/v1/responses", "Response by a profile's agent", .body = {"OpenAIResponseRequest", &openai_response_schema}, .answer = {"OpenAIResponse", &response_schema}),
    OPERATION(HTTP_POST, "/api/auth/workspace-session", "Set a cookie that gives access to workspace files", .status = 204, .answer_form = ANSWER_NOTHING),
    OPERATION(HTTP_DELETE, "/api/auth/workspace-session", "Clear that cookie", .status = 204, .answer_form = ANSWER_NOTHING),
    OPERATION(HTTP_GET, "/", "Version and capabilities of the server", .answer = {"ServerInfo", &server_info_schema}),
    OPERATION(HTTP_GET, "/openapi.json", "This OpenAPI document"),
    {.pattern = NULL},
};
/* clang-format on */
