/*
 * What readers are sent besides new events: streamed answers, snapshots and older events; and what
 * happens when the database does not answer.
 */
#include "gateway/feed/event_reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "gateway/core/frame.h"
#include "gateway/feed/model_waits.h"
#include "gateway/feed/stream.h"
#include "model/event/progress.h"
#include "unit/gateway/feed/feed_bench.h"

enum { WARM_MS = 10000 };

static const struct socket_request session = {.kind = SOCKET_SESSION, .after_seq = -2};
static const struct socket_request events = {.kind = SOCKET_EVENTS};

/* --- streamed answers --- */

static void say(const struct uuid *conversation_id, struct progress progress, struct strbuf *lines)
{
    progress.conversation_id = *conversation_id;
    progress_append_line(&progress, lines);
    strbuf_append_char(lines, '\n');
}

static void pieces_are_sent_to_their_readers(void **state)
{
    struct feed_bench *bench = *state;
    CLEANUP(strbuf_done) struct strbuf lines = STRBUF_INIT;
    struct progress piece = {.item_id = uuid_random(), .attempt = 1, .anchor_seq = 5, .text = ""};
    struct uuid other = uuid_random();
    struct event_reader reader;
    struct event_reader late;

    begin_at_5(bench, &reader, &session);
    strbuf_append(&lines, "nonsense\n\n");
    say(&bench->conversation_id, piece, &lines);
    piece.kind = PROGRESS_TEXT;
    piece.text = "Hello";
    say(&other, piece, &lines);
    say(&bench->conversation_id, piece, &lines);
    strbuf_appendf(&lines, "%s {\"kind\":\"odd\"}\n", bench->conversation_id.text);
    lines.text[--lines.len] = '\0'; /* the last line may have no end */
    feed_take_progress(&bench->feed, lines.text);
    assert_true(is_woken(bench));
    assert_true(event_reader_has_more(&reader));
    assert_int_equal(model_waits_heard_ms(bench->feed.model_waits, other.text), played.now_ms);
    assert_int_equal(model_waits_heard_ms(bench->feed.model_waits, "nonsense"), -1);
    /* One that joins now gets only what follows. */
    begin_at_5(bench, &late, &events);
    expect(&late, NULL);
    expect(&reader, "\"item_started\"");
    expect(&reader, "Hello");
    expect(&reader, NULL);
    assert_false(event_reader_has_more(&reader));
    event_reader_leave(&late);
    event_reader_leave(&reader);
}

/* Its call's event is known, and it says nothing of the model. */
static void progress_of_tools_is_sent_to_those_that_want_it(void **state)
{
    static const struct socket_request wanting = {
        .kind = SOCKET_SESSION, .after_seq = -2, .wants_tool_progress = true};
    struct feed_bench *bench = *state;
    CLEANUP(strbuf_done) struct strbuf lines = STRBUF_INIT;
    struct progress tool = {.item_id = uuid_random(),
                            .kind = PROGRESS_TOOL,
                            .anchor_seq = 6,
                            .text = "half",
                            .done = 1,
                            .total = 2};
    struct fresh_event event = {.seq = 6, .id = tool.item_id, .body = "{}", .body_len = 2};
    struct event_reader reader;
    struct event_reader other;

    begin_at_5(bench, &reader, &wanting);
    begin_at_5(bench, &other, &session);
    stream_take_event(reader.stream, &event);
    say(&bench->conversation_id, tool, &lines);
    feed_take_progress(&bench->feed, lines.text);
    expect(&reader, "\"durable\"");
    expect(&reader, "\"message\":\"half\"");
    expect(&reader, NULL);
    expect(&other, "\"durable\"");
    expect(&other, NULL);
    assert_int_equal(model_waits_heard_ms(bench->feed.model_waits, bench->conversation_id.text),
                     -1);
    event_reader_leave(&other);
    event_reader_leave(&reader);
}

