/*
 * Conversations: create, read, change, run.
 */
#include "base/attr.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/openapi/operation.h"
#include "fcgi/openapi/success_schema.h"
#include "model/agent/agent_fields.h"
#include "model/agent/agent_spec.h"
#include "model/limits.h"
#include "model/schema/object_schema.h"
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
    {.name = "on_path", .kind = FIELD_BOOL, .fallback = "false"},
};
static const struct object_schema events_search_query = SCHEMA(events_search_query_fields);

static const struct field events_count_query_fields[] = {
    {.name = "kind", .kind = FIELD_TEXT},          {.name = "source", .kind = FIELD_TEXT},
    {.name = "body", .kind = FIELD_TEXT},          {.name = "timestamp__gte", .kind = FIELD_TEXT},
    {.name = "timestamp__lt", .kind = FIELD_TEXT},
};
static const struct object_schema events_count_query = SCHEMA(events_count_query_fields);

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
static const struct object_schema conversations_search_query =
    SCHEMA(conversations_search_query_fields);

static const struct field conversations_count_query_fields[] = {
    {.name = "status",
     .kind = FIELD_TEXT,
     .words = "idle|running|paused|waiting_for_confirmation|finished|error|stuck|deleting"},
};
static const struct object_schema conversations_count_query =
    SCHEMA(conversations_count_query_fields);

static const struct field with_skills_query_fields[] = {
    {.name = "include_skills", .kind = FIELD_BOOL, .fallback = "false"},
};
static const struct object_schema with_skills_query = SCHEMA(with_skills_query_fields);

static const struct field batch_query_fields[] = {
    {.name = "ids", .kind = FIELD_TEXTS, .rules = FIELD_REQUIRED},
    {.name = "include_skills", .kind = FIELD_BOOL, .fallback = "false"},
};
static const struct object_schema batch_query = SCHEMA(batch_query_fields);

