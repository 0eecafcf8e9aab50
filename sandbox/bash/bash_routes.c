#include "sandbox/bash/bash_routes.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/bash/bash.h"
#include "sandbox/bash/bash_events.h"
#include "sandbox/bash/bash_waits.h"
#include "sandbox/core/action_config.h"
#include "sandbox/core/action_limits.h"
#include "sandbox/core/action_server.h"
#include "sandbox/http/path_scope.h"
#include "sandbox/http/server_request.h"
#include "sandbox/http/validation.h"

enum {
    DEFAULT_TIMEOUT_S = 300,
    MAX_TIMEOUT_S = 30 * 24 * 3600,
    PAGE_MAX = 100,
    MAX_BATCH = 1000,
    WAIT_MAX_MS = 60000
};

static int read_scope(const struct server_request *request, char scope[BASH_SCOPE_BYTES],
                      struct error *err)
{
    CLEANUP(mem_freep) char *given = server_request_header(request, "x-deft-scope");

    memset(scope, 0, BASH_SCOPE_BYTES);
    if (given == NULL)
        return 0;
    if (strlen(given) >= BASH_SCOPE_BYTES)
        return error_set(err, ERROR_INVALID, "X-Deft-Scope is too long");
    memcpy(scope, given, strlen(given) + 1);
    return 0;
}

/* Answers the request itself when the body is not a valid command; *body_out then stays NULL. */
static void read_body(struct server_request *request, json_t **body_out)
{
    json_auto_t *body = NULL;
    struct error err = ERROR_INIT;
    const json_t *command = NULL;
    const json_t *timeout = NULL;
    const json_t *cwd = NULL;

    if (json_parse(request->body.text, request->body.len, &body, &err) < 0) {
        validation_answer(request, "json_invalid", "body", NULL, err.message);
        return;
    }
    command = json_object_get(body, "command");
    timeout = json_object_get(body, "timeout");
    cwd = json_object_get(body, "cwd");
    if (!json_is_object(body))
        validation_answer(request, "model_attributes_type", "body", NULL,
                          "Input should be a valid dictionary");
    else if (command == NULL)
        validation_answer(request, "missing", "body", "command", "Field required");
    else if (!json_is_string(command) || json_string_length(command) > MAX_SMALL_BODY_BYTES)
        validation_answer(request, "string_type", "body", "command",
                          "Input should be a valid string");
    else if (cwd != NULL && !json_is_null(cwd) && !json_is_string(cwd))
        validation_answer(request, "string_type", "body", "cwd", "Input should be a valid string");
    else if (timeout != NULL && (!json_is_integer(timeout) || json_integer_value(timeout) < 0 ||
                                 json_integer_value(timeout) > MAX_TIMEOUT_S))
        validation_answer(request, "int_parsing", "body", "timeout",
                          "Input should be a valid integer");
    else if (path_scope_check_folder(request,
                                     json_text_or(body, "cwd", request->server->config->workspace)))
        *body_out = TAKE_PTR(body);
}

static int start_command(const struct server_request *request, const json_t *body,
                         json_t **command_out, struct error *err)
{
    char scope[BASH_SCOPE_BYTES];
    struct bash_spec spec = {
        .scope = scope,
        .command = json_text_or(body, "command", ""),
        .cwd = json_text_or(body, "cwd", ""),
        .timeout_s = json_int_or(body, "timeout", DEFAULT_TIMEOUT_S),
    };

    if (read_scope(request, scope, err) < 0)
        return -1;
    return bash_start(request->server->bash, &spec, command_out, err);
}

void bash_handle_start(struct server_request *request)
{
    json_auto_t *body = NULL;
    json_auto_t *command = NULL;
    struct error err = ERROR_INIT;

    read_body(request, &body);
    if (body == NULL)
        return;
    if (start_command(request, body, &command, &err) < 0)
        server_request_answer_error(request, &err);
    else
        server_request_answer_json(request, 200, command);
}

static void on_executed(void *owner, json_t *output)
{
    server_request_answer_json(owner, 200, output);
    json_decref(output);
}

