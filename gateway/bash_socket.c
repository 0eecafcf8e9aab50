#include "gateway/bash_socket.h"

#include <libwebsockets.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "gateway/bash_feed.h"
#include "gateway/bash_orders.h"
#include "gateway/complaint.h"
#include "gateway/gateway.h"
#include "gateway/subscriber.h"

/* Commands of one sandbox that it has not accepted yet. */
enum { ORDERS_MAX = 32 };

static void on_read(struct errand *errand, const struct http_call *call, const struct error *err)
{
    struct bash_socket *socket = lws_container_of(errand, struct bash_socket, read);
    json_auto_t *page = NULL;
    struct error bad = ERROR_INIT;

    /* The feed itself notices that the sandbox is gone, and wakes us when it is back. */
    if (bash_read_page(call, err, &page, &bad) < 0)
        return;
    /* The older events are gone: the client cleared them. */
    if (json_array_size(json_object_get(page, "items")) == 0)
        socket->at_us = socket->feed->window.from_us;
    bash_window_reset(&socket->page, socket->at_us);
    bash_window_fill(&socket->page, page);
    subscriber_wake(socket->subscriber);
}

/* The start position: after all existing events, unless the client asked for those. */
static int64_t place_of(const struct subscriber *subscriber, const struct bash_feed *feed)
{
    const struct socket_request *request = &subscriber->request;
    struct error bad = ERROR_INIT;
    int64_t since_us = 0;

    if (request->resend == RESEND_ALL)
        return 0;
    if (request->resend == RESEND_SINCE && request->since[0] != '\0' &&
        clock_parse(request->since, &since_us, &bad) == 0)
        return since_us > 0 ? since_us - 1 : 0;
    return feed->last_us;
}

void bash_socket_join(struct subscriber *subscriber)
{
    struct bash_feed *feed = bash_feed_get(subscriber->gateway, &subscriber->principal);
    struct bash_socket *socket = NULL;

    if ((int64_t)feed->n_sockets >= subscriber->gateway->max_subscribers) {
        subscriber_close(subscriber, SUBSCRIBER_TOO_MANY_BASH);
        return;
    }
    socket = NEW(struct bash_socket);
    socket->subscriber = subscriber;
    socket->read.done = on_read;
    socket->at_us = place_of(subscriber, feed);
    subscriber->bash = socket;
    bash_feed_join(feed, socket);
    subscriber_wake(subscriber);
}

void bash_socket_leave(struct bash_socket *socket)
{
    if (socket == NULL)
        return;
    errand_drop(&socket->read);
    bash_window_reset(&socket->page, 0);
    bash_feed_leave(socket->feed, socket);
    mem_free(socket);
}

void bash_socket_take_command(struct subscriber *subscriber, const json_t *frame)
{
    struct bash_socket *socket = subscriber->bash;
    struct bash_order *order = NULL;
    struct error err = ERROR_INIT;

    /* The socket is closing; further input is discarded. */
    if (socket == NULL || subscriber->end != SUBSCRIBER_OPEN)
        return;
    if (bash_order_read(frame, &order, &err) < 0) {
        complaint_send(subscriber, "ValidationError", err.message);
        return;
    }
    order->from = socket;
    bash_orders_add(&socket->feed->orders, order);
    if (socket->feed->orders.n > ORDERS_MAX)
        subscriber_close(subscriber, SUBSCRIBER_TOO_NOISY);
    bash_feed_work(socket->feed);
}

static void begin_read(struct bash_socket *socket)
{
    const struct bash_asker asker = bash_feed_asker(socket->feed);
    struct error err = ERROR_INIT;

    if (errand_is_busy(&socket->read) || !socket->feed->is_placed)
        return;
    if (bash_ask_after(&asker, &socket->read, socket->at_us, 0, &err) < 0)
        log_warning("bash_feed.unread", LOG_ERROR(&err));
}

struct frame *bash_socket_next_frame(struct bash_socket *socket)
{
    const struct bash_feed *feed = socket->feed;
    struct frame *frame = NULL;

    if (socket->at_us < 0)
        return NULL;
    if (socket->at_us >= feed->window.from_us) {
        bash_window_reset(&socket->page, 0);
        return bash_window_next(&feed->window, &socket->at_us);
    }
    frame = bash_window_next(&socket->page, &socket->at_us);
    if (frame == NULL)
        begin_read(socket);
    return frame;
}

/* While a page is being read, its arrival wakes the socket. */
bool bash_socket_has_more(const struct bash_socket *socket)
{
    return socket->at_us >= 0 && socket->at_us < socket->feed->last_us && socket->feed->is_placed &&
           !errand_is_busy(&socket->read);
}
