#include "sandbox/action_routes.h"

#include "base/sandbox_key.h"
#include "sandbox/actions/actions.h"
#include "sandbox/bash/bash_routes.h"
#include "sandbox/checkpoint/checkpoint_routes.h"
#include "sandbox/core/action_limits.h"
#include "sandbox/files/archive.h"
#include "sandbox/files/files.h"
#include "sandbox/files/project_files.h"
#include "sandbox/files/static_files.h"
#include "sandbox/git/credential_routes.h"
#include "sandbox/git/git_diff.h"
#include "sandbox/git/git_routes.h"
#include "sandbox/git/repository_fetch.h"
#include "sandbox/http/http_route.h"
#include "sandbox/http/server_proof.h"
#include "sandbox/init.h"
#include "sandbox/legacy/legacy_actions.h"
#include "sandbox/legacy/legacy_list.h"
#include "sandbox/legacy/legacy_transfer.h"
#include "sandbox/ports/mcp_stdio.h"
#include "sandbox/ports/ports.h"
#include "sandbox/ports/vscode.h"
#include "sandbox/server_status.h"

static const struct http_route routes[] = {
    {METHOD_GET, "/alive", ROUTE_OPEN, 0, server_status_handle_alive, NULL},
    {METHOD_GET, "/health", ROUTE_OPEN, 0, server_status_handle_alive, NULL},
    {METHOD_GET, "/ready", ROUTE_OPEN, 0, server_status_handle_ready, NULL},
    {METHOD_GET, "/server_info", ROUTE_OPEN, 0, server_status_handle_info, NULL},
    {METHOD_GET, "/api/init", ROUTE_OPEN, 0, init_handle_get, NULL},
    {METHOD_POST, "/api/init", ROUTE_OPEN, MAX_INIT_BODY_BYTES, init_handle_post, init_begin_post},
    {METHOD_GET, SANDBOX_PROOF_PATH, ROUTE_OPEN, 0, server_proof_handle, NULL},
    {METHOD_PUT, "/actions/{id}", ROUTE_KEYED, MAX_ACTION_BODY_BYTES, actions_handle_put, NULL},
    {METHOD_GET, "/actions/{id}", ROUTE_KEYED, 0, actions_handle_get, NULL},
    {METHOD_DELETE, "/actions/{id}", ROUTE_KEYED, 0, actions_handle_delete, NULL},
    {METHOD_POST, "/actions/acknowledge", ROUTE_KEYED, MAX_SMALL_BODY_BYTES,
     actions_handle_acknowledge, NULL},
    {METHOD_POST, "/conversations/{id}/interrupt", ROUTE_KEYED, MAX_SMALL_BODY_BYTES,
     actions_handle_interrupt, NULL},
    {METHOD_GET, "/conversations/{id}/progress", ROUTE_KEYED, 0, actions_handle_progress, NULL},
    {METHOD_DELETE, "/conversations/{id}", ROUTE_KEYED, MAX_SMALL_BODY_BYTES, actions_handle_forget,
     NULL},
    {METHOD_POST, "/api/bash/start_bash_command", ROUTE_KEYED, MAX_SMALL_BODY_BYTES,
     bash_handle_start, NULL},
    {METHOD_POST, "/api/bash/execute_bash_command", ROUTE_KEYED, MAX_SMALL_BODY_BYTES,
     bash_handle_execute, NULL},
    {METHOD_POST, "/api/bash/bash_commands/{id}/stop", ROUTE_KEYED, MAX_SMALL_BODY_BYTES,
     bash_handle_stop, NULL},
    {METHOD_GET, "/api/bash/bash_events/search", ROUTE_KEYED, 0, bash_handle_search, NULL},
    {METHOD_GET, "/api/bash/bash_events", ROUTE_KEYED, MAX_SMALL_BODY_BYTES, bash_handle_batch,
     NULL},
    {METHOD_GET, "/api/bash/bash_events/", ROUTE_KEYED, MAX_SMALL_BODY_BYTES, bash_handle_batch,
     NULL},
    {METHOD_GET, "/api/bash/bash_events/{id}", ROUTE_KEYED, 0, bash_handle_get, NULL},
    {METHOD_DELETE, "/api/bash/bash_events", ROUTE_KEYED, MAX_SMALL_BODY_BYTES, bash_handle_clear,
     NULL},
    {METHOD_POST, "/api/file/upload", ROUTE_KEYED, MAX_UPLOAD_BYTES + MAX_SMALL_BODY_BYTES,
     files_handle_upload, files_begin_upload},
    {METHOD_POST, "/api/file/upload/{path*}", ROUTE_KEYED, MAX_UPLOAD_BYTES + MAX_SMALL_BODY_BYTES,
     files_handle_upload, files_begin_upload},
    {METHOD_GET, "/api/file/download", ROUTE_KEYED, 0, files_handle_download, NULL},
    {METHOD_GET, "/api/file/download/{path*}", ROUTE_KEYED, 0, files_handle_download, NULL},
    {METHOD_POST, "/api/file/create_directory", ROUTE_KEYED, MAX_SMALL_BODY_BYTES,
     files_handle_create_directory, NULL},
    {METHOD_GET, "/api/file/home", ROUTE_KEYED, 0, files_handle_home, NULL},
    {METHOD_GET, "/api/file/search_subdirs", ROUTE_KEYED, 0, files_handle_search, NULL},
    {METHOD_GET, "/api/file/archive", ROUTE_KEYED, 0, archive_handle, NULL},
    {METHOD_GET, "/files/shown", ROUTE_KEYED, 0, static_files_handle, NULL},
    {METHOD_POST, "/editor/start", ROUTE_KEYED, MAX_SMALL_BODY_BYTES, vscode_handle_start, NULL},
    {METHOD_POST, "/editor/status", ROUTE_KEYED, MAX_SMALL_BODY_BYTES, vscode_handle_status, NULL},
    {METHOD_POST, "/ports/listening", ROUTE_KEYED, MAX_SMALL_BODY_BYTES, ports_handle_listening,
     NULL},
    {METHOD_POST, "/programs/talk", ROUTE_KEYED, MAX_SMALL_BODY_BYTES, mcp_stdio_handle, NULL},
    {METHOD_POST, "/files/collect", ROUTE_KEYED, MAX_SMALL_BODY_BYTES, project_files_handle, NULL},
    {METHOD_POST, "/repositories/fetch", ROUTE_KEYED, MAX_SMALL_BODY_BYTES, repository_fetch_handle,
     NULL},
    {METHOD_POST, "/git/credentials", ROUTE_KEYED, MAX_SMALL_BODY_BYTES, credentials_handle, NULL},
    {METHOD_POST, "/checkpoints/take", ROUTE_KEYED, MAX_SMALL_BODY_BYTES, checkpoint_handle_take,
     NULL},
    {METHOD_POST, "/checkpoints/missing", ROUTE_KEYED, MAX_SMALL_BODY_BYTES,
     checkpoint_handle_missing, NULL},
    {METHOD_POST, "/checkpoints/read", ROUTE_KEYED, MAX_SMALL_BODY_BYTES, checkpoint_handle_read,
     NULL},
    {METHOD_POST, "/checkpoints/write", ROUTE_KEYED, MAX_ACTION_BODY_BYTES, checkpoint_handle_write,
     NULL},
    {METHOD_GET, "/api/git/changes", ROUTE_KEYED, 0, git_handle_changes, NULL},
    {METHOD_GET, "/api/git/diff", ROUTE_KEYED, 0, git_handle_diff, NULL},
    {METHOD_GET, "/api/git/commits", ROUTE_KEYED, 0, git_handle_commits, NULL},
    {METHOD_GET, "/api/git/commits/{sha}/changes", ROUTE_KEYED, 0, git_handle_commit_changes, NULL},
    {METHOD_POST, "/execute_action", ROUTE_OLDER, MAX_ACTION_BODY_BYTES, legacy_actions_handle,
     NULL},
    {METHOD_POST, "/list_files", ROUTE_OLDER, MAX_SMALL_BODY_BYTES, legacy_list_handle, NULL},
    {METHOD_POST, "/upload_file", ROUTE_OLDER, MAX_UPLOAD_BYTES + MAX_SMALL_BODY_BYTES,
     legacy_upload_handle, legacy_upload_begin},
    {METHOD_GET, "/download_files", ROUTE_OLDER, 0, legacy_download_handle, NULL},
    {METHOD_GET, "/vscode/connection_token", ROUTE_OLDER, 0, legacy_editor_handle, NULL},
    {METHOD_POST, "/update_mcp_server", ROUTE_OLDER, MAX_SMALL_BODY_BYTES, legacy_mcp_handle, NULL},
};

const struct http_route_table action_routes = {routes, ARRAY_SIZE(routes)};
