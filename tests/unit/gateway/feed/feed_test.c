/*
 * Hints and ticks: when the database is asked for events, and when a run's end is told.
 */
#include "gateway/feed/feed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/text.h"
#include "gateway/feed/stream.h"
#include "unit/gateway/feed/feed_bench.h"

enum {
    POLL_MS = 2000,
    POLL_MAX = 1000,
    QUERY_MAX = 256,
    WARM_MS = 10000,
    RUN_TOLD_MS = 1000,
    STATUS_MAX_BYTES = 400,
};

#define RUNNING "{\"key\":\"execution_status\",\"value\":\"running\"}"

static const struct socket_request events = {.kind = SOCKET_EVENTS};

static void add_body(struct event_reader *reader, int64_t seq, const char *body)
{
    const struct fresh_event event = {
        .seq = seq, .id = uuid_random(), .body = body, .body_len = strlen(body)};

    stream_take_event(reader->stream, &event);
}

/* --- hints --- */

static void hint_has_the_conversation_read(void **state)
{
    struct feed_bench *bench = *state;
    struct uuid other = uuid_random();
    struct event_reader reader;

    join_at_5(bench, &reader, &events);
    feed_take_change(&bench->feed, other.text);
    assert_int_equal(played.n_polls, 0);
    feed_take_change(&bench->feed, bench->conversation_id.text);
    assert_int_equal(played.n_polls, 1);
    assert_int_equal(played.news->n, 1);
    assert_string_equal(played.news->watches[0].conversation_id.text, bench->conversation_id.text);
    assert_int_equal(played.news->watches[0].last_seq, 5);
    answer_news();
    event_reader_leave(&reader);
}

static void lost_hints_have_all_conversations_read(void **state)
{
    struct feed_bench *bench = *state;
    struct event_reader readers[2];

    for (size_t i = 0; i < 2; i++) {
        bench->conversation_id = uuid_random();
        join_at_5(bench, &readers[i], &events);
    }
    feed_refresh(&bench->feed);
    assert_int_equal(played.n_polls, 1);
    assert_int_equal(played.news->n, 2);
    answer_news();
    for (size_t i = 0; i < 2; i++)
        event_reader_leave(&readers[i]);
}

/* A query in which the stream has a place is under way. */
static void stream_is_freed_with_its_last_reader(void **state)
{
    struct feed_bench *bench = *state;
    struct event_reader reader;
    struct fresh_event event = {.seq = 6, .body = "{}", .body_len = 2};

    join_at_5(bench, &reader, &events);
    feed_take_change(&bench->feed, bench->conversation_id.text);
    feed_take_change(&bench->feed, bench->conversation_id.text);
    event_reader_leave(&reader);
    assert_null(stream_registry_find(&bench->feed.streams, bench->conversation_id.text));
    played.news->event(played.news, &event);
    answer_news();
    assert_int_equal(played.n_polls, 1);
}

/* --- ticks --- */

static void conversations_are_read_without_a_hint(void **state)
{
    struct feed_bench *bench = *state;
    struct event_reader reader;

    join_at_5(bench, &reader, &events);
    assert_int_equal(feed_tick(&bench->feed, played.now_ms + POLL_MS - 1), -1);
    assert_int_equal(played.n_polls, 0);
    assert_int_equal(feed_tick(&bench->feed, played.now_ms + POLL_MS), -1);
    assert_int_equal(played.n_polls, 1);
    answer_news();
    assert_int_equal(feed_tick(&bench->feed, played.now_ms + 2 * POLL_MS - 1), -1);
    assert_int_equal(played.n_polls, 1);
    assert_int_equal(feed_tick(&bench->feed, played.now_ms + 2 * POLL_MS), -1);
    assert_int_equal(played.n_polls, 2);
    event_reader_leave(&reader);
}

