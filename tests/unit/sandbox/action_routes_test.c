/*
 * The server's routes: who may use each of them, and how much a client may send.
 */
#include "sandbox/action_routes.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sandbox_key.h"
#include "base/text.h"
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
#include "unit/sandbox/core/core_tests.h"

/* Bytes of a body; an upload's file has 1 GiB. */
enum {
    SMALL = 2 * 1024 * 1024,
    ACTION = 32 * 1024 * 1024,
    INIT = 1200 * 1024,
    UPLOAD = 1024 * 1024 * 1024 + SMALL,
};

static const struct {
    enum request_method method;
    const char *path;
    const char *param;
    enum http_route_access access;
    int64_t max_body;
    void (*handle)(struct server_request *request);
    void (*begin)(struct server_request *request);
} expected[] = {
    {METHOD_GET, "/alive", "", ROUTE_OPEN, 0, server_status_handle_alive, NULL},
    {METHOD_GET, "/health", "", ROUTE_OPEN, 0, server_status_handle_alive, NULL},
    {METHOD_GET, "/ready", "", ROUTE_OPEN, 0, server_status_handle_ready, NULL},
    {METHOD_GET, "/server_info", "", ROUTE_OPEN, 0, server_status_handle_info, NULL},
    {METHOD_GET, "/api/init", "", ROUTE_OPEN, 0, init_handle_get, NULL},
    {METHOD_POST, "/api/init", "", ROUTE_OPEN, INIT, init_handle_post, init_begin_post},
    {METHOD_GET, SANDBOX_PROOF_PATH, "", ROUTE_OPEN, 0, server_proof_handle, NULL},
    {METHOD_PUT, "/actions/x1", "x1", ROUTE_KEYED, ACTION, actions_handle_put, NULL},
    {METHOD_GET, "/actions/x1", "x1", ROUTE_KEYED, 0, actions_handle_get, NULL},
    {METHOD_DELETE, "/actions/x1", "x1", ROUTE_KEYED, 0, actions_handle_delete, NULL},
    {METHOD_POST, "/actions/acknowledge", "", ROUTE_KEYED, SMALL, actions_handle_acknowledge, NULL},
    {METHOD_POST, "/conversations/x1/interrupt", "x1", ROUTE_KEYED, SMALL, actions_handle_interrupt,
     NULL},
    {METHOD_GET, "/conversations/x1/progress", "x1", ROUTE_KEYED, 0, actions_handle_progress, NULL},
    {METHOD_DELETE, "/conversations/x1", "x1", ROUTE_KEYED, SMALL, actions_handle_forget, NULL},
    {METHOD_POST, "/api/bash/start_bash_command", "", ROUTE_KEYED, SMALL, bash_handle_start, NULL},
    {METHOD_POST, "/api/bash/execute_bash_command", "", ROUTE_KEYED, SMALL, bash_handle_execute,
     NULL},
    {METHOD_POST, "/api/bash/bash_commands/x1/stop", "x1", ROUTE_KEYED, SMALL, bash_handle_stop,
     NULL},
    {METHOD_GET, "/api/bash/bash_events/search", "", ROUTE_KEYED, 0, bash_handle_search, NULL},
    {METHOD_GET, "/api/bash/bash_events", "", ROUTE_KEYED, SMALL, bash_handle_batch, NULL},
    {METHOD_GET, "/api/bash/bash_events/", "", ROUTE_KEYED, SMALL, bash_handle_batch, NULL},
    {METHOD_GET, "/api/bash/bash_events/x1", "x1", ROUTE_KEYED, 0, bash_handle_get, NULL},
    {METHOD_DELETE, "/api/bash/bash_events", "", ROUTE_KEYED, SMALL, bash_handle_clear, NULL},
    {METHOD_POST, "/api/file/upload", "", ROUTE_KEYED, UPLOAD, files_handle_upload,
     files_begin_upload},
    {METHOD_POST, "/api/file/upload/a/b", "a/b", ROUTE_KEYED, UPLOAD, files_handle_upload,
     files_begin_upload},
    {METHOD_GET, "/api/file/download", "", ROUTE_KEYED, 0, files_handle_download, NULL},
    {METHOD_GET, "/api/file/download/a/b", "a/b", ROUTE_KEYED, 0, files_handle_download, NULL},
    {METHOD_POST, "/api/file/create_directory", "", ROUTE_KEYED, SMALL,
     files_handle_create_directory, NULL},
    {METHOD_GET, "/api/file/home", "", ROUTE_KEYED, 0, files_handle_home, NULL},
    {METHOD_GET, "/api/file/search_subdirs", "", ROUTE_KEYED, 0, files_handle_search, NULL},
    {METHOD_GET, "/api/file/archive", "", ROUTE_KEYED, 0, archive_handle, NULL},
    {METHOD_GET, "/files/shown", "", ROUTE_KEYED, 0, static_files_handle, NULL},
    {METHOD_POST, "/editor/start", "", ROUTE_KEYED, SMALL, vscode_handle_start, NULL},
    {METHOD_POST, "/editor/status", "", ROUTE_KEYED, SMALL, vscode_handle_status, NULL},
    {METHOD_POST, "/ports/listening", "", ROUTE_KEYED, SMALL, ports_handle_listening, NULL},
    {METHOD_POST, "/programs/talk", "", ROUTE_KEYED, SMALL, mcp_stdio_handle, NULL},
    {METHOD_POST, "/files/collect", "", ROUTE_KEYED, SMALL, project_files_handle, NULL},
    {METHOD_POST, "/repositories/fetch", "", ROUTE_KEYED, SMALL, repository_fetch_handle, NULL},
    {METHOD_POST, "/git/credentials", "", ROUTE_KEYED, SMALL, credentials_handle, NULL},
    {METHOD_POST, "/checkpoints/take", "", ROUTE_KEYED, SMALL, checkpoint_handle_take, NULL},
    {METHOD_POST, "/checkpoints/missing", "", ROUTE_KEYED, SMALL, checkpoint_handle_missing, NULL},
    {METHOD_POST, "/checkpoints/read", "", ROUTE_KEYED, SMALL, checkpoint_handle_read, NULL},
    {METHOD_POST, "/checkpoints/write", "", ROUTE_KEYED, ACTION, checkpoint_handle_write, NULL},
    {METHOD_GET, "/api/git/changes", "", ROUTE_KEYED, 0, git_handle_changes, NULL},
    {METHOD_GET, "/api/git/diff", "", ROUTE_KEYED, 0, git_handle_diff, NULL},
    {METHOD_GET, "/api/git/commits", "", ROUTE_KEYED, 0, git_handle_commits, NULL},
    {METHOD_GET, "/api/git/commits/x1/changes", "x1", ROUTE_KEYED, 0, git_handle_commit_changes,
     NULL},
    {METHOD_POST, "/execute_action", "", ROUTE_OLDER, ACTION, legacy_actions_handle, NULL},
    {METHOD_POST, "/list_files", "", ROUTE_OLDER, SMALL, legacy_list_handle, NULL},
    {METHOD_POST, "/upload_file", "", ROUTE_OLDER, UPLOAD, legacy_upload_handle,
     legacy_upload_begin},
    {METHOD_GET, "/download_files", "", ROUTE_OLDER, 0, legacy_download_handle, NULL},
    {METHOD_GET, "/vscode/connection_token", "", ROUTE_OLDER, 0, legacy_editor_handle, NULL},
    {METHOD_POST, "/update_mcp_server", "", ROUTE_OLDER, SMALL, legacy_mcp_handle, NULL},
};

