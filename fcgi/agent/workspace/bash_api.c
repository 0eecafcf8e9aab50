/*
 * Shell commands outside the agent's log: in the caller's shared sandbox, and in a conversation's.
 */
#include "base/error.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "fcgi/agent/agent_api.h"
#include "fcgi/agent/workspace/workspace_path.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/reply.h"
#include "fcgi/sandbox/sandbox_proxy.h"

enum {
    SHARED_PREFIX_SEGMENTS = 2, /* /api/bash */
    SCOPED_PREFIX_SEGMENTS = 4, /* /api/conversations/{id}/bash */
    TIMEOUT_DEFAULT_S = 300,
    TIMEOUT_MAX_S = 3600,
    SLACK_MS = 30000,
};

static bool is_scoped(const struct request *request)
{
    return request_path_text(request, "runtime_conversation_id")[0] != '\0';
}

/* Passes the request on; conversation NULL: to the shared sandbox. */
static int pass(const struct request *request, struct reply *reply,
                const struct conversation *conversation, const struct sandbox_call *base,
                struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    struct sandbox_call call = *base;

    strbuf_append(&path, "/api/bash");
    request_append_path_rest(
        request, conversation != NULL ? SCOPED_PREFIX_SEGMENTS : SHARED_PREFIX_SEGMENTS, &path);
    call.owner = (struct sandbox_owner){&request->principal, conversation};
    call.scope = conversation != NULL ? conversation->id.text : NULL;
    call.path = path.text;
    return sandbox_proxy(request, reply, &call, err);
}

/* Reading, stopping, clearing: forwarded unchanged. */
static int bash_pass(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    const struct sandbox_call call = {.query = request->query_text};

    if (!is_scoped(request))
        return pass(request, reply, NULL, &call, err);
    if (agent_load_runtime_conversation(request, &conversation, err) < 0)
        return -1;
    return pass(request, reply, &conversation, &call, err);
}

/* GET -> 200 {"items","next_page_id"} | 422 */
static int bash_search(const struct request *request, struct reply *reply, struct error *err)
{
    int64_t limit = 0;

    if (request_query_limit(request, &limit, err) < 0)
        return -1;
    return bash_pass(request, reply, err);
}

static int read_timeout(const struct request *request, const json_t *body, int64_t *timeout_s_out,
                        struct error *err)
{
    static const struct validation_error not_int = {"int_type", "Input should be a valid integer",
                                                    NULL};
    static const struct validation_error out_of_range = {
        "less_than_equal", "Input should be from 1 to 3600 seconds", NULL};
    json_t *timeout = json_object_get(body, "timeout");

    *timeout_s_out = TIMEOUT_DEFAULT_S;
    if (timeout == NULL)
        return 0;
    if (!json_is_integer(timeout))
        return request_problem(request, REQUEST_JSON_PATH("body", "timeout"), &not_int, timeout,
                               err);
    *timeout_s_out = json_integer_value(timeout);
    if (*timeout_s_out < 1 || *timeout_s_out > TIMEOUT_MAX_S)
        return request_problem(request, REQUEST_JSON_PATH("body", "timeout"), &out_of_range,
                               timeout, err);
    return 0;
}

/*
 * Sets where a conversation's command runs: in its workspace, which is the default, or a folder
 * below it.
 */
static int place_command(const struct conversation *conversation, const char *cwd, json_t *body,
                         struct error *err)
{
    const char *working_dir = conversation_working_dir(conversation);

    if (cwd == NULL)
        json_put_text(body, "cwd", working_dir);
    else if (!workspace_path_is_inside(cwd, working_dir))
        return error_set(err, ERROR_INVALID, "cwd must be inside the conversation workspace");
    return 0;
}

