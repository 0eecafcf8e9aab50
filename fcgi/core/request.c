#include "fcgi/request.h"

#include <string.h>

#include "auth/wrong_keys.h"
#include "base/clock.h"
#include "base/crypto.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "fcgi/context.h"
#include "fcgi/pace.h"

enum { READ_CHUNK_BYTES = 16384 };

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

/* The value of NAME=value, or NULL when the entry has another name. */
static const char *param_value(const char *entry, const char *name)
{
    size_t len = strlen(name);

    return strncmp(entry, name, len) == 0 && entry[len] == '=' ? entry + len + 1 : NULL;
}

const char *request_param(const struct request *request, const char *name)
{
    for (char *const *entry = request->input->params; *entry != NULL; entry++) {
        const char *value = param_value(*entry, name);

        if (value != NULL && value[0] != '\0')
            return value;
    }
    return NULL;
}

int request_refuse_key(const struct request *request, struct error *err)
{
    return wrong_keys_refuse(request->context->wrong_keys, request_param(request, "REMOTE_ADDR"),
                             err);
}

static int check_single(const struct request *request, const char *name, struct error *err)
{
    size_t n = 0;

    for (char *const *entry = request->input->params; *entry != NULL; entry++)
        n += param_value(*entry, name) != NULL;
    if (n > 1)
        return error_set(err, ERROR_INVALID, "%s came twice", name);
    return 0;
}

static bool is_clean_text(const struct strbuf *text)
{
    return memchr(text->text, '\0', text->len) == NULL && utf8_is_valid(text->text, text->len);
}

/* Decodes a part of the target; the caller frees it. */
static int decode(const char *text, size_t len, char plus, char **text_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf decoded = STRBUF_INIT;

    percent_decode(&decoded, text, len, plus);
    if (!is_clean_text(&decoded))
        return error_set(err, ERROR_INVALID, "the address is not UTF-8");
    *text_out = strbuf_take(&decoded);
    return 0;
}

static int read_path(struct request *request, size_t len, struct error *err)
{
    const char *at = request->target + 1;
    const char *end = request->target + len;

    while (at <= end) {
        size_t n = strcspn(at, "/?");

        if (n > (size_t)(end - at))
            n = (size_t)(end - at);
        if (request->n_segments == PATH_MAX_SEGMENTS)
            return error_set(err, ERROR_INVALID, "the path has too many parts");
        if (decode(at, n, '+', &request->segments[request->n_segments], err) < 0)
            return -1;
        request->n_segments++;
        at += n + 1;
    }
    return 0;
}

static int read_query_item(struct request *request, const char *text, size_t len, struct error *err)
{
    struct query_item *item = &request->query[request->n_query];
    const char *equals = memchr(text, '=', len);
    size_t name_len = equals != NULL ? (size_t)(equals - text) : len;

    if (len == 0)
        return 0;
    request->n_query++;
    if (decode(text, name_len, ' ', &item->name, err) < 0)
        return -1;
    if (equals == NULL) {
        item->value = mem_dup_text("");
        return 0;
    }
    return decode(equals + 1, len - name_len - 1, ' ', &item->value, err);
}

static int read_query(struct request *request, struct error *err)
{
    const char *at = request->query_text;

    request->query = mem_alloc_array(QUERY_MAX_ITEMS, sizeof(*request->query));
    while (*at != '\0') {
        size_t len = strcspn(at, "&");

        if (request->n_query == QUERY_MAX_ITEMS)
            return error_set(err, ERROR_INVALID, "the query has too many parts");
        if (read_query_item(request, at, len, err) < 0)
            return -1;
        at += len + (at[len] == '&');
    }
    return 0;
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
    if (read_path(request, path_len, err) < 0)
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

static int read_content_length(struct request *request, struct error *err)
{
    const char *length = request_param(request, "CONTENT_LENGTH");

    request->content_length = -1;
    if (length == NULL)
        return 0;
    return text_parse_int(length, 0, INT64_MAX, &request->content_length, err);
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
    if (read_content_length(request, err) < 0)
        return -1;
    return read_target(request, err);
}

void request_done(struct request *request)
{
    if (request == NULL)
        return;
    for (size_t i = 0; i < request->n_segments; i++)
        mem_free(request->segments[i]);
    for (size_t i = 0; i < request->n_query; i++) {
        mem_free(request->query[i].name);
        mem_free(request->query[i].value);
    }
    mem_free(request->query);
    mem_free(request->tail);
    strbuf_done(&request->body);
    json_decref(request->problems);
    *request = (struct request){.body = STRBUF_INIT};
}

/* The value after "name=" of a cookie pair, or NULL. RFC 6265, section 4.2.1. */
static const char *cookie_pair_value(const char *pair, const char *name)
{
    pair += strspn(pair, " \t");
    return param_value(pair, name);
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

int request_read(const struct request *request, struct pace *pace, char *buffer, size_t size,
                 struct error *err)
{
    int64_t begun_ms = clock_monotonic_ms();
    int n = request->input->read(request->input->stream, buffer, (int)size);

    if (n == REQUEST_READ_SILENT)
        return error_set(err, ERROR_SLOW_CLIENT, "The request body stopped coming");
    if (n < 0)
        return error_set(err, ERROR_INVALID, "The request body broke off");
    if (pace_is_too_slow(pace, begun_ms, (size_t)n))
        return error_set(err, ERROR_SLOW_CLIENT,
                         "The request body comes too slowly: less than %d bytes a second",
                         PACE_LEAST_BYTES_PER_S);
    return n;
}

int request_read_body(struct request *request, size_t max_bytes, struct error *err)
{
    struct pace pace = {.grace_ms = PACE_CLIENT_GRACE_MS};
    char chunk[READ_CHUNK_BYTES];
    int n = 0;

    if (request->content_length > 0 && (uint64_t)request->content_length > max_bytes)
        return error_set(err, ERROR_TOO_LARGE, "Request body too large");
    do {
        n = request_read(request, &pace, chunk, sizeof(chunk), err);
        if (n < 0)
            return -1;
        strbuf_append_bytes(&request->body, chunk, (size_t)n);
        if (request->body.len > max_bytes)
            return error_set(err, ERROR_TOO_LARGE, "Request body too large");
    } while (n > 0);
    if (request->content_length > 0 && request->body.len != (uint64_t)request->content_length)
        return error_set(err, ERROR_INVALID, "The request body broke off");
    return 0;
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
    for (size_t i = 0; i < request->n_params; i++) {
        const struct path_param *param = &request->params[i];

        if (param->name_len == strlen(name) && strncmp(param->name, name, param->name_len) == 0)
            return param->value;
    }
    return "";
}

int request_path_uuid(const struct request *request, const char *name, struct uuid *uuid_out,
                      struct error *err)
{
    const char *text = request_path_text(request, name);
    json_auto_t *input = NULL;

    if (uuid_parse(text, uuid_out))
        return 0;
    input = json_text(text, strlen(text));
    return request_problem(request, REQUEST_PLACE("path", name),
                           &(struct problem){"uuid_parsing", "Input should be a valid UUID", NULL},
                           input, err);
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

int request_problem(const struct request *request, const struct place *place,
                    const struct problem *problem, json_t *input, struct error *err)
{
    problem_add(request->problems, place, problem, input);
    return error_set(err, ERROR_INVALID, "%s", problem->msg);
}

int request_problems_noted(struct error *err)
{
    return error_set(err, ERROR_INVALID, "the request is not valid");
}
