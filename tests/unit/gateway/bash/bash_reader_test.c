/*
 * Where a socket stands among the events of a sandbox, and what it is sent from there; and the
 * commands that clients send.
 */
#include "gateway/bash/bash_reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/core/frame.h"
#include "gateway/core/socket_request.h"
#include "support/json_path.h"
#include "unit/gateway/bash/played_sandbox.h"

enum {
    PACE_MS = 1000,
    PARSED_MS = 100,
    REST_MS = 4 * PARSED_MS,
    START_WAIT_MS = 120000,
    COMMANDS_MAX = 32,
    NEWEST_US = 5000,
};

#define LS_BODY "{\"command\":\"ls\",\"timeout\":300}"

struct reader_fixture {
    struct played_feeds parts;
    struct connection connection;
    struct bash_reader *reader;
    struct bash_feed *feed;
};

static struct bash_reader *join(struct reader_fixture *fixture, struct connection *connection,
                                enum resend resend, const char *since)
{
    struct socket_request request = {.kind = SOCKET_BASH, .resend = resend};
    const struct bash_reader_start start = {.principal = &fixture->parts.principal,
                                            .request = &request};

    (void)snprintf(request.since, sizeof(request.since), "%s", since);
    return bash_reader_join(&fixture->parts.feeds, connection, &start);
}

static int set_up(void **state)
{
    struct reader_fixture *fixture = NEW(struct reader_fixture);

    played_reset(&fixture->parts);
    fixture->reader = join(fixture, &fixture->connection, RESEND_ALL, "");
    assert_non_null(fixture->reader);
    assert_true(fixture->connection.is_waiting);
    fixture->feed = LIST_FIRST(&fixture->parts.feeds.all);
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct reader_fixture *fixture = *state;

    bash_reader_leave(fixture->reader);
    bash_feeds_done(&fixture->parts.feeds);
    played_done();
    mem_free(fixture);
    return 0;
}

static void tick(struct reader_fixture *fixture, int64_t after_ms)
{
    played.now_ms += after_ms;
    bash_feeds_tick(&fixture->parts.feeds);
}

/* The sandbox is found, with events up to the newest one. */
static void place(struct reader_fixture *fixture)
{
    played_answer(played_last(PLAYED_FIND)->call);
    played_page(NEWEST_US, 1);
    played_answer(played_last(PLAYED_NEWEST)->call);
    assert_int_equal(played_last(PLAYED_AFTER)->after_us, NEWEST_US);
    fixture->connection.is_waiting = false;
}

static bool is_woken(struct reader_fixture *fixture)
{
    bool is_waiting = fixture->connection.is_waiting;

    fixture->connection.is_waiting = false;
    return is_waiting;
}

static void expect_frame(struct bash_reader *reader, int64_t stamp_us)
{
    struct frame *frame = bash_reader_next_frame(reader);
    char stamp[CLOCK_TEXT_BYTES];
    char expected[CLOCK_TEXT_BYTES + 2];

    clock_format_z(stamp_us, stamp);
    (void)snprintf(expected, sizeof(expected), "\"%s\"", stamp);
    assert_non_null(frame);
    assert_json_at((const char *)frame_text(frame), "timestamp", expected);
    frame_release(frame);
}

/* --- places --- */

struct place_row {
    enum resend resend;
    const char *since;
    int64_t after_us; /* the first event that is asked for comes after this */
};

static void reader_begins_where_the_client_says(void **state)
{
    static const struct place_row rows[] = {
        {RESEND_ALL, "", 0},
        {RESEND_SINCE, "1970-01-01T00:00:00.000100", 99},
        {RESEND_SINCE, "1970-01-01T00:00:00.000001", 0},
        {RESEND_SINCE, "1970-01-01T00:00:00.000000", 0},
        {RESEND_SINCE, "", NEWEST_US},
        {RESEND_SINCE, "yesterday", NEWEST_US},
        {RESEND_NONE, "1970-01-01T00:00:00.000100", NEWEST_US},
    };
    struct reader_fixture *fixture = *state;

    place(fixture);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct connection connection = {.is_waiting = false};
        struct bash_reader *reader = join(fixture, &connection, rows[i].resend, rows[i].since);
        size_t n_before = played.n_requests;

        assert_non_null(reader);
        assert_true(connection.is_waiting);
        assert_null(bash_reader_next_frame(reader));
        assert_int_equal(played.n_requests - n_before, rows[i].after_us < NEWEST_US);
        if (rows[i].after_us < NEWEST_US) {
            assert_int_equal(played_last(PLAYED_AFTER)->after_us, rows[i].after_us);
            assert_int_equal(played_last(PLAYED_AFTER)->wait_ms, 0);
        }
        bash_reader_leave(reader);
    }
    assert_int_equal(fixture->feed->n_readers, 1);
}