static void pieces_end_with_their_event(void **state)
{
    struct feed_bench *bench = *state;
    CLEANUP(strbuf_done) struct strbuf lines = STRBUF_INIT;
    struct progress piece = {.item_id = uuid_random(),
                             .kind = PROGRESS_STARTED,
                             .attempt = 1,
                             .anchor_seq = 5,
                             .text = ""};
    struct fresh_event event = {.seq = 6, .id = piece.item_id, .body = "{}", .body_len = 2};
    struct event_reader reader;

    begin_at_5(bench, &reader, &session);
    say(&bench->conversation_id, piece, &lines);
    feed_take_progress(&bench->feed, lines.text);
    assert_true(delta_buffer_is_open(reader.stream->deltas));
    /* Without its beginning the answer to come could not be shown. */
    assert_int_equal(feed_tick(&bench->feed, played.now_ms + WARM_MS), -1);
    assert_non_null(reader.stream->deltas);
    stream_take_event(reader.stream, &event);
    assert_false(delta_buffer_is_open(reader.stream->deltas));
    expect(&reader, "\"item_started\"");
    expect(&reader, "\"durable\"");
    feed_take_progress(&bench->feed, lines.text); /* late: the event is known */
    expect(&reader, NULL);
    assert_int_equal(feed_tick(&bench->feed, played.now_ms + WARM_MS), -1);
    assert_null(reader.stream->deltas);
    assert_int_equal(reader.stream->n_deltas, 1);
    event_reader_leave(&reader);
    join_at_5(bench, &reader, &session);
    assert_int_equal(reader.link.deltas.n_seen, 0);
    event_reader_leave(&reader);
}

/* A buffer that was released goes on counting where it was. */
static void pieces_are_counted_on(void **state)
{
    struct feed_bench *bench = *state;
    CLEANUP(strbuf_done) struct strbuf lines = STRBUF_INIT;
    struct progress piece = {.item_id = uuid_random(),
                             .kind = PROGRESS_STARTED,
                             .attempt = 1,
                             .anchor_seq = 5,
                             .text = ""};
    struct event_reader reader;
    struct event_reader late;

    begin_at_5(bench, &reader, &session);
    say(&bench->conversation_id, piece, &lines);
    feed_take_progress(&bench->feed, lines.text);
    expect(&reader, "\"item_started\"");
    end_run(&reader);
    expect(&reader, "\"the run has ended\"");
    assert_int_equal(feed_tick(&bench->feed, played.now_ms + WARM_MS), -1);
    assert_null(reader.stream->deltas);
    join_at_5(bench, &late, &session);
    assert_int_equal(late.link.deltas.n_seen, 2);
    feed_take_progress(&bench->feed, lines.text);
    assert_int_equal(delta_buffer_count(reader.stream->deltas), 3);
    event_reader_leave(&late);
    event_reader_leave(&reader);
}

/* Snapshots, pieces and ends of runs are kept for a while, as events are. */
static void streams_are_warm_after_each_use(void **state)
{
    struct feed_bench *bench = *state;
    CLEANUP(strbuf_done) struct strbuf lines = STRBUF_INIT;
    const struct progress piece = {.item_id = uuid_random(),
                                   .kind = PROGRESS_STARTED,
                                   .attempt = 1,
                                   .anchor_seq = 5,
                                   .text = ""};
    struct event_reader reader;

    begin_at_5(bench, &reader, &session);
    assert_true(reader.stream->is_warm);
    assert_int_equal(feed_tick(&bench->feed, played.now_ms + WARM_MS), -1);
    assert_false(reader.stream->is_warm);
    say(&bench->conversation_id, piece, &lines);
    feed_take_progress(&bench->feed, lines.text);
    assert_true(reader.stream->is_warm);
    assert_int_equal(feed_tick(&bench->feed, played.now_ms + WARM_MS), -1);
    assert_false(reader.stream->is_warm);
    end_run(&reader);
    assert_true(reader.stream->is_warm);
    event_reader_leave(&reader);
}

/* --- failed attempts --- */

static void failed_attempt_is_shown_to_a_new_reader(void **state)
{
    struct feed_bench *bench = *state;
    CLEANUP(strbuf_done) struct strbuf lines = STRBUF_INIT;
    struct progress end = {.item_id = uuid_random(),
                           .kind = PROGRESS_ABORTED,
                           .attempt = 2,
                           .anchor_seq = 5,
                           .text = "busy",
                           .n_attempts = 4,
                           .retry_in_ms = 8000};
    struct event_reader reader;
    struct event_reader other;

    say(&bench->conversation_id, end, &lines);
    feed_take_progress(&bench->feed, lines.text);
    played.now_ms += 3000;
    join_at_5(bench, &reader, &session);
    expect(&reader, "\"sync\"");
    expect(&reader, NULL);
    assert_true(event_reader_has_more(&reader));
    answer_state(5);
    expect(&reader, SNAPSHOT);
    expect(&reader, "\"item_started\"");
    assert_true(event_reader_has_more(&reader));
    expect(&reader, "\"retry_in_ms\":5000");
    assert_false(event_reader_has_more(&reader));
    expect(&reader, NULL);
    /* On the other kind of socket there are no such frames. */
    join_at_5(bench, &other, &events);
    assert_null(other.wait[0]);
    assert_null(other.wait[1]);
    event_reader_leave(&other);
    join_at_5(bench, &other, &session);
    assert_non_null(other.wait[0]);
    event_reader_leave(&other);
    event_reader_leave(&reader);
}

