#include "runtime/api/http_front.h"

#include <string.h>

#include "auth/wrong_keys.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/api/admin_auth.h"
#include "runtime/api/front_body.h"
#include "runtime/core/service.h"
#include "runtime/core/tenant.h"
#include "store/runtime/runtime_key_store.h"
#include "web/reply_output.h"
#include "web/reply_status.h"
#include "web/request_input.h"
#include "web/transfer_rate.h"
#include "web/url_path.h"

/* Value with which nginx marks external requests. */
#define OUTSIDE "outside"

/* As in the other APIs, except that invalid input is 400, which clients of this API expect. */
static int status_of(enum error_code code)
{
    return code == ERROR_INVALID ? 400 : reply_status(code);
}

static void append_head(struct strbuf *text, int status, const char *type, size_t body_len)
{
    strbuf_appendf(text, "Status: %d\r\nContent-Type: %s\r\nContent-Length: %zu\r\n", status, type,
                   body_len);
    if (status == 503)
        strbuf_append(text, "Retry-After: 1\r\n");
    if (status == 429)
        strbuf_append(text, "Retry-After: " WRONG_KEYS_RETRY_S "\r\n");
    strbuf_append(text, "\r\n");
}

/* Clients crash on an error body that is not an object. */
static void write_reply(const struct reply_output *output, int status, const json_t *body)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf whole = STRBUF_INIT;
    struct transfer_rate rate = {.grace_ms = TRANSFER_CLIENT_GRACE_MS};
    const char *type = "application/json";

    if (json_is_string(body)) {
        type = "text/plain; version=0.0.4";
        strbuf_append_bytes(&text, json_string_value(body), json_string_length(body));
    } else {
        json_append_text(&text, body);
    }
    append_head(&whole, status, type, text.len);
    strbuf_append_bytes(&whole, text.text, text.len);
    if (!reply_output_write(output, &rate, whole.text, whole.len))
        log_debug("request.client_gone");
}

static void write_error(const struct reply_output *output, const struct error *error,
                        int *status_out)
{
    json_auto_t *body = json_object();

    *status_out = status_of(error->code);
    json_put_text(body, "detail", *status_out == 500 ? "internal error" : error->message);
    write_reply(output, *status_out, body);
}

static const char *param(const struct request_input *input, const char *name)
{
    const char *value = request_input_param(input, name);

    return value != NULL ? value : "";
}

static int read_json(const struct request_input *input, long max_bytes, json_t **body_out,
                     struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const char *type = param(input, "CONTENT_TYPE");

    if (front_body_read(input, max_bytes, &text, err) < 0)
        return -1;
    if (text.len == 0)
        return 0;
    if (type[0] != '\0' && !json_is_media_type(type))
        return json_refuse_media_type(err);
    return json_parse(text.text, text.len, body_out, err);
}

/* A request as far as routes and keys decide on it. */
struct front_call {
    const struct request_input *input;
    const char *method;
    struct url_path path;
    bool is_outside;
};

static int find_route(const struct front_call *call, const struct front_route **route_out,
                      struct error *err)
{
    bool has_path = false;

    for (const struct front_route *route = api_routes; route->method != NULL; route++) {
        if ((call->is_outside && route->access == ACCESS_HOUSE) ||
            !url_path_matches(&call->path, route->path))
            continue;
        has_path = true;
        if (text_equal(route->method, call->method)) {
            *route_out = route;
            return 0;
        }
    }
    if (has_path)
        return error_set(err, ERROR_INVALID, "%.10s is not for this path", call->method);
    return error_set(err, ERROR_NOT_FOUND, "no such path");
}

static int check_key(const struct service *service, const struct request_input *input,
                     struct error *err)
{
    const char *key = request_input_param(input, "HTTP_X_API_KEY");

    if (key != NULL && text_equal_secret(key, secret_reveal(&service->settings->api_key)))
        return 0;
    return error_set(err, ERROR_UNAUTHENTICATED, "provide a valid API key");
}

/* Counts invalid keys of external callers. */
static int refuse_key(const struct service *service, const struct request_input *input,
                      const char *key_param, struct error *err)
{
    if (request_input_param(input, key_param) == NULL)
        return -1;
    return wrong_keys_refuse(service->wrong_keys, request_input_param(input, "REMOTE_ADDR"), err);
}

