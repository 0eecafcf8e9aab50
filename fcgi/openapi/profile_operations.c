/*
 * LLM profiles, agent profiles and meta-profiles.
 */
#include "base/attr.h"
#include "fcgi/openapi/operation.h"
#include "model/agent/agent_fields.h"
#include "model/agent/agent_spec.h"
#include "model/schema/object_schema.h"

static const struct field profile_info_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "model", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "base_url", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "provider_connection_id", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "provider_connection_broken", .kind = FIELD_BOOL},
    {.name = "api_key_set", .kind = FIELD_BOOL},
};
static const struct object_schema profile_info_schema = SCHEMA(profile_info_fields);

static const struct field profile_list_fields[] = {
    {.name = "profiles",
     .kind = FIELD_OBJECTS,
     .rules = FIELD_REQUIRED,
     .items = &profile_info_schema},
    {.name = "active_profile", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct object_schema profile_list_schema = SCHEMA(profile_list_fields);

static const struct field profile_detail_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "config", .kind = FIELD_MAP, .rules = FIELD_REQUIRED},
    {.name = "api_key_set", .kind = FIELD_BOOL},
};
static const struct object_schema profile_detail_schema = SCHEMA(profile_detail_fields);

static const struct field save_profile_fields[] = {
    {.name = "llm", .kind = FIELD_OBJECT, .rules = FIELD_REQUIRED, .items = &llm_schema},
    {.name = "include_secrets", .kind = FIELD_BOOL, .fallback = "true"},
};
static const struct object_schema save_profile_schema = SCHEMA(save_profile_fields);

static const struct field profile_mutation_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "message", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct object_schema profile_mutation_schema = SCHEMA(profile_mutation_fields);

static const struct field switch_llm_fields[] = {
    {.name = "llm", .kind = FIELD_OBJECT, .rules = FIELD_REQUIRED, .items = &llm_schema},
};
static const struct object_schema switch_llm_schema = SCHEMA(switch_llm_fields);

static const struct field validate_profile_fields[] = {
    {.name = "valid", .kind = FIELD_BOOL, .rules = FIELD_REQUIRED},
    {.name = "error", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
};
static const struct object_schema validate_profile_schema = SCHEMA(validate_profile_fields);

static const struct field rename_profile_fields[] = {
    {.name = "new_name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct object_schema rename_profile_schema = SCHEMA(rename_profile_fields);

static const struct field activate_profile_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "message", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "llm_applied", .kind = FIELD_BOOL},
};
static const struct object_schema activate_profile_schema = SCHEMA(activate_profile_fields);

static const struct field agent_profile_info_fields[] = {
    {.name = "id", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "agent_kind", .kind = FIELD_TEXT},
    {.name = "revision", .kind = FIELD_INT, .rules = FIELD_NULLABLE},
    {.name = "llm_profile_ref", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "mcp_server_refs", .kind = FIELD_TEXTS, .rules = FIELD_NULLABLE},
};
static const struct object_schema agent_profile_info_schema = SCHEMA(agent_profile_info_fields);

static const struct field agent_profile_list_fields[] = {
    {.name = "profiles",
     .kind = FIELD_OBJECTS,
     .rules = FIELD_REQUIRED,
     .items = &agent_profile_info_schema},
    {.name = "active_agent_profile_id", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct object_schema agent_profile_list_schema = SCHEMA(agent_profile_list_fields);

static const struct field agent_profile_detail_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "profile", .kind = FIELD_MAP, .rules = FIELD_REQUIRED},
};
static const struct object_schema agent_profile_detail_schema = SCHEMA(agent_profile_detail_fields);

static const struct object_schema any_body_schema = {NULL, 0, false};

static const struct field activate_agent_profile_fields[] = {
    {.name = "id", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "message", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "agent_settings_applied", .kind = FIELD_BOOL},
};
static const struct object_schema activate_agent_profile_schema =
    SCHEMA(activate_agent_profile_fields);

static const struct field materialize_agent_profile_fields[] = {
    {.name = "profile", .kind = FIELD_ANY, .rules = FIELD_NULLABLE},
};
static const struct object_schema materialize_agent_profile_schema =
    CLOSED_SCHEMA(materialize_agent_profile_fields);

static const struct field agent_profile_diagnostics_fields[] = {
    {.name = "agent_kind", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "valid", .kind = FIELD_BOOL},
    {.name = "errors", .kind = FIELD_TEXTS},
    {.name = "unusable_tools", .kind = FIELD_TEXTS},
    {.name = "llm_profile_ref", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "llm_profile_resolved", .kind = FIELD_BOOL},
    {.name = "llm_api_key_set", .kind = FIELD_BOOL},
    {.name = "mcp_server_refs", .kind = FIELD_TEXTS, .rules = FIELD_NULLABLE},
    {.name = "resolved_mcp_config_keys", .kind = FIELD_TEXTS},
    {.name = "dangling_mcp_server_refs", .kind = FIELD_TEXTS},
    {.name = "disabled_skills", .kind = FIELD_TEXTS},
    {.name = "public_skills", .kind = FIELD_TEXTS, .rules = FIELD_NULLABLE},
    {.name = "resolved_skills", .kind = FIELD_TEXTS},
    {.name = "secret_refs", .kind = FIELD_TEXTS, .rules = FIELD_NULLABLE},
    {.name = "acp_api_key_secret_name", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "acp_base_url_secret_name", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "acp_file_secret_names", .kind = FIELD_TEXTS},
    {.name = "meta_profile_ref", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "dangling_meta_profile_ref", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "dangling_meta_profile_llm_refs", .kind = FIELD_TEXTS},
    {.name = "resolved_settings", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
};
static const struct object_schema agent_profile_diagnostics_schema =
    SCHEMA(agent_profile_diagnostics_fields);

static const struct field meta_profile_info_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "classifier_model", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "num_classes", .kind = FIELD_INT},
};
static const struct object_schema meta_profile_info_schema = SCHEMA(meta_profile_info_fields);

