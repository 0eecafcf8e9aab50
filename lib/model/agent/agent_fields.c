#include "model/agent/agent_fields.h"
#include "base/attr.h"
#include "model/agent/condenser_fields.h"
#include "model/limits.h"
#include "model/schema/object_schema.h"

/*
 * Members and defaults of the objects that describe an agent, as in the wire contract. Defaults
 * that are not literals are filled in by llm_spec.c: model, stream_idle_timeout.
 */

static const struct field tool_spec_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "params", .kind = FIELD_MAP, .fallback = "{}"},
};
const struct object_schema tool_spec_schema = SCHEMA(tool_spec_fields);

static const struct field llm_fields[] = {
    {.name = "model", .kind = FIELD_TEXT},
    {.name = "api_key", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "provider_connection_id", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "auth_type",
     .kind = FIELD_TEXT,
     .fallback = "\"api_key\"",
     .words = "api_key|subscription"},
    {.name = "subscription_vendor", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE, .words = "openai"},
    {.name = "base_url", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "api_version", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "aws_access_key_id", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "aws_secret_access_key", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "aws_session_token", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "aws_region_name", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "aws_profile_name", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "aws_role_name", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "aws_session_name", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "aws_bedrock_runtime_endpoint", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "openrouter_site_url",
     .kind = FIELD_TEXT,
     .fallback = "\"https://docs.all-hands.dev/\""},
    {.name = "openrouter_app_name", .kind = FIELD_TEXT, .fallback = "\"OpenHands\""},
    {.name = "num_retries", .kind = FIELD_INT, .rules = FIELD_FROM_0, .fallback = "5"},
    {.name = "retry_multiplier", .kind = FIELD_NUMBER, .rules = FIELD_FROM_0, .fallback = "8.0"},
    {.name = "retry_min_wait", .kind = FIELD_INT, .rules = FIELD_FROM_0, .fallback = "8"},
    {.name = "retry_max_wait", .kind = FIELD_INT, .rules = FIELD_FROM_0, .fallback = "64"},
    {.name = "timeout",
     .kind = FIELD_INT,
     .rules = FIELD_NULLABLE | FIELD_FROM_0,
     .fallback = "300"},
    {.name = "stream_idle_timeout", .kind = FIELD_NUMBER, .rules = FIELD_NULLABLE | FIELD_FROM_0},
    {.name = "max_message_chars", .kind = FIELD_INT, .rules = FIELD_FROM_1, .fallback = "30000"},
    {.name = "temperature", .kind = FIELD_NUMBER, .rules = FIELD_NULLABLE | FIELD_FROM_0},
    {.name = "top_p", .kind = FIELD_NUMBER, .rules = FIELD_NULLABLE | FIELD_FROM_0},
    {.name = "top_k", .kind = FIELD_NUMBER, .rules = FIELD_NULLABLE | FIELD_FROM_0},
    {.name = "max_input_tokens", .kind = FIELD_INT, .rules = FIELD_NULLABLE | FIELD_FROM_1},
    {.name = "max_output_tokens", .kind = FIELD_INT, .rules = FIELD_NULLABLE | FIELD_FROM_1},
    {.name = "model_canonical_name", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "api_mode",
     .kind = FIELD_TEXT,
     .fallback = "\"auto\"",
     .words = "auto|chat|responses"},
    {.name = "capability_overrides", .kind = FIELD_MAP, .fallback = "{}"},
    {.name = "extra_headers", .kind = FIELD_TEXT_MAP, .rules = FIELD_NULLABLE},
    {.name = "input_cost_per_token", .kind = FIELD_NUMBER, .rules = FIELD_NULLABLE | FIELD_FROM_0},
    {.name = "output_cost_per_token", .kind = FIELD_NUMBER, .rules = FIELD_NULLABLE | FIELD_FROM_0},
    {.name = "ollama_base_url", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "stream", .kind = FIELD_BOOL, .fallback = "false"},
    {.name = "drop_params", .kind = FIELD_BOOL, .fallback = "true"},
    {.name = "disable_vision", .kind = FIELD_BOOL, .rules = FIELD_NULLABLE},
    {.name = "disable_stop_word", .kind = FIELD_BOOL, .rules = FIELD_NULLABLE, .fallback = "false"},
    {.name = "caching_prompt", .kind = FIELD_BOOL, .fallback = "true"},
    {.name = "log_completions", .kind = FIELD_BOOL, .fallback = "false"},
    {.name = "log_completions_folder", .kind = FIELD_TEXT, .fallback = "\"logs/completions\""},
    {.name = "custom_tokenizer", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "native_tool_calling", .kind = FIELD_BOOL, .fallback = "true"},
    {.name = "force_string_serializer", .kind = FIELD_BOOL, .rules = FIELD_NULLABLE},
    {.name = "inline_image_urls", .kind = FIELD_BOOL, .rules = FIELD_NULLABLE},
    {.name = "reasoning_effort",
     .kind = FIELD_TEXT,
     .rules = FIELD_NULLABLE,
     .fallback = "\"high\""},
    {.name = "reasoning_summary",
     .kind = FIELD_TEXT,
     .rules = FIELD_NULLABLE,
     .words = "auto|concise|detailed"},
    {.name = "enable_encrypted_reasoning", .kind = FIELD_BOOL, .fallback = "true"},
    {.name = "prompt_cache_retention",
     .kind = FIELD_TEXT,
     .rules = FIELD_NULLABLE,
     .fallback = "\"24h\""},
    {.name = "extended_thinking_budget",
     .kind = FIELD_INT,
     .rules = FIELD_NULLABLE,
     .fallback = "200000"},
    {.name = "seed", .kind = FIELD_INT, .rules = FIELD_NULLABLE},
    {.name = "usage_id", .kind = FIELD_TEXT, .fallback = "\"default\""},
    {.name = "litellm_extra_body", .kind = FIELD_MAP, .fallback = "{}"},
};
const struct object_schema llm_schema = SCHEMA(llm_fields);