/* tenant: set for external callers. */
static int check_caller(struct service *service, const struct front_call *call,
                        struct tenant *tenant, struct error *err)
{
    if (!call->is_outside)
        return check_key(service, call->input, err);
    if (tenant_find(service, request_input_param(call->input, "HTTP_X_API_KEY"), tenant, err) < 0)
        return refuse_key(service, call->input, "HTTP_X_API_KEY", err);
    return 0;
}

/* route: NULL when there is none. */
static int authenticate(struct service *service, const struct front_call *call,
                        const struct front_route *route, struct tenant *tenant, struct error *err)
{
    if (route != NULL && route->access == ACCESS_OPEN)
        return 0;
    if (route == NULL || !call->is_outside || route->access != ACCESS_ADMIN)
        return check_caller(service, call, tenant, err);
    if (admin_check(service, request_input_param(call->input, "HTTP_AUTHORIZATION"), err) < 0)
        return refuse_key(service, call->input, "HTTP_AUTHORIZATION", err);
    return 0;
}

static int handle_call(struct service *service, const struct front_call *call, json_t **reply_out,
                       struct error *err)
{
    const struct front_route *route = NULL;
    struct tenant tenant = TENANT_INIT;
    json_auto_t *body = NULL;
    CLEANUP(path_params_done) struct path_params params = {.n = 0};
    struct front_request request = {.query = param(call->input, "QUERY_STRING"),
                                    .content_type = param(call->input, "CONTENT_TYPE"),
                                    .input = call->input};
    struct error missing = ERROR_INIT;

    /* Without a valid key a caller does not even learn which paths exist. */
    error_ignore(find_route(call, &route, &missing),
                 "reported below, to authenticated clients only");
    if (authenticate(service, call, route, &tenant, err) < 0)
        return -1;
    if (route == NULL) {
        *err = missing;
        return -1;
    }
    if (route->body_max_bytes > 0 && read_json(call->input, route->body_max_bytes, &body, err) < 0)
        return -1;
    url_path_take_params(&call->path, route->path, &params);
    request.id = path_params_text(&params, "id");
    request.body = body;
    request.tenant = call->is_outside && route->access != ACCESS_ADMIN ? &tenant : NULL;
    return route->handle(service, &request, reply_out, err);
}

/* A malformed path matches no route; only authenticated clients learn that. */
static void read_call(struct front_call *call, const struct request_input *input)
{
    struct error ignored = ERROR_INIT;

    call->input = input;
    call->method = param(input, "REQUEST_METHOD");
    call->is_outside = text_equal(param(input, "DEFT_ORIGIN"), OUTSIDE);
    if (url_path_read(&call->path, param(input, "REQUEST_URI"), &ignored) < 0)
        url_path_done(&call->path);
}

static void front_call_done(struct front_call *call)
{
    url_path_done(&call->path);
}

static int answer(struct service *service, const struct request_input *input, json_t **reply_out,
                  struct error *err)
{
    CLEANUP(front_call_done) struct front_call call = {.input = NULL};

    read_call(&call, input);
    return handle_call(service, &call, reply_out, err);
}

void front_serve(void *context, const struct request_input *input,
                 const struct reply_output *output)
{
    struct service *service = context;
    CLEANUP(mem_freep) char *path = mem_dup_text(param(input, "REQUEST_URI"));
    json_auto_t *reply = NULL;
    struct error err = ERROR_INIT;
    int64_t begun_ms = clock_monotonic_ms();
    int status = 200;

    path[strcspn(path, "?")] = '\0';
    if (answer(service, input, &reply, &err) == 0)
        write_reply(output, status, reply);
    else
        write_error(output, &err, &status);
    if (status >= 500)
        log_warning("request.failed", LOG_STR("path", path), LOG_INT("status", status),
                    LOG_ERROR(&err));
    log_info("request.served", LOG_STR("method", param(input, "REQUEST_METHOD")),
             LOG_STR("path", path), LOG_INT("status", status),
             LOG_INT("duration_ms", clock_monotonic_ms() - begun_ms));
}
