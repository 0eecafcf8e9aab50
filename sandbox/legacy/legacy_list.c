#include "sandbox/legacy/legacy_list.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/core/action_server.h"
#include "sandbox/http/server_request.h"
#include "sandbox/legacy/legacy_actions.h"
#include "sandbox/legacy/legacy_reply.h"

enum { MAX_LISTED = 100000 };

static int is_listed(const struct dirent *entry)
{
    return !text_equal(entry->d_name, ".") && !text_equal(entry->d_name, "..");
}

static int compare_entries(const struct dirent **a, const struct dirent **b)
{
    int order = strcasecmp((*a)->d_name, (*b)->d_name);

    return order != 0 ? order : strcmp((*a)->d_name, (*b)->d_name);
}

static bool is_folder(const char *folder, const char *name)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct stat info;

    strbuf_appendf(&path, "%s/%s", folder, name);
    return stat(path.text, &info) == 0 && S_ISDIR(info.st_mode);
}

static void add_name(json_t *folders, json_t *files, const char *folder, const char *name)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    bool is_sub = is_folder(folder, name);

    strbuf_appendf(&text, "%s%s", name, is_sub ? "/" : "");
    json_push(is_sub ? folders : files, json_text(text.text, text.len));
}

/* Names of folders, then of files. The caller owns the list. */
static json_t *list(const char *folder)
{
    struct dirent **entries = NULL;
    json_t *folders = json_array();
    json_auto_t *files = json_array();
    int n = scandir(folder, &entries, is_listed, compare_entries);

    for (int i = 0; i < n; i++) {
        if (i < MAX_LISTED)
            add_name(folders, files, folder, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    (void)json_array_extend(folders, files);
    return folders;
}

void legacy_list_handle(struct server_request *request)
{
    CLEANUP(strbuf_done) struct strbuf folder = STRBUF_INIT;
    const char *working_dir = legacy_actions_working_dir(request->server->legacy);
    struct error err = ERROR_INIT;
    json_auto_t *body = NULL;
    json_auto_t *names = NULL;
    const char *path = NULL;

    if (json_parse(request->body.text, request->body.len, &body, &err) < 0) {
        legacy_reply_answer_invalid(request, err.message);
        return;
    }
    path = json_text_or(body, "path", working_dir);
    if (path[0] != '/')
        strbuf_appendf(&folder, "%s/", working_dir);
    strbuf_append(&folder, path);
    names = list(folder.text);
    server_request_answer_json(request, 200, names);
}

void legacy_editor_handle(struct server_request *request)
{
    json_auto_t *body = json_object();

    json_put(body, "token", json_null());
    server_request_answer_json(request, 200, body);
}

/* MCP servers are started by the agent's process; this one answers that it started none. */
void legacy_mcp_handle(struct server_request *request)
{
    json_auto_t *answer = json_object();
    json_auto_t *body = NULL;
    struct error err = ERROR_INIT;

    if (json_parse(request->body.text, request->body.len, &body, &err) < 0 ||
        !json_is_array(body)) {
        server_request_answer_detail(request, 400, "Request must be a list of MCP tools to sync");
        return;
    }
    json_put_text(answer, "detail", "No MCP server was started");
    json_put_text(
        answer, "router_error_log",
        json_array_size(body) == 0
            ? ""
            : "This server does not start MCP servers; start them with the conversation.");
    server_request_answer_json(request, 200, answer);
}