/* Pieces of an answer end a silence, too. */
static void silence_ends_with_the_last_piece(void **state)
{
    static const struct {
        int64_t heard_ago_ms; /* -1: never */
        int64_t silent_ms;    /* by the events */
        const char *said;     /* NULL: nothing */
    } rows[] = {
        {-1, 50000, "\"silent_ms\":50000"},
        {30000, 50000, "\"silent_ms\":30000"},
        {30000, 25000, "\"silent_ms\":25000"},
        {19999, 50000, NULL},
    };
    struct feed_bench *bench = *state;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(strbuf_done) struct strbuf lines = STRBUF_INIT;
        struct position_query place;
        struct event_reader reader = {.cursor = 0};
        struct frame *frame = NULL;

        bench->conversation_id = uuid_random();
        strbuf_appendf(&lines, "%s {}", bench->conversation_id.text);
        if (rows[i].heard_ago_ms >= 0)
            feed_take_progress(&bench->feed, lines.text);
        played.now_ms += rows[i].heard_ago_ms >= 0 ? rows[i].heard_ago_ms : 0;
        place = place_at(bench, 5);
        place.silent_ms = rows[i].silent_ms;
        join(bench, &reader, &session, &place);
        frame = event_reader_next_frame(&reader);
        assert_non_null(frame);
        if (rows[i].said != NULL)
            assert_non_null(strstr((const char *)frame_text(frame), rows[i].said));
        else
            assert_null(strstr((const char *)frame_text(frame), "silent_ms"));
        frame_release(frame);
        event_reader_leave(&reader);
    }
}

/* --- snapshots --- */

static void snapshot_is_read_once_for_all_readers(void **state)
{
    struct feed_bench *bench = *state;
    struct event_reader one;
    struct event_reader two;

    join_at_5(bench, &one, &events);
    expect(&one, NULL);
    assert_string_equal(played.state->conversation_id.text, bench->conversation_id.text);
    assert_string_equal(played.state->user_id.text, bench->user_id.text);
    join_at_5(bench, &two, &session);
    expect(&two, "\"sync\"");
    expect(&two, NULL);
    (void)is_woken(bench);
    answer_state(5);
    assert_true(is_woken(bench));
    expect(&one, "{\"");
    expect(&two, "{\"type\":\"transient\",\"event\":");
    assert_int_equal(played.n_states, 1);
    assert_non_null(one.stream->snapshot);
    event_reader_leave(&two);
    end_run(&one);
    expect(&one, NULL);
    assert_int_equal(played.n_states, 2);
    answer_state(5);
    expect(&one, SNAPSHOT);
    assert_null(one.stream->snapshot); /* no other reader needs it */
    end_run(&one);
    expect(&one, NULL);
    event_reader_leave(&one);
    assert_int_equal(played.n_cancelled, 1);
}

static void snapshot_that_cannot_be_read_is_asked_for_again(void **state)
{
    struct feed_bench *bench = *state;
    struct event_reader reader;

    join_at_5(bench, &reader, &events);
    expect(&reader, NULL);
    (void)is_woken(bench);
    fail_state(ERROR_UNAVAILABLE);
    assert_true(is_woken(bench));
    assert_int_equal(played.end, CONNECTION_OPEN);
    expect(&reader, NULL);
    assert_int_equal(played.n_states, 2);
    fail_state(ERROR_NOT_FOUND);
    assert_false(is_woken(bench));
    assert_int_equal(played.end, CONNECTION_NOT_FOUND);
    event_reader_leave(&reader);
}

/* --- older events --- */

