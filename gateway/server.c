#include "gateway/server.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <libwebsockets.h>

#include "auth/principal.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "gateway/frame.h"
#include "gateway/gateway.h"
#include "gateway/handshake.h"
#include "gateway/inbox.h"
#include "gateway/stream.h"
#include "gateway/subscriber.h"
#include "store/hints.h"

enum {
    MESSAGE_MAX_BYTES = 1 << 20,
    PING_AFTER_S = 20,
    HANG_UP_AFTER_S = 50,
    TICK_MS = 100,       /* while a snapshot waits for its repetition */
    SLOW_LOOK_MS = 2000, /* how late a lost hint may make an event */
    RX_BYTES = 4096,
};

static const char watch_protocol[] = "watch";

static void refuse(struct lws *wsi, const struct error *err)
{
    unsigned status =
        err->code == ERROR_UNAVAILABLE ? HTTP_STATUS_SERVICE_UNAVAILABLE : HTTP_STATUS_FORBIDDEN;

    (void)lws_return_http_status(wsi, status, NULL);
}

static int on_handshake(struct lws *wsi, struct subscriber *subscriber)
{
    struct gateway *gateway = lws_context_user(lws_get_context(wsi));
    struct error err = ERROR_INIT;

    subscriber_init(subscriber, gateway, wsi);
    if (handshake_read(wsi, subscriber, &err) == 0)
        return 0;
    log_info("socket.refused", LOG_ERROR(&err));
    refuse(wsi, &err);
    return -1;
}

static void on_open(struct subscriber *subscriber)
{
    if (subscriber->principal.kind != PRINCIPAL_NOBODY) {
        subscriber_attach(subscriber);
        return;
    }
    lws_set_timer_usecs(subscriber->wsi,
                        (lws_usec_t)(subscriber->gateway->auth_timeout_s * LWS_US_PER_SEC));
}

static int on_receive(struct subscriber *subscriber, const void *bytes, size_t len)
{
    if (subscriber->incoming.len + len > MESSAGE_MAX_BYTES) {
        subscriber_close(subscriber, SUBSCRIBER_TOO_LARGE);
        return 0;
    }
    strbuf_append_bytes(&subscriber->incoming, bytes, len);
    if (lws_is_final_fragment(subscriber->wsi) &&
        lws_remaining_packet_payload(subscriber->wsi) == 0) {
        inbox_handle(subscriber);
        strbuf_done(&subscriber->incoming);
    }
    return 0;
}

static int close_with_reason(const struct subscriber *subscriber)
{
    const char *reason = "";
    int code = subscriber_close_code(subscriber->end, &reason);
    unsigned char text[124];
    size_t len = strnlen(reason, sizeof(text) - 1);

    memcpy(text, reason, len);
    lws_close_reason(subscriber->wsi, (enum lws_close_status)code, text, len);
    return -1;
}

/*
 * A turn may come unasked, or once for many requests: look, send one frame, and ask again while
 * there may be more.
 */
static int on_writable(struct subscriber *subscriber)
{
    struct frame *frame = NULL;
    struct error err = ERROR_INIT;
    int sent = 0;

    if (subscriber->end != SUBSCRIBER_OPEN)
        return close_with_reason(subscriber);
    if (subscriber_next_frame(subscriber, &frame, &err) < 0) {
        log_warning("socket.read_failed", LOG_ERROR(&err));
        subscriber->end =
            err.code == ERROR_NOT_FOUND ? SUBSCRIBER_NOT_FOUND : SUBSCRIBER_UNAVAILABLE;
        return close_with_reason(subscriber);
    }
    if (frame == NULL)
        return 0;
    sent = lws_write(subscriber->wsi, frame_text(frame), frame->len, LWS_WRITE_TEXT);
    frame_release(frame);
    if (sent < 0)
        return -1;
    subscriber_wake(subscriber);
    return 0;
}

