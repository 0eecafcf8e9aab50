#include "fcgi/agent/mcp/mcp_probe.h"

#include <math.h>
#include <string.h>

#include "base/encode.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "client/http.h"
#include "client/mcp.h"
#include "fcgi/core/fcgi_context.h"
#include "fcgi/core/request.h"
#include "fcgi/core/wait_slots.h"
#include "fcgi/sandbox/sandbox_request.h"
#include "model/schema/object_schema.h"
#include "model/secrets/secret_walk.h"
#include "model/tools/mcp.h"

enum { MAX_PAGES = 20, SLACK_MS = 10000, TIMEOUT_MAX_S = 120, MS_PER_S = 1000 };
enum { FIRST_ID = 1, LIST_ID = 2, CALL_ID = 3 }; /* of the messages to a program */

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

/* A server's headers, including credentials. */
struct header_set {
    struct http_header items[MCP_MAX_HEADERS + 1];
    char *values[MCP_MAX_HEADERS];
    size_t n;
};

static void header_set_done(struct header_set *set)
{
    for (size_t i = 0; i < set->n; i++) {
        explicit_bzero(set->values[i], strlen(set->values[i]));
        mem_free(set->values[i]);
    }
}

static void add_header(struct header_set *set, const char *name, const char *value)
{
    if (set->n == MCP_MAX_HEADERS)
        return;
    set->values[set->n] = mem_dup_text(value);
    set->items[set->n] = (struct http_header){name, set->values[set->n]};
    set->n++;
}

static void add_headers(struct header_set *set, json_t *headers)
{
    const char *name = NULL;
    json_t *value = NULL;

    json_object_foreach (headers, name, value) {
        if (json_is_string(value))
            add_header(set, name, json_string_value(value));
    }
}

static void add_authorization(struct header_set *set, const char *scheme, const char *credentials)
{
    CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;

    strbuf_appendf(&value, "%s %s", scheme, credentials);
    add_header(set, "Authorization", value.text);
    explicit_bzero(value.text, value.len);
}

static void add_basic(struct header_set *set, const json_t *auth)
{
    CLEANUP(strbuf_done) struct strbuf plain = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf coded = STRBUF_INIT;

    strbuf_appendf(&plain, "%s:%s", json_text_or(auth, "username", ""),
                   json_text_or(auth, "password", ""));
    base64_append(&coded, (const unsigned char *)plain.text, plain.len);
    add_authorization(set, "Basic", coded.text);
    explicit_bzero(plain.text, plain.len);
    explicit_bzero(coded.text, coded.len);
}

static int add_token(struct header_set *set, const json_t *state, struct error *err)
{
    const char *token = json_text_or(json_object_get(state, "tokens"), "access_token", "");

    if (token[0] == '\0')
        return error_set(err, ERROR_INVALID, "No user has signed in to this server yet");
    add_authorization(set, "Bearer", token);
    return 0;
}

static int add_auth(struct header_set *set, const json_t *auth, struct error *err)
{
    const char *strategy = json_text_or(auth, "strategy", "none");

    if (text_equal(strategy, "bearer"))
        add_authorization(set, "Bearer", json_text_or(auth, "value", ""));
    else if (text_equal(strategy, "api_key"))
        add_header(set, json_text_or(auth, "header_name", "X-API-Key"),
                   json_text_or(auth, "value", ""));
    else if (text_equal(strategy, "basic"))
        add_basic(set, auth);
    else if (text_equal(strategy, "header"))
        add_headers(set, json_object_get(auth, "headers"));
    else if (text_equal(strategy, "oauth2"))
        return add_token(set, json_object_get(auth, "state"), err);
    else if (!text_equal(strategy, "none"))
        return error_set(err, ERROR_INVALID, "Signing in by %s is not supported by this server",
                         strategy);
    return 0;
}

static int call_server(struct mcp *mcp, json_t *message, json_t **reply_out,
                       const json_t **result_out, struct error *err)
{
    json_auto_t *request = message;

    if (mcp_ask(mcp, request, reply_out, err) < 0)
        return -1;
    return mcp_result(*reply_out, result_out, err);
}

