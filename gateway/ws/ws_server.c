#include "gateway/ws/ws_server.h"
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>

#include <libwebsockets.h>

#include "auth/credential_header.h"
#include "auth/principal.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "gateway/core/connection.h"
#include "gateway/core/frame.h"
#include "gateway/ws/attach.h"
#include "gateway/ws/masked_input.h"
#include "gateway/ws/receive.h"
#include "gateway/ws/subscriber.h"
#include "gateway/ws/upgrade_request.h"
#include "gateway/ws/ws_services.h"

enum {
    PING_AFTER_S = 20,
    HANG_UP_AFTER_S = 50,
    RX_BYTES = 4096,
    HEAD_MAX_BYTES = 8192,
};

static const char watch_protocol[] = "watch";

/* --- the upgrade --- */

/* Longer heads are refused by libwebsockets, so every part has room. */
struct upgrade_texts {
    char path[HEAD_MAX_BYTES];
    char args[5][HEAD_MAX_BYTES];
    char websocket_key[HEAD_MAX_BYTES];
    char credential[CREDENTIAL_HEADER_BYTES];
    char address[sizeof(((struct socket_request *)NULL)->address)];
};

static void texts_free(struct upgrade_texts **texts)
{
    mem_free(*texts);
}

/* The value of a query parameter, name with its "="; "" without one. */
static const char *query_value(struct lws *wsi, const char *name, char text[HEAD_MAX_BYTES])
{
    const char *value = lws_get_urlarg_by_name(wsi, name, text, HEAD_MAX_BYTES);

    return value != NULL ? value : "";
}

/* The value of a header; "" without one, or of one that is too long. */
static const char *header_value(struct lws *wsi, enum lws_token_indexes token, char *text, int size)
{
    return lws_hdr_copy(wsi, text, size, token) > 0 ? text : "";
}

static const char *credential_value(struct lws *wsi, char *text, int size)
{
    static const char name[] = "x-deft-credential:";

    return lws_hdr_custom_copy(wsi, text, size, name, sizeof(name) - 1) > 0 ? text : "";
}

static int read_upgrade(struct lws *wsi, struct upgrade_request *upgrade_out, struct error *err)
{
    CLEANUP(texts_free) struct upgrade_texts *texts = NEW(struct upgrade_texts);
    const struct upgrade_fields fields = {
        .path = header_value(wsi, WSI_TOKEN_GET_URI, texts->path, sizeof(texts->path)),
        .websocket_key =
            header_value(wsi, WSI_TOKEN_KEY, texts->websocket_key, sizeof(texts->websocket_key)),
        .resend_all = query_value(wsi, "resend_all=", texts->args[0]),
        .resend_mode = query_value(wsi, "resend_mode=", texts->args[1]),
        .after_timestamp = query_value(wsi, "after_timestamp=", texts->args[2]),
        .after_seq = query_value(wsi, "after_seq=", texts->args[3]),
        .tool_progress = query_value(wsi, "tool_progress=", texts->args[4]),
        .credential = credential_value(wsi, texts->credential, sizeof(texts->credential)),
        .address =
            header_value(wsi, WSI_TOKEN_HTTP_X_REAL_IP, texts->address, sizeof(texts->address)),
    };

    return upgrade_request_read(&fields, upgrade_out, err);
}

/* 403 without a body. */
static int refuse(struct lws *wsi)
{
    unsigned char head[LWS_PRE + 512];
    unsigned char *at = head + LWS_PRE;
    unsigned char *end = head + sizeof(head);

    if (lws_add_http_header_status(wsi, HTTP_STATUS_FORBIDDEN, &at, end) == 0 &&
        lws_add_http_header_content_length(wsi, 0, &at, end) == 0)
        (void)!lws_finalize_write_http_header(wsi, head + LWS_PRE, &at, end);
    return 1;
}

/* The request is whole, and not answered yet. */
static int on_request(struct lws *wsi)
{
    struct upgrade_request *upgrade = NEW(struct upgrade_request);
    struct error err = ERROR_INIT;

    if (read_upgrade(wsi, upgrade, &err) < 0) {
        log_info("socket.refused", LOG_ERROR(&err));
        mem_free(upgrade);
        masked_input_forget(lws_get_socket_fd(wsi));
        return refuse(wsi);
    }
    lws_set_opaque_user_data(wsi, upgrade);
    return 0;
}

