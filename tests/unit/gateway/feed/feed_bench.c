#include "unit/gateway/feed/feed_bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "gateway/core/frame.h"
#include "gateway/feed/stream.h"
#include "store/db/db_async.h"

enum { MS_PER_S = 1000, NS_PER_MS = 1000000, BEGIN_MS = 1000000 };

/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): as in the header */
struct played_database played;

/* --- the stubs --- */

/* POSIX.1-2017, clock_gettime(): both clocks stand still. */
int clock_gettime(clockid_t id, struct timespec *now)
{
    (void)id;
    *now = (struct timespec){.tv_sec = played.now_ms / MS_PER_S,
                             .tv_nsec = played.now_ms % MS_PER_S * NS_PER_MS};
    return 0;
}

void ticker_advance(struct ticker *ticker, int64_t in_ms)
{
    ticker->next_ms = in_ms;
}

void connection_wake(struct connection *connection)
{
    connection->is_waiting = true;
}

void connection_close(struct connection *connection, enum connection_end end)
{
    connection->end = end;
    played.end = end;
}

void async_query_cancel(struct async_query **query)
{
    played.n_cancelled += *query != NULL;
    *query = NULL;
}

void async_store_read_state(struct db_async *async, struct state_query *query)
{
    query->pending = (struct async_query *)async;
    played.state = query;
    played.n_states++;
}

void async_store_replay(struct db_async *async, struct replay_query *query)
{
    query->pending = (struct async_query *)async;
    played.replay = query;
    played.n_replays++;
}

void async_store_read_new(struct db_async *async, struct new_events_query *query)
{
    (void)async;
    played.news = query;
    played.n_polls++;
}

/* --- answers --- */

static void fail_with(struct error *err, enum error_code code)
{
    error_ignore(error_set(err, code, "played"), "it is the answer");
}

void answer_state(int64_t last_seq)
{
    struct state_query *query = TAKE_PTR(played.state);

    assert_non_null(query);
    query->pending = NULL;
    query->conversation = (struct conversation)CONVERSATION_INIT;
    query->conversation.id = query->conversation_id;
    query->conversation.spec = json_object();
    query->conversation.last_seq = last_seq;
    query->done(query, NULL);
}

void fail_state(enum error_code code)
{
    struct state_query *query = TAKE_PTR(played.state);
    struct error err = ERROR_INIT;

    assert_non_null(query);
    fail_with(&err, code);
    query->pending = NULL;
    query->done(query, &err);
}

void answer_replay(int64_t first_seq, size_t n)
{
    struct replay_query *query = TAKE_PTR(played.replay);

    assert_non_null(query);
    query->pending = NULL;
    query->batch.n = n;
    query->batch.seqs = mem_alloc_array(n + 1, sizeof(*query->batch.seqs));
    query->batch.bodies = mem_alloc_array(n + 1, sizeof(*query->batch.bodies));
    for (size_t i = 0; i < n; i++) {
        char body[32];

        (void)snprintf(body, sizeof(body), "{\"number\":%lld}", (long long)first_seq + (int)i);
        query->batch.seqs[i] = first_seq + (int)i;
        query->batch.bodies[i] = mem_dup_text(body);
    }
    query->done(query, NULL);
}

void fail_replay(enum error_code code)
{
    struct replay_query *query = TAKE_PTR(played.replay);
    struct error err = ERROR_INIT;

    assert_non_null(query);
    fail_with(&err, code);
    query->pending = NULL;
    query->done(query, &err);
}

void answer_news(void)
{
    struct new_events_query *query = TAKE_PTR(played.news);

    assert_non_null(query);
    query->done(query, NULL);
}

/* --- readers --- */

int feed_bench_set_up(void **state)
{
    struct feed_bench *bench = NEW(struct feed_bench);
    struct db_async *database = (struct db_async *)bench;

    played = (struct played_database){.now_ms = BEGIN_MS, .end = CONNECTION_OPEN};
    feed_init(&bench->feed, database, database, &bench->ticker);
    bench->feed.max_readers = READERS_MAX;
    bench->conversation_id = uuid_random();
    bench->user_id = uuid_random();
    *state = bench;
    return 0;
}

int feed_bench_tear_down(void **state)
{
    struct feed_bench *bench = *state;

    assert_true(TAILQ_EMPTY(&bench->feed.streams.all));
    feed_done(&bench->feed);
    mem_free(bench);
    return 0;
}

struct position_query place_at(const struct feed_bench *bench, int64_t last_seq)
{
    return (struct position_query){.conversation_id = bench->conversation_id, .last_seq = last_seq};
}

void join(struct feed_bench *bench, struct event_reader *reader,
          const struct socket_request *request, const struct position_query *place)
{
    const struct event_reader_start start = {
        .request = request, .place = place, .user_id = &bench->user_id};

    event_reader_join(reader, &bench->feed, &bench->connection, &start);
}

void join_at_5(struct feed_bench *bench, struct event_reader *reader,
               const struct socket_request *request)
{
    const struct position_query place = place_at(bench, 5);

    *reader = (struct event_reader){.cursor = 0};
    join(bench, reader, request, &place);
}

void begin_at_5(struct feed_bench *bench, struct event_reader *reader,
                const struct socket_request *request)
{
    join_at_5(bench, reader, request);
    if (request->kind == SOCKET_SESSION)
        expect(reader, "\"sync\"");
    expect(reader, NULL);
    answer_state(5);
    expect(reader, SNAPSHOT);
    (void)is_woken(bench);
}

void add_event(struct event_reader *reader, int64_t seq)
{
    char body[32];
    struct fresh_event event = {.seq = seq, .id = uuid_random(), .body = body};

    (void)snprintf(body, sizeof(body), "{\"number\":%lld}", (long long)seq);
    event.body_len = strlen(body);
    stream_take_event(reader->stream, &event);
}

void end_run(struct event_reader *reader)
{
    reader->stream->run_seen_ms = clock_monotonic_ms() - LONG_AGO_MS;
    stream_take_version(reader->stream, reader->stream->snapshot_version + 1);
}

void expect(struct event_reader *reader, const char *part)
{
    struct frame *frame = event_reader_next_frame(reader);

    if (part == NULL && frame == NULL)
        return;
    if (part == NULL || frame == NULL || strstr((const char *)frame_text(frame), part) == NULL)
        fail_msg("expected %s, got %s", part != NULL ? part : "nothing",
                 frame != NULL ? (const char *)frame_text(frame) : "nothing");
    frame_release(frame);
}

bool is_woken(struct feed_bench *bench)
{
    bool is_waiting = bench->connection.is_waiting;

    bench->connection.is_waiting = false;
    return is_waiting;
}