static int list_tools(struct mcp *mcp, json_int_t *id_io, json_t *tools, struct error *err)
{
    CLEANUP(mem_freep) char *cursor = NULL;

    for (int page = 0; page < MAX_PAGES; page++) {
        json_auto_t *reply = NULL;
        const json_t *result = NULL;
        const char *next = NULL;

        if (call_server(mcp, mcp_list_tools((*id_io)++, cursor), &reply, &result, err) < 0)
            return -1;
        mcp_add_tool_names(result, tools);
        next = json_text_or(result, "nextCursor", NULL);
        if (next == NULL)
            return 0;
        mem_free(cursor);
        cursor = mem_dup_text(next);
    }
    return 0;
}

static int talk(struct mcp_probe *probe, struct mcp *mcp, struct error *err)
{
    json_auto_t *initialized = mcp_initialized();
    json_auto_t *welcome = NULL;
    json_auto_t *reply = NULL;
    const json_t *result = NULL;
    json_int_t id = FIRST_ID + 1;

    if (call_server(mcp, mcp_initialize(FIRST_ID), &welcome, &result, err) < 0 ||
        mcp_tell(mcp, initialized, err) < 0 || list_tools(mcp, &id, probe->tools, err) < 0)
        return -1;
    if (probe->tool_call == NULL)
        return 0;
    if (call_server(mcp,
                    mcp_call_tool(id, json_text_or(probe->tool_call, "name", ""),
                                  json_object_get(probe->tool_call, "arguments")),
                    &reply, &result, err) < 0)
        return -1;
    probe->outcome = mcp_call_outcome(result);
    return 0;
}

static int talk_to_remote(struct mcp_probe *probe, struct error *err)
{
    CLEANUP(mcp_freep) struct mcp *mcp = NULL;
    CLEANUP(header_set_done) struct header_set headers = {.n = 0};
    const struct fcgi_context *context = probe->request->context;
    const struct mcp_options options = {
        .http = context->http,
        .url = json_text_or(probe->server, "url", ""),
        .headers = headers.items,
        .uses_sse = text_equal(json_text_or(probe->server, "type", ""), "sse"),
        .address_of = ADDRESS_OF_USER,
        .timeout_ms = probe->timeout_ms,
    };

    add_headers(&headers, json_object_get(probe->server, "headers"));
    if (add_auth(&headers, json_object_get(probe->server, "auth"), err) < 0 ||
        mcp_open(&options, &mcp, err) < 0)
        return -1;
    return talk(probe, mcp, err);
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

static json_t *messages_for(const struct mcp_probe *probe)
{
    json_t *messages = json_array();

    json_push(messages, mcp_initialize(FIRST_ID));
    json_push(messages, mcp_initialized());
    json_push(messages, mcp_list_tools(LIST_ID, NULL));
    if (probe->tool_call != NULL)
        json_push(messages, mcp_call_tool(CALL_ID, json_text_or(probe->tool_call, "name", ""),
                                          json_object_get(probe->tool_call, "arguments")));
    return messages;
}

static json_t *program_order(const struct mcp_probe *probe)
{
    static const char *const members[] = {"command", "args", "env", "cwd"};
    json_t *order = json_object();

    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        json_put(order, members[i], json_incref(json_object_get(probe->server, members[i])));
    json_put(order, "timeout_ms", json_integer(probe->timeout_ms));
    json_put(order, "messages", messages_for(probe));
    return order;
}

static int read_replies(struct mcp_probe *probe, const json_t *replies, struct error *err)
{
    const json_t *result = NULL;
    json_t *reply = NULL;
    size_t i = 0;

    json_array_foreach (replies, i, reply) {
        json_int_t id = json_int_or(reply, "id", -1);

        if (mcp_result(reply, &result, err) < 0)
            return -1;
        if (id == CALL_ID)
            probe->outcome = mcp_call_outcome(result);
        else if (id != FIRST_ID) /* the list; the sandbox chose the ids of its further pages */
            mcp_add_tool_names(result, probe->tools);
    }
    return 0;
}

static int try_program(struct mcp_probe *probe, struct error *err)
{
    json_auto_t *order = program_order(probe);
    json_auto_t *answer = NULL;
    const struct sandbox_request to_sandbox = {.owner = {&probe->request->principal, NULL},
                                               .path = "/programs/talk",
                                               .body = order,
                                               .timeout_ms = probe->timeout_ms + SLACK_MS};

    if (sandbox_request_send(probe->request->context, &to_sandbox, &answer, err) < 0)
        return -1;
    return read_replies(probe, json_object_get(answer, "replies"), err);
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
