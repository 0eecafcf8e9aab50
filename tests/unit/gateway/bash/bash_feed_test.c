/*
 * How a feed finds its sandbox, places itself in its log, and asks for what comes next.
 */
#include "gateway/bash/bash_feed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "unit/gateway/bash/played_sandbox.h"

enum {
    PARSED_MS = 100,
    REST_MS = 4 * PARSED_MS,
    PACE_MS = 1000,
    LOOK_AGAIN_MS = 5000,
    FIND_MS = 10000,
    NEWS_MS = 25000,
    US_PER_MS = 1000,
    NEWEST_US = 5000,
};

struct feed_fixture {
    struct played_feeds parts;
    struct connection connection;
    struct bash_feed_reader reader;
    struct bash_feed *feed;
};

static int set_up(void **state)
{
    struct feed_fixture *fixture = NEW(struct feed_fixture);

    played_reset(&fixture->parts);
    fixture->reader = (struct bash_feed_reader){.connection = &fixture->connection, .at_us = -1};
    fixture->feed = bash_feed_get(&fixture->parts.feeds, &fixture->parts.principal);
    bash_feed_join(fixture->feed, &fixture->reader);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct feed_fixture *fixture = *state;

    bash_feeds_done(&fixture->parts.feeds);
    assert_true(LIST_EMPTY(&fixture->parts.feeds.all));
    played_done();
    mem_free(fixture);
    return 0;
}

/* Ticks after that time. */
static void tick(struct feed_fixture *fixture, int64_t after_ms)
{
    played.now_ms += after_ms;
    bash_feeds_tick(&fixture->parts.feeds);
}

/* Found, and asked for its events after the newest one. */
static void place(struct feed_fixture *fixture)
{
    played_answer(played_last(PLAYED_FIND)->call);
    played_page(NEWEST_US, 1);
    played_answer(played_last(PLAYED_NEWEST)->call);
    assert_int_equal(played_last(PLAYED_AFTER)->after_us, NEWEST_US);
    played_page(1, 0);
    fixture->connection.is_waiting = false;
}

static bool is_woken(struct feed_fixture *fixture)
{
    bool is_waiting = fixture->connection.is_waiting;

    fixture->connection.is_waiting = false;
    return is_waiting;
}

/* --- feeds --- */

static void callers_of_one_sandbox_share_a_feed(void **state)
{
    struct feed_fixture *fixture = *state;
    struct bash_feeds *feeds = &fixture->parts.feeds;
    struct bash_feed_reader second = {.connection = &fixture->connection, .at_us = -1};
    struct bash_feed_reader third = second;
    struct principal other = fixture->parts.principal;
    struct bash_feed *feed = NULL;

    assert_ptr_equal(bash_feed_get(feeds, &fixture->parts.principal), fixture->feed);
    other.runtime_session[2] = '2';
    feed = bash_feed_get(feeds, &other);
    assert_ptr_not_equal(feed, fixture->feed);
    assert_string_equal(feed->principal.runtime_session, "s-2");
    bash_feed_join(feed, &third);
    assert_string_equal(played_last(PLAYED_FIND)->text, "s-2");
    played_expect(2);
    bash_feed_join(fixture->feed, &second);
    assert_int_equal(fixture->feed->n_readers, 2);
    bash_feed_leave(fixture->feed, &second);
    assert_int_equal(fixture->feed->n_readers, 1);
    assert_int_equal(played.n_dropped, 0);
    bash_feed_leave(feed, &third); /* the last one ends the feed and its request */
    assert_int_equal(played.n_dropped, 1);
    assert_ptr_equal(LIST_FIRST(&feeds->all), fixture->feed);
    assert_null(LIST_NEXT(fixture->feed, link));
    played_expect(2);
}

static void requests_end_with_the_process(void **state)
{
    struct feed_fixture *fixture = *state;

    place(fixture);
    bash_feeds_done(&fixture->parts.feeds);
    assert_int_equal(played.n_dropped, 1);
    assert_true(LIST_EMPTY(&fixture->parts.feeds.all));
}

/* --- finding --- */

static void sandbox_that_does_not_run_is_looked_up_again(void **state)
{
    struct feed_fixture *fixture = *state;
    int64_t first_us = played.now_ms * US_PER_MS;

    assert_string_equal(played_last(PLAYED_FIND)->text, "s-1");
    assert_int_equal(played_last(PLAYED_FIND)->wait_ms, FIND_MS);
    tick(fixture, LOOK_AGAIN_MS);
    played_expect(1); /* the first one is under way */
    played.now_ms -= LOOK_AGAIN_MS;
    played_fail(played_last(PLAYED_FIND)->call, ERROR_NOT_FOUND, "no sandbox");
    /* Only events from now on are new. */
    assert_int_equal(fixture->feed->last_us, first_us);
    assert_int_equal(fixture->reader.at_us, first_us);
    assert_int_equal(fixture->feed->window.from_us, first_us);
    tick(fixture, LOOK_AGAIN_MS - 1);
    played_expect(1);
    tick(fixture, 1);
    played_expect(2);
    played_fail(played_last(PLAYED_FIND)->call, ERROR_NOT_FOUND, "no sandbox");
    assert_int_equal(fixture->feed->last_us, first_us);
    assert_int_equal(played.n_errors, 0);
}

