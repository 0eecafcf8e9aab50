/*
 * All route tables in one list.
 */
#include "fcgi/agent/agent_api.h"
#include "fcgi/agent/socket_access.h"
#include "fcgi/app/app.h"
#include "fcgi/core/router.h"
#include "fcgi/openapi/openapi_document.h"
#include "fcgi/preview/preview_origin.h"
#include "fcgi/settings/user_documents.h"

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
    repository_routes,
    execute_routes,
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
    server_consent_routes,
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
    user_budget_routes,
    workspace_place_routes,
    workspace_session_routes,
    init_routes,
    sign_in_routes,
    sandbox_routes,
    sandbox_spec_routes,
    sandbox_secret_routes,
    preview_pass_routes,
    preview_routes,
    socket_access_routes,
    NULL,
};
