#include "runtime/api/http_front.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fcgiapp.h>

#include "auth/wrong_keys.h"
#include "base/clock.h"
#include "base/encode.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "runtime/api/admin.h"
#include "runtime/core/service.h"
#include "runtime/core/tenant.h"
#include "store/runtime/runtime_key_store.h"

#define BACKLOG 256
#define ID_PLACE "{id}"
#define ID_MAX_BYTES 256
/* Value with which nginx marks external requests. */
#define OUTSIDE "outside"

static const int status_of_code[ERROR_N_CODES] = {
    [ERROR_NONE] = 500,        [ERROR_INVALID] = 400,    [ERROR_UNAUTHENTICATED] = 401,
    [ERROR_FORBIDDEN] = 403,   [ERROR_NOT_FOUND] = 404,  [ERROR_CONFLICT] = 409,
    [ERROR_STALE] = 409,       [ERROR_TOO_LARGE] = 413,  [ERROR_RATE_LIMITED] = 429,
    [ERROR_TIMEOUT] = 504,     [ERROR_CANCELLED] = 503,  [ERROR_UNAVAILABLE] = 503,
    [ERROR_UNSUPPORTED] = 501, [ERROR_MEDIA_TYPE] = 415, [ERROR_SLOW_CLIENT] = 408,
    [ERROR_INTERNAL] = 500,
};

/* Clients crash on an error body that is not an object. */
static void write_reply(FCGX_Stream *out, int status, const json_t *body)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const char *type = "application/json";

    if (json_is_string(body)) {
        type = "text/plain; version=0.0.4";
        strbuf_append_bytes(&text, json_string_value(body), json_string_length(body));
    } else {
        json_append_text(&text, body);
    }
    FCGX_FPrintF(out, "Status: %d\r\nContent-Type: %s\r\nContent-Length: %d\r\n", status, type,
                 (int)text.len);
    if (status == 503)
        FCGX_FPrintF(out, "Retry-After: 1\r\n");
    if (status == 429)
        FCGX_FPrintF(out, "Retry-After: " WRONG_KEYS_RETRY_S "\r\n");
    FCGX_FPrintF(out, "\r\n");
    FCGX_PutStr(text.text, (int)text.len, out);
}

static void write_error(FCGX_Stream *out, const struct error *error, int *status_out)
{
    json_auto_t *body = json_object();

    *status_out = status_of_code[error->code];
    json_put_text(body, "detail", *status_out == 500 ? "internal error" : error->message);
    write_reply(out, *status_out, body);
}

static int read_body(FCGX_Request *fcgi, int64_t max_bytes, struct strbuf *text, struct error *err)
{
    const char *length = FCGX_GetParam("CONTENT_LENGTH", fcgi->envp);
    int64_t n = 0;

    if (length != NULL && length[0] != '\0' && text_parse_int(length, 0, INT64_MAX, &n, err) < 0)
        return error_wrap(err, "Content-Length");
    if (n > max_bytes)
        return error_set(err, ERROR_TOO_LARGE, "the body is larger than %lld bytes",
                         (long long)max_bytes);
    strbuf_reserve(text, (size_t)n + 1);
    while (text->len < (size_t)n) {
        char bytes[16384];
        size_t left = (size_t)n - text->len;
        int got =
            FCGX_GetStr(bytes, left < sizeof(bytes) ? (int)left : (int)sizeof(bytes), fcgi->in);

        if (got <= 0)
            return error_set(err, ERROR_INVALID, "the body ended early");
        strbuf_append_bytes(text, bytes, (size_t)got);
    }
    return 0;
}

struct front_source {
    FCGX_Request *fcgi;
};

int front_read_body(const struct front_request *request, int64_t max_bytes, struct strbuf *body,
                    struct error *err)
{
    return read_body(request->source->fcgi, max_bytes, body, err);
}

void front_query_member(const struct front_request *request, const char *name, struct strbuf *value)
{
    const char *item = request->query;
    size_t name_len = strlen(name);

    while (*item != '\0') {
        size_t len = strcspn(item, "&");

        if (text_starts_with(item, name) && item[name_len] == '=') {
            percent_decode(value, item + name_len + 1, len - name_len - 1, ' ');
            return;
        }
        item += len + (item[len] == '&');
    }
}

static const char *param(FCGX_Request *fcgi, const char *name)
{
    const char *value = FCGX_GetParam(name, fcgi->envp);

    return value != NULL ? value : "";
}

static int read_json(FCGX_Request *fcgi, long max_bytes, json_t **body_out, struct error *err)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const char *type = param(fcgi, "CONTENT_TYPE");

    if (read_body(fcgi, max_bytes, &text, err) < 0)
        return -1;
    if (text.len == 0)
        return 0;
    if (type[0] != '\0' && !json_is_media_type(type))
        return json_refuse_media_type(err);
    return json_parse(text.text, text.len, body_out, err);
}

/* A path's last segment may match {id}. */
static bool path_fits(const char *pattern, const char *path, char id[ID_MAX_BYTES])
{
    size_t fixed = strlen(pattern);

    if (!text_ends_with(pattern, ID_PLACE))
        return text_equal(pattern, path);
    fixed -= sizeof(ID_PLACE) - 1;
    if (strncmp(pattern, path, fixed) != 0 || path[fixed] == '\0' ||
        strchr(path + fixed, '/') != NULL || strlen(path + fixed) >= ID_MAX_BYTES)
        return false;
    memcpy(id, path + fixed, strlen(path + fixed) + 1);
    return true;
}

struct asked {
    const char *method;
    const char *path;
    bool is_outside;
};

