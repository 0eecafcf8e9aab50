/*
 * Files of a sandbox, up and down as streams: of the caller's shared one, and of a conversation's.
 */
#include "base/encode.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/agent/agent.h"
#include "fcgi/agent/workspace_path.h"
#include "fcgi/reply.h"
#include "fcgi/sandbox_proxy.h"

/* The parameters that are passed on, each once. */
static const char *const passed_params[] = {"path", "include_hidden", "page_id", "limit"};

static void append_param(struct strbuf *query, const char *name, const char *value)
{
    if (value == NULL)
        return;
    strbuf_appendf(query, "%s%s=", query->len > 0 ? "&" : "", name);
    percent_append(query, value);
}

static int pass(const struct request *request, struct reply *reply,
                const struct conversation *conversation, const char *action, const char *query,
                struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct sandbox_call call = {.owner = {&request->principal, conversation}, .query = query};

    strbuf_appendf(&path, "/api/file/%s", action);
    call.path = path.text;
    call.scope = conversation != NULL ? conversation->id.text : NULL;
    return sandbox_proxy(request, reply, &call, err);
}

static int pass_query(const struct request *request, struct reply *reply,
                      const struct conversation *conversation, const char *action,
                      struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf query = STRBUF_INIT;

    for (size_t i = 0; i < ARRAY_SIZE(passed_params); i++)
        append_param(&query, passed_params[i], request_query(request, passed_params[i]));
    return pass(request, reply, conversation, action, query.text, err);
}

static int missing_path(const struct request *request, struct error *err)
{
    return request_problem(request, REQUEST_PLACE("query", "path"),
                           &(struct problem){"missing", "Field required", NULL}, NULL, err);
}

/* On a path of the shared sandbox: any absolute one. */
static int shared_path(const struct request *request, struct reply *reply, const char *action,
                       struct error *err)
{
    const char *path = request_query(request, "path");

    if (path == NULL)
        return missing_path(request, err);
    if (path[0] != '/')
        return reply_detail(reply, 400, "Path must be absolute");
    return pass_query(request, reply, NULL, action, err);
}

/* On a path of a conversation: in its workspace. */
static int scoped_path(const struct request *request, struct reply *reply, const char *action,
                       struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    const char *path = request_query(request, "path");

    if (path == NULL)
        return missing_path(request, err);
    if (agent_load_runtime_conversation(request, &conversation, err) < 0)
        return -1;
    if (!workspace_path_is_inside(path, conversation_working_dir(&conversation)))
        return error_set(err, ERROR_INVALID, "path must be inside the conversation workspace");
    return pass_query(request, reply, &conversation, action, err);
}

/* The form of old clients: the path in the address, with or without its first slash. */
static int old_path(const struct request *request, struct reply *reply, const char *action,
                    struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf query = STRBUF_INIT;
    const char *tail = request_path_text(request, "path");

    if (tail[0] != '/')
        strbuf_append_char(&path, '/');
    strbuf_append(&path, tail);
    append_param(&query, "path", path.text);
    return pass(request, reply, NULL, action, query.text, err);
}

/* POST ?path= multipart -> 200 {"success","file_size"} | 400 | 422 */
static int upload(const struct request *request, struct reply *reply, struct error *err)
{
    return shared_path(request, reply, "upload", err);
}

static int upload_scoped(const struct request *request, struct reply *reply, struct error *err)
{
    return scoped_path(request, reply, "upload", err);
}

static int upload_old(const struct request *request, struct reply *reply, struct error *err)
{
    return old_path(request, reply, "upload", err);
}

/* GET ?path= -> 200 bytes | 206 | 400 | 404 */
static int download(const struct request *request, struct reply *reply, struct error *err)
{
    return shared_path(request, reply, "download", err);
}

static int download_scoped(const struct request *request, struct reply *reply, struct error *err)
{
    return scoped_path(request, reply, "download", err);
}

static int download_old(const struct request *request, struct reply *reply, struct error *err)
{
    return old_path(request, reply, "download", err);
}

/* POST ?path= -> 200 | 400 */
static int create_directory(const struct request *request, struct reply *reply, struct error *err)
{
    return shared_path(request, reply, "create_directory", err);
}

static int create_directory_scoped(const struct request *request, struct reply *reply,
                                   struct error *err)
{
    return scoped_path(request, reply, "create_directory", err);
}

/* GET -> 200 {"home","favorites","locations"} */
static int home(const struct request *request, struct reply *reply, struct error *err)
{
    return pass_query(request, reply, NULL, "home", err);
}

/* GET ?path= -> 200 {"items","next_page_id"} | 400 | 404 */
static int search_subdirs(const struct request *request, struct reply *reply, struct error *err)
{
    return shared_path(request, reply, "search_subdirs", err);
}

#define SHARED "/api/file"
#define SCOPED "/api/conversations/{runtime_conversation_id}/file"
#define ROUTE(method, pattern, body_max_bytes, handler)                                            \
    {method, pattern, ORIGIN_BOTH, ACCESS_CALLER, body_max_bytes, handler}

const struct route file_routes[] = {
    ROUTE(HTTP_POST, SHARED "/upload", BODY_STREAM, upload),
    ROUTE(HTTP_POST, SHARED "/upload/{path*}", BODY_STREAM, upload_old),
    ROUTE(HTTP_GET, SHARED "/download", 0, download),
    ROUTE(HTTP_GET, SHARED "/download/{path*}", 0, download_old),
    ROUTE(HTTP_POST, SHARED "/create_directory", 0, create_directory),
    ROUTE(HTTP_GET, SHARED "/home", 0, home),
    ROUTE(HTTP_GET, SHARED "/search_subdirs", 0, search_subdirs),
    ROUTE(HTTP_POST, SCOPED "/upload", BODY_STREAM, upload_scoped),
    ROUTE(HTTP_GET, SCOPED "/download", 0, download_scoped),
    ROUTE(HTTP_POST, SCOPED "/create_directory", 0, create_directory_scoped),
    {.handle = NULL},
};