static void readers_of_a_sandbox_are_limited(void **state)
{
    struct reader_fixture *fixture = *state;
    struct connection second = {.is_waiting = false};
    struct connection third = {.is_waiting = false};
    struct bash_reader *reader = join(fixture, &second, RESEND_NONE, "");

    assert_non_null(reader);
    assert_int_equal(second.end, CONNECTION_OPEN);
    assert_null(join(fixture, &third, RESEND_NONE, ""));
    assert_int_equal(third.end, CONNECTION_TOO_MANY_BASH);
    assert_int_equal(fixture->feed->n_readers, 2);
    bash_reader_leave(reader);
    bash_reader_leave(NULL);
}

/* --- frames --- */

static void nothing_is_sent_before_the_sandbox_is_known(void **state)
{
    struct reader_fixture *fixture = *state;
    struct connection connection = {.is_waiting = false};
    struct bash_reader *newest = join(fixture, &connection, RESEND_NONE, "");

    assert_null(bash_reader_next_frame(newest));
    assert_null(bash_reader_next_frame(fixture->reader));
    assert_false(bash_reader_has_more(newest));
    assert_false(bash_reader_has_more(fixture->reader));
    played_expect(1);
    bash_reader_leave(newest);
}

static void older_events_are_read_a_page_at_a_time(void **state)
{
    struct reader_fixture *fixture = *state;
    struct bash_reader *reader = fixture->reader;

    place(fixture);
    assert_true(bash_reader_has_more(reader));
    assert_null(bash_reader_next_frame(reader));
    assert_false(bash_reader_has_more(reader)); /* the page wakes it */
    assert_null(bash_reader_next_frame(reader));
    played_expect(4);
    played_page(NEWEST_US - 2, 2);
    played_answer(played_last(PLAYED_AFTER)->call);
    assert_true(is_woken(fixture));
    expect_frame(reader, NEWEST_US - 2);
    assert_true(bash_reader_has_more(reader));
    expect_frame(reader, NEWEST_US - 1);
    played_expect(4);
    assert_null(bash_reader_next_frame(reader));
    assert_int_equal(played_last(PLAYED_AFTER)->after_us, NEWEST_US - 1);
    played_page(NEWEST_US, 1);
    played_answer(played_last(PLAYED_AFTER)->call);
    expect_frame(reader, NEWEST_US);
    assert_false(bash_reader_has_more(reader));
    assert_null(bash_reader_next_frame(reader));
    played_expect(5);
    /* From here on the feed has the events. */
    played_page(NEWEST_US + 1, 2);
    played_answer(&fixture->feed->poll);
    assert_true(bash_reader_has_more(reader));
    expect_frame(reader, NEWEST_US + 1);
    expect_frame(reader, NEWEST_US + 2);
    assert_false(bash_reader_has_more(reader));
}

static void events_that_were_cleared_are_passed_over(void **state)
{
    struct reader_fixture *fixture = *state;

    place(fixture);
    assert_null(bash_reader_next_frame(fixture->reader));
    played_page(1, 0);
    played_answer(played_last(PLAYED_AFTER)->call);
    assert_true(is_woken(fixture));
    assert_null(bash_reader_next_frame(fixture->reader));
    assert_false(bash_reader_has_more(fixture->reader));
    played_expect(4);
}

static void page_that_fails_is_read_again(void **state)
{
    struct reader_fixture *fixture = *state;

    place(fixture);
    assert_null(bash_reader_next_frame(fixture->reader));
    played_fail(played_last(PLAYED_AFTER)->call, ERROR_UNAVAILABLE, "gone");
    assert_false(is_woken(fixture));
    assert_true(bash_reader_has_more(fixture->reader));
    assert_null(bash_reader_next_frame(fixture->reader));
    assert_int_equal(played_last(PLAYED_AFTER)->after_us, 0);
    played_expect(5);
    played_fail(played_last(PLAYED_AFTER)->call, ERROR_UNAVAILABLE, "gone");
    played.is_unable = true;
    assert_null(bash_reader_next_frame(fixture->reader));
    played.is_unable = false;
    assert_null(bash_reader_next_frame(fixture->reader));
    played_expect(6);
}