static int on_upgrade(struct lws *wsi, struct subscriber *subscriber)
{
    struct ws_server *server = lws_context_user(lws_get_context(wsi));
    const struct upgrade_request *upgrade = lws_get_opaque_user_data(wsi);

    *subscriber = (struct subscriber){.connection = {.queue = &server->waiting, .wsi = wsi},
                                      .services = server->services,
                                      .incoming = STRBUF_INIT};
    if (upgrade == NULL)
        return -1;
    subscriber->connection.kind = upgrade->request.kind;
    subscriber->request = upgrade->request;
    return 0;
}

static void drop_upgrade(struct lws *wsi)
{
    mem_free(lws_get_opaque_user_data(wsi));
    lws_set_opaque_user_data(wsi, NULL);
}

/* --- the socket --- */

static void on_unmasked(void *owner)
{
    struct subscriber *subscriber = owner;

    connection_close(&subscriber->connection, CONNECTION_UNMASKED);
}

static void on_open(struct lws *wsi, struct subscriber *subscriber)
{
    const struct upgrade_request *upgrade = lws_get_opaque_user_data(wsi);

    masked_input_tell(lws_get_socket_fd(wsi), on_unmasked, subscriber);
    if (upgrade->has_credential)
        attach_credential(subscriber, &upgrade->caller);
    else
        lws_set_timer_usecs(wsi, subscriber->services->auth_timeout_ms * LWS_US_PER_MS);
    drop_upgrade(wsi);
}

static void on_closed(struct subscriber *subscriber)
{
    attach_free(TAKE_PTR(subscriber->attach));
    subscriber_done(subscriber);
}

/* The client has not authenticated in time, or its session has expired; keys have no expiry. */
static void on_time_out(struct subscriber *subscriber)
{
    if (subscriber->principal.kind == PRINCIPAL_NOBODY ||
        subscriber->principal.kind == PRINCIPAL_SESSION)
        connection_close(&subscriber->connection, CONNECTION_UNAUTHENTICATED);
}

static int on_receive(struct subscriber *subscriber, const void *bytes, size_t len)
{
    receive_bytes(subscriber, bytes, len);
    if (lws_is_final_fragment(subscriber->connection.wsi) &&
        lws_remaining_packet_payload(subscriber->connection.wsi) == 0)
        receive_frame(subscriber);
    return 0;
}

static int close_with_reason(const struct subscriber *subscriber)
{
    const char *reason = "";
    int code = connection_close_code(subscriber->connection.end, &reason);
    unsigned char text[124];
    size_t len = strnlen(reason, sizeof(text) - 1);

    memcpy(text, reason, len);
    lws_close_reason(subscriber->connection.wsi, (enum lws_close_status)code, text, len);
    return -1;
}

/*
 * The callback may come unrequested, or once for many requests: check, send one frame, and request
 * another while there may be more.
 */
static int on_writable(struct subscriber *subscriber)
{
    struct frame *frame = NULL;
    int sent = 0;

    connection_stop_waiting(&subscriber->connection);
    if (subscriber->connection.end != CONNECTION_OPEN)
        return close_with_reason(subscriber);
    frame = subscriber_next_frame(subscriber);
    if (frame == NULL)
        return 0;
    sent = lws_write(subscriber->connection.wsi, frame_text(frame), frame->len, LWS_WRITE_TEXT);
    frame_release(frame);
    if (sent < 0)
        return -1;
    if (subscriber_has_more(subscriber))
        connection_wake(&subscriber->connection);
    return 0;
}

static int on_socket(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                     size_t len)
{
    /* libwebsockets has some sixty callback reasons; a WebSocket server needs these. */
    if (reason == LWS_CALLBACK_HTTP_CONFIRM_UPGRADE)
        return on_request(wsi);
    if (reason == LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION)
        return on_upgrade(wsi, user);
    if (reason == LWS_CALLBACK_ESTABLISHED)
        on_open(wsi, user);
    if (reason == LWS_CALLBACK_RECEIVE)
        return on_receive(user, in, len);
    if (reason == LWS_CALLBACK_SERVER_WRITEABLE)
        return on_writable(user);
    if (reason == LWS_CALLBACK_TIMER)
        on_time_out(user);
    if (reason == LWS_CALLBACK_CLOSED || reason == LWS_CALLBACK_CLOSED_HTTP)
        masked_input_forget(lws_get_socket_fd(wsi));
    if (reason == LWS_CALLBACK_CLOSED)
        on_closed(user);
    if (reason == LWS_CALLBACK_WSI_DESTROY)
        drop_upgrade(wsi);
    if (reason == LWS_CALLBACK_HTTP) {
        (void)refuse(wsi);
        return -1;
    }
    return 0;
}

