/*
 * Files of a sandbox, uploaded and downloaded as streams: the caller's shared sandbox, and a
 * conversation's.
 */
#include "base/error.h"
#include "base/strbuf.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/agent/workspace/sandbox_path.h"
#include "fcgi/core/reply.h"
#include "fcgi/sandbox/sandbox_proxy.h"

static const char *const subdirs_params[] = {"include_hidden", "page_id", "limit", NULL};

/* POST ?path= multipart -> 200 {"success","file_size"} | 400 | 422 */
static int upload(const struct request *request, struct reply *reply, struct error *err)
{
    return sandbox_path_call(request, reply, &(struct path_call){"/api/file/upload", NULL}, err);
}

/* GET ?path= -> 200 bytes | 206 | 400 | 404 */
static int download(const struct request *request, struct reply *reply, struct error *err)
{
    return sandbox_path_call(request, reply, &(struct path_call){"/api/file/download", NULL}, err);
}

/* POST ?path= -> 200 | 400 */
static int create_directory(const struct request *request, struct reply *reply, struct error *err)
{
    return sandbox_path_call(request, reply,
                             &(struct path_call){"/api/file/create_directory", NULL}, err);
}

/* GET -> 200 {"home","favorites","locations"} */
static int home(const struct request *request, struct reply *reply, struct error *err)
{
    bool with_hidden = false;

    if (request_query_bool(request, "include_hidden", &with_hidden, err) < 0)
        return -1;
    return sandbox_proxy(
        request, reply,
        &(struct sandbox_call){.owner = {&request->principal, NULL}, .path = "/api/file/home"},
        err);
}

/* GET ?path= -> 200 {"items","next_page_id"} | 400 | 404 | 422 */
static int search_subdirs(const struct request *request, struct reply *reply, struct error *err)
{
    int64_t limit = 0;
    bool with_hidden = false;

    if (request_query_limit(request, &limit, err) < 0 ||
        request_query_bool(request, "include_hidden", &with_hidden, err) < 0)
        return -1;
    return sandbox_path_call(request, reply,
                             &(struct path_call){"/api/file/search_subdirs", subdirs_params}, err);
}

/* GET ?path=&format= -> 200 patch or tar.gz | 400 | 404 | 422 */
static int archive(const struct request *request, struct reply *reply, struct error *err)
{
    static const char *const params[] = {"format", "base_ref", "use_default_excludes", "exclude",
                                         NULL};
    static const char *const formats[] = {"git-delta", "tar.gz", NULL};
    bool with_defaults = true;
    size_t format = 0;

    if (request_query_choice(request, "format", formats, &format, err) < 0 ||
        request_query_bool(request, "use_default_excludes", &with_defaults, err) < 0)
        return -1;
    return sandbox_path_call(request, reply, &(struct path_call){"/api/file/archive", params}, err);
}

#define SHARED "/api/file"
#define SCOPED "/api/conversations/{runtime_conversation_id}/file"
#define ROUTE(method, pattern, sandbox, body_max_bytes, handler)                                   \
    {method, pattern, ORIGIN_BOTH, ACCESS_CALLER, sandbox, body_max_bytes, handler}

const struct route file_routes[] = {
    ROUTE(HTTP_POST, SHARED "/upload", SANDBOX_ITSELF, BODY_STREAM, upload),
    ROUTE(HTTP_POST, SHARED "/upload/{path*}", SANDBOX_ITSELF, BODY_STREAM, upload),
    ROUTE(HTTP_GET, SHARED "/download", SANDBOX_ITSELF, 0, download),
    ROUTE(HTTP_GET, SHARED "/download/{path*}", SANDBOX_ITSELF, 0, download),
    ROUTE(HTTP_POST, SHARED "/create_directory", SANDBOX_ITSELF, 0, create_directory),
    ROUTE(HTTP_GET, SHARED "/archive", SANDBOX_ITSELF, 0, archive),
    ROUTE(HTTP_GET, SCOPED "/archive", SANDBOX_READS, 0, archive),
    ROUTE(HTTP_GET, SHARED "/home", SANDBOX_ITSELF, 0, home),
    ROUTE(HTTP_GET, SHARED "/search_subdirs", SANDBOX_ITSELF, 0, search_subdirs),
    ROUTE(HTTP_POST, SCOPED "/upload", SANDBOX_READS, BODY_STREAM, upload),
    ROUTE(HTTP_GET, SCOPED "/download", SANDBOX_READS, 0, download),
    ROUTE(HTTP_POST, SCOPED "/create_directory", SANDBOX_READS, 0, create_directory),
    {.handle = NULL},
};