/* Streams without readers serve here: they are not polled for themselves. */
static void tick_reads_so_many_conversations_and_no_more(void **state)
{
    struct feed_bench *bench = *state;
    struct stream_registry *streams = &bench->feed.streams;
    struct stream *stream = NULL;
    size_t n_asked = 0;

    for (size_t i = 0; i <= POLL_MAX; i++) {
        struct uuid id = uuid_random();

        stream = stream_registry_get(streams, &id, &bench->user_id);
        assert_ptr_equal(stream_registry_get(streams, &id, &bench->user_id), stream);
        assert_ptr_equal(stream_registry_find(streams, id.text), stream);
    }
    assert_int_equal(feed_tick(&bench->feed, played.now_ms + POLL_MS), -1);
    assert_int_equal(played.news->n, 1); /* the others wait for its answer */
    while (played.news != NULL) {
        n_asked += played.news->n;
        assert_true(played.news->n <= QUERY_MAX);
        answer_news();
    }
    assert_int_equal(n_asked, POLL_MAX);
    assert_ptr_equal(TAILQ_FIRST(&streams->all), stream);
    assert_int_equal(feed_tick(&bench->feed, played.now_ms + POLL_MS), -1);
    assert_int_equal(played.news->n, 1);
    while (!TAILQ_EMPTY(&streams->all))
        stream_registry_drop_if_unused(streams, TAILQ_FIRST(&streams->all));
    answer_news();
}

static void events_are_kept_for_a_while(void **state)
{
    struct feed_bench *bench = *state;
    struct event_reader reader;
    struct stream *stream = NULL;

    begin_at_5(bench, &reader, &events);
    stream = reader.stream;
    add_event(&reader, 6);
    played.now_ms += WARM_MS / 2;
    add_event(&reader, 7);
    assert_int_equal(feed_tick(&bench->feed, played.now_ms + WARM_MS - 1), -1);
    assert_non_null(stream->cache);
    assert_true(stream->is_warm);
    assert_int_equal(feed_tick(&bench->feed, played.now_ms + WARM_MS), -1);
    assert_null(stream->cache);
    assert_null(stream->snapshot);
    assert_false(stream->is_warm);
    assert_true(TAILQ_EMPTY(&bench->feed.streams.parts.warm));
    assert_int_equal(bench->feed.streams.n_cooled, 0);
    event_reader_leave(&reader);
}

/* Memory is given back when all are cool, or for so many at once. */
static void cooled_streams_are_counted(void **state)
{
    struct feed_bench *bench = *state;
    struct event_reader readers[2];

    for (size_t i = 0; i < 2; i++) {
        bench->conversation_id = uuid_random();
        join_at_5(bench, &readers[i], &events);
        add_event(&readers[i], 6);
        played.now_ms += 1;
    }
    assert_int_equal(feed_tick(&bench->feed, played.now_ms - 2 + WARM_MS), -1);
    assert_null(readers[0].stream->cache);
    assert_non_null(readers[1].stream->cache);
    assert_int_equal(bench->feed.streams.n_cooled, 1);
    assert_int_equal(feed_tick(&bench->feed, played.now_ms - 1 + WARM_MS), -1);
    assert_null(readers[1].stream->cache);
    assert_int_equal(bench->feed.streams.n_cooled, 0);
    for (size_t i = 0; i < 2; i++)
        event_reader_leave(&readers[i]);
}

/* --- ends of runs --- */

static void run_that_began_just_now_ends_later(void **state)
{
    struct feed_bench *bench = *state;
    struct event_reader reader;
    int64_t round = 0;

    begin_at_5(bench, &reader, &events);
    round = reader.stream->snapshot_round;
    add_body(&reader, 6, RUNNING);
    assert_int_equal(reader.stream->run_seen_ms, played.now_ms);
    played.now_ms += 400;
    stream_take_version(reader.stream, 1);
    assert_int_equal(bench->ticker.next_ms, RUN_TOLD_MS - 400);
    assert_int_equal(reader.stream->snapshot_round, round);
    assert_int_equal(feed_tick(&bench->feed, played.now_ms + 100), RUN_TOLD_MS - 500);
    assert_int_equal(reader.stream->snapshot_round, round);
    assert_false(is_woken(bench));
    assert_int_equal(feed_tick(&bench->feed, played.now_ms + RUN_TOLD_MS - 400), -1);
    assert_int_equal(reader.stream->snapshot_round, round + 1);
    assert_true(is_woken(bench));
    event_reader_leave(&reader);
}

