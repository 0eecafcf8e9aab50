#include "gateway/bash_feed.h"

#include <libwebsockets.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/text.h"
#include "gateway/bash_ask.h"
#include "gateway/bash_socket.h"
#include "gateway/complaint.h"
#include "gateway/gateway.h"
#include "gateway/subscriber.h"

enum {
    START_WAIT_MS = 120000, /* a cold start may take that long */
    FIND_MS = 10000,
    NEWS_MS = 25000, /* long-poll timeout in the sandbox */
    LOOK_AGAIN_MS = 5000,
    /* A sandbox of an older version answers at once. */
    PACE_MS = 1000,
};

/* --- life --- */

static void forget_endpoint(struct bash_feed *feed)
{
    errand_drop(&feed->poll);
    sandbox_endpoint_done(&feed->endpoint);
    feed->is_placed = false;
}

static void feed_free(struct bash_feed *feed)
{
    if (feed->previous != NULL)
        feed->previous->next = feed->next;
    else
        feed->gateway->feeds = feed->next;
    if (feed->next != NULL)
        feed->next->previous = feed->previous;
    errand_drop(&feed->link);
    errand_drop(&feed->post);
    forget_endpoint(feed);
    bash_orders_done(&feed->orders);
    bash_window_reset(&feed->window, 0);
    mem_free(feed);
}

struct bash_feed *bash_feed_get(struct gateway *gateway, const struct principal *principal)
{
    struct bash_feed *feed = gateway->feeds;

    while (feed != NULL && !text_equal(feed->principal.runtime_session, principal->runtime_session))
        feed = feed->next;
    if (feed != NULL)
        return feed;
    feed = NEW(struct bash_feed);
    feed->gateway = gateway;
    feed->principal = *principal;
    feed->endpoint = (struct sandbox_endpoint)SANDBOX_ENDPOINT_INIT;
    feed->last_us = -1;
    feed->next = gateway->feeds;
    if (gateway->feeds != NULL)
        gateway->feeds->previous = feed;
    gateway->feeds = feed;
    return feed;
}

void bash_feed_join(struct bash_feed *feed, struct bash_socket *socket)
{
    socket->feed = feed;
    socket->next = feed->sockets;
    if (feed->sockets != NULL)
        feed->sockets->previous = socket;
    feed->sockets = socket;
    feed->n_sockets++;
    bash_feed_work(feed);
}

void bash_feed_leave(struct bash_feed *feed, struct bash_socket *socket)
{
    if (socket->previous != NULL)
        socket->previous->next = socket->next;
    else
        feed->sockets = socket->next;
    if (socket->next != NULL)
        socket->next->previous = socket->previous;
    feed->n_sockets--;
    bash_orders_forget(&feed->orders, socket);
    bash_feed_work(feed);
}

struct bash_asker bash_feed_asker(struct bash_feed *feed)
{
    return (struct bash_asker){&feed->gateway->errands, &feed->endpoint};
}

/* --- places --- */

static void wake_all(const struct bash_feed *feed)
{
    for (struct bash_socket *socket = feed->sockets; socket != NULL; socket = socket->next)
        subscriber_wake(socket->subscriber);
}

/* Sets the start position: nothing newer than newest_us has been sent yet. */
static void set_place(struct bash_feed *feed, int64_t newest_us)
{
    if (feed->last_us < 0 || newest_us < feed->last_us) {
        feed->last_us = newest_us;
        bash_window_reset(&feed->window, newest_us);
    }
    for (struct bash_socket *socket = feed->sockets; socket != NULL; socket = socket->next) {
        if (socket->at_us < 0 || socket->at_us > feed->last_us)
            socket->at_us = feed->last_us;
    }
}

/* --- the sandbox's answers --- */

static void fail_first(struct bash_feed *feed, const struct error *err)
{
    const struct bash_order *order = feed->orders.first;

    if (order->from != NULL)
        complaint_send(order->from->subscriber,
                       err->code == ERROR_INVALID ? "ValidationError" : "ServerError",
                       err->message);
    bash_orders_drop_first(&feed->orders);
}

static void fail_orders(struct bash_feed *feed, const struct error *err)
{
    errand_drop(&feed->post);
    while (feed->orders.first != NULL)
        fail_first(feed, err);
    feed->is_started = false;
}

