/*
 * Conversations: create, read, change, run.
 */
#include "base/attr.h"
#include "fcgi/openapi/operation.h"
#include "model/agent/agent_fields.h"
#include "model/agent/agent_spec.h"
#include "model/limits.h"
#include "model/schema/shape.h"
#include "model/schema/start_fields.h"

static const struct field events_search_query_fields[] = {
    {.name = "page_id", .kind = FIELD_TEXT},
    {.name = "limit", .kind = FIELD_INT, .rules = FIELD_FROM_1, .fallback = "100"},
    {.name = "kind", .kind = FIELD_TEXT},
    {.name = "source", .kind = FIELD_TEXT},
    {.name = "body", .kind = FIELD_TEXT},
    {.name = "sort_order",
     .kind = FIELD_TEXT,
     .fallback = "\"TIMESTAMP\"",
     .words = "TIMESTAMP|TIMESTAMP_DESC"},
    {.name = "timestamp__gte", .kind = FIELD_TEXT},
    {.name = "timestamp__lt", .kind = FIELD_TEXT},
};
static const struct shape events_search_query = SHAPE(events_search_query_fields);

static const struct field events_count_query_fields[] = {
    {.name = "kind", .kind = FIELD_TEXT},          {.name = "source", .kind = FIELD_TEXT},
    {.name = "body", .kind = FIELD_TEXT},          {.name = "timestamp__gte", .kind = FIELD_TEXT},
    {.name = "timestamp__lt", .kind = FIELD_TEXT},
};
static const struct shape events_count_query = SHAPE(events_count_query_fields);

static const struct field conversations_search_query_fields[] = {
    {.name = "page_id", .kind = FIELD_TEXT},
    {.name = "limit", .kind = FIELD_INT, .rules = FIELD_FROM_1, .fallback = "100"},
    {.name = "status",
     .kind = FIELD_TEXT,
     .words = "idle|running|paused|waiting_for_confirmation|finished|error|stuck|deleting"},
    {.name = "sort_order",
     .kind = FIELD_TEXT,
     .fallback = "\"CREATED_AT_DESC\"",
     .words = "CREATED_AT|UPDATED_AT|CREATED_AT_DESC|UPDATED_AT_DESC"},
    {.name = "include_skills", .kind = FIELD_BOOL, .fallback = "false"},
};
static const struct shape conversations_search_query = SHAPE(conversations_search_query_fields);

static const struct field conversations_count_query_fields[] = {
    {.name = "status",
     .kind = FIELD_TEXT,
     .words = "idle|running|paused|waiting_for_confirmation|finished|error|stuck|deleting"},
};
static const struct shape conversations_count_query = SHAPE(conversations_count_query_fields);

static const struct field with_skills_query_fields[] = {
    {.name = "include_skills", .kind = FIELD_BOOL, .fallback = "false"},
};
static const struct shape with_skills_query = SHAPE(with_skills_query_fields);

static const struct field batch_query_fields[] = {
    {.name = "ids", .kind = FIELD_TEXTS, .rules = FIELD_REQUIRED},
    {.name = "include_skills", .kind = FIELD_BOOL, .fallback = "false"},
};
static const struct shape batch_query = SHAPE(batch_query_fields);

