#include "model/schema/start_fields.h"

#include "base/attr.h"
#include "model/limits.h"
#include "model/schema/object_schema.h"

static const struct field workspace_fields[] = {
    {.name = "working_dir", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "kind",
     .kind = FIELD_TEXT,
     .fallback = "\"LocalWorkspace\"",
     .words = "LocalWorkspace"},
};
static const struct object_schema workspace_schema = SCHEMA(workspace_fields);

static const struct field container_fields[] = {
    {.name = "memory", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "cpus", .kind = FIELD_NUMBER, .rules = FIELD_NULLABLE | FIELD_FROM_0},
    {.name = "browser", .kind = FIELD_BOOL, .fallback = "true"},
};
static const struct object_schema container_schema = CLOSED_SCHEMA(container_fields);

static const struct field worktree_fields[] = {
    {.name = "base",
     .kind = FIELD_TEXT,
     .fallback = "\"default_branch\"",
     .words = "default_branch|head|ref"},
    {.name = "ref", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "branch_prefix", .kind = FIELD_TEXT, .fallback = "\"openhands/\""},
};
static const struct object_schema worktree_schema = CLOSED_SCHEMA(worktree_fields);

static const struct field message_fields[] = {
    {.name = "role",
     .kind = FIELD_TEXT,
     .fallback = "\"user\"",
     .words = "user|system|assistant|tool"},
    {.name = "content", .kind = FIELD_ANY, .fallback = "[]"},
    {.name = "run", .kind = FIELD_BOOL, .fallback = "false"},
    {.name = "sender", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE, .max_chars = SENDER_MAX_CHARS},
};
static const struct object_schema message_schema = SCHEMA(message_fields);

static const struct field stuck_fields[] = {
    {.name = "action_observation", .kind = FIELD_INT, .rules = FIELD_FROM_1, .fallback = "4"},
    {.name = "action_error", .kind = FIELD_INT, .rules = FIELD_FROM_1, .fallback = "3"},
    {.name = "monologue", .kind = FIELD_INT, .rules = FIELD_FROM_1, .fallback = "3"},
    {.name = "alternating_pattern", .kind = FIELD_INT, .rules = FIELD_FROM_1, .fallback = "6"},
};
static const struct object_schema stuck_schema = SCHEMA(stuck_fields);

static const struct field client_tool_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "description", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "parameters",
     .kind = FIELD_MAP,
     .fallback = "{\"type\":\"object\",\"properties\":{}}"},
    {.name = "annotations", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
};
static const struct object_schema client_tool_schema = SCHEMA(client_tool_fields);

static const struct field hook_fields[] = {
    {.name = "pre_tool_use", .kind = FIELD_LIST, .fallback = "[]"},
    {.name = "post_tool_use", .kind = FIELD_LIST, .fallback = "[]"},
    {.name = "user_prompt_submit", .kind = FIELD_LIST, .fallback = "[]"},
    {.name = "session_start", .kind = FIELD_LIST, .fallback = "[]"},
    {.name = "session_end", .kind = FIELD_LIST, .fallback = "[]"},
    {.name = "stop", .kind = FIELD_LIST, .fallback = "[]"},
};
static const struct object_schema hook_schema = CLOSED_SCHEMA(hook_fields);