static int find_route(const struct asked *asked, const struct front_route **route_out,
                      char id[ID_MAX_BYTES], struct error *err)
{
    bool has_path = false;

    for (const struct front_route *route = api_routes; route->method != NULL; route++) {
        if ((asked->is_outside && route->access == ACCESS_HOUSE) ||
            !path_fits(route->path, asked->path, id))
            continue;
        has_path = true;
        if (text_equal(route->method, asked->method)) {
            *route_out = route;
            return 0;
        }
    }
    if (has_path)
        return error_set(err, ERROR_INVALID, "%.10s is not for this path", asked->method);
    return error_set(err, ERROR_NOT_FOUND, "no such path");
}

static int check_key(const struct service *service, FCGX_Request *fcgi, struct error *err)
{
    const char *key = FCGX_GetParam("HTTP_X_API_KEY", fcgi->envp);

    if (key != NULL && text_equal_secret(key, secret_reveal(&service->settings->api_key)))
        return 0;
    return error_set(err, ERROR_UNAUTHENTICATED, "provide a valid API key");
}

/* Counts invalid keys of external callers. */
static int refuse_key(const struct service *service, FCGX_Request *fcgi, const char *key_param,
                      struct error *err)
{
    if (param(fcgi, key_param)[0] == '\0')
        return -1;
    return wrong_keys_refuse(service->wrong_keys, FCGX_GetParam("REMOTE_ADDR", fcgi->envp), err);
}

/* tenant: set for external callers. */
static int check_caller(struct service *service, FCGX_Request *fcgi, const struct asked *asked,
                        struct tenant *tenant, struct error *err)
{
    if (!asked->is_outside)
        return check_key(service, fcgi, err);
    if (tenant_find(service, FCGX_GetParam("HTTP_X_API_KEY", fcgi->envp), tenant, err) < 0)
        return refuse_key(service, fcgi, "HTTP_X_API_KEY", err);
    return 0;
}

static int serve(struct service *service, FCGX_Request *fcgi, const char *path, json_t **reply_out,
                 struct error *err)
{
    const struct asked asked = {.method = param(fcgi, "REQUEST_METHOD"),
                                .path = path,
                                .is_outside = text_equal(param(fcgi, "DEFT_ORIGIN"), OUTSIDE)};
    const struct front_route *route = NULL;
    struct tenant tenant = TENANT_INIT;
    json_auto_t *body = NULL;
    char id[ID_MAX_BYTES] = "";
    struct front_source source = {.fcgi = fcgi};
    struct front_request request = {.id = id,
                                    .query = param(fcgi, "QUERY_STRING"),
                                    .content_type = param(fcgi, "CONTENT_TYPE"),
                                    .source = &source};
    struct error missing = ERROR_INIT;

    /* Without a valid key a caller does not even learn which paths exist. */
    error_ignore(find_route(&asked, &route, id, &missing), "said below, to those who have a key");
    if (route != NULL && asked.is_outside && route->access == ACCESS_ADMIN) {
        if (admin_check(service, FCGX_GetParam("HTTP_AUTHORIZATION", fcgi->envp), err) < 0)
            return refuse_key(service, fcgi, "HTTP_AUTHORIZATION", err);
    } else if ((route == NULL || route->access != ACCESS_OPEN) &&
               check_caller(service, fcgi, &asked, &tenant, err) < 0) {
        return -1;
    }
    if (route == NULL) {
        *err = missing;
        return -1;
    }
    if (route->body_max_bytes > 0 && read_json(fcgi, route->body_max_bytes, &body, err) < 0)
        return -1;
    request.body = body;
    request.tenant = asked.is_outside && route->access != ACCESS_ADMIN ? &tenant : NULL;
    return route->handle(service, &request, reply_out, err);
}

static void handle(struct service *service, FCGX_Request *fcgi)
{
    CLEANUP(mem_freep) char *path = mem_dup_text(param(fcgi, "REQUEST_URI"));
    json_auto_t *reply = NULL;
    struct error err = ERROR_INIT;
    int64_t begun_ms = clock_monotonic_ms();
    int status = 200;

    path[strcspn(path, "?")] = '\0';
    if (serve(service, fcgi, path, &reply, &err) == 0)
        write_reply(fcgi->out, status, reply);
    else
        write_error(fcgi->out, &err, &status);
    if (status >= 500)
        log_warning("request.failed", LOG_STR("path", path), LOG_INT("status", status),
                    LOG_ERROR(&err));
    log_info("request.served", LOG_STR("method", param(fcgi, "REQUEST_METHOD")),
             LOG_STR("path", path), LOG_INT("status", status),
             LOG_INT("duration_ms", clock_monotonic_ms() - begun_ms));
}

int front_listen(const char *path, int *fd_out, struct error *err)
{
    int fd = -1;

    if (FCGX_Init() != 0)
        return error_set(err, ERROR_INTERNAL, "libfcgi cannot be set up");
    fd = FCGX_OpenSocket(path, BACKLOG);
    if (fd < 0)
        return error_set(err, ERROR_UNAVAILABLE, "listening on %s: %m", path);
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "%s: %m", path);
    *fd_out = fd;
    return 0;
}

void front_run(struct service *service, int fd)
{
    FCGX_Request fcgi;

    if (FCGX_InitRequest(&fcgi, fd, 0) != 0)
        return;
    while (FCGX_Accept_r(&fcgi) == 0) {
        handle(service, &fcgi);
        FCGX_Finish_r(&fcgi);
    }
    FCGX_Free(&fcgi, 1);
}

void front_stop(int fd)
{
    FCGX_ShutdownPending();
    (void)shutdown(fd, SHUT_RDWR);
}
