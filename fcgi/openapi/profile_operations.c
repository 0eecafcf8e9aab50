/*
 * LLM profiles, agent profiles and meta-profiles.
 */
#include "base/attr.h"
#include "fcgi/openapi/operation.h"
#include "model/agent/agent_fields.h"
#include "model/agent/agent_spec.h"
#include "model/schema/shape.h"

static const struct field profile_info_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "model", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "base_url", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "provider_connection_id", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "provider_connection_broken", .kind = FIELD_BOOL},
    {.name = "api_key_set", .kind = FIELD_BOOL},
};
static const struct shape profile_info_shape = SHAPE(profile_info_fields);

static const struct field profile_list_fields[] = {
    {.name = "profiles",
     .kind = FIELD_OBJECTS,
     .rules = FIELD_REQUIRED,
     .items = &profile_info_shape},
    {.name = "active_profile", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct shape profile_list_shape = SHAPE(profile_list_fields);

static const struct field profile_detail_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "config", .kind = FIELD_MAP, .rules = FIELD_REQUIRED},
    {.name = "api_key_set", .kind = FIELD_BOOL},
};
static const struct shape profile_detail_shape = SHAPE(profile_detail_fields);

static const struct field save_profile_fields[] = {
    {.name = "llm", .kind = FIELD_OBJECT, .rules = FIELD_REQUIRED, .items = &llm_shape},
    {.name = "include_secrets", .kind = FIELD_BOOL, .fallback = "true"},
};
static const struct shape save_profile_shape = SHAPE(save_profile_fields);

static const struct field profile_mutation_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "message", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct shape profile_mutation_shape = SHAPE(profile_mutation_fields);

static const struct field switch_llm_fields[] = {
    {.name = "llm", .kind = FIELD_OBJECT, .rules = FIELD_REQUIRED, .items = &llm_shape},
};
static const struct shape switch_llm_shape = SHAPE(switch_llm_fields);

static const struct field validate_profile_fields[] = {
    {.name = "valid", .kind = FIELD_BOOL, .rules = FIELD_REQUIRED},
    {.name = "error", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
};
static const struct shape validate_profile_shape = SHAPE(validate_profile_fields);

static const struct field rename_profile_fields[] = {
    {.name = "new_name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct shape rename_profile_shape = SHAPE(rename_profile_fields);

static const struct field activate_profile_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "message", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "llm_applied", .kind = FIELD_BOOL},
};
static const struct shape activate_profile_shape = SHAPE(activate_profile_fields);

static const struct field agent_profile_info_fields[] = {
    {.name = "id", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "agent_kind", .kind = FIELD_TEXT},
    {.name = "revision", .kind = FIELD_INT, .rules = FIELD_NULLABLE},
    {.name = "llm_profile_ref", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "mcp_server_refs", .kind = FIELD_TEXTS, .rules = FIELD_NULLABLE},
};
static const struct shape agent_profile_info_shape = SHAPE(agent_profile_info_fields);

static const struct field agent_profile_list_fields[] = {
    {.name = "profiles",
     .kind = FIELD_OBJECTS,
     .rules = FIELD_REQUIRED,
     .items = &agent_profile_info_shape},
    {.name = "active_agent_profile_id", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct shape agent_profile_list_shape = SHAPE(agent_profile_list_fields);

static const struct field agent_profile_detail_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "profile", .kind = FIELD_MAP, .rules = FIELD_REQUIRED},
};
static const struct shape agent_profile_detail_shape = SHAPE(agent_profile_detail_fields);

static const struct shape any_body_shape = {NULL, 0, false};

static const struct field activate_agent_profile_fields[] = {
    {.name = "id", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "message", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "agent_settings_applied", .kind = FIELD_BOOL},
};
static const struct shape activate_agent_profile_shape = SHAPE(activate_agent_profile_fields);

static const struct field materialize_agent_profile_fields[] = {
    {.name = "profile", .kind = FIELD_ANY, .rules = FIELD_NULLABLE},
};
static const struct shape materialize_agent_profile_shape =
    CLOSED_SHAPE(materialize_agent_profile_fields);

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
static const struct shape agent_profile_diagnostics_shape = SHAPE(agent_profile_diagnostics_fields);

static const struct field meta_profile_info_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "classifier_model", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "num_classes", .kind = FIELD_INT},
};
static const struct shape meta_profile_info_shape = SHAPE(meta_profile_info_fields);