static const struct field event_fields[] = {
    {.name = "id", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "timestamp", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "source",
     .kind = FIELD_TEXT,
     .rules = FIELD_REQUIRED,
     .words = "agent|user|environment|hook"},
    {.name = "kind", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct object_schema event_schema = SCHEMA(event_fields);

static const struct field event_page_fields[] = {
    {.name = "items", .kind = FIELD_OBJECTS, .rules = FIELD_REQUIRED, .items = &event_schema},
    {.name = "next_page_id", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct object_schema event_page_schema = SCHEMA(event_page_fields);

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
static const struct object_schema send_message_schema = SCHEMA(send_message_fields);

static const struct field confirmation_fields[] = {
    {.name = "accept", .kind = FIELD_BOOL, .rules = FIELD_REQUIRED},
    {.name = "reason", .kind = FIELD_TEXT, .fallback = "\"User rejected the action.\""},
    {.name = "action_ids", .kind = FIELD_TEXTS, .rules = FIELD_NULLABLE},
    {.name = "run", .kind = FIELD_BOOL, .fallback = "false"},
};
static const struct object_schema confirmation_schema = SCHEMA(confirmation_fields);

static const struct field run_fields[] = {
    {.name = "action_ids", .kind = FIELD_TEXTS, .rules = FIELD_NULLABLE},
};
static const struct object_schema run_schema = SCHEMA(run_fields);

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
static const struct object_schema conversation_info_schema = SCHEMA(conversation_info_fields);

static const struct field conversation_page_fields[] = {
    {.name = "items",
     .kind = FIELD_OBJECTS,
     .rules = FIELD_REQUIRED,
     .items = &conversation_info_schema},
    {.name = "next_page_id", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct object_schema conversation_page_schema = SCHEMA(conversation_page_fields);

static const struct field update_conversation_fields[] = {
    {.name = "title", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "tags", .kind = FIELD_TEXT_MAP, .rules = FIELD_NULLABLE},
    {.name = "max_budget_per_run", .kind = FIELD_NUMBER, .rules = FIELD_NULLABLE | FIELD_FROM_0},
};
static const struct object_schema update_conversation_schema = SCHEMA(update_conversation_fields);

static const struct field conversation_runtime_info_fields[] = {
    {.name = "runtime_status",
     .kind = FIELD_TEXT,
     .rules = FIELD_REQUIRED,
     .words = "available|starting|missing|ownership_lost|error"},
    {.name = "can_resume", .kind = FIELD_BOOL, .rules = FIELD_REQUIRED},
    {.name = "runtime_error", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
};
static const struct object_schema conversation_runtime_info_schema =
    SCHEMA(conversation_runtime_info_fields);

static const struct field agent_response_fields[] = {
    {.name = "response", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct object_schema agent_response_schema = SCHEMA(agent_response_fields);

static const struct field start_goal_fields[] = {
    {.name = "objective", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "max_iterations", .kind = FIELD_INT, .fallback = "10"},
};
static const struct object_schema start_goal_schema = SCHEMA(start_goal_fields);

static const struct field update_secrets_fields[] = {
    {.name = "secrets", .kind = FIELD_MAP, .rules = FIELD_REQUIRED},
};
static const struct object_schema update_secrets_schema = SCHEMA(update_secrets_fields);

static const struct field set_confirmation_policy_fields[] = {
    {.name = "policy", .kind = FIELD_ANY, .rules = FIELD_REQUIRED},
};
static const struct object_schema set_confirmation_policy_schema =
    SCHEMA(set_confirmation_policy_fields);

static const struct field set_security_analyzer_fields[] = {
    {.name = "security_analyzer", .kind = FIELD_ANY, .rules = FIELD_REQUIRED | FIELD_NULLABLE},
};
static const struct object_schema set_security_analyzer_schema =
    SCHEMA(set_security_analyzer_fields);

static const struct field switch_profile_fields[] = {
    {.name = "profile_name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct object_schema switch_profile_schema = SCHEMA(switch_profile_fields);

static const struct field switch_llm_fields[] = {
    {.name = "llm", .kind = FIELD_OBJECT, .rules = FIELD_REQUIRED, .items = &llm_schema},
};
static const struct object_schema switch_llm_schema = SCHEMA(switch_llm_fields);

static const struct field load_plugin_fields[] = {
    {.name = "plugin_ref", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct object_schema load_plugin_schema = SCHEMA(load_plugin_fields);

static const struct field switch_acp_model_fields[] = {
    {.name = "model", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct object_schema switch_acp_model_schema = SCHEMA(switch_acp_model_fields);

static const struct field ask_agent_fields[] = {
    {.name = "question", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct object_schema ask_agent_schema = SCHEMA(ask_agent_fields);

static const struct field fork_conversation_fields[] = {
    {.name = "id", .kind = FIELD_UUID, .rules = FIELD_NULLABLE},
    {.name = "title", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "tags", .kind = FIELD_TEXT_MAP, .rules = FIELD_NULLABLE},
    {.name = "reset_metrics", .kind = FIELD_BOOL, .fallback = "true"},
    {.name = "from_event_id", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "restore_files", .kind = FIELD_BOOL, .rules = FIELD_NULLABLE},
};
static const struct object_schema fork_conversation_schema = SCHEMA(fork_conversation_fields);

static const struct field child_request_fields[] = {
    {.name = "task", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "title", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "isolation",
     .kind = FIELD_TEXT,
     .fallback = "\"worktree\"",
     .words = "worktree|shared"},
};
static const struct object_schema child_request_schema = SCHEMA(child_request_fields);

static const struct field child_fields[] = {
    {.name = "conversation_id", .kind = FIELD_UUID, .rules = FIELD_REQUIRED},
    {.name = "parent_conversation_id", .kind = FIELD_UUID, .rules = FIELD_REQUIRED},
    {.name = "status", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "title", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "url", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "workspace", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "isolation", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE, .words = "worktree|shared"},
};
static const struct object_schema child_schema = SCHEMA(child_fields);

static const struct field navigate_conversation_fields[] = {
    {.name = "event_id", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "restore_files", .kind = FIELD_BOOL, .fallback = "false"},
};
static const struct object_schema navigate_conversation_schema =
    SCHEMA(navigate_conversation_fields);

static const struct field skipped_file_fields[] = {
    {.name = "path", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "reason", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct object_schema skipped_file_schema = SCHEMA(skipped_file_fields);

static const struct field checkpoint_fields[] = {
    {.name = "checkpoint_id", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "message_id", .kind = FIELD_UUID, .rules = FIELD_NULLABLE},
    {.name = "before_event_id", .kind = FIELD_UUID, .rules = FIELD_NULLABLE},
    {.name = "created_at", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "n_files", .kind = FIELD_INT, .rules = FIELD_NULLABLE},
    {.name = "n_skipped", .kind = FIELD_INT, .rules = FIELD_NULLABLE},
    {.name = "skipped",
     .kind = FIELD_OBJECTS,
     .rules = FIELD_REQUIRED,
     .items = &skipped_file_schema},
    {.name = "reason", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct object_schema checkpoint_schema = SCHEMA(checkpoint_fields);

static const struct field checkpoint_list_fields[] = {
    {.name = "items", .kind = FIELD_OBJECTS, .rules = FIELD_REQUIRED, .items = &checkpoint_schema},
};
static const struct object_schema checkpoint_list_schema = SCHEMA(checkpoint_list_fields);

static const struct field files_at_query_fields[] = {
    {.name = "event_id", .kind = FIELD_UUID},
};
static const struct object_schema files_at_query = SCHEMA(files_at_query_fields);

static const struct field files_at_fields[] = {
    {.name = "state",
     .kind = FIELD_TEXT,
     .rules = FIELD_REQUIRED,
     .words = "unchanged|stored|missing"},
    {.name = "reason", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct object_schema files_at_schema = SCHEMA(files_at_fields);

static const struct field branch_fields[] = {
    {.name = "parent_event_id", .kind = FIELD_UUID, .rules = FIELD_NULLABLE},
    {.name = "first_event_id", .kind = FIELD_UUID, .rules = FIELD_NULLABLE},
};
static const struct object_schema branch_schema = SCHEMA(branch_fields);

static const struct field branch_list_fields[] = {
    {.name = "items", .kind = FIELD_OBJECTS, .rules = FIELD_REQUIRED, .items = &branch_schema},
};
static const struct object_schema branch_list_schema = SCHEMA(branch_list_fields);

static const struct field runtime_credentials_fields[] = {
    {.name = "session_api_key", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct object_schema runtime_credentials_schema = SCHEMA(runtime_credentials_fields);

static const struct field project_server_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "digest", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "source", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "url", .kind = FIELD_TEXT},
    {.name = "command", .kind = FIELD_TEXTS},
    {.name = "cwd", .kind = FIELD_TEXT},
    {.name = "env", .kind = FIELD_TEXTS, .rules = FIELD_REQUIRED},
    {.name = "headers", .kind = FIELD_TEXTS, .rules = FIELD_REQUIRED},
    {.name = "auth", .kind = FIELD_TEXT},
    {.name = "secrets", .kind = FIELD_TEXTS, .rules = FIELD_REQUIRED},
    {.name = "is_consented", .kind = FIELD_BOOL, .rules = FIELD_REQUIRED},
};
static const struct object_schema project_server_schema = SCHEMA(project_server_fields);

static const struct field project_servers_fields[] = {
    {.name = "project_mcp_servers",
     .kind = FIELD_OBJECTS,
     .rules = FIELD_REQUIRED,
     .items = &project_server_schema},
};
static const struct object_schema project_servers_schema = SCHEMA(project_servers_fields);

#define ONE "/api/conversations/{conversation_id}"

/* clang-format off */
const struct operation conversation_operations[] = {
    OPERATION(HTTP_GET, ONE "/workspace", "The start page of the workspace", .answer_form = ANSWER_BYTES),
    OPERATION(HTTP_GET, ONE "/workspace/{file_path*}", "A file of the workspace, for display in a browser", .answer_form = ANSWER_BYTES),
    OPERATION(HTTP_GET, ONE "/events/search", "List events, paged", .query = &events_search_query, .answer = {"EventPage", &event_page_schema}),
    OPERATION(HTTP_GET, ONE "/events/count", "Number of events", .query = &events_count_query, .answer_form = ANSWER_NUMBER),
    OPERATION(HTTP_GET, ONE "/events/{event_id}", "One event", .answer = {"Event", &event_schema}),
    OPERATION(HTTP_GET, ONE "/events", "Several events by id", .answer = {"Event", &event_schema}, .body_form = BODY_FORM_IDS, .answer_form = ANSWER_LIST_OR_NULLS),
    OPERATION(HTTP_POST, ONE "/events", "Send a message, and optionally run", .body = {"SendMessageRequest", &send_message_schema}, .answer = {"Success", &success_schema}),
    OPERATION(HTTP_POST, ONE "/events/respond_to_confirmation", "Accept or reject pending actions", .body = {"ConfirmationResponseRequest", &confirmation_schema}, .answer = {"Success", &success_schema}),
    OPERATION(HTTP_GET, "/api/conversations/search", "List conversations, paged", .query = &conversations_search_query, .answer = {"ConversationPage", &conversation_page_schema}),
    OPERATION(HTTP_GET, "/api/conversations/count", "Number of conversations", .query = &conversations_count_query, .answer_form = ANSWER_NUMBER),
    OPERATION(HTTP_GET, ONE, "One conversation", .query = &with_skills_query, .answer = {"ConversationInfo", &conversation_info_schema}),
    OPERATION(HTTP_DELETE, ONE, "Delete a conversation and its events", .answer = {"Success", &success_schema}),
    OPERATION(HTTP_PATCH, ONE, "Change title, tags or budget", .body = {"UpdateConversationRequest", &update_conversation_schema}, .answer = {"Success", &success_schema}),
    OPERATION(HTTP_GET, ONE "/runtime", "State of the conversation's sandbox", .answer = {"ConversationRuntimeInfo", &conversation_runtime_info_schema}),
    OPERATION(HTTP_POST, ONE "/runtime/reprovision", "Resume the conversation's sandbox", .answer = {"ConversationRuntimeInfo", &conversation_runtime_info_schema}),
    OPERATION(HTTP_GET, ONE "/agent_final_response", "The agent's final response", .answer = {"AgentResponseResult", &agent_response_schema}),
    OPERATION(HTTP_GET, "/api/conversations", "Several conversations by id", .query = &batch_query, .answer = {"ConversationInfo", &conversation_info_schema}, .answer_form = ANSWER_LIST_OR_NULLS),
    OPERATION(HTTP_POST, "/api/conversations", "Start a conversation", .query = &with_skills_query, .body = {"StartConversationRequest", &start_schema}, .answer = {"ConversationInfo", &conversation_info_schema}, .status = 201),
    OPERATION(HTTP_POST, ONE "/pause", "Pause after the step in progress", .answer = {"Success", &success_schema}),
    OPERATION(HTTP_POST, ONE "/interrupt", "Interrupt immediately", .answer = {"Success", &success_schema}),
    OPERATION(HTTP_POST, ONE "/run", "Run the agent", .body = {"RunConversationRequest", &run_schema}, .answer = {"Success", &success_schema}, .body_form = BODY_FORM_OPTIONAL),
    OPERATION(HTTP_POST, ONE "/goal", "Run until a goal is reached", .body = {"StartGoalRequest", &start_goal_schema}, .answer = {"Success", &success_schema}),
    OPERATION(HTTP_POST, ONE "/goal/stop", "Abandon the goal", .answer = {"Success", &success_schema}),
    OPERATION(HTTP_POST, ONE "/goal/resume", "Resume the goal", .answer = {"Success", &success_schema}),
    OPERATION(HTTP_POST, ONE "/secrets", "Add or replace secrets", .body = {"UpdateSecretsRequest", &update_secrets_schema}, .answer = {"Success", &success_schema}),
    OPERATION(HTTP_POST, ONE "/confirmation_policy", "Set which actions need confirmation", .body = {"SetConfirmationPolicyRequest", &set_confirmation_policy_schema}, .answer = {"Success", &success_schema}),
    OPERATION(HTTP_POST, ONE "/security_analyzer", "Set the security analyzer", .body = {"SetSecurityAnalyzerRequest", &set_security_analyzer_schema}, .answer = {"Success", &success_schema}),
    OPERATION(HTTP_GET, ONE "/project_mcp_servers", "MCP servers that the workspace names", .answer = {"ProjectMCPServers", &project_servers_schema}),
    OPERATION(HTTP_POST, ONE "/project_mcp_servers/consent", "Let the agent use a server that the workspace names", .body = {"ProjectMCPServerConsent", &project_server_consent_schema}, .answer = {"Success", &success_schema}),
    OPERATION(HTTP_POST, ONE "/project_mcp_servers/withdraw", "Take back a consent to such a server", .body = {"ProjectMCPServerWithdrawal", &project_server_withdrawal_schema}, .answer = {"Success", &success_schema}),
    OPERATION(HTTP_POST, ONE "/reload_knowledge", "Let the agent read its workspace anew before its model's next call", .answer = {"Success", &success_schema}),
    OPERATION(HTTP_POST, ONE "/switch_profile", "Switch to the model of another profile", .body = {"SwitchProfileRequest", &switch_profile_schema}, .answer = {"Success", &success_schema}),
    OPERATION(HTTP_POST, ONE "/switch_llm", "Switch the model", .body = {"SwitchLLMRequest", &switch_llm_schema}, .answer = {"Success", &success_schema}),
    OPERATION(HTTP_POST, ONE "/load_plugin", "Add a plugin", .body = {"LoadPluginRequest", &load_plugin_schema}, .answer = {"Success", &success_schema}),
    OPERATION(HTTP_POST, ONE "/switch_acp_model", "Switch the model of the ACP agent", .body = {"SwitchACPModelRequest", &switch_acp_model_schema}, .answer = {"Success", &success_schema}),
    OPERATION(HTTP_POST, ONE "/ask_agent", "Ask the agent a question outside the conversation; nothing is stored", .body = {"AskAgentRequest", &ask_agent_schema}, .answer = {"AgentResponseResult", &agent_response_schema}),
    OPERATION(HTTP_POST, ONE "/condense", "Condense the conversation for the model", .answer = {"Success", &success_schema}),
    OPERATION(HTTP_POST, ONE "/fork", "Fork the conversation", .query = &with_skills_query, .body = {"ForkConversationRequest", &fork_conversation_schema}, .answer = {"ConversationInfo", &conversation_info_schema}, .body_form = BODY_FORM_OPTIONAL, .status = 201),
    OPERATION(HTTP_POST, ONE "/children", "Create a child conversation", .body = {"StartChildConversationRequest", &child_request_schema}, .answer = {"StartChildConversationResponse", &child_schema}, .status = 201),
    OPERATION(HTTP_POST, ONE "/navigate", "Go back to an event", .query = &with_skills_query, .body = {"NavigateConversationRequest", &navigate_conversation_schema}, .answer = {"ConversationInfo", &conversation_info_schema}),
    OPERATION(HTTP_GET, ONE "/checkpoints", "List the checkpoints of the workspace's files", .answer = {"CheckpointList", &checkpoint_list_schema}),
    OPERATION(HTTP_GET, ONE "/checkpoints/at", "Whether the files can be restored as they were at an event", .query = &files_at_query, .answer = {"FilesAt", &files_at_schema}),
    OPERATION(HTTP_GET, ONE "/branches", "List the places at which the log was continued from an earlier event", .answer = {"BranchList", &branch_list_schema}),
    OPERATION(HTTP_DELETE, ONE "/runtime", "Release the conversation's sandbox; its files are kept", .status = 204, .answer_form = ANSWER_NOTHING),
    OPERATION(HTTP_POST, ONE "/runtime/credentials", "Create an API key for its sandbox only", .answer = {"RuntimeCredentials", &runtime_credentials_schema}),
    {.pattern = NULL},
};
/* clang-format on */
