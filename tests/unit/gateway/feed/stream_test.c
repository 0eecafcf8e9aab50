/*
 * When readers of a stream are told that a run is over. The timer and the connections are played
 * here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/uuid.h"
#include "gateway/core/connection.h"
#include "gateway/core/ticker.h"
#include "gateway/feed/stream.h"

enum { LONG_AGO_MS = 10000 };

void ticker_advance(struct ticker *ticker, int64_t in_ms)
{
    ticker->next_ms = in_ms;
}

void connection_wake(struct connection *connection)
{
    (void)connection;
}

void connection_close(struct connection *connection, enum connection_end end)
{
    (void)connection;
    (void)end;
}

static struct stream *start(struct stream_parts *parts, struct ticker *ticker)
{
    struct uuid id = uuid_random();

    *parts = (struct stream_parts){.ticker = ticker};
    TAILQ_INIT(&parts->due);
    TAILQ_INIT(&parts->warm);
    return stream_new(parts, &id, &id);
}

static void end_of_a_run_with_nothing_to_do_is_held_back(void **state)
{
    struct stream_parts parts;
    struct ticker ticker = {.next_ms = -1};
    struct stream *stream = start(&parts, &ticker);

    (void)state;
    for (int64_t run = 1; run <= 3; run++) {
        stream_take_version(stream, run);
        assert_true(stream->is_due);
        assert_in_range(ticker.next_ms, 1, 1000);
        assert_int_equal(stream->snapshot_round, run - 1);
        stream_end_run(stream);
        assert_false(stream->is_due);
        assert_int_equal(stream->snapshot_round, run);
    }
    stream_free(stream);
}

static void end_of_a_long_run_is_told_at_once(void **state)
{
    struct stream_parts parts;
    struct ticker ticker = {.next_ms = -1};
    struct stream *stream = start(&parts, &ticker);

    (void)state;
    stream->run_seen_ms = clock_monotonic_ms() - LONG_AGO_MS;
    stream_take_version(stream, 1);
    assert_false(stream->is_due);
    assert_int_equal(stream->snapshot_round, 1);
    /* It is over: what it began says nothing of the next one. */
    stream_take_version(stream, 2);
    assert_true(stream->is_due);
    assert_int_equal(stream->snapshot_round, 1);
    stream_take_version(stream, 2);
    assert_int_equal(stream->snapshot_version, 2);
    stream_free(stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(end_of_a_run_with_nothing_to_do_is_held_back),
        cmocka_unit_test(end_of_a_long_run_is_told_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