static void pages_that_take_long_are_read_less_often(void **state)
{
    struct reader_fixture *fixture = *state;

    place(fixture);
    assert_null(bash_reader_next_frame(fixture->reader));
    played.parse_ms = PARSED_MS;
    played_page(1, 1);
    played_answer(played_last(PLAYED_AFTER)->call);
    assert_int_equal(played.tick_in_ms, REST_MS + 1);
    expect_frame(fixture->reader, 1);
    assert_null(bash_reader_next_frame(fixture->reader));
    played_expect(4);
    (void)is_woken(fixture);
    tick(fixture, REST_MS - 1);
    assert_true(is_woken(fixture));
    assert_null(bash_reader_next_frame(fixture->reader));
    played_expect(4);
    tick(fixture, 1);
    assert_true(is_woken(fixture));
    assert_null(bash_reader_next_frame(fixture->reader));
    played_expect(5);
}

static void page_under_way_ends_with_its_reader(void **state)
{
    struct reader_fixture *fixture = *state;

    place(fixture);
    assert_null(bash_reader_next_frame(fixture->reader));
    bash_reader_leave(TAKE_PTR(fixture->reader));
    assert_int_equal(played.n_dropped, 2); /* and the feed's own */
    assert_true(LIST_EMPTY(&fixture->parts.feeds.all));
}

/* --- commands --- */

static void take(struct bash_reader *reader, const char *text)
{
    json_auto_t *frame = json_loads(text, 0, NULL);

    assert_non_null(frame);
    bash_reader_take_command(reader, frame);
}

static void bad_commands_are_answered(void **state)
{
    static const char not_a_command[] = "a command must be an object with a string `command`";
    static const char bad_cwd[] = "cwd must be a string or null";
    static const char bad_timeout[] = "timeout must be from 1 to 3600 seconds";
    static const struct {
        const char *text;
        const char *said;
    } rows[] = {
        {"[]", not_a_command},
        {"{}", not_a_command},
        {"{\"command\":1}", not_a_command},
        {"{\"command\":\"ls\",\"cwd\":1}", bad_cwd},
        {"{\"command\":\"ls\",\"timeout\":0}", bad_timeout},
        {"{\"command\":\"ls\",\"timeout\":3601}", bad_timeout},
        {"{\"command\":\"ls\",\"timeout\":1.5}", bad_timeout},
        {"{\"command\":\"ls\",\"timeout\":null}", bad_timeout},
    };
    struct reader_fixture *fixture = *state;

    place(fixture);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        take(fixture->reader, rows[i].text);
        assert_int_equal(played.n_errors, i + 1);
        played_expect_error(&fixture->connection, "ValidationError", rows[i].said);
    }
    played_expect(3);
    assert_int_equal(fixture->feed->commands.n, 0);
}

static void command_starts_the_sandbox(void **state)
{
    static const struct {
        const char *text;
        const char *body;
    } rows[] = {
        {"{\"command\":\"ls\"}", LS_BODY},
        {"{\"command\":\"ls\",\"cwd\":null,\"timeout\":1}", "{\"command\":\"ls\",\"timeout\":1}"},
        {"{\"command\":\"\",\"cwd\":\"/x\",\"timeout\":3600,\"more\":1}",
         "{\"command\":\"\",\"cwd\":\"/x\",\"timeout\":3600}"},
    };
    struct reader_fixture *fixture = *state;

    place(fixture);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        take(fixture->reader, rows[i].text);
        assert_string_equal(played_last(PLAYED_START)->text, "s-1 of u-1");
        assert_int_equal(played_last(PLAYED_START)->wait_ms, START_WAIT_MS);
        assert_false(played_last(PLAYED_START)->is_doubted);
        played_answer(played_last(PLAYED_START)->call);
        assert_json_at(played_last(PLAYED_POST)->text, "", rows[i].body);
        assert_int_equal(fixture->feed->commands.n, 1);
        played_answer(played_last(PLAYED_POST)->call);
        assert_int_equal(fixture->feed->commands.n, 0);
        played_expect(3 + 2 * (i + 1));
    }
    assert_int_equal(played.n_errors, 0);
    assert_int_equal(played.n_dropped, 0); /* the place is the same */
}

static void commands_are_posted_one_at_a_time(void **state)
{
    struct reader_fixture *fixture = *state;

    place(fixture);
    take(fixture->reader, "{\"command\":\"one\"}");
    take(fixture->reader, "{\"command\":\"two\"}");
    played_expect(4);
    played_answer(played_last(PLAYED_START)->call);
    assert_json_at(played_last(PLAYED_POST)->text, "command", "\"one\"");
    tick(fixture, 0);
    played_expect(5);
    played_answer(played_last(PLAYED_POST)->call);
    played_answer(played_last(PLAYED_START)->call);
    assert_json_at(played_last(PLAYED_POST)->text, "command", "\"two\"");
}

