#include "fcgi/agent/mcp/mcp_trial.h"

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
#include "fcgi/context.h"
#include "fcgi/request.h"
#include "fcgi/sandbox_ask.h"
#include "fcgi/waits.h"
#include "model/schema/shape.h"
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
static const struct shape server_shape = SHAPE(server_fields);

static const struct field call_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .rules = FIELD_REQUIRED},
    {.name = "arguments", .kind = FIELD_MAP, .fallback = "{}"},
};
static const struct shape call_shape = SHAPE(call_fields);

static const struct field test_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .fallback = "\"test-server\"", .max_chars = 128},
    {.name = "server", .kind = FIELD_OBJECT, .rules = FIELD_REQUIRED, .items = &server_shape},
    {.name = "timeout", .kind = FIELD_NUMBER, .fallback = "15"},
    {.name = "tool_call", .kind = FIELD_OBJECT, .rules = FIELD_NULLABLE, .items = &call_shape},
};
static const struct shape test_shape = SHAPE(test_fields);

void mcp_trial_done(struct mcp_trial *trial)
{
    json_decref(trial->tools);
    json_decref(trial->outcome);
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
        return error_set(err, ERROR_INVALID, "Nobody has signed in at this server yet");
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

static int ask(struct mcp *mcp, json_t *message, json_t **reply_out, const json_t **result_out,
               struct error *err)
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

        if (ask(mcp, mcp_list_tools((*id_io)++, cursor), &reply, &result, err) < 0)
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

static int talk(struct mcp_trial *trial, struct mcp *mcp, struct error *err)
{
    json_auto_t *initialized = mcp_initialized();
    json_auto_t *welcome = NULL;
    json_auto_t *reply = NULL;
    const json_t *result = NULL;
    json_int_t id = FIRST_ID + 1;

    if (ask(mcp, mcp_initialize(FIRST_ID), &welcome, &result, err) < 0 ||
        mcp_tell(mcp, initialized, err) < 0 || list_tools(mcp, &id, trial->tools, err) < 0)
        return -1;
    if (trial->tool_call == NULL)
        return 0;
    if (ask(mcp,
            mcp_call_tool(id, json_text_or(trial->tool_call, "name", ""),
                          json_object_get(trial->tool_call, "arguments")),
            &reply, &result, err) < 0)
        return -1;
    trial->outcome = mcp_call_outcome(result);
    return 0;
}

static int talk_to_remote(struct mcp_trial *trial, struct error *err)
{
    CLEANUP(mcp_freep) struct mcp *mcp = NULL;
    CLEANUP(header_set_done) struct header_set headers = {.n = 0};
    const struct fcgi_context *context = trial->request->context;
    const struct mcp_options options = {
        .http = context->http,
        .url = json_text_or(trial->server, "url", ""),
        .headers = headers.items,
        .uses_sse = text_equal(json_text_or(trial->server, "type", ""), "sse"),
        .address_of = ADDRESS_OF_USER,
        .timeout_ms = trial->timeout_ms,
    };

    add_headers(&headers, json_object_get(trial->server, "headers"));
    if (add_auth(&headers, json_object_get(trial->server, "auth"), err) < 0 ||
        mcp_open(&options, &mcp, err) < 0)
        return -1;
    return talk(trial, mcp, err);
}

static int try_remote(struct mcp_trial *trial, struct error *err)
{
    struct waits *waits = trial->request->context->waits;
    const struct uuid *user = &trial->request->principal.user_id;
    int rc = waits_begin(waits, user, err);

    if (rc < 0)
        return -1;
    rc = talk_to_remote(trial, err);
    waits_end(waits, user);
    return rc;
}

/* --- as a program of the caller's sandbox --- */

static json_t *messages_for(const struct mcp_trial *trial)
{
    json_t *messages = json_array();

    json_push(messages, mcp_initialize(FIRST_ID));
    json_push(messages, mcp_initialized());
    json_push(messages, mcp_list_tools(LIST_ID, NULL));
    if (trial->tool_call != NULL)
        json_push(messages, mcp_call_tool(CALL_ID, json_text_or(trial->tool_call, "name", ""),
                                          json_object_get(trial->tool_call, "arguments")));
    return messages;
}

static json_t *program_order(const struct mcp_trial *trial)
{
    static const char *const members[] = {"command", "args", "env", "cwd"};
    json_t *order = json_object();

    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        json_put(order, members[i], json_incref(json_object_get(trial->server, members[i])));
    json_put(order, "timeout_ms", json_integer(trial->timeout_ms));
    json_put(order, "messages", messages_for(trial));
    return order;
}

static int read_replies(struct mcp_trial *trial, const json_t *replies, struct error *err)
{
    const json_t *result = NULL;
    json_t *reply = NULL;
    size_t i = 0;

    json_array_foreach (replies, i, reply) {
        json_int_t id = json_int_or(reply, "id", -1);

        if (mcp_result(reply, &result, err) < 0)
            return -1;
        if (id == CALL_ID)
            trial->outcome = mcp_call_outcome(result);
        else if (id != FIRST_ID) /* the list; the sandbox chose the ids of its further pages */
            mcp_add_tool_names(result, trial->tools);
    }
    return 0;
}

static int try_program(struct mcp_trial *trial, struct error *err)
{
    json_auto_t *order = program_order(trial);
    json_auto_t *answer = NULL;
    const struct sandbox_question question = {.owner = {&trial->request->principal, NULL},
                                              .path = "/programs/talk",
                                              .body = order,
                                              .timeout_ms = trial->timeout_ms + SLACK_MS};

    if (sandbox_ask(trial->request->context, &question, &answer, err) < 0)
        return -1;
    return read_replies(trial, json_object_get(answer, "replies"), err);
}

/* --- the request --- */

static int missing(const struct request *request, const char *name, struct error *err)
{
    return request_problem(request, REQUEST_PLACE("body", name),
                           &(struct problem){"missing", "Field required", NULL}, NULL, err);
}

static int read_timeout(const struct request *request, const json_t *body, int64_t *timeout_ms_out,
                        struct error *err)
{
    static const struct problem out_of_range = {
        "less_than_equal", "Input should be above 0 and at most 120 seconds", NULL};
    double timeout_s = json_number_or(body, "timeout", 15);

    if (!isfinite(timeout_s) || timeout_s <= 0 || timeout_s > TIMEOUT_MAX_S)
        return request_problem(request, REQUEST_PLACE("body", "timeout"), &out_of_range,
                               json_incref(json_object_get(body, "timeout")), err);
    *timeout_ms_out = (int64_t)(timeout_s * MS_PER_S) + 1;
    return 0;
}

/* Opens secrets that this server sealed for its user. */
static int open_secrets(const struct request *request, json_t *server, struct error *err)
{
    secrets_open(&mcp_server_secrets, server, request->context->keyring.fernet, request->problems);
    return json_array_size(request->problems) > 0 ? request_problems_noted(err) : 0;
}

int mcp_trial_read(const struct request *request, json_t **body_out, struct mcp_trial *trial_out,
                   struct error *err)
{
    struct mcp_trial trial = {.request = request};
    json_auto_t *body = NULL;
    const char *needed = NULL;

    if (request_json_shape(request, &test_shape, &body, err) < 0 ||
        read_timeout(request, body, &trial.timeout_ms, err) < 0)
        return -1;
    trial.server = json_object_get(body, "server");
    if (json_is_object(json_object_get(body, "tool_call")))
        trial.tool_call = json_object_get(body, "tool_call");
    needed = mcp_trial_is_program(&trial) ? "command" : "url";
    if (json_text_or(trial.server, needed, "")[0] == '\0')
        return missing(request, needed, err);
    if (open_secrets(request, json_object_get(body, "server"), err) < 0)
        return -1;
    trial.tools = json_array();
    *trial_out = trial;
    *body_out = json_incref(body);
    return 0;
}

bool mcp_trial_is_program(const struct mcp_trial *trial)
{
    return text_equal(json_text_or(trial->server, "type", "stdio"), "stdio");
}

int mcp_trial_run(struct mcp_trial *trial, struct error *err)
{
    return mcp_trial_is_program(trial) ? try_program(trial, err) : try_remote(trial, err);
}

const char *mcp_trial_error_kind(const struct error *err)
{
    if (err->code == ERROR_TIMEOUT)
        return "timeout";
    return err->code == ERROR_UNAVAILABLE || err->code == ERROR_FORBIDDEN ? "connection"
                                                                          : "unknown";
}
