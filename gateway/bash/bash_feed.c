#include "gateway/bash/bash_feed.h"

#include <libwebsockets.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/text.h"
#include "gateway/core/connection.h"
#include "gateway/core/error_frame.h"
#include "gateway/core/ticker.h"

enum {
    START_WAIT_MS = 120000, /* a cold start may take that long */
    FIND_MS = 10000,
    NEWS_MS = 25000, /* long-poll timeout in the sandbox */
    LOOK_AGAIN_MS = 5000,
    /* A sandbox of an older version answers at once. */
    PACE_MS = 1000,
    REST_FACTOR = 4,
};

/* --- life --- */

static void forget_endpoint(struct bash_feed *feed)
{
    async_call_drop(&feed->poll);
    sandbox_endpoint_done(&feed->endpoint);
    feed->is_placed = false;
}

static void feed_free(struct bash_feed *feed)
{
    LIST_REMOVE(feed, link);
    async_call_drop(&feed->locate);
    async_call_drop(&feed->post);
    forget_endpoint(feed);
    bash_commands_done(&feed->commands);
    bash_window_reset(&feed->window, 0);
    mem_free(feed);
}

struct bash_feed *bash_feed_get(struct bash_feeds *feeds, const struct principal *principal)
{
    struct bash_feed *feed = NULL;

    LIST_FOREACH (feed, &feeds->all, link) {
        if (text_equal(feed->principal.runtime_session, principal->runtime_session))
            return feed;
    }
    feed = NEW(struct bash_feed);
    feed->feeds = feeds;
    feed->principal = *principal;
    feed->endpoint = (struct sandbox_endpoint)SANDBOX_ENDPOINT_INIT;
    feed->last_us = -1;
    bash_commands_init(&feed->commands);
    LIST_INSERT_HEAD(&feeds->all, feed, link);
    return feed;
}

void bash_feed_join(struct bash_feed *feed, struct bash_feed_reader *reader)
{
    LIST_INSERT_HEAD(&feed->readers, reader, link);
    feed->n_readers++;
    bash_feed_work(feed);
}

void bash_feed_leave(struct bash_feed *feed, struct bash_feed_reader *reader)
{
    LIST_REMOVE(reader, link);
    feed->n_readers--;
    bash_commands_forget(&feed->commands, reader->connection);
    bash_feed_work(feed);
}

struct bash_target bash_feed_target(const struct bash_feed *feed)
{
    return (struct bash_target){feed->feeds->http, &feed->endpoint};
}

int64_t bash_feed_rest(const struct bash_feed *feed, int64_t begun_ms)
{
    int64_t now_ms = clock_monotonic_ms();
    int64_t rest_ms = REST_FACTOR * (now_ms - begun_ms);

    if (rest_ms > 0)
        ticker_advance(feed->feeds->ticker, rest_ms + 1);
    return now_ms + rest_ms;
}

static void rest(struct bash_feed *feed, int64_t begun_ms)
{
    int64_t rested_ms = bash_feed_rest(feed, begun_ms);

    if (feed->look_at_ms < rested_ms)
        feed->look_at_ms = rested_ms;
}

/* --- places --- */

static void wake_all(const struct bash_feed *feed)
{
    const struct bash_feed_reader *reader = NULL;

    LIST_FOREACH (reader, &feed->readers, link)
        connection_wake(reader->connection);
}

/* Sets the start position: nothing newer than newest_us has been sent yet. */
static void set_place(struct bash_feed *feed, int64_t newest_us)
{
    struct bash_feed_reader *reader = NULL;

    if (feed->last_us < 0 || newest_us < feed->last_us) {
        feed->last_us = newest_us;
        bash_window_reset(&feed->window, newest_us);
    }
    LIST_FOREACH (reader, &feed->readers, link) {
        if (reader->at_us < 0 || reader->at_us > feed->last_us)
            reader->at_us = feed->last_us;
    }
}

/* --- the sandbox's answers --- */

static void fail_first(struct bash_feed *feed, const struct error *err)
{
    const struct bash_command *command = bash_commands_first(&feed->commands);

    if (command->from != NULL)
        error_frame_send(command->from,
                         err->code == ERROR_INVALID ? "ValidationError" : "ServerError",
                         err->message);
    bash_commands_drop_first(&feed->commands);
}