static const struct field meta_profile_list_fields[] = {
    {.name = "meta_profiles",
     .kind = FIELD_OBJECTS,
     .rules = FIELD_REQUIRED,
     .items = &meta_profile_info_shape},
    {.name = "active_meta_profile", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct shape meta_profile_list_shape = SHAPE(meta_profile_list_fields);

static const struct field meta_profile_class_fields[] = {
    {.name = "description", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "model", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct shape meta_profile_class_shape = SHAPE(meta_profile_class_fields);

static const struct field meta_profile_fields[] = {
    {.name = "classifier_model", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "classes", .kind = FIELD_OBJECTS, .items = &meta_profile_class_shape},
    {.name = "prompt_template", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "model_table", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct shape meta_profile_shape = SHAPE(meta_profile_fields);

static const struct field meta_profile_detail_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "config", .kind = FIELD_OBJECT, .rules = FIELD_REQUIRED, .items = &meta_profile_shape},
};
static const struct shape meta_profile_detail_shape = SHAPE(meta_profile_detail_fields);

static const struct field activate_meta_profile_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "message", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "applied", .kind = FIELD_BOOL},
};
static const struct shape activate_meta_profile_shape = SHAPE(activate_meta_profile_fields);

/* clang-format off */
const struct operation profiles_operations[] = {
    OPERATION(HTTP_GET, "/api/profiles", "Profiles of models", .answer = {"ProfileListResponse", &profile_list_shape}),
    OPERATION(HTTP_GET, "/api/profiles/{name}", "One profile", .answer = {"ProfileDetailResponse", &profile_detail_shape}),
    OPERATION(HTTP_POST, "/api/profiles/{name}", "Save a profile", .body = {"SaveProfileRequest", &save_profile_shape}, .answer = {"ProfileMutationResponse", &profile_mutation_shape}, .status = 201),
    OPERATION(HTTP_DELETE, "/api/profiles/{name}", "Delete a profile", .answer = {"ProfileMutationResponse", &profile_mutation_shape}),
    OPERATION(HTTP_POST, "/api/profiles/{name}/validate", "Try a profile's model", .body = {"SwitchLLMRequest", &switch_llm_shape}, .answer = {"ValidateProfileResponse", &validate_profile_shape}),
    OPERATION(HTTP_POST, "/api/profiles/{name}/rename", "Give a profile another name", .body = {"RenameProfileRequest", &rename_profile_shape}, .answer = {"ProfileMutationResponse", &profile_mutation_shape}),
    OPERATION(HTTP_POST, "/api/profiles/{name}/activate", "Use a profile's model from now on", .answer = {"ActivateProfileResponse", &activate_profile_shape}),
    OPERATION(HTTP_GET, "/api/agent-profiles", "Profiles of agents", .answer = {"AgentProfileListResponse", &agent_profile_list_shape}),
    OPERATION(HTTP_GET, "/api/agent-profiles/{name}", "One agent profile", .answer = {"AgentProfileDetailResponse", &agent_profile_detail_shape}),
    OPERATION(HTTP_POST, "/api/agent-profiles/{name}", "Save an agent profile", .answer = {"ProfileMutationResponse", &profile_mutation_shape}, .body = {"AnyObject", &any_body_shape}, .status = 201),
    OPERATION(HTTP_DELETE, "/api/agent-profiles/{name}", "Delete an agent profile", .answer = {"ProfileMutationResponse", &profile_mutation_shape}),
    OPERATION(HTTP_POST, "/api/agent-profiles/{name}/rename", "Give an agent profile another name", .body = {"RenameProfileRequest", &rename_profile_shape}, .answer = {"ProfileMutationResponse", &profile_mutation_shape}),
    OPERATION(HTTP_POST, "/api/agent-profiles/{profile_id}/activate", "Use an agent profile from now on", .answer = {"ActivateAgentProfileResponse", &activate_agent_profile_shape}),
    OPERATION(HTTP_POST, "/api/agent-profiles/{name}/materialize", "What an agent profile would start", .body = {"MaterializeAgentProfileRequest", &materialize_agent_profile_shape}, .answer = {"AgentProfileDiagnostics", &agent_profile_diagnostics_shape}, .body_form = BODY_FORM_OPTIONAL),
    OPERATION(HTTP_GET, "/api/meta-profiles", "Profiles that choose among models", .answer = {"MetaProfileListResponse", &meta_profile_list_shape}),
    OPERATION(HTTP_GET, "/api/meta-profiles/{name}", "One of them", .answer = {"MetaProfileDetailResponse", &meta_profile_detail_shape}),
    OPERATION(HTTP_POST, "/api/meta-profiles/{name}", "Save one of them", .body = {"MetaProfile", &meta_profile_shape}, .answer = {"ProfileMutationResponse", &profile_mutation_shape}, .status = 201),
    OPERATION(HTTP_DELETE, "/api/meta-profiles/{name}", "Delete one of them", .answer = {"ProfileMutationResponse", &profile_mutation_shape}),
    OPERATION(HTTP_POST, "/api/meta-profiles/{name}/activate", "Let it choose from now on", .answer = {"ActivateMetaProfileResponse", &activate_meta_profile_shape}),
    {.pattern = NULL},
};
/* clang-format on */