static int on_socket(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                     size_t len)
{
    /* libwebsockets has some sixty reasons; a server of sockets lives on these. */
    if (reason == LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION)
        return on_handshake(wsi, user);
    if (reason == LWS_CALLBACK_ESTABLISHED)
        on_open(user);
    if (reason == LWS_CALLBACK_RECEIVE)
        return on_receive(user, in, len);
    if (reason == LWS_CALLBACK_SERVER_WRITEABLE)
        return on_writable(user);
    if (reason == LWS_CALLBACK_TIMER &&
        ((struct subscriber *)user)->principal.kind == PRINCIPAL_NOBODY)
        subscriber_close(user, SUBSCRIBER_UNAUTHENTICATED);
    if (reason == LWS_CALLBACK_CLOSED)
        subscriber_done(user);
    if (reason == LWS_CALLBACK_HTTP) {
        (void)lws_return_http_status(wsi, HTTP_STATUS_FORBIDDEN, NULL);
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

int server_open(struct gateway *gateway, const char *socket_path, struct error *err)
{
    struct lws_context_creation_info info = {
        .port = 0,
        .iface = socket_path,
        .protocols = protocols,
        .user = gateway,
        .retry_and_idle_policy = &liveness,
        .options = LWS_SERVER_OPTION_UNIX_SOCK | LWS_SERVER_OPTION_DISABLE_IPV6,
        .gid = -1,
        .uid = -1,
        .pt_serv_buf_size = 16384,
        .timeout_secs = 15,
        .max_http_header_data = 8192,
    };

    lws_set_log_level(LLL_ERR | LLL_WARN, drop_log);
    (void)unlink(socket_path);
    gateway->lws = lws_create_context(&info);
    if (gateway->lws == NULL || chmod(socket_path, 0660) < 0)
        return error_set(err, ERROR_UNAVAILABLE, "listening on %s: %m", socket_path);
    return 0;
}

static void take_hints(struct gateway *gateway)
{
    enum hint_kind kind = HINT_EVENTS;
    char id[64];

    while (hints_next(gateway->hints, &kind, id)) {
        if (id[0] == '\0') {
            for (struct stream *s = gateway->streams; s != NULL; s = s->next)
                s->is_dirty = true;
        } else {
            struct stream *stream = stream_find(gateway, id);

            if (stream != NULL)
                stream->is_dirty = true;
        }
    }
}

static void tick_streams(struct gateway *gateway, bool look_at_all)
{
    int64_t now_ms = clock_monotonic_ms();
    struct stream *next = NULL;

    for (struct stream *stream = gateway->streams; stream != NULL; stream = next) {
        next = stream->next;
        if (look_at_all)
            stream->is_dirty = true;
        stream_tick(stream, now_ms);
    }
}

static bool repeats_are_due(const struct gateway *gateway)
{
    for (const struct stream *stream = gateway->streams; stream != NULL; stream = stream->next) {
        if (stream->repeat_at_ms > 0)
            return true;
    }
    return false;
}

/* Brings the watched set in line with what hints wants to be woken by. */
static int watch(struct gateway *gateway, struct error *err)
{
    int fds[2];

    hints_fds(gateway->hints, fds);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fds[i]};

        if (fds[i] == gateway->watched[i])
            continue;
        if (gateway->watched[i] >= 0) /* fails when hints closed it: then epoll forgot it itself */
            (void)epoll_ctl(gateway->watch_fd, EPOLL_CTL_DEL, gateway->watched[i], NULL);
        gateway->watched[i] = fds[i];
        if (fds[i] >= 0 && epoll_ctl(gateway->watch_fd, EPOLL_CTL_ADD, fds[i], &event) < 0 &&
            errno != EEXIST)
            return error_set(err, ERROR_INTERNAL, "epoll_ctl: %m");
    }
    return 0;
}

static void on_tick(lws_sorted_usec_list_t *sul);

static void look_again(struct gateway *gateway, bool look_at_all)
{
    struct error err = ERROR_INIT;

    hints_pump(gateway->hints);
    take_hints(gateway);
    tick_streams(gateway, look_at_all);
    if (watch(gateway, &err) < 0)
        log_error("gateway.watch_failed", LOG_ERROR(&err));
    lws_sul_schedule(gateway->lws, 0, &gateway->tick, on_tick,
                     (lws_usec_t)(repeats_are_due(gateway) ? TICK_MS : SLOW_LOOK_MS) *
                         LWS_US_PER_MS);
}

static void on_tick(lws_sorted_usec_list_t *sul)
{
    struct gateway *gateway = lws_container_of(sul, struct gateway, tick);
    int64_t now_ms = clock_monotonic_ms();
    bool slow_look = now_ms - gateway->looked_at_ms >= SLOW_LOOK_MS;

    if (slow_look)
        gateway->looked_at_ms = now_ms;
    look_again(gateway, slow_look);
}

static bool stop_is_asked(int stop_fd)
{
    struct pollfd wait = {.fd = stop_fd, .events = POLLIN};

    return poll(&wait, 1, 0) > 0;
}

/* A hint came, one is to be sent, or a signal. */
static int on_watched(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                      size_t len)
{
    struct gateway *gateway = lws_context_user(lws_get_context(wsi));

    (void)user;
    (void)in;
    (void)len;
    if (reason != LWS_CALLBACK_RAW_RX_FILE)
        return 0;
    if (stop_is_asked(gateway->stop_fd))
        gateway->is_stopping = true;
    else
        look_again(gateway, false);
    return 0;
}

/* libwebsockets waits on one more descriptor: an epoll of everything that is not a socket. */
static int adopt_watch(struct gateway *gateway, struct error *err)
{
    struct lws_vhost *vhost = lws_get_vhost_by_name(gateway->lws, "default");
    struct epoll_event event = {.events = EPOLLIN, .data.fd = gateway->stop_fd};
    lws_sock_file_fd_type fd = {.filefd = -1};

    gateway->watch_fd = epoll_create1(EPOLL_CLOEXEC);
    gateway->watched[0] = -1;
    gateway->watched[1] = -1;
    fd.filefd = gateway->watch_fd;
    if (gateway->watch_fd < 0 ||
        epoll_ctl(gateway->watch_fd, EPOLL_CTL_ADD, gateway->stop_fd, &event) < 0)
        return error_set(err, ERROR_INTERNAL, "epoll: %m");
    if (vhost == NULL || lws_adopt_descriptor_vhost(vhost, LWS_ADOPT_RAW_FILE_DESC, fd,
                                                    watch_protocol, NULL) == NULL)
        return error_set(err, ERROR_INTERNAL, "libwebsockets does not take our descriptor");
    return 0;
}

int server_run(struct gateway *gateway, int stop_fd, struct error *err)
{
    gateway->stop_fd = stop_fd;
    if (adopt_watch(gateway, err) < 0)
        return -1;
    look_again(gateway, true);
    while (!gateway->is_stopping) {
        if (lws_service(gateway->lws, 0) < 0)
            return error_set(err, ERROR_INTERNAL, "libwebsockets gave up");
    }
    return 0;
}

void server_close(struct gateway *gateway)
{
    if (gateway->lws != NULL)
        lws_context_destroy(gateway->lws);
    gateway->lws = NULL;
}