/* The sandbox is gone, or never answered. */
static void lose_sandbox(struct bash_feed *feed, const struct error *err)
{
    log_info("bash_feed.ended", LOG_STR("session_id", feed->principal.runtime_session),
             LOG_ERROR(err));
    forget_endpoint(feed);
    feed->is_started = false;
    feed->is_doubted = true;
    feed->look_at_ms = clock_monotonic_ms() + PACE_MS;
}

static void on_place(struct errand *errand, const struct http_call *call,
                     const struct error *failure)
{
    struct bash_feed *feed = lws_container_of(errand, struct bash_feed, poll);
    CLEANUP(bash_window_done) struct bash_window newest = {.n = 0};
    json_auto_t *page = NULL;
    struct error err = ERROR_INIT;

    if (bash_read_page(call, failure, &page, &err) < 0) {
        lose_sandbox(feed, &err);
        fail_orders(feed, &err);
    } else {
        set_place(feed, bash_window_slide(&newest, page, 0));
        feed->is_placed = true;
        feed->is_doubted = false;
        feed->look_at_ms = 0;
        wake_all(feed);
    }
    bash_feed_work(feed);
}

static void on_news(struct errand *errand, const struct http_call *call,
                    const struct error *failure)
{
    struct bash_feed *feed = lws_container_of(errand, struct bash_feed, poll);
    json_auto_t *page = NULL;
    struct error err = ERROR_INIT;
    int64_t before_us = feed->last_us;

    if (bash_read_page(call, failure, &page, &err) < 0) {
        lose_sandbox(feed, &err);
    } else {
        feed->last_us = bash_window_slide(&feed->window, page, before_us);
        if (feed->last_us > before_us)
            wake_all(feed);
        else if (clock_monotonic_ms() - feed->polled_at_ms < PACE_MS)
            feed->look_at_ms = clock_monotonic_ms() + PACE_MS;
    }
    bash_feed_work(feed);
}

static void on_posted(struct errand *errand, const struct http_call *call,
                      const struct error *failure)
{
    struct bash_feed *feed = lws_container_of(errand, struct bash_feed, post);
    struct error err = ERROR_INIT;

    feed->is_started = false;
    if (bash_read_taken(call, failure, &err) < 0)
        fail_first(feed, &err);
    else
        bash_orders_drop_first(&feed->orders);
    bash_feed_work(feed);
}

/* --- asking --- */

static int begin_place(struct bash_feed *feed, struct error *err)
{
    const struct bash_asker asker = bash_feed_asker(feed);

    feed->poll.done = on_place;
    return bash_ask_newest(&asker, &feed->poll, err);
}

static int begin_news(struct bash_feed *feed, struct error *err)
{
    const struct bash_asker asker = bash_feed_asker(feed);

    feed->poll.done = on_news;
    feed->polled_at_ms = clock_monotonic_ms();
    return bash_ask_after(&asker, &feed->poll, feed->last_us, NEWS_MS, err);
}

static int begin_post(struct bash_feed *feed, struct error *err)
{
    const struct bash_asker asker = bash_feed_asker(feed);

    feed->post.done = on_posted;
    return bash_ask_start(&asker, &feed->post, feed->orders.first->body, err);
}

/* --- the Runtime API --- */

static struct runtime_api runtime_api(const struct gateway *gateway)
{
    return (struct runtime_api){.http = gateway->errands.http,
                                .url = gateway->sandboxes.url,
                                .socket = gateway->sandboxes.socket,
                                .key = gateway->sandboxes.key,
                                .done_fd = gateway->errands.done_fd};
}

static bool is_same(const struct sandbox_endpoint *one, const struct sandbox_endpoint *other)
{
    return one->url != NULL && text_equal(one->url, other->url) &&
           text_equal(one->runtime_id, other->runtime_id) &&
           text_equal(secret_reveal(&one->call_key), secret_reveal(&other->call_key));
}

static int read_link(struct bash_feed *feed, const struct http_call *call,
                     const struct error *failure, struct error *err)
{
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint found = SANDBOX_ENDPOINT_INIT;

    if (failure != NULL) {
        *err = *failure;
        return -1;
    }
    if (runtime_api_read_start(call, &found, err) < 0)
        return -1;
    if (is_same(&feed->endpoint, &found))
        return 0;
    forget_endpoint(feed);
    feed->endpoint = found;
    found = (struct sandbox_endpoint)SANDBOX_ENDPOINT_INIT;
    return 0;
}

