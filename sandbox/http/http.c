#include "sandbox/http/http.h"

#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <libwebsockets.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "sandbox/core/action_config.h"
#include "sandbox/core/limits.h"
#include "sandbox/core/loop.h"
#include "sandbox/core/server.h"
#include "sandbox/http/http_connection.h"
#include "sandbox/http/inside.h"
#include "sandbox/http/listener.h"
#include "sandbox/http/request.h"
#include "sandbox/http/route.h"

enum {
    ACCEPTS_AT_ONCE = 32,
    SERVICE_BUFFER_BYTES = 32 * 1024,
    HEADERS_WITHIN_MS = 30000,
    BODY_WITHIN_MS = 120000,
    NEVER_S = 1000000000,
};

/* A listening socket. */
struct door {
    struct loop_source source;
    struct http *http;
};

struct http {
    struct server *server;
    struct loop *loop;
    const struct config *config;
    const struct route_table *routes;
    struct lws_context *context;
    struct lws_vhost *vhost;
    struct door outer;
    struct door inner; /* for programs in this sandbox, where the outer one is of another network */
    size_t n_connections;
};

/* --- reading --- */

static int check_key(const struct request *request, struct error *err)
{
    CLEANUP(mem_freep) char *key = request_header(request, "x-session-api-key");
    const struct config *config = request->server->config;

    if (request->route->access == ROUTE_OPEN || config->open)
        return 0;
    if (config_is_dormant(config))
        return error_set(err, ERROR_UNAVAILABLE,
                         "server is in deferred-init state 'dormant'; call POST /api/init first");
    if (key != NULL && text_starts_with(request->path, "/api/") &&
        text_equal_secret(key, config->command_key))
        return 0;
    if (key != NULL && text_equal_secret(key, secret_reveal(&config->api_key)))
        return 0;
    if (request->route->access == ROUTE_OLDER)
        return error_set(err, ERROR_FORBIDDEN, "Invalid API Key");
    return error_set(err, ERROR_UNAUTHENTICATED, "Unauthorized");
}

/* Checks done before the body is read: route, key, size. */
static int admit(struct request *request, struct error *err)
{
    enum http_method method = request->method == HTTP_HEAD ? HTTP_GET : request->method;

    request->route =
        route_find(request->connection->http->routes, method, request->path, &request->param, err);
    if (request->route == NULL)
        return -1;
    if (check_key(request, err) < 0)
        return -1;
    if (request->content_length > request->route->max_body)
        return error_set(err, ERROR_TOO_LARGE, "The body is larger than %lld bytes",
                         (long long)request->route->max_body);
    return 0;
}

/* Passes a complete request to its handler, unless it was already answered. */
static void dispatch(struct request *request)
{
    loop_timer_clear(request->connection->http->loop, &request->connection->deadline);
    if (!request->is_answered)
        request->route->handle(request);
}

static int begin_request(struct http_connection *connection, const char *path)
{
    struct error err = ERROR_INIT;
    struct request *request = NULL;

    assert(connection->request == NULL);
    request = request_new(connection, path);
    connection->request = request;
    lws_set_timeout(connection->wsi, NO_PENDING_TIMEOUT, 0);
    loop_timer_set(connection->http->loop, &connection->deadline, BODY_WITHIN_MS);
    if (admit(request, &err) < 0)
        request_answer_error(request, &err);
    else if (inside_admit(request) && request->route->begin != NULL)
        request->route->begin(request);
    if (!request_has_body(request))
        dispatch(request);
    return 0;
}

static void take_bytes(struct request *request, const char *bytes, size_t len)
{
    struct error err = ERROR_INIT;

    if (request->is_answered)
        return;
    if (request->sink.take == NULL)
        strbuf_append_bytes(&request->body, bytes, len);
    else if (request->sink.take(request->sink.state, bytes, len, &err) < 0)
        request_answer_error(request, &err);
}

static int64_t max_chunked(const struct request *request)
{
    return request->route->max_body < MAX_CHUNKED_BYTES ? request->route->max_body
                                                        : MAX_CHUNKED_BYTES;
}

/* One piece of data of a chunked body. */
static void take_chunk_data(struct request *request, const char *data, size_t len)
{
    struct error err = ERROR_INIT;

    request->received += (int64_t)len;
    if (!request->is_answered && request->received > max_chunked(request)) {
        error_set(&err, ERROR_TOO_LARGE,
                  "A body without a content-length may have at most %lld bytes",
                  (long long)max_chunked(request));
        request_answer_error(request, &err);
    }
    take_bytes(request, data, len);
}