static void reader_begins_after_the_newest_event(void **state)
{
    struct feed_fixture *fixture = *state;

    played_answer(played_last(PLAYED_FIND)->call);
    played_expect(2);
    tick(fixture, LOOK_AGAIN_MS);
    played_expect(2);
    assert_false(fixture->feed->is_placed);
    played_page(NEWEST_US, 1);
    played_answer(played_last(PLAYED_NEWEST)->call);
    assert_true(fixture->feed->is_placed);
    assert_int_equal(fixture->reader.at_us, NEWEST_US);
    assert_int_equal(fixture->feed->window.from_us, NEWEST_US);
    assert_int_equal(fixture->feed->window.n, 0);
    assert_true(is_woken(fixture));
    assert_int_equal(played_last(PLAYED_AFTER)->after_us, NEWEST_US);
    assert_int_equal(played_last(PLAYED_AFTER)->wait_ms, NEWS_MS);
    played_expect(3);
}

static void empty_sandbox_is_read_from_its_beginning(void **state)
{
    struct feed_fixture *fixture = *state;

    played_answer(played_last(PLAYED_FIND)->call);
    played_answer(played_last(PLAYED_NEWEST)->call);
    assert_int_equal(fixture->reader.at_us, 0);
    assert_int_equal(played_last(PLAYED_AFTER)->after_us, 0);
}

/* A new sandbox has older events than its predecessor's last one. */
static void readers_go_back_with_a_new_sandbox(void **state)
{
    struct feed_fixture *fixture = *state;
    struct bash_feed_reader old = {.connection = &fixture->connection, .at_us = 10};

    bash_feed_join(fixture->feed, &old);
    place(fixture);
    played_page(NEWEST_US + 1, 2);
    played_answer(played_last(PLAYED_AFTER)->call);
    assert_int_equal(fixture->feed->window.n, 2);
    played_fail(played_last(PLAYED_AFTER)->call, ERROR_UNAVAILABLE, "gone");
    tick(fixture, PACE_MS);
    played_answer(played_last(PLAYED_FIND)->call);
    played_page(100, 1);
    fixture->reader.at_us = NEWEST_US;
    played_answer(played_last(PLAYED_NEWEST)->call);
    assert_int_equal(fixture->feed->last_us, 100);
    assert_int_equal(fixture->feed->window.from_us, 100);
    assert_int_equal(fixture->feed->window.n, 0);
    assert_int_equal(fixture->reader.at_us, 100);
    assert_int_equal(old.at_us, 10);
    bash_feed_leave(fixture->feed, &old);
}

/* The events in between are asked for. */
static void readers_stay_where_they_are_with_the_old_sandbox(void **state)
{
    struct feed_fixture *fixture = *state;

    place(fixture);
    played_fail(played_last(PLAYED_AFTER)->call, ERROR_UNAVAILABLE, "gone");
    tick(fixture, PACE_MS);
    played_answer(played_last(PLAYED_FIND)->call);
    played_page(NEWEST_US + 9, 1);
    played_answer(played_last(PLAYED_NEWEST)->call);
    assert_int_equal(fixture->reader.at_us, NEWEST_US);
    assert_int_equal(played_last(PLAYED_AFTER)->after_us, NEWEST_US);
}

/* --- news --- */

static void new_events_wake_the_readers(void **state)
{
    struct feed_fixture *fixture = *state;

    place(fixture);
    played_page(NEWEST_US + 1, 2);
    played_answer(played_last(PLAYED_AFTER)->call);
    assert_true(is_woken(fixture));
    assert_int_equal(fixture->feed->last_us, NEWEST_US + 2);
    assert_int_equal(fixture->feed->window.n, 2);
    assert_int_equal(played_last(PLAYED_AFTER)->after_us, NEWEST_US + 2);
    assert_int_equal(played_last(PLAYED_AFTER)->wait_ms, NEWS_MS);
    played_expect(4);
    assert_int_equal(played.tick_in_ms, 0);
}