/* No event after the place is missed, so the command waits until that is known. */
static void command_waits_for_the_place(void **state)
{
    struct reader_fixture *fixture = *state;

    played_fail(played_last(PLAYED_FIND)->call, ERROR_NOT_FOUND, "no sandbox");
    take(fixture->reader, "{\"command\":\"ls\"}");
    played_answer(played_last(PLAYED_START)->call);
    played_answer(played_last(PLAYED_NEWEST)->call);
    assert_json_at(played_last(PLAYED_POST)->text, "command", "\"ls\"");
    assert_true(async_call_is_busy(&fixture->feed->poll));
    played_expect(5);
}

static void refused_command_is_answered(void **state)
{
    static const struct {
        enum error_code code;
        const char *name;
    } rows[] = {{ERROR_INVALID, "ValidationError"}, {ERROR_UNAVAILABLE, "ServerError"}};
    struct reader_fixture *fixture = *state;

    place(fixture);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        take(fixture->reader, "{\"command\":\"ls\"}");
        take(fixture->reader, "{\"command\":\"next\"}");
        played_answer(played_last(PLAYED_START)->call);
        played_fail(played_last(PLAYED_POST)->call, rows[i].code, "not now");
        played_expect_error(&fixture->connection, rows[i].name, "not now");
        assert_int_equal(played.n_errors, i + 1);
        played_answer(played_last(PLAYED_START)->call);
        assert_json_at(played_last(PLAYED_POST)->text, "command", "\"next\"");
        played_answer(played_last(PLAYED_POST)->call);
    }
}

static void commands_of_a_sandbox_that_cannot_start_are_answered(void **state)
{
    struct reader_fixture *fixture = *state;

    place(fixture);
    take(fixture->reader, "{\"command\":\"one\"}");
    take(fixture->reader, "{\"command\":\"two\"}");
    played_fail(played_last(PLAYED_START)->call, ERROR_UNAVAILABLE, "no room");
    assert_int_equal(played.n_errors, 2);
    played_expect_error(&fixture->connection, "ServerError", "no room");
    assert_int_equal(fixture->feed->commands.n, 0);
    played_expect(4);
}

static void commands_of_a_sandbox_without_a_log_are_answered(void **state)
{
    struct reader_fixture *fixture = *state;

    take(fixture->reader, "{\"command\":\"one\"}");
    played_expect(1); /* the look-up is under way */
    played_fail(played_last(PLAYED_FIND)->call, ERROR_NOT_FOUND, "no sandbox");
    played_answer(played_last(PLAYED_START)->call);
    played_fail(played_last(PLAYED_NEWEST)->call, ERROR_UNAVAILABLE, "no page");
    played_expect_error(&fixture->connection, "ServerError", "no page");
    assert_int_equal(fixture->feed->commands.n, 0);
    assert_false(fixture->feed->is_started);
}

/* A failure drops the post under way: it would be answered a second time. */
static void request_that_cannot_begin_fails_the_commands(void **state)
{
    struct reader_fixture *fixture = *state;

    place(fixture);
    take(fixture->reader, "{\"command\":\"one\"}");
    played_answer(played_last(PLAYED_START)->call);
    played_last(PLAYED_POST);
    played.is_unable = true;
    played_page(NEWEST_US + 1, 1);
    played_answer(&fixture->feed->poll);
    played_expect_error(&fixture->connection, "ServerError", "no descriptor is free");
    assert_int_equal(played.n_errors, 1);
    assert_int_equal(played.n_dropped, 1);
    assert_false(async_call_is_busy(&fixture->feed->post));
    assert_int_equal(fixture->feed->commands.n, 0);
    take(fixture->reader, "{\"command\":\"two\"}");
    assert_int_equal(played.n_errors, 2);
}

static void command_outlives_its_socket(void **state)
{
    struct reader_fixture *fixture = *state;

    place(fixture);
    take(fixture->reader, "{\"command\":\"ls\"}");
    bash_reader_leave(TAKE_PTR(fixture->reader));
    assert_false(LIST_EMPTY(&fixture->parts.feeds.all));
    played_answer(played_last(PLAYED_START)->call);
    played_fail(played_last(PLAYED_POST)->call, ERROR_INVALID, "not now");
    assert_int_equal(played.n_errors, 0);
    assert_true(LIST_EMPTY(&fixture->parts.feeds.all));
}

