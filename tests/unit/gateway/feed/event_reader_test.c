/*
 * The events that a socket is sent, their order, and the first one. The test takes the part of the
 * database and of the connection.
 */
#include "gateway/feed/event_reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/text.h"
#include "gateway/core/connection.h"
#include "gateway/core/socket_request.h"
#include "unit/gateway/feed/feed_bench.h"

/* --- tests --- */

/* The wire counts from 0, and after_seq is the last that the client has; the store from 1. */
static void reading_begins_where_the_client_wants_it(void **state)
{
    static const struct {
        struct socket_request request;
        int64_t since_seq;
        int64_t cursor;
    } cases[] = {
        {{.kind = SOCKET_SESSION, .after_seq = -2}, 0, 10},
        {{.kind = SOCKET_SESSION, .after_seq = -3}, 0, 10},
        {{.kind = SOCKET_SESSION, .after_seq = -1}, 0, 0},
        {{.kind = SOCKET_SESSION, .after_seq = 0}, 0, 1},
        {{.kind = SOCKET_SESSION, .after_seq = 8}, 0, 9},
        {{.kind = SOCKET_SESSION, .after_seq = 9}, 0, 10},
        {{.kind = SOCKET_SESSION, .after_seq = 10}, 0, 10},
        {{.kind = SOCKET_SESSION, .after_seq = 5000}, 0, 10},
        {{.kind = SOCKET_EVENTS, .resend = RESEND_NONE, .after_seq = 3}, 7, 10},
        {{.kind = SOCKET_EVENTS, .resend = RESEND_ALL}, 7, 0},
        {{.kind = SOCKET_EVENTS, .resend = RESEND_SINCE, .since = "2026-01-01T00:00:00"}, 7, 7},
        {{.kind = SOCKET_EVENTS, .resend = RESEND_SINCE, .since = ""}, 7, 10},
    };
    struct feed_bench *bench = *state;

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct event_reader reader = {.cursor = 0};
        struct position_query place = place_at(bench, 10);

        place.since_seq = cases[i].since_seq;
        join(bench, &reader, &cases[i].request, &place);
        if (reader.cursor != cases[i].cursor)
            fail_msg("case %zu: %lld", i, (long long)reader.cursor);
        event_reader_leave(&reader);
    }
}

static void session_is_sent_sync_then_history_then_the_snapshot(void **state)
{
    const struct socket_request request = {.kind = SOCKET_SESSION, .after_seq = 1};
    struct feed_bench *bench = *state;
    const struct position_query place = place_at(bench, 2);
    const struct position_query now = place_at(bench, 4);
    struct event_reader first = {.cursor = 0};
    struct event_reader reader = {.cursor = 0};

    /* Another reader was there before: the stream keeps what came since. */
    join(bench, &first, &request, &place);
    add_event(&first, 3);
    add_event(&first, 4);
    join(bench, &reader, &request, &now);
    expect(&reader, "\"through_seq\":3");
    expect(&reader, "{\"number\":3}");
    assert_false(event_reader_has_begun(&reader));
    expect(&reader, "\"seq\":3,\"event\":{\"number\":4}");
    expect(&reader, NULL);
    answer_state(4);
    expect(&reader, SNAPSHOT);
    assert_true(event_reader_has_begun(&reader));
    expect(&reader, NULL);
    assert_false(event_reader_has_more(&reader));
    event_reader_leave(&reader);
    event_reader_leave(&first);
}

static void events_socket_is_sent_the_snapshot_before_history(void **state)
{
    const struct socket_request request = {.kind = SOCKET_EVENTS, .resend = RESEND_ALL};
    struct feed_bench *bench = *state;
    const struct position_query place = place_at(bench, 1);
    struct event_reader reader = {.cursor = 0};

    join(bench, &reader, &request, &place);
    expect(&reader, NULL);
    /* An older one would say less than the history that follows it. */
    answer_state(0);
    expect(&reader, NULL);
    answer_state(1);
    expect(&reader, SNAPSHOT);
    expect(&reader, NULL);
    assert_non_null(played.replay);
    assert_int_equal(played.replay->after_seq, 0);
    event_reader_leave(&reader);
}

/* An old "finished" after the start of a new run would end that run for its client. */
static void snapshot_follows_the_newest_event_that_it_covers(void **state)
{
    const struct socket_request request = {.kind = SOCKET_SESSION, .after_seq = -2};
    struct feed_bench *bench = *state;
    const struct position_query place = place_at(bench, 5);
    struct event_reader reader = {.cursor = 0};

    join(bench, &reader, &request, &place);
    expect(&reader, "\"sync\"");
    expect(&reader, NULL);
    answer_state(5);
    expect(&reader, SNAPSHOT);

    add_event(&reader, 6);
    add_event(&reader, 7);
    add_event(&reader, 8);
    end_run(&reader);
    expect(&reader, "{\"number\":6}");
    answer_state(7);
    expect(&reader, "{\"number\":7}");
    expect(&reader, SNAPSHOT);
    expect(&reader, "{\"number\":8}");
    expect(&reader, NULL);

    /* One that covers events not read yet waits for them, and has them read. */
    end_run(&reader);
    expect(&reader, NULL);
    answer_state(9);
    assert_int_equal(played.n_polls, 0);
    expect(&reader, NULL);
    assert_int_equal(played.n_polls, 1);
    add_event(&reader, 9);
    expect(&reader, "{\"number\":9}");
    expect(&reader, SNAPSHOT);
    expect(&reader, NULL);
    event_reader_leave(&reader);
}

static void conversation_has_so_many_readers_and_no_more(void **state)
{
    const struct socket_request request = {.kind = SOCKET_EVENTS, .resend = RESEND_NONE};
    struct feed_bench *bench = *state;
    const struct position_query place = place_at(bench, 5);
    struct event_reader readers[READERS_MAX + 1] = {{.cursor = 0}};

    for (size_t i = 0; i < READERS_MAX; i++) {
        join(bench, &readers[i], &request, &place);
        assert_int_equal(played.end, CONNECTION_OPEN);
    }
    join(bench, &readers[READERS_MAX], &request, &place);
    assert_int_equal(played.end, CONNECTION_TOO_MANY);
    assert_null(readers[READERS_MAX].stream);
    event_reader_leave(&readers[0]);
    join(bench, &readers[0], &request, &place);
    assert_non_null(readers[0].stream);
    for (size_t i = 0; i <= READERS_MAX; i++)
        event_reader_leave(&readers[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, feed_bench_set_up, feed_bench_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reading_begins_where_the_client_wants_it),
        TEST(session_is_sent_sync_then_history_then_the_snapshot),
        TEST(events_socket_is_sent_the_snapshot_before_history),
        TEST(snapshot_follows_the_newest_event_that_it_covers),
        TEST(conversation_has_so_many_readers_and_no_more),
    };

    json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
