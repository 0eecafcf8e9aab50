/*
 * When a sandbox is asked for its next events. The sandbox and the sockets are played here.
 */
#include "gateway/bash/bash_feed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/mem.h"
#include "gateway/core/connection.h"
#include "gateway/core/error_frame.h"
#include "gateway/core/ticker.h"

enum { PARSED_MS = 100, REST_MS = 4 * PARSED_MS, MS_PER_S = 1000, NS_PER_MS = 1000000 };

/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): the stubs have no owner */
static int64_t now_ms = MS_PER_S;
static int64_t tick_in_ms;
static size_t n_asked;
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

/* POSIX.1-2017, clock_gettime(): both clocks stand still. */
int clock_gettime(clockid_t id, struct timespec *now)
{
    (void)id;
    *now = (struct timespec){.tv_sec = now_ms / MS_PER_S, .tv_nsec = now_ms % MS_PER_S * NS_PER_MS};
    return 0;
}

void ticker_advance(struct ticker *ticker, int64_t in_ms)
{
    (void)ticker;
    tick_in_ms = in_ms;
}

int bash_request_newest(const struct bash_target *target, struct async_call *call,
                        struct error *err)
{
    (void)target;
    (void)call;
    (void)err;
    return 0;
}

int bash_request_after(const struct bash_target *target, struct async_call *call, int64_t after_us,
                       int64_t wait_ms, struct error *err)
{
    (void)target;
    (void)call;
    (void)after_us;
    (void)wait_ms;
    (void)err;
    n_asked++;
    return 0;
}

int bash_request_start(const struct bash_target *target, struct async_call *call, const char *body,
                       struct error *err)
{
    (void)target;
    (void)call;
    (void)body;
    (void)err;
    return 0;
}

/* A page that takes long to parse, and has one new event. */
int bash_request_read_page(const struct http_call *answer, const struct error *failure,
                           json_t **page_out, struct error *err)
{
    (void)answer;
    (void)failure;
    now_ms += PARSED_MS;
    *page_out = json_build(err, "{s:[{s:s}]}", "items", "timestamp", "2026-01-02T03:04:05Z");
    return *page_out != NULL ? 0 : -1;
}

int bash_request_read_accepted(const struct http_call *answer, const struct error *failure,
                               struct error *err)
{
    (void)answer;
    (void)failure;
    (void)err;
    return 0;
}

void connection_wake(struct connection *connection)
{
    connection->is_waiting = true;
}

void error_frame_send(struct connection *connection, const char *code, const char *detail)
{
    (void)connection;
    (void)code;
    (void)detail;
}

static void sandbox_whose_pages_take_long_is_asked_less_often(void **state)
{
    struct ticker ticker = {.next_ms = 0};
    struct bash_feeds feeds = {.ticker = &ticker, .max_readers = 1};
    struct principal principal = {.runtime_session = "u-1"};
    struct connection connection = {.is_waiting = false};
    struct bash_feed_reader reader = {.connection = &connection, .is_resting = true};
    struct bash_feed *feed = bash_feed_get(&feeds, &principal);

    (void)state;
    feed->endpoint.url = mem_dup_text("http://10.1.2.3:8000");
    feed->is_placed = true;
    feed->last_us = 0;
    bash_feed_join(feed, &reader);
    assert_int_equal(n_asked, 1);
    /* An answer that bash_request_read_page() above does not look at. */
    feed->poll.done(&feed->poll, (const void *)feed, NULL);
    assert_int_equal(n_asked, 1);
    assert_int_equal(tick_in_ms, REST_MS + 1);
    connection.is_waiting = false;
    now_ms += REST_MS;
    bash_feeds_tick(&feeds);
    assert_int_equal(n_asked, 2);
    assert_true(connection.is_waiting);
    assert_false(reader.is_resting);
    bash_feed_leave(feed, &reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sandbox_whose_pages_take_long_is_asked_less_often),
    };

    json_setup();
    return cmocka_run_group_tests_name("gateway/bash_feed", tests, NULL, NULL);
}
