/*
 * Settings, secrets and workspaces.
 */
#include "base/attr.h"
#include "fcgi/openapi/operation.h"
#include "model/agent/agent_settings.h"
#include "model/schema/object_schema.h"

static const struct field settings_secrets_query_fields[] = {
    {.name = "agent_profile_id", .kind = FIELD_TEXT},
};
static const struct object_schema settings_secrets_query = SCHEMA(settings_secrets_query_fields);

static const struct field path_query_fields[] = {
    {.name = "path", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct object_schema path_query = SCHEMA(path_query_fields);

static const struct field settings_schema_fields[] = {
    {.name = "model_name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "sections", .kind = FIELD_LIST, .rules = FIELD_REQUIRED},
};
static const struct object_schema settings_schema_schema = SCHEMA(settings_schema_fields);

static const struct field settings_fields[] = {
    {.name = "agent_settings", .kind = FIELD_MAP, .rules = FIELD_REQUIRED},
    {.name = "conversation_settings", .kind = FIELD_MAP, .rules = FIELD_REQUIRED},
    {.name = "llm_api_key_is_set", .kind = FIELD_BOOL, .rules = FIELD_REQUIRED},
    {.name = "active_profile", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "active_agent_profile_id", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "active_meta_profile", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "misc_settings", .kind = FIELD_MAP},
};
static const struct object_schema settings_schema = SCHEMA(settings_fields);

static const struct field settings_update_fields[] = {
    {.name = "agent_settings_diff", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
    {.name = "conversation_settings_diff", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
    {.name = "misc_settings_diff", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
    {.name = "active_profile", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "active_agent_profile_id", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "active_meta_profile", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct object_schema settings_update_schema = SCHEMA(settings_update_fields);

static const struct field secret_item_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "description", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct object_schema secret_item_schema = SCHEMA(secret_item_fields);

static const struct field secrets_list_fields[] = {
    {.name = "secrets",
     .kind = FIELD_OBJECTS,
     .rules = FIELD_REQUIRED,
     .items = &secret_item_schema},
};
static const struct object_schema secrets_list_schema = SCHEMA(secrets_list_fields);

static const struct field secret_create_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "value", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "description", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct object_schema secret_create_schema = SCHEMA(secret_create_fields);

static const struct field workspace_item_fields[] = {
    {.name = "id", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "path", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "parentPath", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct object_schema workspace_item_schema = SCHEMA(workspace_item_fields);

static const struct field workspace_parent_item_fields[] = {
    {.name = "id", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "path", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct object_schema workspace_parent_item_schema =
    SCHEMA(workspace_parent_item_fields);

static const struct field workspaces_list_fields[] = {
    {.name = "workspaces", .kind = FIELD_OBJECTS, .items = &workspace_item_schema},
    {.name = "workspaceParents", .kind = FIELD_OBJECTS, .items = &workspace_parent_item_schema},
};
static const struct object_schema workspaces_list_schema = SCHEMA(workspaces_list_fields);

static const struct field add_workspaces_fields[] = {
    {.name = "workspaces",
     .kind = FIELD_OBJECTS,
     .rules = FIELD_REQUIRED,
     .items = &workspace_item_schema},
};
static const struct object_schema add_workspaces_schema = SCHEMA(add_workspaces_fields);

static const struct field delete_fields[] = {
    {.name = "deleted", .kind = FIELD_BOOL},
};
static const struct object_schema delete_schema = SCHEMA(delete_fields);

static const struct field add_workspace_parents_fields[] = {
    {.name = "parents",
     .kind = FIELD_OBJECTS,
     .rules = FIELD_REQUIRED,
     .items = &workspace_parent_item_schema},
};
static const struct object_schema add_workspace_parents_schema =
    SCHEMA(add_workspace_parents_fields);

/* clang-format off */
const struct operation settings_operations[] = {
    OPERATION(HTTP_GET, "/api/settings/agent-schema", "Schema of the agent settings", .answer = {"SettingsSchema", &settings_schema_schema}),
    OPERATION(HTTP_GET, "/api/settings/conversation-schema", "Schema of the conversation settings", .answer = {"SettingsSchema", &settings_schema_schema}),
    OPERATION(HTTP_GET, "/api/settings", "All settings", .answer = {"SettingsResponse", &settings_schema}),
    OPERATION(HTTP_PATCH, "/api/settings", "Change settings", .body = {"SettingsUpdateRequest", &settings_update_schema}, .answer = {"SettingsResponse", &settings_schema}),
    OPERATION(HTTP_POST, "/api/settings/mcp/{settings_key}", "Add an MCP server", .body = {"MCPServer", &mcp_server_schema}, .answer = {"SettingsResponse", &settings_schema}, .status = 201),
    OPERATION(HTTP_PATCH, "/api/settings/mcp/{settings_key}", "Change an MCP server", .body = {"MCPServer", &mcp_server_schema}, .answer = {"SettingsResponse", &settings_schema}),
    OPERATION(HTTP_DELETE, "/api/settings/mcp/{settings_key}", "Remove an MCP server", .answer = {"SettingsResponse", &settings_schema}),
    OPERATION(HTTP_GET, "/api/settings/secrets", "Names of the secrets", .query = &settings_secrets_query, .answer = {"SecretsListResponse", &secrets_list_schema}),
    OPERATION(HTTP_PUT, "/api/settings/secrets", "Add or replace a secret", .body = {"SecretCreateRequest", &secret_create_schema}, .answer = {"SecretItemResponse", &secret_item_schema}),
    OPERATION(HTTP_GET, "/api/settings/secrets/{name}", "The value of a secret", .answer_form = ANSWER_TEXT),
    OPERATION(HTTP_DELETE, "/api/settings/secrets/{name}", "Delete a secret"),
    OPERATION(HTTP_GET, "/api/workspaces", "List workspaces", .answer = {"WorkspacesListResponse", &workspaces_list_schema}),
    OPERATION(HTTP_POST, "/api/workspaces", "Add workspaces", .body = {"AddWorkspacesRequest", &add_workspaces_schema}, .answer = {"WorkspacesListResponse", &workspaces_list_schema}),
    OPERATION(HTTP_DELETE, "/api/workspaces", "Remove a workspace from the list", .query = &path_query, .answer = {"DeleteResponse", &delete_schema}),
    OPERATION(HTTP_POST, "/api/workspaces/parents", "Add parent folders of workspaces", .body = {"AddWorkspaceParentsRequest", &add_workspace_parents_schema}, .answer = {"WorkspacesListResponse", &workspaces_list_schema}),
    OPERATION(HTTP_DELETE, "/api/workspaces/parents", "Remove a parent folder from the list", .query = &path_query, .answer = {"DeleteResponse", &delete_schema}),
    {.pattern = NULL},
};
/* clang-format on */