static const struct field event_fields[] = {
    {.name = "id", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "timestamp", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "source",
     .kind = FIELD_TEXT,
     .rules = FIELD_REQUIRED,
     .words = "agent|user|environment|hook"},
    {.name = "kind", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct shape event_shape = SHAPE(event_fields);

static const struct field event_page_fields[] = {
    {.name = "items", .kind = FIELD_OBJECTS, .rules = FIELD_REQUIRED, .items = &event_shape},
    {.name = "next_page_id", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct shape event_page_shape = SHAPE(event_page_fields);

static const struct field send_message_fields[] = {
    {.name = "role",
     .kind = FIELD_TEXT,
     .fallback = "\"user\"",
     .words = "user|system|assistant|tool"},
    {.name = "content", .kind = FIELD_LIST},
    {.name = "run", .kind = FIELD_BOOL, .fallback = "false"},
    {.name = "sender", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE, .max_chars = SENDER_MAX_CHARS},
    {.name = "action_ids", .kind = FIELD_TEXTS, .rules = FIELD_NULLABLE},
};
static const struct shape send_message_shape = SHAPE(send_message_fields);

static const struct field confirmation_fields[] = {
    {.name = "accept", .kind = FIELD_BOOL, .rules = FIELD_REQUIRED},
    {.name = "reason", .kind = FIELD_TEXT, .fallback = "\"User rejected the action.\""},
    {.name = "action_ids", .kind = FIELD_TEXTS, .rules = FIELD_NULLABLE},
    {.name = "run", .kind = FIELD_BOOL, .fallback = "false"},
};
static const struct shape confirmation_shape = SHAPE(confirmation_fields);

static const struct field run_fields[] = {
    {.name = "action_ids", .kind = FIELD_TEXTS, .rules = FIELD_NULLABLE},
};
static const struct shape run_shape = SHAPE(run_fields);

static const struct field conversation_info_fields[] = {
    {.name = "id", .kind = FIELD_UUID, .rules = FIELD_REQUIRED},
    {.name = "workspace", .kind = FIELD_ANY, .rules = FIELD_REQUIRED},
    {.name = "persistence_dir", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "max_iterations", .kind = FIELD_INT},
    {.name = "stuck_detection", .kind = FIELD_BOOL},
    {.name = "execution_status",
     .kind = FIELD_TEXT,
     .words = "idle|running|paused|waiting_for_confirmation|finished|error|stuck|deleting"},
    {.name = "confirmation_policy", .kind = FIELD_ANY},
    {.name = "security_analyzer", .kind = FIELD_ANY, .rules = FIELD_NULLABLE},
    {.name = "activated_knowledge_skills", .kind = FIELD_TEXTS},
    {.name = "invoked_skills", .kind = FIELD_TEXTS},
    {.name = "blocked_actions", .kind = FIELD_TEXT_MAP},
    {.name = "blocked_messages", .kind = FIELD_TEXT_MAP},
    {.name = "last_user_message_id", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "leaf_event_id", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "stats", .kind = FIELD_MAP},
    {.name = "secret_registry", .kind = FIELD_MAP},
    {.name = "agent_state", .kind = FIELD_MAP},
    {.name = "hook_config", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
    {.name = "title", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "metrics", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
    {.name = "created_at", .kind = FIELD_TEXT},
    {.name = "updated_at", .kind = FIELD_TEXT},
    {.name = "forked_from_conversation_id", .kind = FIELD_UUID, .rules = FIELD_NULLABLE},
    {.name = "forked_from_event_id", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "parent_conversation_id", .kind = FIELD_UUID, .rules = FIELD_NULLABLE},
    {.name = "sub_conversation_ids", .kind = FIELD_TEXTS},
    {.name = "tags", .kind = FIELD_TEXT_MAP},
    {.name = "current_model_id", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "available_models", .kind = FIELD_LIST},
    {.name = "supports_runtime_model_switch", .kind = FIELD_BOOL},
    {.name = "launched_agent_profile", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
    {.name = "agent", .kind = FIELD_ANY, .rules = FIELD_REQUIRED},
    {.name = "client_tools", .kind = FIELD_LIST},
    {.name = "tool_module_qualnames", .kind = FIELD_TEXT_MAP},
    {.name = "runtime_info", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
};
static const struct shape conversation_info_shape = SHAPE(conversation_info_fields);

static const struct field conversation_page_fields[] = {
    {.name = "items",
     .kind = FIELD_OBJECTS,
     .rules = FIELD_REQUIRED,
     .items = &conversation_info_shape},
    {.name = "next_page_id", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct shape conversation_page_shape = SHAPE(conversation_page_fields);

static const struct field update_conversation_fields[] = {
    {.name = "title", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "tags", .kind = FIELD_TEXT_MAP, .rules = FIELD_NULLABLE},
};
static const struct shape update_conversation_shape = SHAPE(update_conversation_fields);

static const struct field conversation_runtime_info_fields[] = {
    {.name = "runtime_status",
     .kind = FIELD_TEXT,
     .rules = FIELD_REQUIRED,
     .words = "available|starting|missing|ownership_lost|error"},
    {.name = "can_resume", .kind = FIELD_BOOL, .rules = FIELD_REQUIRED},
    {.name = "runtime_error", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
};
static const struct shape conversation_runtime_info_shape = SHAPE(conversation_runtime_info_fields);

static const struct field agent_response_fields[] = {
    {.name = "response", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct shape agent_response_shape = SHAPE(agent_response_fields);

static const struct field start_goal_fields[] = {
    {.name = "objective", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "max_iterations", .kind = FIELD_INT, .fallback = "10"},
};
static const struct shape start_goal_shape = SHAPE(start_goal_fields);

static const struct field update_secrets_fields[] = {
    {.name = "secrets", .kind = FIELD_MAP, .rules = FIELD_REQUIRED},
};
static const struct shape update_secrets_shape = SHAPE(update_secrets_fields);

static const struct field set_confirmation_policy_fields[] = {
    {.name = "policy", .kind = FIELD_ANY, .rules = FIELD_REQUIRED},
};
static const struct shape set_confirmation_policy_shape = SHAPE(set_confirmation_policy_fields);

static const struct field set_security_analyzer_fields[] = {
    {.name = "security_analyzer", .kind = FIELD_ANY, .rules = FIELD_REQUIRED | FIELD_NULLABLE},
};
static const struct shape set_security_analyzer_shape = SHAPE(set_security_analyzer_fields);

static const struct field switch_profile_fields[] = {
    {.name = "profile_name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct shape switch_profile_shape = SHAPE(switch_profile_fields);

static const struct field switch_llm_fields[] = {
    {.name = "llm", .kind = FIELD_OBJECT, .rules = FIELD_REQUIRED, .items = &llm_shape},
};
static const struct shape switch_llm_shape = SHAPE(switch_llm_fields);

static const struct field load_plugin_fields[] = {
    {.name = "plugin_ref", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct shape load_plugin_shape = SHAPE(load_plugin_fields);

static const struct field switch_acp_model_fields[] = {
    {.name = "model", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct shape switch_acp_model_shape = SHAPE(switch_acp_model_fields);

static const struct field ask_agent_fields[] = {
    {.name = "question", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct shape ask_agent_shape = SHAPE(ask_agent_fields);

static const struct field fork_conversation_fields[] = {
    {.name = "id", .kind = FIELD_UUID, .rules = FIELD_NULLABLE},
    {.name = "title", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "tags", .kind = FIELD_TEXT_MAP, .rules = FIELD_NULLABLE},
    {.name = "reset_metrics", .kind = FIELD_BOOL, .fallback = "true"},
    {.name = "from_event_id", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct shape fork_conversation_shape = SHAPE(fork_conversation_fields);

static const struct field child_request_fields[] = {
    {.name = "task", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "title", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "isolation",
     .kind = FIELD_TEXT,
     .fallback = "\"worktree\"",
     .words = "worktree|shared"},
};
static const struct shape child_request_shape = SHAPE(child_request_fields);

static const struct field child_fields[] = {
    {.name = "conversation_id", .kind = FIELD_UUID, .rules = FIELD_REQUIRED},
    {.name = "parent_conversation_id", .kind = FIELD_UUID, .rules = FIELD_REQUIRED},
    {.name = "status", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "title", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "url", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "workspace", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "isolation", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE, .words = "worktree|shared"},
};
static const struct shape child_shape = SHAPE(child_fields);

static const struct field navigate_conversation_fields[] = {
    {.name = "event_id", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct shape navigate_conversation_shape = SHAPE(navigate_conversation_fields);

static const struct field runtime_credentials_fields[] = {
    {.name = "session_api_key", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct shape runtime_credentials_shape = SHAPE(runtime_credentials_fields);

#define ONE "/api/conversations/{conversation_id}"

/* clang-format off */
const struct operation conversations_operations[] = {
    OPERATION(HTTP_GET, ONE "/workspace", "The workspace's first page", .answer_form = ANSWER_BYTES),
    OPERATION(HTTP_GET, ONE "/workspace/{file_path*}", "A file of the workspace, as a browser wants it", .answer_form = ANSWER_BYTES),
    OPERATION(HTTP_GET, ONE "/events/search", "Events, by page", .query = &events_search_query, .answer = {"EventPage", &event_page_shape}),
    OPERATION(HTTP_GET, ONE "/events/count", "How many events", .query = &events_count_query, .answer_form = ANSWER_NUMBER),
    OPERATION(HTTP_GET, ONE "/events/{event_id}", "One event", .answer = {"Event", &event_shape}),
    OPERATION(HTTP_GET, ONE "/events", "Several events by id", .answer = {"Event", &event_shape}, .body_form = BODY_FORM_IDS, .answer_form = ANSWER_LIST_OR_NULLS),
    OPERATION(HTTP_POST, ONE "/events", "Say something, and run if asked to", .body = {"SendMessageRequest", &send_message_shape}, .answer = {"Success", &success_shape}),
    OPERATION(HTTP_POST, ONE "/events/respond_to_confirmation", "Let pending actions run, or reject them", .body = {"ConfirmationResponseRequest", &confirmation_shape}, .answer = {"Success", &success_shape}),
    OPERATION(HTTP_GET, "/api/conversations/search", "Conversations, by page", .query = &conversations_search_query, .answer = {"ConversationPage", &conversation_page_shape}),
    OPERATION(HTTP_GET, "/api/conversations/count", "How many conversations", .query = &conversations_count_query, .answer_form = ANSWER_NUMBER),
    OPERATION(HTTP_GET, ONE, "One conversation", .query = &with_skills_query, .answer = {"ConversationInfo", &conversation_info_shape}),
    OPERATION(HTTP_DELETE, ONE, "Delete a conversation and its events", .answer = {"Success", &success_shape}),
    OPERATION(HTTP_PATCH, ONE, "Change title or tags", .body = {"UpdateConversationRequest", &update_conversation_shape}, .answer = {"Success", &success_shape}),
    OPERATION(HTTP_GET, ONE "/runtime", "The state of its sandbox", .answer = {"ConversationRuntimeInfo", &conversation_runtime_info_shape}),
    OPERATION(HTTP_POST, ONE "/runtime/reprovision", "Bring its sandbox back", .answer = {"ConversationRuntimeInfo", &conversation_runtime_info_shape}),
    OPERATION(HTTP_GET, ONE "/agent_final_response", "The agent's last word", .answer = {"AgentResponseResult", &agent_response_shape}),
    OPERATION(HTTP_GET, "/api/conversations", "Several conversations by id", .query = &batch_query, .answer = {"ConversationInfo", &conversation_info_shape}, .answer_form = ANSWER_LIST_OR_NULLS),
    OPERATION(HTTP_POST, "/api/conversations", "Start a conversation", .query = &with_skills_query, .body = {"StartConversationRequest", &start_shape}, .answer = {"ConversationInfo", &conversation_info_shape}, .status = 201),
    OPERATION(HTTP_POST, ONE "/pause", "Stop after the step in progress", .answer = {"Success", &success_shape}),
    OPERATION(HTTP_POST, ONE "/interrupt", "Stop at once", .answer = {"Success", &success_shape}),
    OPERATION(HTTP_POST, ONE "/run", "Run until there is nothing to do", .body = {"RunConversationRequest", &run_shape}, .answer = {"Success", &success_shape}, .body_form = BODY_FORM_OPTIONAL),
    OPERATION(HTTP_POST, ONE "/goal", "Run until an objective is reached", .body = {"StartGoalRequest", &start_goal_shape}, .answer = {"Success", &success_shape}),
    OPERATION(HTTP_POST, ONE "/goal/stop", "Leave the objective", .answer = {"Success", &success_shape}),
    OPERATION(HTTP_POST, ONE "/goal/resume", "Go on with the objective", .answer = {"Success", &success_shape}),
    OPERATION(HTTP_POST, ONE "/secrets", "Add or replace secrets", .body = {"UpdateSecretsRequest", &update_secrets_shape}, .answer = {"Success", &success_shape}),
    OPERATION(HTTP_POST, ONE "/confirmation_policy", "Say which actions need a yes", .body = {"SetConfirmationPolicyRequest", &set_confirmation_policy_shape}, .answer = {"Success", &success_shape}),
    OPERATION(HTTP_POST, ONE "/security_analyzer", "Say who judges the risk of actions", .body = {"SetSecurityAnalyzerRequest", &set_security_analyzer_shape}, .answer = {"Success", &success_shape}),
    OPERATION(HTTP_POST, ONE "/switch_profile", "Go on with another profile's model", .body = {"SwitchProfileRequest", &switch_profile_shape}, .answer = {"Success", &success_shape}),
    OPERATION(HTTP_POST, ONE "/switch_llm", "Go on with another model", .body = {"SwitchLLMRequest", &switch_llm_shape}, .answer = {"Success", &success_shape}),
    OPERATION(HTTP_POST, ONE "/load_plugin", "Add a plugin", .body = {"LoadPluginRequest", &load_plugin_shape}, .answer = {"Success", &success_shape}),
    OPERATION(HTTP_POST, ONE "/switch_acp_model", "Go on with another model of the ACP agent", .body = {"SwitchACPModelRequest", &switch_acp_model_shape}, .answer = {"Success", &success_shape}),
    OPERATION(HTTP_POST, ONE "/ask_agent", "Ask beside the conversation; nothing is kept of it", .body = {"AskAgentRequest", &ask_agent_shape}, .answer = {"AgentResponseResult", &agent_response_shape}),
    OPERATION(HTTP_POST, ONE "/condense", "Shorten what the model is shown", .answer = {"Success", &success_shape}),
    OPERATION(HTTP_POST, ONE "/fork", "A new conversation with the same past", .query = &with_skills_query, .body = {"ForkConversationRequest", &fork_conversation_shape}, .answer = {"ConversationInfo", &conversation_info_shape}, .body_form = BODY_FORM_OPTIONAL, .status = 201),
    OPERATION(HTTP_POST, ONE "/children", "A conversation below this one", .body = {"StartChildConversationRequest", &child_request_shape}, .answer = {"StartChildConversationResponse", &child_shape}, .status = 201),
    OPERATION(HTTP_POST, ONE "/navigate", "Go back to an event", .query = &with_skills_query, .body = {"NavigateConversationRequest", &navigate_conversation_shape}, .answer = {"ConversationInfo", &conversation_info_shape}),
    OPERATION(HTTP_DELETE, ONE "/runtime", "Let its sandbox go; the files stay", .status = 204, .answer_form = ANSWER_NOTHING),
    OPERATION(HTTP_POST, ONE "/runtime/credentials", "A key for its sandbox alone", .answer = {"RuntimeCredentials", &runtime_credentials_shape}),
    {.pattern = NULL},
};
/* clang-format on */
