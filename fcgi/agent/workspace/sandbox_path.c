#include "fcgi/agent/workspace/sandbox_path.h"

#include "base/encode.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/agent/workspace/workspace_path.h"
#include "fcgi/core/reply.h"
#include "fcgi/sandbox/sandbox_proxy.h"

/*
 * Archives and git calls on large trees are silent for long; the server in the sandbox enforces a
 * deadline.
 */
enum { SILENCE_MS = 160000 };

static void append_param(struct strbuf *query, const char *name, const char *value)
{
    strbuf_appendf(query, "%s%s=", query->len > 0 ? "&" : "", name);
    percent_append(query, value);
}

/* A parameter may be repeated. */
static void append_params(const struct request *request, const struct path_call *call,
                          struct strbuf *query)
{
    for (const char *const *name = call->params; name != NULL && *name != NULL; name++) {
        for (size_t i = 0; i < request->n_query; i++) {
            if (text_equal(request->query[i].name, *name))
                append_param(query, *name, request->query[i].value);
        }
    }
}

static int pass(const struct request *request, struct reply *reply,
                const struct conversation *conversation, const struct path_call *call,
                const char *path, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf query = STRBUF_INIT;
    struct sandbox_call out = {
        .owner = {&request->principal, conversation}, .path = call->path, .silence_ms = SILENCE_MS};

    append_param(&query, "path", path);
    append_params(request, call, &query);
    out.query = query.text;
    if (conversation != NULL) {
        out.scope = conversation->id.text;
        out.inside = conversation_working_dir(conversation);
    }
    return sandbox_proxy(request, reply, &out, err);
}

static int missing_path(const struct request *request, struct error *err)
{
    return request_problem(request, REQUEST_JSON_PATH("query", "path"),
                           &(struct validation_error){"missing", "Field required", NULL}, NULL,
                           err);
}

int sandbox_path_shared(const struct request *request, struct reply *reply,
                        const struct path_call *call, struct error *err)
{
    const char *path = request_query(request, "path");

    if (path == NULL)
        return missing_path(request, err);
    if (path[0] != '/')
        return reply_detail(reply, 400, "Path must be absolute");
    return pass(request, reply, NULL, call, path, err);
}

int sandbox_path_scoped(const struct request *request, struct reply *reply,
                        const struct path_call *call, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    const char *path = request_query(request, "path");

    if (path == NULL)
        return missing_path(request, err);
    if (agent_load_runtime_conversation(request, &conversation, err) < 0)
        return -1;
    /* Paths that are clearly outside do not start a sandbox; links are checked in the sandbox. */
    if (!workspace_path_is_inside(path, conversation_working_dir(&conversation)))
        return error_set(err, ERROR_INVALID, "path must be inside the conversation workspace");
    return pass(request, reply, &conversation, call, path, err);
}

int sandbox_path_old(const struct request *request, struct reply *reply,
                     const struct path_call *call, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    const char *tail = request_path_text(request, "path");

    if (tail[0] != '/')
        strbuf_append_char(&path, '/');
    strbuf_append(&path, tail);
    return pass(request, reply, NULL, call, path.text, err);
}

int sandbox_path_call(const struct request *request, struct reply *reply,
                      const struct path_call *call, struct error *err)
{
    if (request_path_text(request, "runtime_conversation_id")[0] != '\0')
        return sandbox_path_scoped(request, reply, call, err);
    if (request_path_text(request, "path")[0] != '\0')
        return sandbox_path_old(request, reply, call, err);
    return sandbox_path_shared(request, reply, call, err);
}