static void each_route_has_its_access_and_limit(void **state)
{
    (void)state;
    assert_int_equal(action_routes.n, ARRAY_SIZE(expected));
    for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
        CLEANUP(mem_freep) char *param = NULL;
        struct error err = ERROR_INIT;
        const struct http_route *route =
            http_route_find(&action_routes, expected[i].method, expected[i].path, &param, &err);

        if (route == NULL)
            fail_msg("%s: %s", expected[i].path, err.message);
        assert_string_equal(param, expected[i].param);
        assert_int_equal(route->access, expected[i].access);
        assert_int_equal(route->max_body, expected[i].max_body);
        assert_ptr_equal(route->handle, expected[i].handle);
        assert_ptr_equal(route->begin, expected[i].begin);
    }
}

static void other_paths_and_methods_are_refused(void **state)
{
    static const struct {
        enum request_method method;
        const char *path;
        enum error_code code;
        const char *message;
    } cases[] = {
        {METHOD_POST, "/alive", ERROR_UNSUPPORTED, "Method Not Allowed"},
        {METHOD_GET, "/api/file/upload/a", ERROR_UNSUPPORTED, "Method Not Allowed"},
        {METHOD_GET, "/aliv", ERROR_NOT_FOUND, "Not Found"},
        {METHOD_GET, "/alive/", ERROR_NOT_FOUND, "Not Found"},
        {METHOD_PUT, "/actions/", ERROR_NOT_FOUND, "Not Found"},
        {METHOD_PUT, "/actions/a/b", ERROR_NOT_FOUND, "Not Found"},
        {METHOD_POST, "/conversations/a/other", ERROR_NOT_FOUND, "Not Found"},
        {METHOD_POST, "/conversations/a/b/interrupt", ERROR_NOT_FOUND, "Not Found"},
        {METHOD_GET, "/api/file/download/", ERROR_NOT_FOUND, "Not Found"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct error err = ERROR_INIT;
        char *param = NULL;

        assert_null(http_route_find(&action_routes, cases[i].method, cases[i].path, &param, &err));
        assert_int_equal(err.code, cases[i].code);
        assert_string_equal(err.message, cases[i].message);
        assert_null(param);
    }
}

int action_routes_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_route_has_its_access_and_limit),
        cmocka_unit_test(other_paths_and_methods_are_refused),
    };

    return cmocka_run_group_tests_name("sandbox/action_routes", tests, NULL, NULL);
}