/* Malformed chunks are answered; the rest of the connection cannot be trusted. */
static void take_chunks(struct request *request, const char *bytes, size_t len)
{
    struct chunked_input input = {bytes, len};
    struct error err = ERROR_INIT;
    const char *data = NULL;
    size_t data_len = 0;

    do {
        if (chunked_next(&request->chunks, &input, &data, &data_len, &err) < 0) {
            request->chunks.state = CHUNKED_OVER;
            if (!request->is_answered)
                request_answer_error(request, &err);
            return;
        }
        if (data_len > 0)
            take_chunk_data(request, data, data_len);
    } while (data_len > 0);
}

static void take_body(struct request *request, const char *bytes, size_t len)
{
    loop_timer_set(request->connection->http->loop, &request->connection->deadline, BODY_WITHIN_MS);
    if (request->is_chunked) {
        take_chunks(request, bytes, len);
        return;
    }
    request->received += (int64_t)len;
    take_bytes(request, bytes, len);
}

/* --- connections --- */

static void on_deadline(void *owner)
{
    struct http_connection *connection = owner;

    lws_set_timeout(connection->wsi, PENDING_TIMEOUT_USER_REASON_BASE, LWS_TO_KILL_ASYNC);
}

static void drop_request(struct http_connection *connection)
{
    struct request *request = connection->request;

    if (request == NULL)
        return;
    connection->request = NULL;
    if (request->dropped != NULL)
        request->dropped(request->owner);
    request_free(request);
}

static void connection_free(struct http_connection *connection)
{
    drop_request(connection);
    loop_timer_clear(connection->http->loop, &connection->deadline);
    connection->http->n_connections--;
    mem_free(connection);
}

static int on_body_complete(struct http_connection *connection)
{
    struct request *request = connection->request;

    if (request == NULL)
        return 0;
    if (request->is_answered)
        lws_callback_on_writable(connection->wsi);
    dispatch(request);
    return 0;
}

static int on_body(struct http_connection *connection, const char *bytes, size_t len)
{
    struct request *request = connection->request;
    bool was_read = request == NULL || request_is_read(request);

    if (was_read)
        return 0;
    take_body(request, bytes, len);
    if (request->is_chunked && request_is_read(request))
        return on_body_complete(connection);
    return 0;
}

/* lws_callback_function; nonzero closes the connection. */
static int on_http(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                   size_t len)
{
    struct http_connection *connection = lws_get_opaque_user_data(wsi);

    (void)user;
    if (connection == NULL)
        return lws_callback_http_dummy(wsi, reason, user, in, len);
    /* NOLINTNEXTLINE(clang-diagnostic-switch-enum): the library has over a hundred reasons */
    switch ((int)reason) {
    case LWS_CALLBACK_HTTP:
        return begin_request(connection, in);
    case LWS_CALLBACK_HTTP_BODY:
        return on_body(connection, in, len);
    case LWS_CALLBACK_HTTP_BODY_COMPLETION:
        if (connection->request != NULL && connection->request->is_chunked)
            return 0;
        return on_body_complete(connection);
    case LWS_CALLBACK_HTTP_WRITEABLE:
        return http_reply_write(connection);
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
        return -1; /* no h2c or WebSocket here */
    case LWS_CALLBACK_CLOSED_HTTP:
        drop_request(connection);
        return 0;
    case LWS_CALLBACK_WSI_DESTROY:
        lws_set_opaque_user_data(wsi, NULL);
        connection_free(connection);
        return 0;
    default:
        return 0;
    }
}

/* Callback of the loop's descriptor, watched together with the connections. */
static int on_loop(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                   size_t len)
{
    const struct http *http = lws_context_user(lws_get_context(wsi));

    (void)user;
    (void)in;
    (void)len;
    if (reason == LWS_CALLBACK_RAW_RX_FILE)
        loop_dispatch(http->loop);
    return 0;
}