static void sandbox_that_does_not_wait_is_asked_once_a_second(void **state)
{
    struct feed_fixture *fixture = *state;

    place(fixture);
    played.now_ms += PACE_MS - 1;
    played_answer(played_last(PLAYED_AFTER)->call);
    assert_false(is_woken(fixture));
    played_expect(3);
    tick(fixture, PACE_MS - 1);
    played_expect(3);
    tick(fixture, 1);
    played_expect(4);
    assert_int_equal(played_last(PLAYED_AFTER)->after_us, NEWEST_US);
    /* One that waited is asked again at once. */
    played.now_ms += PACE_MS;
    played_answer(played_last(PLAYED_AFTER)->call);
    played_expect(5);
}

static void lost_sandbox_is_looked_up_after_a_second(void **state)
{
    struct feed_fixture *fixture = *state;

    place(fixture);
    played_fail(played_last(PLAYED_AFTER)->call, ERROR_TIMEOUT, "no answer");
    assert_null(fixture->feed->endpoint.url);
    assert_false(fixture->feed->is_placed);
    assert_false(is_woken(fixture));
    tick(fixture, PACE_MS - 1);
    played_expect(3);
    tick(fixture, 1);
    assert_string_equal(played_last(PLAYED_FIND)->text, "s-1");
    assert_int_equal(played.n_errors, 0);
}

static void sandbox_that_cannot_be_read_is_lost(void **state)
{
    struct feed_fixture *fixture = *state;

    played_answer(played_last(PLAYED_FIND)->call);
    played_fail(played_last(PLAYED_NEWEST)->call, ERROR_UNAVAILABLE, "no page");
    assert_null(fixture->feed->endpoint.url);
    assert_int_equal(fixture->reader.at_us, -1);
    assert_false(is_woken(fixture));
    tick(fixture, PACE_MS);
    played_last(PLAYED_FIND);
    played_expect(3);
}

static void request_that_cannot_begin_loses_the_sandbox(void **state)
{
    struct feed_fixture *fixture = *state;

    place(fixture);
    played.is_unable = true;
    played_page(NEWEST_US + 1, 1);
    played_answer(played_last(PLAYED_AFTER)->call);
    assert_null(fixture->feed->endpoint.url);
    tick(fixture, PACE_MS); /* nor can a look-up begin */
    played.is_unable = false;
    tick(fixture, PACE_MS - 1);
    played_expect(3);
    tick(fixture, 1);
    played_last(PLAYED_FIND);
}

/* --- rests --- */

static void sandbox_whose_pages_take_long_is_asked_less_often(void **state)
{
    struct feed_fixture *fixture = *state;

    place(fixture);
    played.parse_ms = PARSED_MS;
    played_page(NEWEST_US + 1, 1);
    fixture->reader.is_resting = true;
    played_answer(played_last(PLAYED_AFTER)->call);
    played_expect(3);
    assert_int_equal(played.tick_in_ms, REST_MS + 1);
    (void)is_woken(fixture);
    tick(fixture, REST_MS);
    played_expect(4);
    assert_true(is_woken(fixture));
    assert_false(fixture->reader.is_resting);
    tick(fixture, 1);
    assert_false(is_woken(fixture));
}

static void first_page_counts_too(void **state)
{
    struct feed_fixture *fixture = *state;

    played_answer(played_last(PLAYED_FIND)->call);
    played.parse_ms = PARSED_MS;
    played_answer(played_last(PLAYED_NEWEST)->call);
    played_expect(2);
    tick(fixture, REST_MS - 1);
    played_expect(2);
    tick(fixture, 1);
    played_expect(3);
}

/* The pause after an empty page is longer than that. */
static void longer_pause_is_kept(void **state)
{
    struct feed_fixture *fixture = *state;

    place(fixture);
    played.parse_ms = PARSED_MS;
    played_answer(played_last(PLAYED_AFTER)->call);
    tick(fixture, PACE_MS - 1);
    played_expect(3);
    tick(fixture, 1);
    played_expect(4);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(callers_of_one_sandbox_share_a_feed),
        TEST(requests_end_with_the_process),
        TEST(sandbox_that_does_not_run_is_looked_up_again),
        TEST(reader_begins_after_the_newest_event),
        TEST(empty_sandbox_is_read_from_its_beginning),
        TEST(readers_go_back_with_a_new_sandbox),
        TEST(readers_stay_where_they_are_with_the_old_sandbox),
        TEST(new_events_wake_the_readers),
        TEST(sandbox_that_does_not_wait_is_asked_once_a_second),
        TEST(lost_sandbox_is_looked_up_after_a_second),
        TEST(sandbox_that_cannot_be_read_is_lost),
        TEST(request_that_cannot_begin_loses_the_sandbox),
        TEST(sandbox_whose_pages_take_long_is_asked_less_often),
        TEST(first_page_counts_too),
        TEST(longer_pause_is_kept),
    };

    json_setup();
    return cmocka_run_group_tests_name("gateway/bash_feed", tests, NULL, NULL);
}
