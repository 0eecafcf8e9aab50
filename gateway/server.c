#include "gateway/server.h"

#include <poll.h>
#include <string.h>
#include <sys/epoll.h>

#include <libwebsockets.h>

#include "auth/principal.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "gateway/arrival.h"
#include "gateway/bash_feed.h"
#include "gateway/door.h"
#include "gateway/errand.h"
#include "gateway/frame.h"
#include "gateway/gateway.h"
#include "gateway/inbox.h"
#include "gateway/masked_input.h"
#include "gateway/streams.h"
#include "gateway/subscriber.h"
#include "store/db/db_pipe.h"

enum {
    MESSAGE_MAX_BYTES = 1 << 20,
    PING_AFTER_S = 20,
    HANG_UP_AFTER_S = 50,
    TICK_MS = 1000,
    RX_BYTES = 4096,
};

static const char watch_protocol[] = "watch";

/* libwebsockets has read the head that the acceptor peeked at; attaches the acceptor's result. */
static int on_handshake(struct lws *wsi, struct subscriber *subscriber)
{
    struct gateway *gateway = lws_context_user(lws_get_context(wsi));
    struct admission *admission = lws_get_opaque_user_data(wsi);

    subscriber_init(subscriber, gateway, wsi);
    if (admission == NULL)
        return -1;
    lws_set_opaque_user_data(wsi, NULL);
    subscriber->request = admission->request;
    subscriber->principal = admission->principal;
    subscriber->n_hints = admission->n_hints;
    subscriber->valid_ms = admission->valid_ms;
    mem_free(admission);
    return 0;
}

/* The connection closed between the hand-over and the upgrade. */
static void on_destroyed(struct lws *wsi)
{
    mem_free(lws_get_opaque_user_data(wsi));
    lws_set_opaque_user_data(wsi, NULL);
}

static void give_time(const struct subscriber *subscriber, int64_t ms)
{
    lws_set_timer_usecs(subscriber->wsi, (lws_usec_t)(ms * LWS_US_PER_MS));
}

static void on_unmasked(void *owner)
{
    subscriber_close(owner, SUBSCRIBER_UNMASKED);
}

static void on_open(struct subscriber *subscriber)
{
    masked_input_tell(lws_get_socket_fd(subscriber->wsi), on_unmasked, subscriber);
    if (subscriber->principal.kind == PRINCIPAL_NOBODY) {
        give_time(subscriber, subscriber->gateway->auth_timeout_ms);
        return;
    }
    if (subscriber->principal.kind == PRINCIPAL_SESSION)
        give_time(subscriber, subscriber->valid_ms);
    callers_join(subscriber, subscriber->n_hints);
    arrival_begin(subscriber);
}

/* The client has not authenticated in time, or its session has expired; keys have no expiry. */
static void on_time_out(struct subscriber *subscriber)
{
    if (subscriber->principal.kind == PRINCIPAL_NOBODY ||
        subscriber->principal.kind == PRINCIPAL_SESSION)
        subscriber_close(subscriber, SUBSCRIBER_UNAUTHENTICATED);
}