static void on_execute_dropped(void *owner)
{
    const struct server_request *request = owner;

    bash_forget_answer(request->server->bash, request);
}

void bash_handle_execute(struct server_request *request)
{
    json_auto_t *body = NULL;
    json_auto_t *command = NULL;
    struct error err = ERROR_INIT;
    const struct bash_answer answer = {request, on_executed};
    char scope[BASH_SCOPE_BYTES];

    read_body(request, &body);
    if (body == NULL)
        return;
    request->dropped = on_execute_dropped;
    request->owner = request;
    if (read_scope(request, scope, &err) < 0 || start_command(request, body, &command, &err) < 0 ||
        bash_wait(request->server->bash, scope, json_text_or(command, "id", ""), &answer, &err) < 0)
        server_request_answer_error(request, &err);
}

/* Either form of a UUID as 32 digits; answers 422 and returns false for anything else. */
static bool read_id(struct server_request *request, const char *text, const char *name,
                    char hex[UUID_HEX_BYTES])
{
    struct uuid id = UUID_INIT;

    if (uuid_parse(text, &id)) {
        uuid_to_hex(&id, hex);
        return true;
    }
    validation_answer(request, "uuid_parsing", "path", name, "Input should be a valid UUID");
    return false;
}

void bash_handle_stop(struct server_request *request)
{
    json_auto_t *body = json_object();
    char id[UUID_HEX_BYTES];
    char scope[BASH_SCOPE_BYTES];
    struct error err = ERROR_INIT;

    if (!read_id(request, request->param, "command_id", id))
        return;
    if (read_scope(request, scope, &err) < 0 ||
        bash_stop(request->server->bash, scope, id, &err) < 0) {
        server_request_answer_error(request, &err);
        return;
    }
    json_put(body, "success", json_true());
    server_request_answer_json(request, 200, body);
}

/* --- search --- */

struct query_word {
    const char *text;
    int value;
};

static const struct query_word kinds[] = {{"BashCommand", BASH_COMMAND},
                                          {"BashOutput", BASH_OUTPUT}};
static const struct query_word orders[] = {{"TIMESTAMP", 0}, {"TIMESTAMP_DESC", 1}};

/* Reads a query parameter that must be one of two words; false after a 422. */
static bool read_word(struct server_request *request, const char *name,
                      const struct query_word words[2], int *value)
{
    const char *text = server_request_query(request, name);

    if (text == NULL)
        return true;
    for (size_t i = 0; i < 2; i++) {
        if (text_equal(words[i].text, text)) {
            *value = words[i].value;
            return true;
        }
    }
    validation_answer(request, "enum", "query", name, "Input should be one of the known names");
    return false;
}

static bool read_number(struct server_request *request, const char *name, int64_t min, int64_t max,
                        int64_t *value)
{
    const char *text = server_request_query(request, name);
    struct error err = ERROR_INIT;

    if (text == NULL || text_parse_int(text, min, max, value, &err) == 0)
        return true;
    validation_answer(request, "int_parsing", "query", name, err.message);
    return false;
}

static bool read_stamp(struct server_request *request, const char *name, int64_t *value)
{
    const char *text = server_request_query(request, name);
    struct error err = ERROR_INIT;

    if (text == NULL || clock_parse(text, value, &err) == 0)
        return true;
    validation_answer(request, "datetime_from_date_parsing", "query", name, err.message);
    return false;
}

static bool read_command_filter(struct server_request *request, char hex[UUID_HEX_BYTES])
{
    const char *text = server_request_query(request, "command_id__eq");
    struct uuid id = UUID_INIT;

    if (text == NULL)
        return true;
    if (!uuid_parse(text, &id)) {
        validation_answer(request, "uuid_parsing", "query", "command_id__eq",
                          "Input should be a valid UUID");
        return false;
    }
    uuid_to_hex(&id, hex);
    return true;
}