static const struct field meta_profile_list_fields[] = {
    {.name = "meta_profiles",
     .kind = FIELD_OBJECTS,
     .rules = FIELD_REQUIRED,
     .items = &meta_profile_info_schema},
    {.name = "active_meta_profile", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct object_schema meta_profile_list_schema = SCHEMA(meta_profile_list_fields);

static const struct field meta_profile_class_fields[] = {
    {.name = "description", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "model", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct object_schema meta_profile_class_schema = SCHEMA(meta_profile_class_fields);

static const struct field meta_profile_fields[] = {
    {.name = "classifier_model", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "classes", .kind = FIELD_OBJECTS, .items = &meta_profile_class_schema},
    {.name = "prompt_template", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "model_table", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct object_schema meta_profile_schema = SCHEMA(meta_profile_fields);

static const struct field meta_profile_detail_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "config",
     .kind = FIELD_OBJECT,
     .rules = FIELD_REQUIRED,
     .items = &meta_profile_schema},
};
static const struct object_schema meta_profile_detail_schema = SCHEMA(meta_profile_detail_fields);

static const struct field activate_meta_profile_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "message", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "applied", .kind = FIELD_BOOL},
};
static const struct object_schema activate_meta_profile_schema =
    SCHEMA(activate_meta_profile_fields);

/* clang-format off */
const struct operation profile_operations[] = {
    OPERATION(HTTP_GET, "/api/profiles", "List LLM profiles", .answer = {"ProfileListResponse", &profile_list_schema}),
    OPERATION(HTTP_GET, "/api/profiles/{name}", "One profile", .answer = {"ProfileDetailResponse", &profile_detail_schema}),
    OPERATION(HTTP_POST, "/api/profiles/{name}", "Save a profile", .body = {"SaveProfileRequest", &save_profile_schema}, .answer = {"ProfileMutationResponse", &profile_mutation_schema}, .status = 201),
    OPERATION(HTTP_DELETE, "/api/profiles/{name}", "Delete a profile", .answer = {"ProfileMutationResponse", &profile_mutation_schema}),
    OPERATION(HTTP_POST, "/api/profiles/{name}/validate", "Test a profile's model", .body = {"SwitchLLMRequest", &switch_llm_schema}, .answer = {"ValidateProfileResponse", &validate_profile_schema}),
    OPERATION(HTTP_POST, "/api/profiles/{name}/rename", "Rename a profile", .body = {"RenameProfileRequest", &rename_profile_schema}, .answer = {"ProfileMutationResponse", &profile_mutation_schema}),
    OPERATION(HTTP_POST, "/api/profiles/{name}/activate", "Activate a profile", .answer = {"ActivateProfileResponse", &activate_profile_schema}),
    OPERATION(HTTP_GET, "/api/agent-profiles", "List agent profiles", .answer = {"AgentProfileListResponse", &agent_profile_list_schema}),
    OPERATION(HTTP_GET, "/api/agent-profiles/{name}", "One agent profile", .answer = {"AgentProfileDetailResponse", &agent_profile_detail_schema}),
    OPERATION(HTTP_POST, "/api/agent-profiles/{name}", "Save an agent profile", .answer = {"ProfileMutationResponse", &profile_mutation_schema}, .body = {"AnyObject", &any_body_schema}, .status = 201),
    OPERATION(HTTP_DELETE, "/api/agent-profiles/{name}", "Delete an agent profile", .answer = {"ProfileMutationResponse", &profile_mutation_schema}),
    OPERATION(HTTP_POST, "/api/agent-profiles/{name}/rename", "Rename an agent profile", .body = {"RenameProfileRequest", &rename_profile_schema}, .answer = {"ProfileMutationResponse", &profile_mutation_schema}),
    OPERATION(HTTP_POST, "/api/agent-profiles/{profile_id}/activate", "Activate an agent profile", .answer = {"ActivateAgentProfileResponse", &activate_agent_profile_schema}),
    OPERATION(HTTP_POST, "/api/agent-profiles/{name}/materialize", "Preview the agent that a profile starts", .body = {"MaterializeAgentProfileRequest", &materialize_agent_profile_schema}, .answer = {"AgentProfileDiagnostics", &agent_profile_diagnostics_schema}, .body_form = BODY_FORM_OPTIONAL),
    OPERATION(HTTP_GET, "/api/meta-profiles", "List meta-profiles", .answer = {"MetaProfileListResponse", &meta_profile_list_schema}),
    OPERATION(HTTP_GET, "/api/meta-profiles/{name}", "One meta-profile", .answer = {"MetaProfileDetailResponse", &meta_profile_detail_schema}),
    OPERATION(HTTP_POST, "/api/meta-profiles/{name}", "Save a meta-profile", .body = {"MetaProfile", &meta_profile_schema}, .answer = {"ProfileMutationResponse", &profile_mutation_schema}, .status = 201),
    OPERATION(HTTP_DELETE, "/api/meta-profiles/{name}", "Delete a meta-profile", .answer = {"ProfileMutationResponse", &profile_mutation_schema}),
    OPERATION(HTTP_POST, "/api/meta-profiles/{name}/activate", "Activate a meta-profile", .answer = {"ActivateMetaProfileResponse", &activate_meta_profile_schema}),
    {.pattern = NULL},
};
/* clang-format on */
