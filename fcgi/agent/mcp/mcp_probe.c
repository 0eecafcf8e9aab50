#include "fcgi/agent/mcp/mcp_probe.h"

#include <math.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "client/http.h"
#include "client/mcp.h"
#include "client/mcp_headers.h"
#include "client/mcp_session.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/request.h"
#include "fcgi/core/wait_slots.h"
#include "fcgi/sandbox/sandbox_request.h"
#include "model/schema/object_schema.h"
#include "model/secrets/secret_walk.h"
#include "model/tools/mcp.h"
#include "model/tools/mcp_config.h"

enum { SLACK_MS = 10000, TIMEOUT_MAX_S = 120, MS_PER_S = 1000 };

static const struct field server_fields[] = {
    {.name = "type",
     .kind = FIELD_TEXT,
     .fallback = "\"stdio\"",
     .words = "stdio|http|shttp|streamable-http|sse"},
    {.name = "command", .kind = FIELD_TEXT},
    {.name = "args", .kind = FIELD_TEXTS, .fallback = "[]"},
    {.name = "env", .kind = FIELD_TEXT_MAP, .fallback = "{}"},
    {.name = "cwd", .kind = FIELD_TEXT, .rules = FIELD_NULLABLE},
    {.name = "url", .kind = FIELD_TEXT},
    {.name = "headers", .kind = FIELD_TEXT_MAP, .fallback = "{}"},
    {.name = "auth", .kind = FIELD_MAP, .rules = FIELD_NULLABLE},
};
static const struct object_schema server_schema = SCHEMA(server_fields);

static const struct field call_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "arguments", .kind = FIELD_MAP, .fallback = "{}"},
};
static const struct object_schema call_schema = SCHEMA(call_fields);

static const struct field test_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .fallback = "\"test-server\"", .max_chars = 128},
    {.name = "server", .kind = FIELD_OBJECT, .rules = FIELD_REQUIRED, .items = &server_schema},
    {.name = "timeout", .kind = FIELD_NUMBER, .fallback = "15"},
    {.name = "tool_call", .kind = FIELD_OBJECT, .rules = FIELD_NULLABLE, .items = &call_schema},
};
static const struct object_schema test_schema = SCHEMA(test_fields);

void mcp_probe_done(struct mcp_probe *probe)
{
    json_decref(probe->tools);
    json_decref(probe->outcome);
}

/* --- over HTTP --- */

static int talk(struct mcp_probe *probe, struct mcp_session *session, struct error *err)
{
    json_auto_t *tools = json_array();
    json_auto_t *result = NULL;

    if (mcp_session_list(session, tools, err) < 0)
        return -1;
    mcp_add_tool_names(tools, probe->tools);
    if (probe->tool_call == NULL)
        return 0;
    if (mcp_session_call(session, json_text_or(probe->tool_call, "name", ""),
                         json_object_get(probe->tool_call, "arguments"), NULL, &result, err) < 0)
        return -1;
    probe->outcome = mcp_call_outcome(result);
    return 0;
}

static int talk_to_remote(struct mcp_probe *probe, struct error *err)
{
    CLEANUP(mcp_session_freep) struct mcp_session *session = NULL;
    CLEANUP(mcp_headers_done) struct mcp_headers headers = MCP_HEADERS_INIT;
    const struct fcgi_context *context = probe->request->context;
    const struct mcp_options options = {
        .http = context->http,
        .url = json_text_or(probe->server, "url", ""),
        .headers = headers.items,
        .uses_sse = text_equal(json_text_or(probe->server, "type", ""), "sse"),
        .address_of = ADDRESS_OF_USER,
        .timeout_ms = probe->timeout_ms,
    };

    if (mcp_headers_read(&headers, probe->server, err) < 0)
        return -1;
    session = mcp_session_new(&options);
    return mcp_session_begin(session, err) == 0 ? talk(probe, session, err) : -1;
}

static int try_remote(struct mcp_probe *probe, struct error *err)
{
    struct wait_slots *slots = probe->request->context->wait_slots;
    const struct uuid *user = &probe->request->principal.user_id;
    int rc = wait_slot_take(slots, user, err);

    if (rc < 0)
        return -1;
    rc = talk_to_remote(probe, err);
    wait_slot_return(slots, user);
    return rc;
}

