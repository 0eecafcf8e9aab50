/*
 * Tools, skills, hooks, sub-agents and plugins of agents.
 */
#include "base/attr.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/openapi/operation.h"
#include "model/schema/object_schema.h"

static const struct field tool_catalog_entry_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "user_selectable", .kind = FIELD_BOOL},
    {.name = "usable", .kind = FIELD_BOOL},
    {.name = "description", .kind = FIELD_TEXT},
    {.name = "in_default_set", .kind = FIELD_BOOL},
};
static const struct object_schema tool_catalog_entry_schema = SCHEMA(tool_catalog_entry_fields);

static const struct field tool_catalog_fields[] = {
    {.name = "tools",
     .kind = FIELD_OBJECTS,
     .rules = FIELD_REQUIRED,
     .items = &tool_catalog_entry_schema},
};
static const struct object_schema tool_catalog_schema = SCHEMA(tool_catalog_fields);

/* Members of every skill, wherever it comes from. */
#define SKILL_FIELDS                                                                               \
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},                                 \
        {.name = "type",                                                                           \
         .kind = FIELD_TEXT,                                                                       \
         .rules = FIELD_REQUIRED,                                                                  \
         .words = "repo|knowledge|agentskills"},                                                   \
        {.name = "content", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},                          \
        {.name = "triggers", .kind = FIELD_TEXTS},                                                 \
        {.name = "source", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},                           \
        {.name = "description", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},                      \
        {.name = "is_agentskills_format", .kind = FIELD_BOOL},                                     \
    {                                                                                              \
        .name = "disable_model_invocation", .kind = FIELD_BOOL                                     \
    }

static const struct field skill_info_fields[] = {
    SKILL_FIELDS,
};
static const struct object_schema skill_info_schema = SCHEMA(skill_info_fields);

static const struct field skills_answer_fields[] = {
    {.name = "skills", .kind = FIELD_OBJECTS, .rules = FIELD_REQUIRED, .items = &skill_info_schema},
    {.name = "sources", .kind = FIELD_MAP},
};
static const struct object_schema skills_answer_schema = SCHEMA(skills_answer_fields);

static const struct field skill_catalog_entry_fields[] = {
    SKILL_FIELDS,
    {.name = "origin", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED, .words = "public|user"},
};
static const struct object_schema skill_catalog_entry_schema = SCHEMA(skill_catalog_entry_fields);

static const struct field skill_catalog_fields[] = {
    {.name = "skills",
     .kind = FIELD_OBJECTS,
     .rules = FIELD_REQUIRED,
     .items = &skill_catalog_entry_schema},
};
static const struct object_schema skill_catalog_schema = SCHEMA(skill_catalog_fields);

static const struct field sync_fields[] = {
    {.name = "status", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED, .words = "success|error"},
    {.name = "message", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct object_schema sync_schema = SCHEMA(sync_fields);

static const struct field install_skill_fields[] = {
    {.name = "source", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "ref", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "repo_path", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "force", .kind = FIELD_BOOL, .fallback = "false"},
};
static const struct object_schema install_skill_schema = SCHEMA(install_skill_fields);

/* Members common to installed skills and installed plugins. */
#define INSTALLED_FIELDS                                                                           \
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},                                 \
        {.name = "version", .kind = FIELD_TEXT}, {.name = "description", .kind = FIELD_TEXT},      \
        {.name = "enabled", .kind = FIELD_BOOL},                                                   \
        {.name = "source", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},                           \
        {.name = "resolved_ref", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},                     \
        {.name = "repo_path", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},                        \
        {.name = "installed_at", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},                     \
    {                                                                                              \
        .name = "install_path", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED                        \
    }

static const struct field installed_skill_fields[] = {
    INSTALLED_FIELDS,
};
static const struct object_schema installed_skill_schema = SCHEMA(installed_skill_fields);

static const struct field installed_skills_list_fields[] = {
    {.name = "skills",
     .kind = FIELD_OBJECTS,
     .rules = FIELD_REQUIRED,
     .items = &installed_skill_schema},
};
static const struct object_schema installed_skills_list_schema =
    SCHEMA(installed_skills_list_fields);

static const struct field skill_switch_fields[] = {
    {.name = "enabled", .kind = FIELD_BOOL, .rules = FIELD_REQUIRED},
};
static const struct object_schema skill_switch_schema = SCHEMA(skill_switch_fields);

static const struct field update_skill_state_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "enabled", .kind = FIELD_BOOL, .rules = FIELD_REQUIRED},
};
static const struct object_schema update_skill_state_schema = SCHEMA(update_skill_state_fields);