static int on_receive(struct subscriber *subscriber, const void *bytes, size_t len)
{
    /* The socket is closing: further input is discarded. */
    if (subscriber->end != SUBSCRIBER_OPEN)
        return 0;
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
 * The callback may come unrequested, or once for many requests: check, send one frame, and request
 * another while there may be more.
 */
static int on_writable(struct subscriber *subscriber)
{
    struct frame *frame = NULL;
    int sent = 0;

    subscriber_stop_waiting(subscriber);
    if (subscriber->end != SUBSCRIBER_OPEN)
        return close_with_reason(subscriber);
    frame = subscriber_next_frame(subscriber);
    if (frame == NULL)
        return 0;
    sent = lws_write(subscriber->wsi, frame_text(frame), frame->len, LWS_WRITE_TEXT);
    frame_release(frame);
    if (sent < 0)
        return -1;
    if (subscriber_has_more(subscriber))
        subscriber_wake(subscriber);
    return 0;
}

static int on_socket(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                     size_t len)
{
    /* libwebsockets has some sixty callback reasons; a WebSocket server needs these. */
    if (reason == LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION)
        return on_handshake(wsi, user);
    if (reason == LWS_CALLBACK_ESTABLISHED)
        on_open(user);
    if (reason == LWS_CALLBACK_RECEIVE)
        return on_receive(user, in, len);
    if (reason == LWS_CALLBACK_SERVER_WRITEABLE)
        return on_writable(user);
    if (reason == LWS_CALLBACK_TIMER)
        on_time_out(user);
    if (reason == LWS_CALLBACK_CLOSED || reason == LWS_CALLBACK_CLOSED_HTTP)
        masked_input_forget(lws_get_socket_fd(wsi));
    if (reason == LWS_CALLBACK_CLOSED)
        subscriber_done(user);
    if (reason == LWS_CALLBACK_WSI_DESTROY)
        on_destroyed(wsi);
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

int server_open(struct gateway *gateway, struct error *err)
{
    struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN_SERVER,
        .protocols = protocols,
        .user = gateway,
        .retry_and_idle_policy = &liveness,
        .options = LWS_SERVER_OPTION_DISABLE_IPV6,
        .gid = -1,
        .uid = -1,
        .pt_serv_buf_size = 16384,
        .timeout_secs = 15,
        .max_http_header_data = 8192,
    };

    lws_set_log_level(LLL_ERR | LLL_WARN, drop_log);
    gateway->lws = lws_create_context(&info);
    if (gateway->lws == NULL)
        return error_set(err, ERROR_UNAVAILABLE, "libwebsockets does not start");
    return 0;
}

static void on_tick(lws_sorted_usec_list_t *sul)
{
    struct gateway *gateway = lws_container_of(sul, struct gateway, tick);
    int64_t now_ms = clock_monotonic_ms();

    gateway->tick_at_ms = INT64_MAX;
    door_tick(gateway, now_ms);
    subscribers_tick(gateway, now_ms);
    bash_feeds_tick(gateway);
    server_schedule(gateway, streams_tick(gateway, now_ms));
}

void server_schedule(struct gateway *gateway, int64_t in_ms)
{
    int64_t wait_ms = in_ms >= 0 && in_ms < TICK_MS ? in_ms : TICK_MS;
    int64_t at_ms = clock_monotonic_ms() + wait_ms;

    if (at_ms >= gateway->tick_at_ms)
        return;
    gateway->tick_at_ms = at_ms;
    lws_sul_schedule(gateway->lws, 0, &gateway->tick, on_tick, (lws_usec_t)wait_ms * LWS_US_PER_MS);
}

static bool stop_is_asked(int stop_fd)
{
    struct pollfd wait = {.fd = stop_fd, .events = POLLIN};

    return poll(&wait, 1, 0) > 0;
}

/*
 * An answer or a notification from PostgreSQL or a sandbox, preview traffic, a new connection, or a
 * signal.
 */
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
    db_pipe_pump(gateway->hints);
    db_pipe_pump(gateway->live);
    db_pipe_pump(gateway->back);
    errands_pump(&gateway->errands);
    door_pump(gateway);
    preview_relay_pump(&gateway->previews);
    return 0;
}

static int watch(const struct gateway *gateway, struct error *err)
{
    const int fds[] = {gateway->stop_fd,          db_pipe_fd(gateway->hints),
                       db_pipe_fd(gateway->live), db_pipe_fd(gateway->back),
                       gateway->door.epoll_fd,    gateway->errands.done_fd,
                       gateway->previews.epoll_fd};

    for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fds[i]};

        /* The descriptor is -1 when this gateway serves no previews. */
        if (fds[i] >= 0 && epoll_ctl(gateway->watch_fd, EPOLL_CTL_ADD, fds[i], &event) < 0)
            return error_set(err, ERROR_INTERNAL, "epoll_ctl: %m");
    }
    return 0;
}

/*
 * Gives libwebsockets one more descriptor to poll: an epoll of everything that is not a client
 * socket.
 */
static int adopt_watch(struct gateway *gateway, struct error *err)
{
    struct lws_vhost *vhost = lws_get_vhost_by_name(gateway->lws, "default");
    lws_sock_file_fd_type fd = {.filefd = -1};

    gateway->watch_fd = epoll_create1(EPOLL_CLOEXEC);
    fd.filefd = gateway->watch_fd;
    if (gateway->watch_fd < 0)
        return error_set(err, ERROR_INTERNAL, "epoll: %m");
    if (watch(gateway, err) < 0)
        return -1;
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
    db_pipe_pump(gateway->hints); /* connects, so that it listens before the first subscriber */
    gateway->tick_at_ms = INT64_MAX;
    server_schedule(gateway, -1);
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
