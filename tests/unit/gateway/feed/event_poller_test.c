/*
 * Which streams a query of the poller holds. The database and the streams are played here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/mem.h"
#include "gateway/feed/event_poller.h"
#include "gateway/feed/stream.h"
#include "store/conversation/async_store.h"
#include "store/db/db_async.h"

struct asked {
    size_t n_queries;
    size_t n_streams;            /* in the last query */
    size_t n_events;             /* that streams took */
    const struct stream *closed; /* the last one whose readers were closed */
};

/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the stubs have no owner */
static struct asked asked;

void async_store_read_new(struct db_async *async, struct new_events_query *query)
{
    (void)async;
    asked.n_queries++;
    asked.n_streams = query->n;
}

void async_query_cancel(struct async_query **query)
{
    (void)query;
}

void stream_take_event(struct stream *stream, const struct fresh_event *event)
{
    stream->last_seq = event->seq;
    asked.n_events++;
}

void stream_take_version(struct stream *stream, int64_t version)
{
    stream->snapshot_version = version;
}

void stream_wake_all(struct stream *stream)
{
    (void)stream;
}

void stream_close_all(struct stream *stream)
{
    asked.closed = stream;
}

static struct event_poller start(void)
{
    asked = (struct asked){0};
    return (struct event_poller){.live = NULL};
}

static void hints_during_a_query_go_into_the_next_one(void **state)
{
    struct event_poller poller = start();
    struct stream first = {.last_seq = 1};
    struct stream second = {.last_seq = 1};

    (void)state;
    event_poller_init(&poller, (struct db_async *)&poller);
    event_poller_want(&poller, &first);
    event_poller_want(&poller, &first);
    event_poller_want(&poller, &second);
    assert_int_equal(asked.n_queries, 1);
    assert_int_equal(asked.n_streams, 1);
    poller.query.done(&poller.query, NULL);
    assert_int_equal(asked.n_queries, 2);
    assert_int_equal(asked.n_streams, 2);
    poller.query.done(&poller.query, NULL);
    assert_int_equal(asked.n_queries, 2);
    event_poller_done(&poller);
}

/*
 * The first stream of an answer has more events, and a hint for the second one arrived: both are
 * queried again. If the second one is freed then, the answer must not reach it.
 */
static void freed_streams_get_no_events_of_a_later_query(void **state)
{
    struct event_poller poller = start();
    struct stream one = {.last_seq = 1};
    struct stream first = {.last_seq = 1};
    struct stream second = {.last_seq = 1};
    struct fresh_event event = {.watch = 1, .seq = 2};

    (void)state;
    event_poller_init(&poller, (struct db_async *)&poller);
    event_poller_want(&poller, &one);
    event_poller_want(&poller, &first);
    event_poller_want(&poller, &second);
    poller.query.done(&poller.query, NULL);
    assert_int_equal(asked.n_streams, 2);
    event_poller_want(&poller, &second);
    poller.query.watches[0].has_more = true;
    poller.query.done(&poller.query, NULL);
    assert_int_equal(asked.n_queries, 3);
    assert_int_equal(asked.n_streams, 2);
    event_poller_forget(&poller, &first);
    event_poller_forget(&poller, &second);
    for (event.watch = 0; event.watch < 2; event.watch++)
        poller.query.event(&poller.query, &event);
    assert_int_equal(asked.n_events, 0);
    event_poller_done(&poller);
}

static void failed_queries_are_repeated(void **state)
{
    struct event_poller poller = start();
    struct stream stream = {.last_seq = 1};
    struct error err = ERROR_INIT;

    (void)state;
    event_poller_init(&poller, (struct db_async *)&poller);
    event_poller_want(&poller, &stream);
    error_set(&err, ERROR_UNAVAILABLE, "no database");
    poller.query.done(&poller.query, &err);
    assert_int_equal(asked.n_queries, 2);
    assert_int_equal(asked.n_streams, 1);
    event_poller_done(&poller);
}

/* Of a deleted conversation no more is asked; those of the same query go on. */
static void readers_of_a_conversation_that_is_gone_are_closed(void **state)
{
    struct event_poller poller = start();
    struct stream gone = {.last_seq = 1};
    struct stream other = {.last_seq = 1};
    struct stream_list all = TAILQ_HEAD_INITIALIZER(all);

    (void)state;
    TAILQ_INSERT_TAIL(&all, &gone, all);
    TAILQ_INSERT_TAIL(&all, &other, all);
    event_poller_init(&poller, (struct db_async *)&poller);
    event_poller_want_all(&poller, &all);
    assert_int_equal(asked.n_streams, 2);
    poller.query.watches[0].is_gone = true;
    poller.query.watches[1].snapshot_version = 7;
    poller.query.done(&poller.query, NULL);
    assert_ptr_equal(asked.closed, &gone);
    assert_int_equal(gone.snapshot_version, 0);
    assert_int_equal(other.snapshot_version, 7);
    assert_int_equal(asked.n_queries, 1);
    event_poller_done(&poller);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hints_during_a_query_go_into_the_next_one),
        cmocka_unit_test(freed_streams_get_no_events_of_a_later_query),
        cmocka_unit_test(failed_queries_are_repeated),
        cmocka_unit_test(readers_of_a_conversation_that_is_gone_are_closed),
    };

    return cmocka_run_group_tests_name("event_poller", tests, NULL, NULL);
}