static void next_end_is_the_soonest(void **state)
{
    struct feed_bench *bench = *state;
    struct event_reader readers[3];

    for (size_t i = 0; i < 3; i++) {
        bench->conversation_id = uuid_random();
        join_at_5(bench, &readers[i], &events);
        played.now_ms += i == 1 ? -200 : 100;
        stream_take_version(readers[i].stream, 1);
    }
    /* They are due at 100, -100 and 0, from the beginning on. */
    assert_int_equal(feed_tick(&bench->feed, played.now_ms), RUN_TOLD_MS - 100);
    assert_int_equal(feed_tick(&bench->feed, played.now_ms + RUN_TOLD_MS - 50), 50);
    assert_int_equal(readers[1].stream->snapshot_round, 1);
    assert_int_equal(readers[2].stream->snapshot_round, 0);
    for (size_t i = 0; i < 3; i++)
        event_reader_leave(&readers[i]);
    assert_true(TAILQ_EMPTY(&bench->feed.streams.parts.due));
}

static void run_that_began_long_ago_ends_at_once(void **state)
{
    struct feed_bench *bench = *state;
    struct event_reader reader;

    join_at_5(bench, &reader, &events);
    add_body(&reader, 6, RUNNING);
    stream_take_version(reader.stream, 1);
    assert_true(reader.stream->is_due);
    add_body(&reader, 7, RUNNING);
    played.now_ms += RUN_TOLD_MS;
    stream_take_version(reader.stream, 2);
    assert_false(reader.stream->is_due);
    assert_int_equal(reader.stream->snapshot_round, 1);
    event_reader_leave(&reader);
}

struct begin_row {
    const char *body;
    size_t len; /* of the body and blanks after it */
    bool begins;
};

static void only_a_status_begins_a_run(void **state)
{
    static const struct begin_row rows[] = {
        {RUNNING, sizeof(RUNNING) - 1, true},
        {RUNNING, STATUS_MAX_BYTES, true},
        {RUNNING, STATUS_MAX_BYTES + 1, false},
        {"{\"key\":\"execution_status\",\"value\":\"idle\"}", 50, false},
        {"{\"key\":\"title\",\"value\":\"running\"}", 50, false},
    };
    struct feed_bench *bench = *state;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct event_reader reader;
        char body[STATUS_MAX_BYTES + 2];

        (void)snprintf(body, sizeof(body), "%-*s", (int)rows[i].len, rows[i].body);
        join_at_5(bench, &reader, &events);
        add_body(&reader, 6, body);
        assert_int_equal(reader.stream->run_seen_ms != 0, rows[i].begins);
        event_reader_leave(&reader);
    }
}

static void event_is_taken_once(void **state)
{
    struct feed_bench *bench = *state;
    struct event_reader reader;

    begin_at_5(bench, &reader, &events);
    add_event(&reader, 5);
    assert_int_equal(reader.stream->last_seq, 5);
    assert_null(reader.stream->cache);
    add_event(&reader, 6);
    add_body(&reader, 6, "{\"number\":\"again\"}");
    expect(&reader, "{\"number\":6}");
    expect(&reader, NULL);
    event_reader_leave(&reader);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, feed_bench_set_up, feed_bench_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(hint_has_the_conversation_read),
        TEST(lost_hints_have_all_conversations_read),
        TEST(stream_is_freed_with_its_last_reader),
        TEST(conversations_are_read_without_a_hint),
        TEST(tick_reads_so_many_conversations_and_no_more),
        TEST(events_are_kept_for_a_while),
        TEST(cooled_streams_are_counted),
        TEST(run_that_began_just_now_ends_later),
        TEST(next_end_is_the_soonest),
        TEST(run_that_began_long_ago_ends_at_once),
        TEST(only_a_status_begins_a_run),
        TEST(event_is_taken_once),
    };

    json_setup();
    return cmocka_run_group_tests_name("gateway/feed", tests, NULL, NULL);
}