static int on_watched(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                      size_t len);

static const struct lws_protocols protocols[] = {
    {.name = "deft",
     .callback = on_socket,
     .per_session_data_size = sizeof(struct subscriber),
     .rx_buffer_size = RX_BYTES},
    {.name = watch_protocol, .callback = on_watched},
    {.name = NULL},
};

static const lws_retry_bo_t liveness = {.secs_since_valid_ping = PING_AFTER_S,
                                        .secs_since_valid_hangup = HANG_UP_AFTER_S};

static void drop_log(int level, const char *line)
{
    if (level == LLL_ERR)
        log_warning("socket.library_error", LOG_STR("text", line));
}

int ws_server_open(struct ws_server *server, const struct ws_services *services, struct error *err)
{
    struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN_SERVER,
        .protocols = protocols,
        .user = server,
        .retry_and_idle_policy = &liveness,
        .options = LWS_SERVER_OPTION_DISABLE_IPV6,
        .gid = -1,
        .uid = -1,
        .pt_serv_buf_size = 16384,
        .timeout_secs = 15,
        .max_http_header_data = HEAD_MAX_BYTES,
    };

    server->services = services;
    TAILQ_INIT(&server->waiting);
    lws_set_log_level(LLL_ERR | LLL_WARN, drop_log);
    server->lws = lws_create_context(&info);
    if (server->lws == NULL)
        return error_set(err, ERROR_UNAVAILABLE, "libwebsockets cannot be initialised");
    return 0;
}

static bool stop_is_asked(int stop_fd)
{
    struct pollfd wait = {.fd = stop_fd, .events = POLLIN};

    return poll(&wait, 1, 0) > 0;
}

static int on_watched(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                      size_t len)
{
    struct ws_server *server = lws_context_user(lws_get_context(wsi));

    (void)user;
    (void)in;
    (void)len;
    if (reason != LWS_CALLBACK_RAW_RX_FILE)
        return 0;
    if (stop_is_asked(server->stop_fd))
        server->is_stopping = true;
    server->sources->pump(server->sources->owner);
    return 0;
}

static int watch(const struct ws_server *server, int fd, struct error *err)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

    if (fd >= 0 && epoll_ctl(server->watch_fd, EPOLL_CTL_ADD, fd, &event) < 0)
        return error_set(err, ERROR_INTERNAL, "epoll_ctl: %m");
    return 0;
}

/*
 * Gives libwebsockets one more descriptor to poll: an epoll of everything that is not a client
 * socket.
 */
static int adopt_watch(struct ws_server *server, struct error *err)
{
    struct lws_vhost *vhost = lws_get_vhost_by_name(server->lws, "default");
    lws_sock_file_fd_type fd = {.filefd = -1};

    server->watch_fd = epoll_create1(EPOLL_CLOEXEC);
    fd.filefd = server->watch_fd;
    if (server->watch_fd < 0)
        return error_set(err, ERROR_INTERNAL, "epoll: %m");
    if (watch(server, server->stop_fd, err) < 0)
        return -1;
    for (size_t i = 0; i < server->sources->n; i++) {
        if (watch(server, server->sources->fds[i], err) < 0)
            return -1;
    }
    if (vhost == NULL || lws_adopt_descriptor_vhost(vhost, LWS_ADOPT_RAW_FILE_DESC, fd,
                                                    watch_protocol, NULL) == NULL)
        return error_set(err, ERROR_INTERNAL,
                         "libwebsockets did not accept the connection's descriptor");
    return 0;
}

int ws_server_run(struct ws_server *server, const struct ws_server_sources *sources, int stop_fd,
                  struct error *err)
{
    server->sources = sources;
    server->stop_fd = stop_fd;
    if (adopt_watch(server, err) < 0)
        return -1;
    while (!server->is_stopping) {
        if (lws_service(server->lws, 0) < 0)
            return error_set(err, ERROR_INTERNAL, "libwebsockets stopped serving");
    }
    return 0;
}

void ws_server_close(struct ws_server *server)
{
    if (server->lws != NULL)
        lws_context_destroy(server->lws);
    server->lws = NULL;
}