static void older_events_are_read_for_their_reader(void **state)
{
    static const struct socket_request all = {.kind = SOCKET_EVENTS, .resend = RESEND_ALL};
    static const struct socket_request after = {.kind = SOCKET_SESSION, .after_seq = 0};
    struct feed_bench *bench = *state;
    struct event_reader reader;
    struct event_reader other;

    begin_at_5(bench, &reader, &all);
    assert_true(event_reader_has_more(&reader));
    expect(&reader, NULL);
    assert_int_equal(played.replay->after_seq, 0);
    assert_string_equal(played.replay->conversation_id.text, bench->conversation_id.text);
    expect(&reader, NULL);
    assert_int_equal(played.n_replays, 1);
    (void)is_woken(bench);
    answer_replay(1, 2);
    assert_true(is_woken(bench));
    expect(&reader, "{\"number\":1}");
    expect(&reader, "{\"number\":2}");
    expect(&reader, NULL);
    assert_int_equal(played.replay->after_seq, 2);
    answer_replay(3, 3);
    for (int i = 3; i <= 5; i++) {
        char body[32];

        (void)snprintf(body, sizeof(body), "{\"number\":%d}", i);
        expect(&reader, body);
    }
    expect(&reader, NULL);
    assert_false(event_reader_has_more(&reader));
    assert_int_equal(played.n_replays, 2);
    add_event(&reader, 6);
    expect(&reader, "{\"number\":6}");
    assert_null(reader.replay);
    join_at_5(bench, &other, &after);
    expect(&other, "\"sync\"");
    expect(&other, NULL);
    answer_replay(2, 1);
    expect(&other, "{\"type\":\"durable\",\"seq\":1,\"event\":{\"number\":2}}");
    expect(&other, NULL);
    event_reader_leave(&other);
    assert_int_equal(played.n_cancelled, 1);
    event_reader_leave(&reader);
}

static void reader_whose_events_cannot_be_read_is_closed(void **state)
{
    static const struct socket_request all = {.kind = SOCKET_EVENTS, .resend = RESEND_ALL};
    static const struct {
        enum error_code code; /* ERROR_NONE: there are no events, which there must be */
        enum connection_end end;
    } rows[] = {
        {ERROR_NOT_FOUND, CONNECTION_NOT_FOUND},
        {ERROR_UNAVAILABLE, CONNECTION_UNAVAILABLE},
        {ERROR_NONE, CONNECTION_UNAVAILABLE},
    };
    struct feed_bench *bench = *state;

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct event_reader reader;

        begin_at_5(bench, &reader, &all);
        expect(&reader, NULL);
        played.end = CONNECTION_OPEN;
        if (rows[i].code != ERROR_NONE)
            fail_replay(rows[i].code);
        else
            answer_replay(1, 0);
        assert_int_equal(played.end, rows[i].end);
        assert_false(is_woken(bench));
        event_reader_leave(&reader);
    }
}

/* --- joining --- */

static void reader_that_never_joined_has_nothing(void **state)
{
    struct event_reader reader = {.cursor = 0};

    (void)state;
    assert_null(event_reader_next_frame(&reader));
    assert_false(event_reader_has_more(&reader));
    assert_false(event_reader_has_begun(&reader));
    event_reader_leave(&reader);
}

static void stream_begins_where_its_first_reader_does(void **state)
{
    struct feed_bench *bench = *state;
    struct position_query place = place_at(bench, 5);
    struct position_query later = place_at(bench, 9);
    struct event_reader reader = {.cursor = 0};
    struct event_reader second = {.cursor = 0};

    place.snapshot_version = 3;
    later.snapshot_version = 4;
    join(bench, &reader, &events, &place);
    assert_true(is_woken(bench));
    assert_int_equal(reader.stream->last_seq, 5);
    assert_int_equal(reader.stream->snapshot_version, 3);
    join(bench, &second, &events, &later);
    assert_ptr_equal(second.stream, reader.stream);
    assert_int_equal(reader.stream->last_seq, 5); /* the events between are still to be read */
    assert_int_equal(reader.stream->snapshot_version, 3);
    event_reader_leave(&second);
    event_reader_leave(&reader);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, feed_bench_set_up, feed_bench_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pieces_are_sent_to_their_readers),
        TEST(progress_of_tools_is_sent_to_those_that_want_it),
        TEST(pieces_end_with_their_event),
        TEST(pieces_are_counted_on),
        TEST(streams_are_warm_after_each_use),
        TEST(failed_attempt_is_shown_to_a_new_reader),
        TEST(silence_ends_with_the_last_piece),
        TEST(snapshot_is_read_once_for_all_readers),
        TEST(snapshot_that_cannot_be_read_is_asked_for_again),
        TEST(older_events_are_read_for_their_reader),
        TEST(reader_whose_events_cannot_be_read_is_closed),
        TEST(reader_that_never_joined_has_nothing),
        TEST(stream_begins_where_its_first_reader_does),
    };

    json_setup();
    return cmocka_run_group_tests_name("gateway/feed_frames", tests, NULL, NULL);
}
