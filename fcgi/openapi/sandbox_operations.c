/*
 * Commands, files, git and editor of a sandbox: the shared one, and a conversation's.
 */
#include "base/attr.h"
#include "fcgi/openapi/operation.h"
#include "fcgi/openapi/success_schema.h"
#include "model/plugins/repository.h"
#include "model/schema/object_schema.h"

static const struct field file_home_query_fields[] = {
    {.name = "include_hidden", .kind = FIELD_BOOL, .fallback = "false"},
};
static const struct object_schema file_home_query = SCHEMA(file_home_query_fields);

static const struct field file_search_subdirs_query_fields[] = {
    {.name = "path", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "page_id", .kind = FIELD_TEXT},
    {.name = "limit", .kind = FIELD_INT, .rules = FIELD_FROM_1, .fallback = "100"},
    {.name = "include_hidden", .kind = FIELD_BOOL, .fallback = "false"},
};
static const struct object_schema file_search_subdirs_query =
    SCHEMA(file_search_subdirs_query_fields);

static const struct field bash_search_query_fields[] = {
    {.name = "kind__eq", .kind = FIELD_TEXT, .words = "BashCommand|BashOutput"},
    {.name = "command_id__eq", .kind = FIELD_UUID},
    {.name = "timestamp__gte", .kind = FIELD_TEXT},
    {.name = "timestamp__lt", .kind = FIELD_TEXT},
    {.name = "order__gt", .kind = FIELD_INT},
    {.name = "sort_order",
     .kind = FIELD_TEXT,
     .fallback = "\"TIMESTAMP\"",
     .words = "TIMESTAMP|TIMESTAMP_DESC"},
    {.name = "page_id", .kind = FIELD_TEXT},
    {.name = "limit", .kind = FIELD_INT, .rules = FIELD_FROM_1, .fallback = "100"},
};
static const struct object_schema bash_search_query = SCHEMA(bash_search_query_fields);

