#include "sandbox/routes.h"

#include "base/sandbox_key.h"
#include "sandbox/actions/actions.h"
#include "sandbox/bash/bash_routes.h"
#include "sandbox/core/limits.h"
#include "sandbox/files/archive.h"
#include "sandbox/files/collect.h"
#include "sandbox/files/files.h"
#include "sandbox/files/shown.h"
#include "sandbox/git/credential_routes.h"
#include "sandbox/git/fetch.h"
#include "sandbox/git/git_diff.h"
#include "sandbox/git/git_routes.h"
#include "sandbox/http/prove.h"
#include "sandbox/http/route.h"
#include "sandbox/init.h"
#include "sandbox/legacy/execute.h"
#include "sandbox/legacy/execute_list.h"
#include "sandbox/legacy/execute_transfer.h"
#include "sandbox/ports/dialogue.h"
#include "sandbox/ports/ports.h"
#include "sandbox/ports/vscode.h"
#include "sandbox/status.h"

static const struct route routes[] = {
    {HTTP_GET, "/alive", ROUTE_OPEN, 0, status_handle_alive, NULL},
    {HTTP_GET, "/health", ROUTE_OPEN, 0, status_handle_alive, NULL},
    {HTTP_GET, "/ready", ROUTE_OPEN, 0, status_handle_ready, NULL},
    {HTTP_GET, "/server_info", ROUTE_OPEN, 0, status_handle_info, NULL},
    {HTTP_GET, "/api/init", ROUTE_OPEN, 0, init_handle_get, NULL},
    {HTTP_POST, "/api/init", ROUTE_OPEN, MAX_INIT_BODY_BYTES, init_handle_post, NULL},
    {HTTP_GET, SANDBOX_PROOF_PATH, ROUTE_OPEN, 0, prove_handle, NULL},
    {HTTP_PUT, "/actions/{id}", ROUTE_KEYED, MAX_ACTION_BODY_BYTES, actions_handle_put, NULL},
    {HTTP_GET, "/actions/{id}", ROUTE_KEYED, 0, actions_handle_get, NULL},
    {HTTP_DELETE, "/actions/{id}", ROUTE_KEYED, 0, actions_handle_delete, NULL},
    {HTTP_POST, "/actions/acknowledge", ROUTE_KEYED, MAX_SMALL_BODY_BYTES,
     actions_handle_acknowledge, NULL},
    {HTTP_POST, "/conversations/{id}/interrupt", ROUTE_KEYED, MAX_SMALL_BODY_BYTES,
     actions_handle_interrupt, NULL},
    {HTTP_DELETE, "/conversations/{id}", ROUTE_KEYED, MAX_SMALL_BODY_BYTES, actions_handle_forget,
     NULL},
    {HTTP_POST, "/api/bash/start_bash_command", ROUTE_KEYED, MAX_SMALL_BODY_BYTES,
     bash_handle_start, NULL},
    {HTTP_POST, "/api/bash/execute_bash_command", ROUTE_KEYED, MAX_SMALL_BODY_BYTES,
     bash_handle_execute, NULL},
    {HTTP_POST, "/api/bash/bash_commands/{id}/stop", ROUTE_KEYED, MAX_SMALL_BODY_BYTES,
     bash_handle_stop, NULL},
    {HTTP_GET, "/api/bash/bash_events/search", ROUTE_KEYED, 0, bash_handle_search, NULL},
    {HTTP_GET, "/api/bash/bash_events", ROUTE_KEYED, MAX_SMALL_BODY_BYTES, bash_handle_batch, NULL},
    {HTTP_GET, "/api/bash/bash_events/", ROUTE_KEYED, MAX_SMALL_BODY_BYTES, bash_handle_batch,
     NULL},
    {HTTP_GET, "/api/bash/bash_events/{id}", ROUTE_KEYED, 0, bash_handle_get, NULL},
    {HTTP_DELETE, "/api/bash/bash_events", ROUTE_KEYED, MAX_SMALL_BODY_BYTES, bash_handle_clear,
     NULL},
    {HTTP_POST, "/api/file/upload", ROUTE_KEYED, MAX_UPLOAD_BYTES + MAX_SMALL_BODY_BYTES,
     files_handle_upload, files_begin_upload},
    {HTTP_POST, "/api/file/upload/{path*}", ROUTE_KEYED, MAX_UPLOAD_BYTES + MAX_SMALL_BODY_BYTES,
     files_handle_upload, files_begin_upload},
    {HTTP_GET, "/api/file/download", ROUTE_KEYED, 0, files_handle_download, NULL},
    {HTTP_GET, "/api/file/download/{path*}", ROUTE_KEYED, 0, files_handle_download, NULL},
    {HTTP_POST, "/api/file/create_directory", ROUTE_KEYED, MAX_SMALL_BODY_BYTES,
     files_handle_create_directory, NULL},
    {HTTP_GET, "/api/file/home", ROUTE_KEYED, 0, files_handle_home, NULL},
    {HTTP_GET, "/api/file/search_subdirs", ROUTE_KEYED, 0, files_handle_search, NULL},
    {HTTP_GET, "/api/file/archive", ROUTE_KEYED, 0, archive_handle, NULL},
    {HTTP_GET, "/files/shown", ROUTE_KEYED, 0, shown_handle, NULL},
    {HTTP_POST, "/editor/start", ROUTE_KEYED, MAX_SMALL_BODY_BYTES, vscode_handle_start, NULL},
    {HTTP_POST, "/editor/status", ROUTE_KEYED, MAX_SMALL_BODY_BYTES, vscode_handle_status, NULL},
    {HTTP_POST, "/ports/listening", ROUTE_KEYED, MAX_SMALL_BODY_BYTES, ports_handle_listening,
     NULL},
    {HTTP_POST, "/programs/talk", ROUTE_KEYED, MAX_SMALL_BODY_BYTES, dialogue_handle, NULL},
    {HTTP_POST, "/files/collect", ROUTE_KEYED, MAX_SMALL_BODY_BYTES, collect_handle, NULL},
    {HTTP_POST, "/repositories/fetch", ROUTE_KEYED, MAX_SMALL_BODY_BYTES, fetch_handle, NULL},
    {HTTP_POST, "/git/credentials", ROUTE_KEYED, MAX_SMALL_BODY_BYTES, credentials_handle, NULL},
    {HTTP_GET, "/api/git/changes", ROUTE_KEYED, 0, git_handle_changes, NULL},
    {HTTP_GET, "/api/git/diff", ROUTE_KEYED, 0, git_handle_diff, NULL},
    {HTTP_GET, "/api/git/commits", ROUTE_KEYED, 0, git_handle_commits, NULL},
    {HTTP_GET, "/api/git/commits/{sha}/changes", ROUTE_KEYED, 0, git_handle_commit_changes, NULL},
    {HTTP_POST, "/execute_action", ROUTE_OLDER, MAX_ACTION_BODY_BYTES, execute_handle, NULL},
    {HTTP_POST, "/list_files", ROUTE_OLDER, MAX_SMALL_BODY_BYTES, execute_list_handle, NULL},
    {HTTP_POST, "/upload_file", ROUTE_OLDER, MAX_UPLOAD_BYTES + MAX_SMALL_BODY_BYTES,
     execute_upload_handle, execute_upload_begin},
    {HTTP_GET, "/download_files", ROUTE_OLDER, 0, execute_download_handle, NULL},
    {HTTP_GET, "/vscode/connection_token", ROUTE_OLDER, 0, execute_editor_handle, NULL},
    {HTTP_POST, "/update_mcp_server", ROUTE_OLDER, MAX_SMALL_BODY_BYTES, execute_mcp_handle, NULL},
};

const struct route_table action_routes = {routes, ARRAY_SIZE(routes)};