static void adopt(struct http *http, int fd)
{
    struct http_connection *connection = NULL;
    int on = 1;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (http->n_connections >= MAX_CONNECTIONS) {
        (void)close(fd);
        return;
    }
    connection = NEW(struct http_connection);
    connection->http = http;
    connection->server = http->server;
    connection->deadline = (struct loop_timer){.expired = on_deadline, .owner = connection};
    connection->wsi = lws_adopt_socket_vhost(http->vhost, fd);
    if (connection->wsi == NULL) { /* it closed the socket */
        mem_free(connection);
        return;
    }
    http->n_connections++;
    lws_set_opaque_user_data(connection->wsi, connection);
    loop_timer_set(http->loop, &connection->deadline, HEADERS_WITHIN_MS);
}

static void on_connect(void *owner, uint32_t events)
{
    const struct door *door = owner;

    (void)events;
    for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
        int fd = accept4(door->source.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd < 0)
            return;
        adopt(door->http, fd);
    }
}

static void on_library_line(int level, const char *line)
{
    (void)level;
    log_debug("http.noted", LOG_STR("text", line));
}

static int make_context(struct http *http, struct error *err)
{
    static const struct lws_protocols protocols[] = {
        {.name = "http", .callback = on_http},
        {.name = "loop", .callback = on_loop},
        {.name = NULL},
    };
    struct lws_context_creation_info info;
    lws_sock_file_fd_type descriptor = {.filefd = loop_descriptor(http->loop)};

    memset(&info, 0, sizeof(info));
    info.port = CONTEXT_PORT_NO_LISTEN;
    info.protocols = protocols;
    info.user = http;
    info.options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS;
    info.fd_limit_per_thread = MAX_CONNECTIONS + 32;
    info.max_http_header_data = MAX_HEADER_BYTES;
    info.pt_serv_buf_size = SERVICE_BUFFER_BYTES;
    info.keepalive_timeout = NEVER_S; /* our own timers end connections */
    info.timeout_secs_ah_idle = NEVER_S;
    lws_set_log_level(LLL_ERR | LLL_WARN, on_library_line);
    http->context = lws_create_context(&info);
    if (http->context == NULL)
        return error_set(err, ERROR_INTERNAL, "the HTTP library does not start");
    http->vhost = lws_create_vhost(http->context, &info);
    if (http->vhost == NULL)
        return error_set(err, ERROR_INTERNAL, "the HTTP library does not start");
    if (lws_adopt_descriptor_vhost(http->vhost, LWS_ADOPT_RAW_FILE_DESC, descriptor, "loop",
                                   NULL) == NULL)
        return error_set(err, ERROR_INTERNAL, "the HTTP library does not watch the loop");
    return 0;
}

static int open_doors(struct http *http, struct error *err)
{
    const struct config *config = http->config;

    http->outer = (struct door){{-1, on_connect, &http->outer}, http};
    http->inner = (struct door){{-1, on_connect, &http->inner}, http};
    if (config->socket == 0)
        return listener_open(config, &http->outer.source.fd, err);
    if (listener_take(config->socket, &http->outer.source.fd, err) < 0)
        return error_wrap(err, "DEFT_ACTION_SOCKET");
    return text_equal(config->bind, "none") ? 0
                                            : listener_open(config, &http->inner.source.fd, err);
}

static int watch_door(struct http *http, struct door *door, struct error *err)
{
    return door->source.fd < 0 ? 0 : loop_add(http->loop, &door->source, EPOLLIN, err);
}

int http_new(struct server *server, struct loop *loop, const struct config *config,
             const struct route_table *routes, struct http **http_out, struct error *err)
{
    struct http *http = NEW(struct http);

    http->server = server;
    http->loop = loop;
    http->config = config;
    http->routes = routes;
    if (open_doors(http, err) < 0 || watch_door(http, &http->outer, err) < 0 ||
        watch_door(http, &http->inner, err) < 0 || make_context(http, err) < 0) {
        http_free(http);
        return -1;
    }
    *http_out = http;
    return 0;
}

void http_free(struct http *http)
{
    if (http == NULL)
        return;
    if (http->context != NULL)
        lws_context_destroy(http->context);
    loop_remove(http->loop, &http->outer.source);
    loop_remove(http->loop, &http->inner.source);
    fd_close(&http->outer.source.fd);
    fd_close(&http->inner.source.fd);
    mem_free(http);
}

int http_port(const struct http *http)
{
    return listener_port(http->outer.source.fd);
}

int http_run(struct http *http, struct error *err)
{
    while (!loop_stop_requested(http->loop)) {
        if (lws_service(http->context, 0) < 0)
            return error_set(err, ERROR_INTERNAL, "the HTTP library has stopped");
    }
    return 0;
}