static const struct field confirm_risky_fields[] = {
    {.name = "threshold", .kind = FIELD_TEXT, .fallback = "\"HIGH\"", .words = "LOW|MEDIUM|HIGH"},
    {.name = "confirm_unknown", .kind = FIELD_BOOL, .fallback = "true"},
    {.name = "kind", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
const struct object_schema confirm_risky_schema = SCHEMA(confirm_risky_fields);

static const struct field secret_source_fields[] = {
    {.name = "description", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "value", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "url", .kind = FIELD_TEXT},
    {.name = "headers", .kind = FIELD_TEXT_MAP, .fallback = "{}"},
    {.name = "kind",
     .kind = FIELD_TEXT,
     .rules = FIELD_REQUIRED,
     .words = "StaticSecret|LookupSecret"},
};
const struct object_schema secret_source_schema = SCHEMA(secret_source_fields);

/* agent, policy, analyzer, secrets and content are read by functions in start_request.c. */
static const struct field start_fields[] = {
    {.name = "workspace",
     .kind = FIELD_OBJECT,
     .rules = FIELD_REQUIRED,
     .items = &workspace_schema},
    {.name = "conversation_id", .kind = FIELD_UUID, .rules = FIELD_NULLABLE},
    {.name = "parent_conversation_id", .kind = FIELD_UUID, .rules = FIELD_NULLABLE},
    {.name = "conversation_runtime",
     .kind = FIELD_TEXT,
     .rules = FIELD_NULLABLE,
     .words = "local|docker"},
    {.name = "container",
     .kind = FIELD_OBJECT,
     .rules = FIELD_NULLABLE,
     .items = &container_schema},
    {.name = "initial_message",
     .kind = FIELD_OBJECT,
     .rules = FIELD_NULLABLE,
     .items = &message_schema},
    {.name = "max_iterations", .kind = FIELD_INT, .rules = FIELD_FROM_1, .fallback = "500"},
    {.name = "max_budget_per_run", .kind = FIELD_NUMBER, .rules = FIELD_NULLABLE | FIELD_FROM_0},
    {.name = "stuck_detection", .kind = FIELD_BOOL, .fallback = "true"},
    {.name = "stuck_detection_thresholds",
     .kind = FIELD_OBJECT,
     .rules = FIELD_NULLABLE,
     .items = &stuck_schema},
    {.name = "confirmation_policy", .kind = FIELD_MAP, .fallback = "{\"kind\":\"NeverConfirm\"}"},
    {.name = "security_analyzer", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
    {.name = "secrets", .kind = FIELD_MAP, .fallback = "{}"},
    {.name = "secrets_encrypted", .kind = FIELD_BOOL, .fallback = "false"},
    {.name = "worktree", .kind = FIELD_BOOL, .fallback = "false"},
    {.name = "worktree_options",
     .kind = FIELD_OBJECT,
     .rules = FIELD_NULLABLE,
     .items = &worktree_schema},
    {.name = "tool_module_qualnames", .kind = FIELD_TEXT_MAP, .fallback = "{}"},
    {.name = "client_tools", .kind = FIELD_OBJECTS, .fallback = "[]", .items = &client_tool_schema},
    {.name = "agent_launch_additions", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
    {.name = "agent_definitions", .kind = FIELD_LIST, .fallback = "[]"},
    {.name = "plugins", .kind = FIELD_LIST, .rules = FIELD_NULLABLE},
    {.name = "hook_config", .kind = FIELD_OBJECT, .rules = FIELD_NULLABLE, .items = &hook_schema},
    {.name = "tags", .kind = FIELD_TEXT_MAP, .fallback = "{}"},
    {.name = "user_id", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "observability_metadata", .kind = FIELD_MAP, .fallback = "{}"},
    {.name = "observability_tags", .kind = FIELD_TEXTS, .fallback = "[]"},
    {.name = "observability_span_name", .kind = FIELD_TEXT, .fallback = "\"conversation\""},
    {.name = "observability_parent_span_context", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "autotitle", .kind = FIELD_BOOL, .fallback = "true"},
    {.name = "title_llm_profile", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "prompt",
     .kind = FIELD_TEXT,
     .rules = FIELD_NULLABLE,
     .max_chars = TITLE_PROMPT_MAX_CHARS},
    {.name = "agent", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
    {.name = "agent_settings", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
    {.name = "agent_profile_id", .kind = FIELD_UUID, .rules = FIELD_NULLABLE},
};
const struct object_schema start_schema = SCHEMA(start_fields);
