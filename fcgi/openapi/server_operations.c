/*
 * Health, the description itself, and the OpenAI-compatible models.
 */
#include "base/attr.h"
#include "fcgi/agent/agent.h"
#include "fcgi/openapi/operation.h"
#include "model/openai/openai_ask.h"
#include "model/schema/shape.h"

static const struct field health_status_fields[] = {
    {.name = "status", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct shape health_status_shape = SHAPE(health_status_fields);

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
static const struct shape server_info_shape = SHAPE(server_info_fields);

static const struct field init_status_fields[] = {
    {.name = "state",
     .kind = FIELD_TEXT,
     .rules = FIELD_REQUIRED,
     .words = "dormant|initializing|ready"},
    {.name = "error", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct shape init_status_shape = SHAPE(init_status_fields);

static const struct field model_list_fields[] = {
    {.name = "object", .kind = FIELD_TEXT, .words = "list"},
    {.name = "data", .kind = FIELD_LIST, .rules = FIELD_REQUIRED},
};
static const struct shape model_list_shape = SHAPE(model_list_fields);

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
static const struct shape chat_completion_shape = SHAPE(chat_completion_fields);

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
static const struct shape response_shape = SHAPE(response_fields);

/* clang-format off */
const struct operation server_operations[] = {
    OPERATION(HTTP_GET, "/alive", "The server is there", .answer = {"HealthStatus", &health_status_shape}),
    OPERATION(HTTP_GET, "/health", "The server is there", .answer = {"HealthStatus", &health_status_shape}),
    OPERATION(HTTP_GET, "/ready", "The server and its database are ready"),
    OPERATION(HTTP_GET, "/server_info", "What the server is and can do", .answer = {"ServerInfo", &server_info_shape}),
    OPERATION(HTTP_GET, "/api/init", "State of a deferred start", .answer = {"InitStatus", &init_status_shape}),
    OPERATION(HTTP_POST, "/api/init", "Begin a deferred start", .body = {"InitRequest", &init_request_shape}, .answer = {"InitStatus", &init_status_shape}),
    OPERATION(HTTP_GET, "/v1/models", "Profiles that can be asked like a model", .answer = {"OpenAIModelListResponse", &model_list_shape}),
    OPERATION(HTTP_POST, "/v1/chat/completions", "Let a profile's agent answer a chat", .body = {"OpenAIChatCompletionRequest", &openai_chat_shape}, .answer = {"ChatCompletion", &chat_completion_shape}),
    OPERATION(HTTP_POST, "/v1/responses", "Let a profile's agent answer one request", .body = {"OpenAIResponseRequest", &openai_response_shape}, .answer = {"OpenAIResponse", &response_shape}),
    OPERATION(HTTP_POST, "/api/auth/workspace-session", "A cookie that opens the files of workspaces", .status = 204, .answer_form = ANSWER_NOTHING),
    OPERATION(HTTP_DELETE, "/api/auth/workspace-session", "Take that cookie back", .status = 204, .answer_form = ANSWER_NOTHING),
    OPERATION(HTTP_GET, "/", "What the server is and can do", .answer = {"ServerInfo", &server_info_shape}),
    OPERATION(HTTP_GET, "/openapi.json", "This description"),
    {.pattern = NULL},
};
/* clang-format on */
