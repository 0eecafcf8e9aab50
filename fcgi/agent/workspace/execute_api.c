/*
 * The legacy action API of a sandbox, for older clients: forwarded unchanged.
 */
#include "base/error.h"
#include "base/json.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/sandbox/sandbox_proxy.h"

enum { TIMEOUT_DEFAULT_S = 120, TIMEOUT_MAX_S = 3600, SLACK_MS = 30000, MS_PER_S = 1000 };

static int pass(const struct request *request, struct reply *reply, int64_t silence_ms,
                struct error *err)
{
    const struct sandbox_call call = {.owner = {&request->principal, NULL},
                                      .path = request->route->pattern,
                                      .query = request->query_text,
                                      .silence_ms = silence_ms};

    return sandbox_proxy(request, reply, &call, err);
}

static int pass_on(const struct request *request, struct reply *reply, struct error *err)
{
    return pass(request, reply, 0, err);
}

/* The action's own timeout plus SLACK_MS for actions queued before it. */
static int64_t wait_ms(const struct request *request)
{
    struct error ignored = ERROR_INIT;
    json_auto_t *body = NULL;
    double timeout_s = TIMEOUT_DEFAULT_S;

    error_ignore(json_parse(request->body.text, request->body.len, &body, &ignored),
                 "the sandbox's reply reports the error");
    timeout_s = json_number_or(json_object_get(body, "action"), "timeout", TIMEOUT_DEFAULT_S);
    if (!(timeout_s > 0 && timeout_s < TIMEOUT_MAX_S))
        timeout_s = TIMEOUT_MAX_S;
    return (int64_t)(timeout_s * MS_PER_S) + SLACK_MS;
}

/* POST {"action"} -> 200 observation | 422 | 429, 503 too many waiting requests | 500 */
static int execute_action(const struct request *request, struct reply *reply, struct error *err)
{
    return pass(request, reply, wait_ms(request), err);
}

#define ROUTE(method, pattern, body_max_bytes, handler)                                            \
    {method, pattern, ORIGIN_AGENT, ACCESS_CALLER, SANDBOX_ITSELF, body_max_bytes, handler}

const struct route execute_routes[] = {
    ROUTE(HTTP_POST, "/execute_action", BODY_LARGE_BYTES, execute_action),
    ROUTE(HTTP_POST, "/list_files", BODY_SMALL_BYTES, pass_on),
    ROUTE(HTTP_POST, "/upload_file", BODY_STREAM, pass_on),
    ROUTE(HTTP_GET, "/download_files", 0, pass_on),
    ROUTE(HTTP_GET, "/vscode/connection_token", 0, pass_on),
    ROUTE(HTTP_POST, "/update_mcp_server", BODY_SMALL_BYTES, pass_on),
    {.handle = NULL},
};
