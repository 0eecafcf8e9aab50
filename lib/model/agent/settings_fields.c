/*
 * Members and defaults of a user's settings, as in the wire contract. Constraints that a table
 * cannot express (ranges, members that depend on each other) are checked in agent_settings.c.
 */
#include "base/attr.h"
#include "model/agent/acp_fields.h"
#include "model/agent/agent_fields.h"
#include "model/agent/agent_settings.h"
#include "model/agent/condenser_fields.h"
#include "model/limits.h"
#include "model/schema/object_schema.h"

static const struct field condenser_fields[] = {
    {.name = "condenser_kind",
     .kind = FIELD_TEXT,
     .fallback = "\"llm_summarizing\"",
     .words = "llm_summarizing|no_op"},
    {.name = "enabled", .kind = FIELD_BOOL, .fallback = "true"},
    {.name = "max_size", .kind = FIELD_INT, .rules = FIELD_FROM_1, .fallback = "240"},
    {.name = "max_tokens", .kind = FIELD_INT, .rules = FIELD_NULLABLE | FIELD_FROM_1},
    CONDENSER_FIELDS,
};
const struct object_schema settings_condenser_schema = SCHEMA(condenser_fields);

static const struct field verification_fields[] = {
    {.name = "critic_enabled", .kind = FIELD_BOOL, .fallback = "false"},
    {.name = "critic_mode",
     .kind = FIELD_TEXT,
     .fallback = "\"finish_and_message\"",
     .words = "finish_and_message|all_actions"},
    {.name = "enable_iterative_refinement", .kind = FIELD_BOOL, .fallback = "false"},
    {.name = "critic_threshold", .kind = FIELD_NUMBER, .rules = FIELD_FROM_0, .fallback = "0.6"},
    {.name = "max_refinement_iterations",
     .kind = FIELD_INT,
     .rules = FIELD_FROM_1,
     .fallback = "3"},
    {.name = "critic_server_url", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "critic_model_name", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "critic_api_key", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
const struct object_schema settings_verification_schema = SCHEMA(verification_fields);
/* The key is the last field. */
const struct object_schema profile_verification_schema = {
    verification_fields, ARRAY_SIZE(verification_fields) - 1, false};

static const struct field openhands_fields[] = {
    {.name = "schema_version", .kind = FIELD_INT, .rules = FIELD_FROM_1, .fallback = "9"},
    {.name = "agent_kind",
     .kind = FIELD_TEXT,
     .fallback = "\"openhands\"",
     .words = "openhands|acp"},
    {.name = "agent", .kind = FIELD_TEXT, .fallback = "\"CodeActAgent\""},
    {.name = "llm", .kind = FIELD_MAP, .fallback = "{}"},
    {.name = "tools", .kind = FIELD_OBJECTS, .rules = FIELD_NULLABLE, .items = &tool_spec_schema},
    {.name = "enable_classify_and_switch_llm_tool", .kind = FIELD_BOOL, .fallback = "false"},
    {.name = "active_meta_profile", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "meta_profile", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
    {.name = "meta_profile_llms", .kind = FIELD_MAP, .fallback = "{}"},
    {.name = "tool_concurrency_limit", .kind = FIELD_INT, .rules = FIELD_FROM_1, .fallback = "1"},
    {.name = "mcp_config", .kind = FIELD_MAP, .fallback = "{}"},
    {.name = "persona",
     .kind = FIELD_TEXT,
     .rules = FIELD_NULLABLE,
     .max_chars = PERSONA_MAX_CHARS},
    {.name = "agent_context", .kind = FIELD_OBJECT, .items = &agent_context_schema},
    {.name = "condenser", .kind = FIELD_OBJECT, .items = &settings_condenser_schema},
    {.name = "verification", .kind = FIELD_OBJECT, .items = &settings_verification_schema},
};
const struct object_schema openhands_settings_schema = SCHEMA(openhands_fields);

static const struct field acp_fields[] = {
    {.name = "schema_version", .kind = FIELD_INT, .rules = FIELD_FROM_1, .fallback = "9"},
    {.name = "agent_kind", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED, .words = "acp"},
    ACP_FIELDS,
    {.name = "acp_command", .kind = FIELD_TEXTS, .fallback = "[]"},
    {.name = "acp_args", .kind = FIELD_TEXTS, .fallback = "[]"},
    {.name = "mcp_config", .kind = FIELD_MAP, .fallback = "{}"},
    {.name = "acp_isolate_data_dir", .kind = FIELD_BOOL, .fallback = "false"},
    {.name = "acp_file_secrets", .kind = FIELD_LIST, .fallback = "[]"},
    {.name = "agent_context", .kind = FIELD_OBJECT, .items = &agent_context_schema},
};
const struct object_schema acp_settings_schema = SCHEMA(acp_fields);

static const struct field conversation_fields[] = {
    {.name = "schema_version", .kind = FIELD_INT, .rules = FIELD_FROM_1, .fallback = "1"},
    {.name = "max_iterations", .kind = FIELD_INT, .rules = FIELD_FROM_1, .fallback = "500"},
    {.name = "confirmation_mode", .kind = FIELD_BOOL, .fallback = "false"},
    {.name = "security_analyzer",
     .kind = FIELD_TEXT,
     .rules = FIELD_NULLABLE,
     .fallback = "\"llm\"",
     .words = "llm|none"},
    {.name = "default_runtime",
     .kind = FIELD_TEXT,
     .fallback = "\"local\"",
     .words = "local|worktree|docker"},
    {.name = "worktree_base",
     .kind = FIELD_TEXT,
     .fallback = "\"default_branch\"",
     .words = "default_branch|head|ref"},
    {.name = "worktree_base_ref", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "worktree_branch_prefix", .kind = FIELD_TEXT, .fallback = "\"openhands/\""},
    {.name = "container_memory", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "container_cpus", .kind = FIELD_NUMBER, .rules = FIELD_NULLABLE | FIELD_FROM_0},
    {.name = "container_browser", .kind = FIELD_BOOL, .fallback = "true"},
};
const struct object_schema conversation_settings_schema = SCHEMA(conversation_fields);

static const struct field auth_fields[] = {
    {.name = "strategy",
     .kind = FIELD_TEXT,
     .rules = FIELD_REQUIRED,
     .words = "none|api_key|bearer|basic|header|oauth2"},
    {.name = "value", .kind = FIELD_TEXT},
    {.name = "header_name", .kind = FIELD_TEXT},
    {.name = "username", .kind = FIELD_TEXT},
    {.name = "password", .kind = FIELD_TEXT},
    {.name = "headers", .kind = FIELD_TEXT_MAP},
    {.name = "authentication", .kind = FIELD_ANY},
    {.name = "state", .kind = FIELD_ANY},
};
static const struct object_schema auth_schema = CLOSED_SCHEMA(auth_fields);

/* One default only: other members that a client left out stay absent. */
static const struct field mcp_server_fields[] = {
    {.name = "url", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "transport",
     .kind = FIELD_TEXT,
     .rules = FIELD_NULLABLE,
     .words = "stdio|http|streamable-http|sse"},
    {.name = "command", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "args", .kind = FIELD_TEXTS, .rules = FIELD_NULLABLE},
    {.name = "env", .kind = FIELD_TEXT_MAP, .rules = FIELD_NULLABLE},
    {.name = "cwd", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "description", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "icon", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "timeout", .kind = FIELD_NUMBER, .rules = FIELD_NULLABLE | FIELD_FROM_0},
    {.name = "sse_read_timeout", .kind = FIELD_NUMBER, .rules = FIELD_NULLABLE | FIELD_FROM_0},
    {.name = "keep_alive", .kind = FIELD_BOOL, .rules = FIELD_NULLABLE},
    {.name = "headers", .kind = FIELD_TEXT_MAP, .rules = FIELD_NULLABLE},
    {.name = "auth", .kind = FIELD_OBJECT, .rules = FIELD_NULLABLE, .items = &auth_schema},
    {.name = "enabled", .kind = FIELD_BOOL, .fallback = "true"},
};
const struct object_schema mcp_server_schema = CLOSED_SCHEMA(mcp_server_fields);