static int pass_command(const struct request *request, struct reply *reply,
                        const struct conversation *conversation, json_t *body, struct error *err)
{
    const struct text_rule command_rule = {0, SIZE_MAX, true};
    const struct text_rule cwd_rule = {0, SIZE_MAX, false};
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct sandbox_call call = {0};
    const char *command = NULL;
    const char *cwd = NULL;
    int64_t timeout_s = 0;

    if (request_member_text(request, body, "command", &command_rule, &command, err) < 0 ||
        request_member_text(request, body, "cwd", &cwd_rule, &cwd, err) < 0 ||
        read_timeout(request, body, &timeout_s, err) < 0)
        return -1;
    if (conversation != NULL && place_command(conversation, cwd, body, err) < 0)
        return -1;
    if (conversation != NULL) {
        call.directory = conversation_working_dir(conversation);
        call.inside = call.directory;
    }
    json_append_text(&text, body);
    call.body = text.text;
    call.body_len = text.len;
    call.silence_ms = timeout_s * 1000 + SLACK_MS;
    return pass(request, reply, conversation, &call, err);
}

/*
 * POST {"command","cwd"?,"timeout"?} -> 200 BashCommand; for …/execute_bash_command BashOutput,
 * once the command has ended | 422 | 429, 503 too many waiting requests
 */
static int bash_start(const struct request *request, struct reply *reply, struct error *err)
{
    CLEANUP(conversation_done) struct conversation conversation = CONVERSATION_INIT;
    json_auto_t *body = NULL;

    if (is_scoped(request) && agent_load_runtime_conversation(request, &conversation, err) < 0)
        return -1;
    if (request_json_object(request, &body, err) < 0)
        return -1;
    return pass_command(request, reply, is_scoped(request) ? &conversation : NULL, body, err);
}

#define SHARED "/api/bash"
#define SCOPED "/api/conversations/{runtime_conversation_id}/bash"
#define ROUTE(method, pattern, sandbox, body_max_bytes, handler)                                   \
    {method, pattern, ORIGIN_BOTH, ACCESS_CALLER, sandbox, body_max_bytes, handler}

const struct route bash_routes[] = {
    ROUTE(HTTP_POST, SHARED "/start_bash_command", SANDBOX_ITSELF, BODY_LARGE_BYTES, bash_start),
    ROUTE(HTTP_POST, SHARED "/execute_bash_command", SANDBOX_ITSELF, BODY_LARGE_BYTES, bash_start),
    ROUTE(HTTP_POST, SHARED "/bash_commands/{command_id}/stop", SANDBOX_ITSELF, 0, bash_pass),
    ROUTE(HTTP_GET, SHARED "/bash_events/search", SANDBOX_ITSELF, 0, bash_search),
    ROUTE(HTTP_GET, SHARED "/bash_events/", SANDBOX_ITSELF, BODY_SMALL_BYTES, bash_pass),
    ROUTE(HTTP_GET, SHARED "/bash_events/{event_id}", SANDBOX_ITSELF, 0, bash_pass),
    ROUTE(HTTP_DELETE, SHARED "/bash_events", SANDBOX_ITSELF, 0, bash_pass),
    ROUTE(HTTP_POST, SCOPED "/start_bash_command", SANDBOX_READS, BODY_LARGE_BYTES, bash_start),
    ROUTE(HTTP_POST, SCOPED "/execute_bash_command", SANDBOX_READS, BODY_LARGE_BYTES, bash_start),
    ROUTE(HTTP_POST, SCOPED "/bash_commands/{command_id}/stop", SANDBOX_READS, 0, bash_pass),
    ROUTE(HTTP_GET, SCOPED "/bash_events/search", SANDBOX_READS, 0, bash_search),
    ROUTE(HTTP_GET, SCOPED "/bash_events/", SANDBOX_READS, BODY_SMALL_BYTES, bash_pass),
    ROUTE(HTTP_GET, SCOPED "/bash_events/{event_id}", SANDBOX_READS, 0, bash_pass),
    ROUTE(HTTP_DELETE, SCOPED "/bash_events", SANDBOX_READS, 0, bash_pass),
    {.handle = NULL},
};