static const struct field path_query_fields[] = {
    {.name = "path", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct object_schema path_query = SCHEMA(path_query_fields);

static const struct field file_archive_query_fields[] = {
    {.name = "path", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "format",
     .kind = FIELD_TEXT,
     .fallback = "\"git-delta\"",
     .words = "git-delta|tar.gz"},
    {.name = "base_ref", .kind = FIELD_TEXT},
    {.name = "use_default_excludes", .kind = FIELD_BOOL, .fallback = "true"},
    {.name = "exclude", .kind = FIELD_TEXTS},
};
static const struct object_schema file_archive_query = SCHEMA(file_archive_query_fields);

static const struct field git_changes_query_fields[] = {
    {.name = "path", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "ref", .kind = FIELD_TEXT},
};
static const struct object_schema git_changes_query = SCHEMA(git_changes_query_fields);

static const struct field git_diff_query_fields[] = {
    {.name = "path", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "ref", .kind = FIELD_TEXT},
    {.name = "commit", .kind = FIELD_TEXT},
};
static const struct object_schema git_diff_query = SCHEMA(git_diff_query_fields);

static const struct field git_commits_query_fields[] = {
    {.name = "path", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "limit", .kind = FIELD_INT, .rules = FIELD_FROM_1, .fallback = "50"},
};
static const struct object_schema git_commits_query = SCHEMA(git_commits_query_fields);

static const struct field vscode_url_query_fields[] = {
    {.name = "base_url", .kind = FIELD_TEXT},
    {.name = "workspace_dir", .kind = FIELD_TEXT},
};
static const struct object_schema vscode_url_query = SCHEMA(vscode_url_query_fields);

static const struct field repositories_search_query_fields[] = {
    {.name = "provider",
     .kind = FIELD_TEXT,
     .rules = FIELD_REQUIRED,
     .words = "github|gitlab|bitbucket|azure_devops"},
    {.name = "query", .kind = FIELD_TEXT},
    {.name = "limit", .kind = FIELD_INT, .rules = FIELD_FROM_1, .fallback = "100"},
    {.name = "page_id", .kind = FIELD_TEXT},
};
static const struct object_schema repositories_search_query =
    SCHEMA(repositories_search_query_fields);

static const struct field vscode_url_shared_query_fields[] = {
    {.name = "base_url", .kind = FIELD_TEXT},
    {.name = "workspace_dir", .kind = FIELD_TEXT, .fallback = "\"workspace\""},
};
static const struct object_schema vscode_url_shared_query = SCHEMA(vscode_url_shared_query_fields);

static const struct field file_browser_entry_fields[] = {
    {.name = "label", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "path", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct object_schema file_browser_entry_schema = SCHEMA(file_browser_entry_fields);

static const struct field egress_refusal_fields[] = {
    {.name = "host", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "port", .kind = FIELD_INT, .rules = FIELD_REQUIRED | FIELD_NULLABLE},
    {.name = "protocol", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "reason",
     .kind = FIELD_TEXT,
     .rules = FIELD_REQUIRED,
     .words = "host|sandbox|private|link_local|reserved|policy"},
    {.name = "count", .kind = FIELD_INT, .rules = FIELD_REQUIRED},
    {.name = "first_at", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "last_at", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct object_schema egress_refusal_schema = SCHEMA(egress_refusal_fields);

static const struct field egress_refusals_fields[] = {
    {.name = "logged", .kind = FIELD_BOOL, .rules = FIELD_REQUIRED},
    {.name = "detail", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED | FIELD_NULLABLE},
    {.name = "refusals",
     .kind = FIELD_OBJECTS,
     .rules = FIELD_REQUIRED,
     .items = &egress_refusal_schema},
};
static const struct object_schema egress_refusals_schema = SCHEMA(egress_refusals_fields);

static const struct field home_fields[] = {
    {.name = "home", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "favorites", .kind = FIELD_OBJECTS, .items = &file_browser_entry_schema},
    {.name = "locations", .kind = FIELD_OBJECTS, .items = &file_browser_entry_schema},
};
static const struct object_schema home_schema = SCHEMA(home_fields);

static const struct field subdirectory_entry_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "path", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct object_schema subdirectory_entry_schema = SCHEMA(subdirectory_entry_fields);

static const struct field subdirectory_page_fields[] = {
    {.name = "items",
     .kind = FIELD_OBJECTS,
     .rules = FIELD_REQUIRED,
     .items = &subdirectory_entry_schema},
    {.name = "next_page_id", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct object_schema subdirectory_page_schema = SCHEMA(subdirectory_page_fields);

static const struct field bash_event_fields[] = {
    {.name = "id", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "timestamp", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "kind",
     .kind = FIELD_TEXT,
     .rules = FIELD_REQUIRED,
     .words = "BashCommand|BashOutput"},
};
static const struct object_schema bash_event_schema = SCHEMA(bash_event_fields);

static const struct field bash_event_page_fields[] = {
    {.name = "items", .kind = FIELD_OBJECTS, .rules = FIELD_REQUIRED, .items = &bash_event_schema},
    {.name = "next_page_id", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
};
static const struct object_schema bash_event_page_schema = SCHEMA(bash_event_page_fields);

static const struct field bash_request_fields[] = {
    {.name = "command", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "cwd", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "timeout", .kind = FIELD_INT, .fallback = "300"},
};
static const struct object_schema bash_request_schema = SCHEMA(bash_request_fields);

static const struct field bash_command_fields[] = {
    {.name = "command", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "cwd", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "timeout", .kind = FIELD_INT},
    {.name = "id", .kind = FIELD_TEXT},
    {.name = "timestamp", .kind = FIELD_TEXT},
    {.name = "kind", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED, .words = "BashCommand"},
};
static const struct object_schema bash_command_schema = SCHEMA(bash_command_fields);

static const struct field bash_output_fields[] = {
    {.name = "id", .kind = FIELD_TEXT},
    {.name = "timestamp", .kind = FIELD_TEXT},
    {.name = "command_id", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "order", .kind = FIELD_INT},
    {.name = "exit_code", .kind = FIELD_INT, .rules = FIELD_NULLABLE},
    {.name = "stdout", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "stderr", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "kind", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED, .words = "BashOutput"},
};
static const struct object_schema bash_output_schema = SCHEMA(bash_output_fields);

static const struct field file_upload_result_fields[] = {
    {.name = "success", .kind = FIELD_BOOL},
    {.name = "file_size", .kind = FIELD_INT, .rules = FIELD_REQUIRED},
};
static const struct object_schema file_upload_result_schema = SCHEMA(file_upload_result_fields);

static const struct field git_change_fields[] = {
    {.name = "status",
     .kind = FIELD_TEXT,
     .rules = FIELD_REQUIRED,
     .words = "MOVED|ADDED|DELETED|UPDATED"},
    {.name = "path", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct object_schema git_change_schema = SCHEMA(git_change_fields);

static const struct field git_diff_fields[] = {
    {.name = "modified", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED | FIELD_NULLABLE},
    {.name = "original", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED | FIELD_NULLABLE},
};
static const struct object_schema git_diff_schema = SCHEMA(git_diff_fields);

static const struct field git_commit_fields[] = {
    {.name = "sha", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "short_sha", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "subject", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "author", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "timestamp", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct object_schema git_commit_schema = SCHEMA(git_commit_fields);

static const struct field git_commits_page_fields[] = {
    {.name = "commits",
     .kind = FIELD_OBJECTS,
     .rules = FIELD_REQUIRED,
     .items = &git_commit_schema},
    {.name = "has_more", .kind = FIELD_BOOL, .rules = FIELD_REQUIRED},
};
static const struct object_schema git_commits_page_schema = SCHEMA(git_commits_page_fields);

static const struct field vscode_url_fields[] = {
    {.name = "url", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED | FIELD_NULLABLE},
};
static const struct object_schema vscode_url_schema = SCHEMA(vscode_url_fields);

static const struct field git_provider_repository_page_fields[] = {
    {.name = "items", .kind = FIELD_LIST, .rules = FIELD_REQUIRED},
    {.name = "next_page_id", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "missing_token", .kind = FIELD_BOOL},
};
static const struct object_schema git_provider_repository_page_schema =
    SCHEMA(git_provider_repository_page_fields);

static const struct field repository_step_fields[] = {
    {.name = "status",
     .kind = FIELD_TEXT,
     .rules = FIELD_REQUIRED,
     .words = "PREPARING_REPOSITORY|RUNNING_SETUP_SCRIPT|SETTING_UP_GIT_HOOKS"},
    {.name = "is_error", .kind = FIELD_BOOL, .rules = FIELD_REQUIRED},
    {.name = "text", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
};
static const struct object_schema repository_step_schema = SCHEMA(repository_step_fields);

static const struct field repository_result_fields[] = {
    {.name = "path", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED | FIELD_NULLABLE},
    {.name = "branch", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED | FIELD_NULLABLE},
    {.name = "commit", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED | FIELD_NULLABLE},
    {.name = "was_there", .kind = FIELD_BOOL, .rules = FIELD_REQUIRED | FIELD_NULLABLE},
    {.name = "steps",
     .kind = FIELD_OBJECTS,
     .rules = FIELD_REQUIRED,
     .items = &repository_step_schema},
};
static const struct object_schema repository_result_schema = SCHEMA(repository_result_fields);

#define SCOPED "/api/conversations/{runtime_conversation_id}"

/* clang-format off */
const struct operation sandbox_operations[] = {
    OPERATION(HTTP_GET, "/api/file/home", "The home folder and other places to browse", .query = &file_home_query, .answer = {"HomeResponse", &home_schema}),
    OPERATION(HTTP_GET, "/api/file/search_subdirs", "List the folders in a folder", .query = &file_search_subdirs_query, .answer = {"SubdirectoryPage", &subdirectory_page_schema}),
    OPERATION(HTTP_GET, SCOPED "/bash/bash_events/search", "List commands and their output, paged", .query = &bash_search_query, .answer = {"BashEventPage", &bash_event_page_schema}),
    OPERATION(HTTP_GET, SCOPED "/bash/bash_events/{event_id}", "One command or piece of output", .answer = {"BashEvent", &bash_event_schema}),
    OPERATION(HTTP_GET, SCOPED "/bash/bash_events/", "Several commands or pieces of output by id", .answer = {"BashEvent", &bash_event_schema}, .body_form = BODY_FORM_IDS, .answer_form = ANSWER_LIST_OR_NULLS),
    OPERATION(HTTP_POST, SCOPED "/bash/start_bash_command", "Start a command in the background", .body = {"ExecuteBashRequest", &bash_request_schema}, .answer = {"BashCommand", &bash_command_schema}),
    OPERATION(HTTP_POST, SCOPED "/bash/execute_bash_command", "Run a command and wait until it ends", .body = {"ExecuteBashRequest", &bash_request_schema}, .answer = {"BashOutput", &bash_output_schema}),
    OPERATION(HTTP_DELETE, SCOPED "/bash/bash_events", "Delete all commands and their output"),
    OPERATION(HTTP_POST, SCOPED "/bash/bash_commands/{command_id}/stop", "Stop a command", .answer = {"Success", &success_schema}),
    OPERATION(HTTP_POST, SCOPED "/file/upload", "Write a file", .query = &path_query, .answer = {"FileUploadResult", &file_upload_result_schema}, .body_form = BODY_FORM_UPLOAD),
    OPERATION(HTTP_GET, SCOPED "/file/download", "Read a file", .query = &path_query, .answer_form = ANSWER_BYTES),
    OPERATION(HTTP_POST, SCOPED "/file/create_directory", "Create a folder and its parents", .query = &path_query, .answer = {"Success", &success_schema}),
    OPERATION(HTTP_GET, SCOPED "/file/download-trajectory/{conversation_id}", "All events of a conversation as an archive", .answer_form = ANSWER_BYTES),
    OPERATION(HTTP_GET, SCOPED "/file/archive", "A folder as an archive", .query = &file_archive_query, .answer_form = ANSWER_BYTES),
    OPERATION(HTTP_GET, SCOPED "/git/changes", "Files that differ from a ref", .query = &git_changes_query, .answer = {"GitChange", &git_change_schema}, .answer_form = ANSWER_LIST),
    OPERATION(HTTP_GET, SCOPED "/git/diff", "A file before and after its changes", .query = &git_diff_query, .answer = {"GitDiff", &git_diff_schema}),
    OPERATION(HTTP_GET, SCOPED "/git/commits", "The latest commits", .query = &git_commits_query, .answer = {"GitCommitsPage", &git_commits_page_schema}),
    OPERATION(HTTP_GET, SCOPED "/git/commits/{sha}/changes", "Files that a commit changed", .query = &path_query, .answer = {"GitChange", &git_change_schema}, .answer_form = ANSWER_LIST),
    OPERATION(HTTP_POST, SCOPED "/git/repository", "Clone a repository into the workspace, run its set-up and install its hook", .body = {"RepositoryRequest", &repository_request_schema}, .answer = {"RepositoryResult", &repository_result_schema}),
    OPERATION(HTTP_POST, SCOPED "/git/credentials", "Give the sandbox's git a credential for one host, until it expires", .body = {"RepositoryCredentialsRequest", &repository_credentials_request_schema}, .answer = {"Success", &success_schema}),
    OPERATION(HTTP_GET, "/api/conversations/{conversation_id}/previews", "List addresses of servers in the sandbox"),
    OPERATION(HTTP_GET, "/api/conversations/{conversation_id}/egress_refusals", "List connections that the egress policy refused", .answer = {"EgressRefusals", &egress_refusals_schema}),
    OPERATION(HTTP_GET, SCOPED "/vscode/url", "URL of the editor", .query = &vscode_url_query, .answer = {"VSCodeUrlResponse", &vscode_url_schema}),
    OPERATION(HTTP_GET, SCOPED "/vscode/status", "Whether the editor runs"),
    OPERATION(HTTP_GET, "/api/bash/bash_events/search", "List commands and their output, paged", .query = &bash_search_query, .answer = {"BashEventPage", &bash_event_page_schema}),
    OPERATION(HTTP_GET, "/api/bash/bash_events/{event_id}", "One command or piece of output", .answer = {"BashEvent", &bash_event_schema}),
    OPERATION(HTTP_GET, "/api/bash/bash_events/", "Several commands or pieces of output by id", .answer = {"BashEvent", &bash_event_schema}, .body_form = BODY_FORM_IDS, .answer_form = ANSWER_LIST_OR_NULLS),
    OPERATION(HTTP_POST, "/api/bash/start_bash_command", "Start a command in the background", .body = {"ExecuteBashRequest", &bash_request_schema}, .answer = {"BashCommand", &bash_command_schema}),
    OPERATION(HTTP_POST, "/api/bash/execute_bash_command", "Run a command and wait until it ends", .body = {"ExecuteBashRequest", &bash_request_schema}, .answer = {"BashOutput", &bash_output_schema}),
    OPERATION(HTTP_DELETE, "/api/bash/bash_events", "Delete all commands and their output"),
    OPERATION(HTTP_POST, "/api/bash/bash_commands/{command_id}/stop", "Stop a command", .answer = {"Success", &success_schema}),
    OPERATION(HTTP_GET, "/api/git/repositories/search", "Repositories at a provider", .query = &repositories_search_query, .answer = {"GitProviderRepositoryPage", &git_provider_repository_page_schema}),
    OPERATION(HTTP_GET, "/api/git/changes", "Files that differ from a ref", .query = &git_changes_query, .answer = {"GitChange", &git_change_schema}, .answer_form = ANSWER_LIST),
    OPERATION(HTTP_GET, "/api/git/changes/{path*}", "Files that differ from a ref; the path form of older clients", .answer = {"GitChange", &git_change_schema}, .answer_form = ANSWER_LIST),
    OPERATION(HTTP_GET, "/api/git/diff/{path*}", "A file before and after its changes; the path form of older clients", .answer = {"GitDiff", &git_diff_schema}),
    OPERATION(HTTP_GET, "/api/git/diff", "A file before and after its changes", .query = &git_diff_query, .answer = {"GitDiff", &git_diff_schema}),
    OPERATION(HTTP_GET, "/api/git/commits", "The latest commits", .query = &git_commits_query, .answer = {"GitCommitsPage", &git_commits_page_schema}),
    OPERATION(HTTP_GET, "/api/git/commits/{sha}/changes", "Files that a commit changed", .query = &path_query, .answer = {"GitChange", &git_change_schema}, .answer_form = ANSWER_LIST),
    OPERATION(HTTP_POST, "/api/file/upload", "Write a file", .query = &path_query, .answer = {"FileUploadResult", &file_upload_result_schema}, .body_form = BODY_FORM_UPLOAD),
    OPERATION(HTTP_POST, "/api/file/upload/{path*}", "Write a file; the path form of older clients", .answer = {"FileUploadResult", &file_upload_result_schema}, .body_form = BODY_FORM_UPLOAD),
    OPERATION(HTTP_GET, "/api/file/download/{path*}", "Read a file; the path form of older clients", .answer_form = ANSWER_BYTES),
    OPERATION(HTTP_GET, "/api/file/download", "Read a file", .query = &path_query, .answer_form = ANSWER_BYTES),
    OPERATION(HTTP_POST, "/api/file/create_directory", "Create a folder and its parents", .query = &path_query, .answer = {"Success", &success_schema}),
    OPERATION(HTTP_GET, "/api/file/download-trajectory/{conversation_id}", "All events of a conversation as an archive", .answer_form = ANSWER_BYTES),
    OPERATION(HTTP_GET, "/api/file/archive", "A folder as an archive", .query = &file_archive_query, .answer_form = ANSWER_BYTES),
    OPERATION(HTTP_GET, "/api/vscode/url", "URL of the editor", .query = &vscode_url_shared_query, .answer = {"VSCodeUrlResponse", &vscode_url_schema}),
    OPERATION(HTTP_GET, "/api/vscode/status", "Whether the editor runs"),
    {.pattern = NULL},
};
/* clang-format on */
