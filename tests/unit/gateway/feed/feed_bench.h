/*
 * A feed and its readers with a played database, played connections and a clock that stands still,
 * for tests: queries are noted and stay open until the test answers them.
 *
 * Ownership: one per program; feed_bench_set_up() begins a test.
 */
#ifndef DEFT_TESTS_UNIT_GATEWAY_FEED_FEED_BENCH_H
#define DEFT_TESTS_UNIT_GATEWAY_FEED_FEED_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/uuid.h"
#include "gateway/core/connection.h"
#include "gateway/core/socket_request.h"
#include "gateway/core/ticker.h"
#include "gateway/feed/event_reader.h"
#include "gateway/feed/feed.h"
#include "store/conversation/async_store.h"

/* A part of a snapshot's frame. */
#define SNAPSHOT "\"full_state\""

enum { LONG_AGO_MS = 10000, READERS_MAX = 2 };

struct played_database {
    int64_t now_ms;
    struct state_query *state; /* the queries under way */
    struct replay_query *replay;
    struct new_events_query *news;
    size_t n_polls;
    size_t n_replays;
    size_t n_states;
    size_t n_cancelled;
    enum connection_end end; /* of the last connection that was closed */
};

/* NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the stubs have no owner */
extern struct played_database played;

struct feed_bench {
    struct feed feed;
    struct ticker ticker; /* next_ms: of the last ticker_advance() */
    struct connection connection;
    struct uuid conversation_id;
    struct uuid user_id;
};

int feed_bench_set_up(void **state);
/* Fails when a stream is left. */
int feed_bench_tear_down(void **state);

/* Answers the query for the state, or fails it. */
void answer_state(int64_t last_seq);
void fail_state(enum error_code code);
/* Answers the query for older events with those from first_seq on, or fails it. */
void answer_replay(int64_t first_seq, size_t n);
void fail_replay(enum error_code code);
/* Says that there is nothing new. */
void answer_news(void);

struct position_query place_at(const struct feed_bench *bench, int64_t last_seq) MUST_CHECK;
void join(struct feed_bench *bench, struct event_reader *reader,
          const struct socket_request *request, const struct position_query *place);
/* Joins at the end of a log of 5 events. */
void join_at_5(struct feed_bench *bench, struct event_reader *reader,
               const struct socket_request *request);
/* As above, and takes the first frames. */
void begin_at_5(struct feed_bench *bench, struct event_reader *reader,
                const struct socket_request *request);
/* The reader's stream reads the event with that number. */
void add_event(struct event_reader *reader, int64_t seq);
/* A new version of the row that is told at once. */
void end_run(struct event_reader *reader);
/* Fails unless the next frame contains that text; NULL: there is none now. */
void expect(struct event_reader *reader, const char *part);
/* Whether the connection was woken since the last question. */
bool is_woken(struct feed_bench *bench);

#endif