/* No sandbox: only events from now on count as new. */
static void on_found(struct errand *errand, const struct http_call *call,
                     const struct error *failure)
{
    struct bash_feed *feed = lws_container_of(errand, struct bash_feed, link);
    struct error err = ERROR_INIT;

    if (read_link(feed, call, failure, &err) < 0) {
        feed->look_at_ms = clock_monotonic_ms() + LOOK_AGAIN_MS;
        if (feed->last_us < 0)
            set_place(feed, clock_utc_us());
    }
    bash_feed_work(feed);
}

static void on_started(struct errand *errand, const struct http_call *call,
                       const struct error *failure)
{
    struct bash_feed *feed = lws_container_of(errand, struct bash_feed, link);
    struct error err = ERROR_INIT;

    if (read_link(feed, call, failure, &err) < 0)
        fail_orders(feed, &err);
    else if (feed->is_doubted && !feed->is_looking)
        forget_endpoint(feed); /* failed while the start ran: the next start checks */
    else
        feed->is_started = true;
    bash_feed_work(feed);
}

static int begin_find(struct bash_feed *feed, struct error *err)
{
    const struct runtime_api api = runtime_api(feed->gateway);
    struct http_call *call = NULL;

    if (runtime_api_begin_find(&api, feed->principal.runtime_session, FIND_MS, &call, err) < 0)
        return -1;
    feed->link.done = on_found;
    errand_adopt(&feed->link, &feed->gateway->errands, call);
    return 0;
}

static int begin_start(struct bash_feed *feed, struct error *err)
{
    const struct runtime_api api = runtime_api(feed->gateway);
    const struct sandbox_start start = {.session_id = feed->principal.runtime_session,
                                        .owner_id = feed->principal.user_id.text,
                                        .image = feed->gateway->sandboxes.image,
                                        .wait_ms = START_WAIT_MS,
                                        .is_doubted = feed->is_doubted};
    struct http_call *call = NULL;

    if (runtime_api_begin_start(&api, &start, &call, err) < 0)
        return -1;
    feed->is_looking = feed->is_doubted;
    feed->link.done = on_started;
    errand_adopt(&feed->link, &feed->gateway->errands, call);
    return 0;
}

/* --- what is due --- */

/* Each command is preceded by a start, which finds a running sandbox and keeps it awake. */
static int work_on_link(struct bash_feed *feed, int64_t now_ms, struct error *err)
{
    if (errand_is_busy(&feed->link))
        return 0;
    if (feed->orders.first != NULL && !feed->is_started)
        return begin_start(feed, err);
    if (feed->endpoint.url == NULL && now_ms >= feed->look_at_ms)
        return begin_find(feed, err);
    return 0;
}

static int work_on_sandbox(struct bash_feed *feed, int64_t now_ms, struct error *err)
{
    if (feed->endpoint.url == NULL)
        return 0;
    if (!feed->is_placed)
        return errand_is_busy(&feed->poll) ? 0 : begin_place(feed, err);
    if (!errand_is_busy(&feed->poll) && now_ms >= feed->look_at_ms && begin_news(feed, err) < 0)
        return -1;
    if (feed->orders.first != NULL && feed->is_started && !errand_is_busy(&feed->post))
        return begin_post(feed, err);
    return 0;
}

void bash_feed_work(struct bash_feed *feed)
{
    int64_t now_ms = clock_monotonic_ms();
    struct error err = ERROR_INIT;

    if (feed->n_sockets == 0 && feed->orders.first == NULL) {
        feed_free(feed);
        return;
    }
    if (work_on_link(feed, now_ms, &err) == 0 && work_on_sandbox(feed, now_ms, &err) == 0)
        return;
    lose_sandbox(feed, &err);
    fail_orders(feed, &err);
}

void bash_feeds_tick(struct gateway *gateway)
{
    struct bash_feed *next = NULL;

    for (struct bash_feed *feed = gateway->feeds; feed != NULL; feed = next) {
        next = feed->next;
        bash_feed_work(feed);
    }
}

void bash_feeds_done(struct gateway *gateway)
{
    while (gateway->feeds != NULL)
        feed_free(gateway->feeds);
}