static void only_the_closing_socket_is_forgotten(void **state)
{
    struct reader_fixture *fixture = *state;
    struct connection other = {.is_waiting = false};
    struct bash_reader *second = join(fixture, &other, RESEND_NONE, "");

    place(fixture);
    take(fixture->reader, "{\"command\":\"one\"}");
    take(second, "{\"command\":\"two\"}");
    bash_reader_leave(second);
    played_fail(played_last(PLAYED_START)->call, ERROR_UNAVAILABLE, "no room");
    assert_int_equal(played.n_errors, 1);
    played_expect_error(&fixture->connection, "ServerError", "no room");
}

static void too_many_commands_close_the_socket(void **state)
{
    struct reader_fixture *fixture = *state;

    place(fixture);
    for (size_t i = 0; i < COMMANDS_MAX; i++)
        take(fixture->reader, "{\"command\":\"ls\"}");
    assert_int_equal(fixture->connection.end, CONNECTION_OPEN);
    take(fixture->reader, "{\"command\":\"ls\"}");
    assert_int_equal(fixture->connection.end, CONNECTION_TOO_NOISY);
}

/* --- doubts --- */

static void sandbox_that_did_not_answer_is_checked_by_the_next_start(void **state)
{
    struct reader_fixture *fixture = *state;

    place(fixture);
    played_fail(&fixture->feed->poll, ERROR_TIMEOUT, "no answer");
    take(fixture->reader, "{\"command\":\"ls\"}");
    assert_true(played_last(PLAYED_START)->is_doubted);
    played_answer(played_last(PLAYED_START)->call);
    played_answer(played_last(PLAYED_NEWEST)->call);
    played_last(PLAYED_POST);
    played_answer(played_last(PLAYED_POST)->call);
    take(fixture->reader, "{\"command\":\"ls\"}");
    assert_false(played_last(PLAYED_START)->is_doubted);
}

static void sandbox_that_fails_during_a_start_is_started_again(void **state)
{
    struct reader_fixture *fixture = *state;

    place(fixture);
    take(fixture->reader, "{\"command\":\"ls\"}");
    played_fail(&fixture->feed->poll, ERROR_TIMEOUT, "no answer");
    played_answer(played_last(PLAYED_START)->call);
    assert_true(played_last(PLAYED_START)->is_doubted);
    assert_null(fixture->feed->endpoint.url);
    played_expect(5);
    played_answer(played_last(PLAYED_START)->call);
    played_last(PLAYED_NEWEST);
    assert_int_equal(played.n_errors, 0);
    assert_int_equal(fixture->feed->commands.n, 1);
}

static void sandbox_at_another_place_is_read_anew(void **state)
{
    static const struct {
        const char *url;
        const char *runtime_id;
        const char *call_key;
    } rows[] = {
        {"http://10.1.2.4:8000", "r-1", "call-key"},
        {"http://10.1.2.4:8000", "r-2", "call-key"},
        {"http://10.1.2.4:8000", "r-2", "other-key"},
    };
    struct reader_fixture *fixture = *state;

    place(fixture);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        take(fixture->reader, "{\"command\":\"ls\"}");
        played.url = rows[i].url;
        played.runtime_id = rows[i].runtime_id;
        played.call_key = rows[i].call_key;
        played_answer(played_last(PLAYED_START)->call);
        assert_int_equal(played.n_dropped, i + 1);
        assert_string_equal(fixture->feed->endpoint.url, rows[i].url);
        played_answer(played_last(PLAYED_NEWEST)->call);
        played_answer(played_last(PLAYED_POST)->call);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reader_begins_where_the_client_says),
        TEST(readers_of_a_sandbox_are_limited),
        TEST(nothing_is_sent_before_the_sandbox_is_known),
        TEST(older_events_are_read_a_page_at_a_time),
        TEST(events_that_were_cleared_are_passed_over),
        TEST(page_that_fails_is_read_again),
        TEST(pages_that_take_long_are_read_less_often),
        TEST(page_under_way_ends_with_its_reader),
        TEST(bad_commands_are_answered),
        TEST(command_starts_the_sandbox),
        TEST(commands_are_posted_one_at_a_time),
        TEST(command_waits_for_the_place),
        TEST(refused_command_is_answered),
        TEST(commands_of_a_sandbox_that_cannot_start_are_answered),
        TEST(commands_of_a_sandbox_without_a_log_are_answered),
        TEST(request_that_cannot_begin_fails_the_commands),
        TEST(command_outlives_its_socket),
        TEST(only_the_closing_socket_is_forgotten),
        TEST(too_many_commands_close_the_socket),
        TEST(sandbox_that_did_not_answer_is_checked_by_the_next_start),
        TEST(sandbox_that_fails_during_a_start_is_started_again),
        TEST(sandbox_at_another_place_is_read_anew),
    };

    json_setup();
    return cmocka_run_group_tests_name("gateway/bash_reader", tests, NULL, NULL);
}
