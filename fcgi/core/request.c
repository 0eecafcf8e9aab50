#include "fcgi/core/request.h"

#include <string.h>

#include "auth/wrong_keys.h"
#include "base/codec/query.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "fcgi/core/fcgi_context.h"
#include "web/request_input.h"
#include "web/url_path.h"

static const char *const method_names[] = {
#define X(constant, text) [constant] = (text),
    HTTP_METHODS(X)
#undef X
};

/*
 * A repeated header of these is an attempt to be read differently by two parsers: nginx passes
 * both, so the request is refused.
 */
static const char *const single_params[] = {
    "HTTP_X_SESSION_API_KEY",
    "HTTP_AUTHORIZATION",
    "HTTP_COOKIE",
    "HTTP_HOST",
    "HTTP_ORIGIN",
    "HTTP_SEC_FETCH_SITE",
    "CONTENT_LENGTH",
    "CONTENT_TYPE",
    "HTTP_X_EXPOSE_SECRETS",
};

const char *http_method_to_string(enum http_method method)
{
    return method_names[method];
}

bool http_method_is_unsafe(enum http_method method)
{
    return method != HTTP_GET && method != HTTP_OPTIONS;
}

const char *request_param(const struct request *request, const char *name)
{
    return request_input_param(request->input, name);
}

int request_refuse_key(const struct request *request, struct error *err)
{
    return wrong_keys_refuse(request->context->wrong_keys, request_param(request, "REMOTE_ADDR"),
                             err);
}

static int check_single(const struct request *request, const char *name, struct error *err)
{
    if (request_input_count(request->input, name) > 1)
        return error_set(err, ERROR_INVALID, "%s came twice", name);
    return 0;
}

static bool is_clean_text(const struct strbuf *text)
{
    return memchr(text->text, '\0', text->len) == NULL && utf8_is_valid(text->text, text->len);
}

static int check_clean_text(const struct strbuf *text, struct error *err)
{
    return is_clean_text(text) ? 0 : error_set(err, ERROR_INVALID, "the address is not UTF-8");
}

static int add_query_item(struct request *request, struct strbuf *name, struct strbuf *value,
                          struct error *err)
{
    struct query_item *item = &request->query[request->n_query];

    if (request->n_query == QUERY_MAX_ITEMS)
        return error_set(err, ERROR_INVALID, "the query has too many parts");
    if (check_clean_text(name, err) < 0 || check_clean_text(value, err) < 0)
        return -1;
    *item = (struct query_item){strbuf_take(name), strbuf_take(value)};
    request->n_query++;
    return 0;
}

static int read_query(struct request *request, struct error *err)
{
    struct query_reader reader = {request->query_text};

    request->query = mem_alloc_array(QUERY_MAX_ITEMS, sizeof(*request->query));
    for (;;) {
        CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;

        if (!query_next(&reader, &name, &value))
            return 0;
        if (add_query_item(request, &name, &value, err) < 0)
            return -1;
    }
}

static int read_target(struct request *request, struct error *err)
{
    const char *target = request_param(request, "REQUEST_URI");
    size_t path_len = 0;

    if (target == NULL || target[0] != '/')
        return error_set(err, ERROR_INVALID, "the address is not a path");
    path_len = strcspn(target, "?");
    request->target = target;
    request->query_text = target + path_len + (target[path_len] == '?');
    if (url_path_read(&request->path, target, err) < 0)
        return -1;
    return read_query(request, err);
}

static void read_method(struct request *request)
{
    const char *text = request_param(request, "REQUEST_METHOD");

    request->method_text = text != NULL ? text : "";
    request->method = HTTP_OTHER;
    for (size_t i = 0; i < HTTP_OTHER; i++) {
        if (text_equal(request->method_text, method_names[i]))
            request->method = (enum http_method)i;
    }
}

/* Set by nginx; if missing, the origin that accepts keys only is assumed. */
static void read_origin(struct request *request)
{
    const char *origin = request_param(request, "DEFT_ORIGIN");

    request->origin = ORIGIN_AGENT;
    if (origin != NULL && text_equal(origin, "app"))
        request->origin = ORIGIN_APP;
    else if (origin != NULL && text_equal(origin, "preview"))
        request->origin = ORIGIN_PREVIEW;
    else if (origin != NULL && text_equal(origin, "socket"))
        request->origin = ORIGIN_SOCKET;
}

