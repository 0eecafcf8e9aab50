/*
 * All there is, in one list.
 */
#include "fcgi/agent/agent.h"
#include "fcgi/app/app.h"
#include "fcgi/preview/preview.h"
#include "fcgi/router.h"
#include "fcgi/settings/keep.h"

const struct route *const route_tables[] = {
    health_routes,
    conversation_create_routes,
    conversation_read_routes,
    conversation_change_routes,
    conversation_run_routes,
    conversation_branch_routes,
    conversation_ask_routes,
    conversation_goal_routes,
    conversation_children_routes,
    conversation_switch_routes,
    final_response_routes,
    event_routes,
    confirmation_routes,
    bash_routes,
    file_routes,
    git_routes,
    tool_routes,
    skill_routes,
    plugin_routes,
    plugin_fetch_routes,
    install_routes,
    installed_routes,
    hook_routes,
    extension_routes,
    vscode_routes,
    trajectory_routes,
    workspace_routes,
    mcp_routes,
    openai_routes,
    runtime_routes,
    preview_list_routes,
    description_routes,
    settings_routes,
    mcp_settings_routes,
    secret_routes,
    profile_routes,
    connection_routes,
    agent_profile_routes,
    meta_profile_routes,
    settings_schema_routes,
    model_catalogue_routes,
    workspace_place_routes,
    workspace_session_routes,
    init_routes,
    sign_in_routes,
    preview_pass_routes,
    preview_routes,
    NULL,
};