/* --- as a program of the caller's sandbox --- */

static int try_program(struct mcp_probe *probe, struct error *err)
{
    json_auto_t *messages = mcp_program_messages(true, json_text_or(probe->tool_call, "name", NULL),
                                                 json_object_get(probe->tool_call, "arguments"));
    json_auto_t *order = mcp_server_order(probe->server, messages, probe->timeout_ms);
    json_auto_t *tools = json_array();
    json_auto_t *answer = NULL;
    json_auto_t *result = NULL;
    const struct sandbox_request to_sandbox = {.owner = {&probe->request->principal, NULL},
                                               .path = MCP_PROGRAM_PATH,
                                               .body = order,
                                               .timeout_ms = probe->timeout_ms + SLACK_MS};

    if (sandbox_request_send(probe->request->context, &to_sandbox, &answer, err) < 0 ||
        mcp_program_read(json_object_get(answer, "replies"), tools, &result, err) < 0)
        return -1;
    mcp_add_tool_names(tools, probe->tools);
    if (result != NULL)
        probe->outcome = mcp_call_outcome(result);
    return 0;
}

/* --- the request --- */

static int missing(const struct request *request, const char *name, struct error *err)
{
    return request_problem(request, REQUEST_JSON_PATH("body", name),
                           &(struct validation_error){"missing", "Field required", NULL}, NULL,
                           err);
}

static int read_timeout(const struct request *request, const json_t *body, int64_t *timeout_ms_out,
                        struct error *err)
{
    static const struct validation_error out_of_range = {
        "less_than_equal", "Input should be greater than 0 and at most 120 seconds", NULL};
    double timeout_s = json_number_or(body, "timeout", 15);

    if (!isfinite(timeout_s) || timeout_s <= 0 || timeout_s > TIMEOUT_MAX_S)
        return request_problem(request, REQUEST_JSON_PATH("body", "timeout"), &out_of_range,
                               json_object_get(body, "timeout"), err);
    *timeout_ms_out = (int64_t)(timeout_s * MS_PER_S) + 1;
    return 0;
}

/* Opens secrets that this server sealed for its user. */
static int open_secrets(const struct request *request, json_t *server, struct error *err)
{
    secrets_open(&mcp_server_secrets, server, request->context->keyring.fernet, request->problems);
    return json_array_size(request->problems) > 0 ? request_problems_noted(err) : 0;
}

int mcp_probe_read(const struct request *request, json_t **body_out, struct mcp_probe *probe_out,
                   struct error *err)
{
    struct mcp_probe probe = {.request = request};
    json_auto_t *body = NULL;
    const char *needed = NULL;

    if (request_json_schema(request, &test_schema, &body, err) < 0 ||
        read_timeout(request, body, &probe.timeout_ms, err) < 0)
        return -1;
    probe.server = json_object_get(body, "server");
    if (json_is_object(json_object_get(body, "tool_call")))
        probe.tool_call = json_object_get(body, "tool_call");
    needed = mcp_probe_is_program(&probe) ? "command" : "url";
    if (json_text_or(probe.server, needed, "")[0] == '\0')
        return missing(request, needed, err);
    if (open_secrets(request, json_object_get(body, "server"), err) < 0)
        return -1;
    probe.tools = json_array();
    *probe_out = probe;
    *body_out = json_incref(body);
    return 0;
}

bool mcp_probe_is_program(const struct mcp_probe *probe)
{
    return text_equal(json_text_or(probe->server, "type", "stdio"), "stdio");
}

int mcp_probe_run(struct mcp_probe *probe, struct error *err)
{
    return mcp_probe_is_program(probe) ? try_program(probe, err) : try_remote(probe, err);
}

const char *mcp_probe_error_kind(const struct error *err)
{
    if (err->code == ERROR_TIMEOUT)
        return "timeout";
    return err->code == ERROR_UNAVAILABLE || err->code == ERROR_FORBIDDEN ? "connection"
                                                                          : "unknown";
}