static const struct field agent_context_fields[] = {
    {.name = "skills", .kind = FIELD_LIST, .fallback = "[]"},
    {.name = "system_message_suffix", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "user_message_suffix", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "load_user_skills", .kind = FIELD_BOOL, .fallback = "false"},
    {.name = "load_public_skills", .kind = FIELD_BOOL, .fallback = "false"},
    {.name = "marketplace_path",
     .kind = FIELD_TEXT,
     .rules = FIELD_NULLABLE,
     .fallback = "\"marketplaces/default.json\""},
    {.name = "registered_marketplaces", .kind = FIELD_LIST, .fallback = "[]"},
    {.name = "load_project_skills", .kind = FIELD_BOOL, .fallback = "false"},
    {.name = "load_memory", .kind = FIELD_BOOL, .fallback = "false"},
    {.name = "disabled_skills", .kind = FIELD_TEXTS, .fallback = "[]"},
    {.name = "secrets", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
    {.name = "current_datetime", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
const struct object_schema agent_context_schema = SCHEMA(agent_context_fields);

static const struct field agent_fields[] = {
    {.name = "llm", .kind = FIELD_MAP, .rules = FIELD_REQUIRED},
    {.name = "tools", .kind = FIELD_OBJECTS, .fallback = "[]", .items = &tool_spec_schema},
    {.name = "mcp_config", .kind = FIELD_MAP, .fallback = "{}"},
    {.name = "filter_tools_regex", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "include_default_tools",
     .kind = FIELD_TEXTS,
     .fallback = "[\"FinishTool\",\"ThinkTool\"]"},
    {.name = "agent_context",
     .kind = FIELD_OBJECT,
     .rules = FIELD_NULLABLE,
     .items = &agent_context_schema},
    {.name = "system_prompt", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "system_prompt_filename", .kind = FIELD_TEXT, .fallback = "\"system_prompt.j2\""},
    {.name = "security_policy_filename", .kind = FIELD_TEXT, .fallback = "\"security_policy.j2\""},
    {.name = "system_prompt_kwargs", .kind = FIELD_MAP, .fallback = "{}"},
    {.name = "condenser", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
    {.name = "critic", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
    {.name = "tool_concurrency_limit", .kind = FIELD_INT, .rules = FIELD_FROM_1, .fallback = "1"},
    {.name = "persona",
     .kind = FIELD_TEXT,
     .rules = FIELD_NULLABLE | FIELD_FILLED,
     .max_chars = PERSONA_MAX_CHARS},
};
const struct object_schema agent_schema = SCHEMA(agent_fields);

static const struct field summarizing_condenser_fields[] = {
    {.name = "llm", .kind = FIELD_MAP, .rules = FIELD_REQUIRED},
    {.name = "max_size", .kind = FIELD_INT, .rules = FIELD_FROM_1, .fallback = "240"},
    {.name = "max_tokens", .kind = FIELD_INT, .rules = FIELD_NULLABLE | FIELD_FROM_1},
    CONDENSER_FIELDS,
};
const struct object_schema summarizing_condenser_schema = SCHEMA(summarizing_condenser_fields);