static const struct field uninstall_skill_fields[] = {
    {.name = "message", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct object_schema uninstall_skill_schema = SCHEMA(uninstall_skill_fields);

static const struct field update_skill_fields[] = {
    {.name = "message", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "skill",
     .kind = FIELD_OBJECT,
     .rules = FIELD_REQUIRED,
     .items = &installed_skill_schema},
};
static const struct object_schema update_skill_schema = SCHEMA(update_skill_fields);

static const struct field skill_marketplace_fields[] = {
    {.name = "skills", .kind = FIELD_LIST, .rules = FIELD_REQUIRED},
};
static const struct object_schema skill_marketplace_schema = SCHEMA(skill_marketplace_fields);

static const struct field sub_agents_request_fields[] = {
    {.name = "load_user", .kind = FIELD_BOOL, .fallback = "true"},
    {.name = "load_project", .kind = FIELD_BOOL, .fallback = "true"},
    {.name = "load_builtin", .kind = FIELD_BOOL, .fallback = "true"},
    {.name = "project_dir", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct object_schema sub_agents_request_schema = SCHEMA(sub_agents_request_fields);

static const struct field sub_agent_info_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "description", .kind = FIELD_TEXT},
    {.name = "model", .kind = FIELD_TEXT},
    {.name = "color", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "tools", .kind = FIELD_TEXTS},
    {.name = "skills", .kind = FIELD_TEXTS},
    {.name = "system_prompt", .kind = FIELD_TEXT},
    {.name = "when_to_use_examples", .kind = FIELD_TEXTS},
    {.name = "permission_mode", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "max_iteration_per_run", .kind = FIELD_INT, .rules = FIELD_NULLABLE},
    {.name = "max_budget_per_run", .kind = FIELD_NUMBER, .rules = FIELD_NULLABLE},
    {.name = "mcp_config", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
    {.name = "mcp_servers", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
    {.name = "profile_store_dir", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "hooks", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
    {.name = "condenser", .kind = FIELD_ANY, .rules = FIELD_NULLABLE},
    {.name = "metadata", .kind = FIELD_MAP},
    {.name = "level",
     .kind = FIELD_TEXT,
     .rules = FIELD_NULLABLE,
     .words = "project|user|builtin|plugin|programmatic"},
    {.name = "source", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "is_builtin", .kind = FIELD_BOOL},
};
static const struct object_schema sub_agent_info_schema = SCHEMA(sub_agent_info_fields);

static const struct field sub_agents_answer_fields[] = {
    {.name = "agents",
     .kind = FIELD_OBJECTS,
     .rules = FIELD_REQUIRED,
     .items = &sub_agent_info_schema},
};
static const struct object_schema sub_agents_answer_schema = SCHEMA(sub_agents_answer_fields);

static const struct field plugins_request_fields[] = {
    {.name = "load_user", .kind = FIELD_BOOL, .fallback = "true"},
    {.name = "load_project", .kind = FIELD_BOOL, .fallback = "true"},
    {.name = "project_dir", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct object_schema plugins_request_schema = SCHEMA(plugins_request_fields);

static const struct field plugin_info_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "version", .kind = FIELD_TEXT},
    {.name = "description", .kind = FIELD_TEXT},
    {.name = "path", .kind = FIELD_TEXT},
    {.name = "skills", .kind = FIELD_LIST},
    {.name = "files", .kind = FIELD_TEXTS},
};
static const struct object_schema plugin_info_schema = SCHEMA(plugin_info_fields);

static const struct field plugins_answer_fields[] = {
    {.name = "plugins",
     .kind = FIELD_OBJECTS,
     .rules = FIELD_REQUIRED,
     .items = &plugin_info_schema},
};
static const struct object_schema plugins_answer_schema = SCHEMA(plugins_answer_fields);

static const struct field plugin_source_fields[] = {
    {.name = "source", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "ref", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "repo_path", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "secrets", .kind = FIELD_MAP},
    {.name = "timeout", .kind = FIELD_INT, .fallback = "60"},
};
static const struct object_schema plugin_source_schema = SCHEMA(plugin_source_fields);

static const struct field fetch_plugin_fields[] = {
    {.name = "path", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "resolved_ref", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED | FIELD_NULLABLE},
    {.name = "source", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "repo_path", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED | FIELD_NULLABLE},
    {.name = "manifest", .kind = FIELD_MAP, .rules = FIELD_REQUIRED},
    {.name = "skills", .kind = FIELD_TEXTS, .rules = FIELD_REQUIRED},
    {.name = "commands", .kind = FIELD_TEXTS, .rules = FIELD_REQUIRED},
};
static const struct object_schema fetch_plugin_schema = SCHEMA(fetch_plugin_fields);

static const struct field installed_plugin_fields[] = {
    INSTALLED_FIELDS,
    {.name = "skills", .kind = FIELD_LIST, .rules = FIELD_NULLABLE},
    {.name = "files", .kind = FIELD_TEXTS, .rules = FIELD_NULLABLE},
};
static const struct object_schema installed_plugin_schema = SCHEMA(installed_plugin_fields);

static const struct field installed_plugins_list_fields[] = {
    {.name = "plugins",
     .kind = FIELD_OBJECTS,
     .rules = FIELD_REQUIRED,
     .items = &installed_plugin_schema},
};
static const struct object_schema installed_plugins_list_schema =
    SCHEMA(installed_plugins_list_fields);

static const struct field update_plugin_fields[] = {
    {.name = "message", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "plugin",
     .kind = FIELD_OBJECT,
     .rules = FIELD_REQUIRED,
     .items = &installed_plugin_schema},
};
static const struct object_schema update_plugin_schema = SCHEMA(update_plugin_fields);

static const struct field plugin_marketplace_fields[] = {
    {.name = "plugins", .kind = FIELD_LIST, .rules = FIELD_REQUIRED},
};
static const struct object_schema plugin_marketplace_schema = SCHEMA(plugin_marketplace_fields);

static const struct field hooks_request_fields[] = {
    {.name = "project_dir", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct object_schema hooks_request_schema = SCHEMA(hooks_request_fields);

static const struct field hooks_answer_fields[] = {
    {.name = "hook_config", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
};
static const struct object_schema hooks_answer_schema = SCHEMA(hooks_answer_fields);

/* clang-format off */
const struct operation tool_operations[] = {
    OPERATION(HTTP_GET, "/api/tools/", "Names of the tools", .answer_form = ANSWER_TEXTS),
    OPERATION(HTTP_GET, "/api/tools/catalog", "Tools with their description", .answer = {"ToolCatalogResponse", &tool_catalog_schema}),
    OPERATION(HTTP_POST, "/api/skills", "Skills from all sources", .body = {"SkillsRequest", &skills_request_schema}, .answer = {"SkillsResponse", &skills_answer_schema}),
    OPERATION(HTTP_GET, "/api/skills/catalog", "List skills that can be selected", .answer = {"SkillCatalogResponse", &skill_catalog_schema}),
    OPERATION(HTTP_POST, "/api/skills/sync", "Fetch the public skills again", .answer = {"SyncResponse", &sync_schema}),
    OPERATION(HTTP_POST, "/api/skills/install", "Install a skill", .body = {"InstallSkillRequest", &install_skill_schema}, .answer = {"InstalledSkillResponse", &installed_skill_schema}),
    OPERATION(HTTP_GET, "/api/skills/installed", "Installed skills", .answer = {"InstalledSkillsListResponse", &installed_skills_list_schema}),
    OPERATION(HTTP_GET, "/api/skills/installed/{skill_name}", "One installed skill", .answer = {"InstalledSkillResponse", &installed_skill_schema}),
    OPERATION(HTTP_PATCH, "/api/skills/installed/{skill_name}", "Switch a skill on or off", .body = {"UpdateSkillStateRequest", &skill_switch_schema}, .answer = {"UpdateSkillStateResponse", &update_skill_state_schema}),
    OPERATION(HTTP_DELETE, "/api/skills/installed/{skill_name}", "Remove a skill", .answer = {"UninstallSkillResponse", &uninstall_skill_schema}),
    OPERATION(HTTP_POST, "/api/skills/installed/{skill_name}/refresh", "Fetch a skill again", .answer = {"UpdateSkillResponse", &update_skill_schema}),
    OPERATION(HTTP_GET, "/api/skills/marketplace", "Skills that can be installed", .answer = {"SkillMarketplaceResponse", &skill_marketplace_schema}),
    OPERATION(HTTP_POST, "/api/sub-agents", "List sub-agents", .body = {"SubAgentsRequest", &sub_agents_request_schema}, .answer = {"SubAgentsResponse", &sub_agents_answer_schema}),
    OPERATION(HTTP_POST, "/api/plugins", "Plugins from all sources", .body = {"PluginsRequest", &plugins_request_schema}, .answer = {"PluginsResponse", &plugins_answer_schema}),
    OPERATION(HTTP_POST, "/api/plugins/fetch", "Fetch a plugin without installing it", .body = {"FetchPluginRequest", &plugin_source_schema}, .answer = {"FetchPluginResponse", &fetch_plugin_schema}),
    OPERATION(HTTP_POST, "/api/plugins/install", "Install a plugin", .body = {"InstallSkillRequest", &install_skill_schema}, .answer = {"InstalledPluginResponse", &installed_plugin_schema}),
    OPERATION(HTTP_GET, "/api/plugins/installed", "Installed plugins", .answer = {"InstalledPluginsListResponse", &installed_plugins_list_schema}),
    OPERATION(HTTP_GET, "/api/plugins/installed/{plugin_name}", "One installed plugin", .answer = {"InstalledPluginResponse", &installed_plugin_schema}),
    OPERATION(HTTP_PATCH, "/api/plugins/installed/{plugin_name}", "Switch a plugin on or off", .body = {"UpdateSkillStateRequest", &skill_switch_schema}, .answer = {"UpdateSkillStateResponse", &update_skill_state_schema}),
    OPERATION(HTTP_DELETE, "/api/plugins/installed/{plugin_name}", "Remove a plugin", .answer = {"UninstallSkillResponse", &uninstall_skill_schema}),
    OPERATION(HTTP_POST, "/api/plugins/installed/{plugin_name}/refresh", "Fetch a plugin again", .answer = {"UpdatePluginResponse", &update_plugin_schema}),
    OPERATION(HTTP_GET, "/api/plugins/marketplace", "Plugins that can be installed", .answer = {"PluginMarketplaceResponse", &plugin_marketplace_schema}),
    OPERATION(HTTP_POST, "/api/hooks", "Hooks of a project", .body = {"HooksRequest", &hooks_request_schema}, .answer = {"HooksResponse", &hooks_answer_schema}),
    {.pattern = NULL},
};
/* clang-format on */