static bool read_query(struct server_request *request, struct bash_query *query)
{
    int kind = BASH_ANY;
    int newest_first = 0;
    int64_t limit = PAGE_MAX;

    if (!read_word(request, "kind__eq", kinds, &kind) ||
        !read_word(request, "sort_order", orders, &newest_first) ||
        !read_number(request, "limit", 1, PAGE_MAX, &limit) ||
        !read_number(request, "order__gt", INT64_MIN, INT64_MAX, &query->order_above) ||
        !read_number(request, "page_id", 0, INT64_MAX, &query->page) ||
        !read_stamp(request, "timestamp__gte", &query->since_us) ||
        !read_stamp(request, "timestamp__lt", &query->before_us) ||
        !read_command_filter(request, query->command_id))
        return false;
    query->kind = (enum bash_event_kind)kind;
    query->newest_first = newest_first != 0;
    query->limit = (size_t)limit;
    return true;
}

void bash_handle_search(struct server_request *request)
{
    char scope[BASH_SCOPE_BYTES];
    struct bash_query query = {
        .scope = scope,
        .since_us = INT64_MIN,
        .before_us = INT64_MAX,
        .order_above = INT64_MIN,
        .page = -1,
    };
    json_auto_t *page = NULL;
    int64_t wait_ms = 0;
    struct error err = ERROR_INIT;

    if (read_scope(request, scope, &err) < 0) {
        server_request_answer_error(request, &err);
        return;
    }
    if (!read_query(request, &query) || !read_number(request, "wait_ms", 0, WAIT_MAX_MS, &wait_ms))
        return;
    page = bash_events_search(bash_events_of(request->server->bash), &query);
    if (wait_ms > 0 && json_array_size(json_object_get(page, "items")) == 0)
        bash_waits_add(request->server->bash_waits, request, &query, wait_ms);
    else
        server_request_answer_json(request, 200, page);
}

void bash_handle_get(struct server_request *request)
{
    json_auto_t *event = NULL;
    char id[UUID_HEX_BYTES];
    char scope[BASH_SCOPE_BYTES];
    struct error err = ERROR_INIT;

    if (!read_id(request, request->param, "event_id", id))
        return;
    if (read_scope(request, scope, &err) < 0) {
        server_request_answer_error(request, &err);
        return;
    }
    event = bash_events_get(bash_events_of(request->server->bash), scope, id);
    if (event == NULL)
        server_request_answer_detail(request, 404, "Not Found");
    else
        server_request_answer_json(request, 200, event);
}

void bash_handle_batch(struct server_request *request)
{
    json_auto_t *ids = NULL;
    json_auto_t *found = json_array();
    char scope[BASH_SCOPE_BYTES];
    struct error err = ERROR_INIT;
    const json_t *item = NULL;
    size_t i = 0;

    if (read_scope(request, scope, &err) < 0 ||
        json_parse(request->body.text, request->body.len, &ids, &err) < 0 || !json_is_array(ids) ||
        json_array_size(ids) > MAX_BATCH) {
        validation_answer(request, "list_type", "body", NULL, "Input should be a valid list");
        return;
    }
    json_array_foreach (ids, i, item) {
        struct uuid id = UUID_INIT;
        char hex[UUID_HEX_BYTES] = "";
        json_t *event = NULL;

        if (json_is_string(item) && uuid_parse(json_string_value(item), &id)) {
            uuid_to_hex(&id, hex);
            event = bash_events_get(bash_events_of(request->server->bash), scope, hex);
        }
        json_push(found, event != NULL ? event : json_null());
    }
    server_request_answer_json(request, 200, found);
}

void bash_handle_clear(struct server_request *request)
{
    json_auto_t *body = json_object();
    char scope[BASH_SCOPE_BYTES];
    struct error err = ERROR_INIT;
    size_t n = 0;

    if (read_scope(request, scope, &err) < 0) {
        server_request_answer_error(request, &err);
        return;
    }
    n = bash_events_clear(bash_events_of(request->server->bash), scope);
    json_put(body, "cleared_count", json_integer((json_int_t)n));
    server_request_answer_json(request, 200, body);
}