static void fail_commands(struct bash_feed *feed, const struct error *err)
{
    async_call_drop(&feed->post);
    while (bash_commands_first(&feed->commands) != NULL)
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

static void on_place(struct async_call *call, const struct http_call *answer,
                     const struct error *failure)
{
    struct bash_feed *feed = lws_container_of(call, struct bash_feed, poll);
    CLEANUP(bash_window_done) struct bash_window newest = {.n = 0};
    json_auto_t *page = NULL;
    struct error err = ERROR_INIT;
    int64_t begun_ms = clock_monotonic_ms();

    if (bash_request_read_page(answer, failure, &page, &err) < 0) {
        lose_sandbox(feed, &err);
        fail_commands(feed, &err);
    } else {
        set_place(feed, bash_window_slide(&newest, page, 0));
        feed->is_placed = true;
        feed->is_doubted = false;
        feed->look_at_ms = 0;
        wake_all(feed);
    }
    rest(feed, begun_ms);
    bash_feed_work(feed);
}

static void on_news(struct async_call *call, const struct http_call *answer,
                    const struct error *failure)
{
    struct bash_feed *feed = lws_container_of(call, struct bash_feed, poll);
    json_auto_t *page = NULL;
    struct error err = ERROR_INIT;
    int64_t before_us = feed->last_us;
    int64_t begun_ms = clock_monotonic_ms();

    if (bash_request_read_page(answer, failure, &page, &err) < 0) {
        lose_sandbox(feed, &err);
    } else {
        feed->last_us = bash_window_slide(&feed->window, page, before_us);
        if (feed->last_us > before_us)
            wake_all(feed);
        else if (clock_monotonic_ms() - feed->polled_at_ms < PACE_MS)
            feed->look_at_ms = clock_monotonic_ms() + PACE_MS;
    }
    rest(feed, begun_ms);
    bash_feed_work(feed);
}

static void on_posted(struct async_call *call, const struct http_call *answer,
                      const struct error *failure)
{
    struct bash_feed *feed = lws_container_of(call, struct bash_feed, post);
    struct error err = ERROR_INIT;

    feed->is_started = false;
    if (bash_request_read_accepted(answer, failure, &err) < 0)
        fail_first(feed, &err);
    else
        bash_commands_drop_first(&feed->commands);
    bash_feed_work(feed);
}

/* --- asking --- */

static int begin_place(struct bash_feed *feed, struct error *err)
{
    const struct bash_target target = bash_feed_target(feed);

    feed->poll.done = on_place;
    return bash_request_newest(&target, &feed->poll, err);
}

static int begin_news(struct bash_feed *feed, struct error *err)
{
    const struct bash_target target = bash_feed_target(feed);

    feed->poll.done = on_news;
    feed->polled_at_ms = clock_monotonic_ms();
    return bash_request_after(&target, &feed->poll, feed->last_us, NEWS_MS, err);
}

static int begin_post(struct bash_feed *feed, struct error *err)
{
    const struct bash_target target = bash_feed_target(feed);

    feed->post.done = on_posted;
    return bash_request_start(&target, &feed->post, bash_commands_first(&feed->commands)->body,
                              err);
}

/* --- the Runtime API --- */

static struct runtime_api runtime_api(const struct bash_feeds *feeds)
{
    return (struct runtime_api){.http = feeds->http->http,
                                .url = feeds->sandboxes.url,
                                .socket = feeds->sandboxes.socket,
                                .key = feeds->sandboxes.key,
                                .done_fd = feeds->http->done_fd};
}

static bool is_same(const struct sandbox_endpoint *one, const struct sandbox_endpoint *other)
{
    return one->url != NULL && text_equal(one->url, other->url) &&
           text_equal(one->runtime_id, other->runtime_id) &&
           text_equal(secret_reveal(&one->call_key), secret_reveal(&other->call_key));
}

static int read_location(struct bash_feed *feed, const struct http_call *answer,
                         const struct error *failure, struct error *err)
{
    CLEANUP(sandbox_endpoint_done) struct sandbox_endpoint found = SANDBOX_ENDPOINT_INIT;

    if (failure != NULL) {
        *err = *failure;
        return -1;
    }
    if (runtime_api_read_start(answer, &found, err) < 0)
        return -1;
    if (is_same(&feed->endpoint, &found))
        return 0;
    forget_endpoint(feed);
    feed->endpoint = found;
    found = (struct sandbox_endpoint)SANDBOX_ENDPOINT_INIT;
    return 0;
}

/* No sandbox: only events from now on count as new. */
static void on_found(struct async_call *call, const struct http_call *answer,
                     const struct error *failure)
{
    struct bash_feed *feed = lws_container_of(call, struct bash_feed, locate);
    struct error err = ERROR_INIT;

    if (read_location(feed, answer, failure, &err) < 0) {
        feed->look_at_ms = clock_monotonic_ms() + LOOK_AGAIN_MS;
        if (feed->last_us < 0)
            set_place(feed, clock_utc_us());
    }
    bash_feed_work(feed);
}

static void on_started(struct async_call *call, const struct http_call *answer,
                       const struct error *failure)
{
    struct bash_feed *feed = lws_container_of(call, struct bash_feed, locate);
    struct error err = ERROR_INIT;

    if (read_location(feed, answer, failure, &err) < 0)
        fail_commands(feed, &err);
    else if (feed->is_doubted && !feed->is_looking)
        forget_endpoint(feed); /* failed while the start ran: the next start checks */
    else
        feed->is_started = true;
    bash_feed_work(feed);
}

static int begin_find(struct bash_feed *feed, struct error *err)
{
    const struct runtime_api api = runtime_api(feed->feeds);
    struct http_call *call = NULL;

    if (runtime_api_begin_find(&api, feed->principal.runtime_session, FIND_MS, &call, err) < 0)
        return -1;
    feed->locate.done = on_found;
    async_call_adopt(&feed->locate, feed->feeds->http, call);
    return 0;
}

static int begin_start(struct bash_feed *feed, struct error *err)
{
    const struct runtime_api api = runtime_api(feed->feeds);
    const struct sandbox_start start = {.session_id = feed->principal.runtime_session,
                                        .owner_id = feed->principal.user_id.text,
                                        .image = feed->feeds->sandboxes.image,
                                        .wait_ms = START_WAIT_MS,
                                        .is_doubted = feed->is_doubted};
    struct http_call *call = NULL;

    if (runtime_api_begin_start(&api, &start, &call, err) < 0)
        return -1;
    feed->is_looking = feed->is_doubted;
    feed->locate.done = on_started;
    async_call_adopt(&feed->locate, feed->feeds->http, call);
    return 0;
}

/* --- due work --- */

/* Each command is preceded by a start, which finds a running sandbox and keeps it awake. */
static int work_on_location(struct bash_feed *feed, int64_t now_ms, struct error *err)
{
    if (async_call_is_busy(&feed->locate))
        return 0;
    if (feed->commands.n > 0 && !feed->is_started)
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
        return async_call_is_busy(&feed->poll) ? 0 : begin_place(feed, err);
    if (!async_call_is_busy(&feed->poll) && now_ms >= feed->look_at_ms && begin_news(feed, err) < 0)
        return -1;
    if (feed->commands.n > 0 && feed->is_started && !async_call_is_busy(&feed->post))
        return begin_post(feed, err);
    return 0;
}

void bash_feed_work(struct bash_feed *feed)
{
    int64_t now_ms = clock_monotonic_ms();
    struct error err = ERROR_INIT;

    if (feed->n_readers == 0 && feed->commands.n == 0) {
        feed_free(feed);
        return;
    }
    if (work_on_location(feed, now_ms, &err) == 0 && work_on_sandbox(feed, now_ms, &err) == 0)
        return;
    lose_sandbox(feed, &err);
    fail_commands(feed, &err);
}

static void wake_resting(const struct bash_feed *feed)
{
    struct bash_feed_reader *reader = NULL;

    LIST_FOREACH (reader, &feed->readers, link) {
        if (reader->is_resting)
            connection_wake(reader->connection);
        reader->is_resting = false;
    }
}

void bash_feeds_tick(struct bash_feeds *feeds)
{
    struct bash_feed *feed = LIST_FIRST(&feeds->all);

    while (feed != NULL) {
        struct bash_feed *next = LIST_NEXT(feed, link);

        wake_resting(feed);
        bash_feed_work(feed);
        feed = next;
    }
}

void bash_feeds_done(struct bash_feeds *feeds)
{
    while (!LIST_EMPTY(&feeds->all))
        feed_free(LIST_FIRST(&feeds->all));
}