/* nginx assigns each request an id; without one we make it. */
static void read_id(struct request *request)
{
    const char *id = request_param(request, "DEFT_REQUEST_ID");
    struct uuid made = uuid_random();

    uuid_to_hex(&made, request->id);
    if (id != NULL && strlen(id) == sizeof(request->id) - 1 &&
        strspn(id, "0123456789abcdef") == sizeof(request->id) - 1)
        memcpy(request->id, id, sizeof(request->id));
}

int request_init(struct request *request, const struct fcgi_context *context,
                 const struct request_input *input, struct error *err)
{
    *request = (struct request){
        .context = context, .input = input, .query_text = "", .target = "", .body = STRBUF_INIT};
    request->problems = json_array();
    read_origin(request);
    read_method(request);
    read_id(request);
    for (size_t i = 0; i < ARRAY_SIZE(single_params); i++) {
        if (check_single(request, single_params[i], err) < 0)
            return -1;
    }
    if (request_input_content_length(input, &request->content_length, err) < 0)
        return -1;
    return read_target(request, err);
}

void request_done(struct request *request)
{
    if (request == NULL)
        return;
    url_path_done(&request->path);
    path_params_done(&request->params);
    for (size_t i = 0; i < request->n_query; i++) {
        mem_free(request->query[i].name);
        mem_free(request->query[i].value);
    }
    mem_free(request->query);
    strbuf_done(&request->body);
    json_decref(request->problems);
    *request = (struct request){.body = STRBUF_INIT};
}

/* The value after "name=" of a cookie pair, or NULL. RFC 6265, section 4.2.1. */
static const char *cookie_pair_value(const char *pair, const char *name)
{
    size_t len = strlen(name);

    pair += strspn(pair, " \t");
    return strncmp(pair, name, len) == 0 && pair[len] == '=' ? pair + len + 1 : NULL;
}

bool request_cookie(const struct request *request, const char *name, char *value_out, size_t size)
{
    const char *at = request_param(request, "HTTP_COOKIE");
    size_t n_found = 0;

    while (at != NULL && *at != '\0') {
        const char *value = cookie_pair_value(at, name);
        const char *end = at + strcspn(at, ";");

        if (value != NULL) {
            size_t len = (size_t)(end - value);

            if (len >= size)
                return false;
            memcpy(value_out, value, len);
            value_out[len] = '\0';
            n_found++;
        }
        at = *end == ';' ? end + 1 : end;
    }
    return n_found == 1 && value_out[0] != '\0';
}

int request_read(const struct request *request, struct transfer_rate *rate, char *buffer,
                 size_t size, struct error *err)
{
    return request_input_read(request->input, rate, buffer, size, err);
}

int request_read_body(struct request *request, size_t max_bytes, struct error *err)
{
    return request_input_read_body(request->input, request->content_length, max_bytes,
                                   &request->body, err);
}

void request_append_path_rest(const struct request *request, size_t n_segments, struct strbuf *out)
{
    const char *at = request->target;

    for (size_t i = 0; i < n_segments && *at == '/'; i++)
        at += 1 + strcspn(at + 1, "/?");
    strbuf_append_bytes(out, at, strcspn(at, "?"));
}

const char *request_path_text(const struct request *request, const char *name)
{
    return path_params_text(&request->params, name);
}

int request_path_uuid(const struct request *request, const char *name, struct uuid *uuid_out,
                      struct error *err)
{
    const char *text = request_path_text(request, name);
    json_auto_t *input = NULL;

    if (uuid_parse(text, uuid_out))
        return 0;
    input = json_text(text, strlen(text));
    return request_problem(
        request, REQUEST_JSON_PATH("path", name),
        &(struct validation_error){"uuid_parsing", "Input should be a valid UUID", NULL}, input,
        err);
}

const char *request_query(const struct request *request, const char *name)
{
    const char *value = NULL;

    for (size_t i = 0; i < request->n_query; i++) {
        if (text_equal(request->query[i].name, name))
            value = request->query[i].value;
    }
    return value;
}

int request_problem(const struct request *request, const struct json_path *where,
                    const struct validation_error *problem, json_t *input, struct error *err)
{
    validation_error_add(request->problems, where, problem, input);
    return error_set(err, ERROR_INVALID, "%s", problem->msg);
}

int request_problems_noted(struct error *err)
{
    return error_set(err, ERROR_INVALID, "the request is not valid");
}
