/*
 * The sending side of a socket: turns to write, replies to bad frames, and how it is closed.
 */
#include "gateway/core/connection.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <jansson.h>
#include <libwebsockets.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "base/uuid.h"
#include "gateway/core/error_frame.h"
#include "gateway/core/frame.h"

enum { MS_PER_S = 1000, NS_PER_MS = 1000000, SLOW_MS = 500 };

/* NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): the stubs have no owner */
static int64_t now_ms;
static size_t n_callbacks;
static struct lws *called_back;
/* NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables) */

/* POSIX.1-2017, clock_gettime(): both clocks stand still. */
int clock_gettime(clockid_t id, struct timespec *now)
{
    (void)id;
    *now = (struct timespec){.tv_sec = now_ms / MS_PER_S, .tv_nsec = now_ms % MS_PER_S * NS_PER_MS};
    return 0;
}

int lws_callback_on_writable(struct lws *wsi)
{
    n_callbacks++;
    called_back = wsi;
    return 1;
}

/* Connections that use one queue. */
struct connection_fixture {
    struct connection_queue queue;
    struct connection one;
    struct connection two;
};

static void set_up(struct connection_fixture *fixture, enum socket_kind kind)
{
    *fixture = (struct connection_fixture){
        .one = {.queue = &fixture->queue, .wsi = (struct lws *)(void *)&fixture->one, .kind = kind},
        .two = {.queue = &fixture->queue, .wsi = (struct lws *)(void *)&fixture->two, .kind = kind},
    };
    TAILQ_INIT(&fixture->queue);
    now_ms = MS_PER_S;
    n_callbacks = 0;
}

static struct frame *frame_of(const char *text)
{
    return frame_new(text, strlen(text));
}

static void expect_reply(struct connection *connection, const char *text)
{
    struct frame *frame = connection_take_reply(connection);

    assert_string_equal((const char *)frame_text(frame), text);
    frame_release(frame);
}

/* --- turns --- */

static void turn_is_asked_for_each_time(void **state)
{
    struct connection_fixture fixture;

    (void)state;
    set_up(&fixture, SOCKET_EVENTS);
    connection_wake(&fixture.two);
    assert_int_equal(n_callbacks, 1);
    assert_ptr_equal(called_back, fixture.two.wsi);
    now_ms += 1;
    connection_wake(&fixture.one);
    connection_wake(&fixture.two); /* keeps its place, and the time it has waited */
    assert_int_equal(n_callbacks, 3);
    assert_ptr_equal(TAILQ_FIRST(&fixture.queue), &fixture.two);
    assert_ptr_equal(TAILQ_NEXT(&fixture.two, turn), &fixture.one);
    assert_null(TAILQ_NEXT(&fixture.one, turn));
    assert_int_equal(fixture.two.waiting_since_ms, MS_PER_S);
    connection_stop_waiting(&fixture.two);
    connection_stop_waiting(&fixture.two);
    assert_ptr_equal(TAILQ_FIRST(&fixture.queue), &fixture.one);
    connection_wake(&fixture.two);
    assert_ptr_equal(TAILQ_NEXT(&fixture.one, turn), &fixture.two);
    connection_done(&fixture.one);
    connection_done(&fixture.two);
    assert_true(TAILQ_EMPTY(&fixture.queue));
}

static void slow_ones_are_taken_in_order(void **state)
{
    struct connection_fixture fixture;

    (void)state;
    set_up(&fixture, SOCKET_EVENTS);
    assert_null(connection_take_slow(&fixture.queue, now_ms, 0));
    connection_wake(&fixture.one);
    now_ms += 1;
    connection_wake(&fixture.two);
    assert_null(connection_take_slow(&fixture.queue, MS_PER_S + SLOW_MS - 1, SLOW_MS));
    assert_ptr_equal(connection_take_slow(&fixture.queue, MS_PER_S + SLOW_MS, SLOW_MS),
                     &fixture.one);
    assert_false(fixture.one.is_waiting);
    assert_null(connection_take_slow(&fixture.queue, MS_PER_S + SLOW_MS, SLOW_MS));
    assert_ptr_equal(connection_take_slow(&fixture.queue, MS_PER_S + SLOW_MS + 1, SLOW_MS),
                     &fixture.two);
    assert_true(TAILQ_EMPTY(&fixture.queue));
}

/* --- the end --- */

static void first_reason_counts(void **state)
{
    struct connection_fixture fixture;

    (void)state;
    set_up(&fixture, SOCKET_EVENTS);
    connection_close(&fixture.one, CONNECTION_NOT_FOUND);
    assert_int_equal(n_callbacks, 1);
    assert_true(fixture.one.is_waiting);
    connection_close(&fixture.one, CONNECTION_TOO_LARGE);
    assert_int_equal(n_callbacks, 2);
    assert_int_equal(fixture.one.end, CONNECTION_NOT_FOUND);
}

static void ends_have_codes_and_reasons(void **state)
{
    static const struct {
        enum connection_end end;
        int code;
        const char *reason;
    } rows[] = {
        {CONNECTION_OPEN, 1000, ""},
        {CONNECTION_UNAUTHENTICATED, 4001, "Authentication failed"},
        {CONNECTION_TOO_MANY_KEYS, 1013, "Too many wrong keys; try again in a minute"},
        {CONNECTION_NOT_FOUND, 4004, "Conversation not found"},
        {CONNECTION_TOO_MANY, 1013, "Too many connections for this conversation"},
        {CONNECTION_TOO_MANY_BASH, 1013, "Too many bash event connections"},
        {CONNECTION_UNMASKED, 1002, "Client frames must be masked"},
        {CONNECTION_TOO_LARGE, 1009, "Message too large"},
        {CONNECTION_TOO_NOISY, 1008, "Too many bad messages"},
        {CONNECTION_TOO_SLOW, 1013, "slow_consumer"},
        {CONNECTION_UNAVAILABLE, 1013, "The database is unavailable; try again"},
    };

    (void)state;
    assert_int_equal(ARRAY_SIZE(rows), CONNECTION_N_ENDS);
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const char *reason = NULL;

        assert_int_equal(connection_close_code(rows[i].end, &reason), rows[i].code);
        assert_string_equal(reason, rows[i].reason);
    }
}

/* --- replies --- */

static void replies_are_sent_in_order(void **state)
{
    struct connection_fixture fixture;

    (void)state;
    set_up(&fixture, SOCKET_EVENTS);
    connection_reply(&fixture.one, frame_of("a"));
    assert_true(fixture.one.is_waiting);
    assert_int_equal(n_callbacks, 1);
    connection_reply(&fixture.one, frame_of("b"));
    connection_reply(&fixture.one, frame_of("c"));
    assert_int_equal(fixture.one.n_replies, 3);
    expect_reply(&fixture.one, "a");
    connection_reply(&fixture.one, frame_of("d"));
    expect_reply(&fixture.one, "b");
    expect_reply(&fixture.one, "c");
    expect_reply(&fixture.one, "d");
    assert_int_equal(fixture.one.n_replies, 0);
}

static void too_many_replies_close_the_socket(void **state)
{
    struct connection_fixture fixture;

    (void)state;
    set_up(&fixture, SOCKET_EVENTS);
    for (size_t i = 0; i < CONNECTION_REPLIES; i++)
        connection_reply(&fixture.one, frame_of("x"));
    assert_int_equal(fixture.one.end, CONNECTION_OPEN);
    connection_reply(&fixture.one, frame_of("y"));
    assert_int_equal(fixture.one.end, CONNECTION_TOO_NOISY);
    assert_int_equal(fixture.one.n_replies, CONNECTION_REPLIES);
    connection_done(&fixture.one);
    assert_int_equal(fixture.one.n_replies, 0);
    assert_true(TAILQ_EMPTY(&fixture.queue));
}

/* --- error frames --- */

struct error_row {
    enum socket_kind kind;
    const char *name; /* of the member that says what the frame is */
    const char *value;
    size_t n_members;
    const char *source; /* NULL: none */
    const char *stamp;  /* NULL: no time and no id */
    size_t id_len;
};

static const struct error_row error_rows[] = {
    {SOCKET_EVENTS, "kind", "ServerErrorEvent", 6, "environment", "1970-01-01T00:00:01.000000",
     UUID_TEXT_BYTES - 1},
    {SOCKET_SESSION, "type", "error", 3, NULL, NULL, 0},
    {SOCKET_BASH, "kind", "BashError", 5, NULL, "1970-01-01T00:00:01.000000Z", UUID_HEX_BYTES - 1},
};

static void each_socket_has_its_own_error_frame(void **state)
{
    (void)state;
    assert_int_equal(ARRAY_SIZE(error_rows), SOCKET_N_KINDS);
    for (size_t i = 0; i < ARRAY_SIZE(error_rows); i++) {
        const struct error_row *row = &error_rows[i];
        struct connection_fixture fixture;
        struct frame *frame = NULL;
        json_auto_t *json = NULL;

        set_up(&fixture, row->kind);
        error_frame_send(&fixture.one, "ValidationError", "say \"why\"");
        assert_int_equal(fixture.one.n_replies, 1);
        frame = connection_take_reply(&fixture.one);
        assert_int_equal(frame->len, strlen((const char *)frame_text(frame)));
        json = json_loads((const char *)frame_text(frame), 0, NULL);
        frame_release(frame);
        assert_int_equal(json_object_size(json), row->n_members);
        assert_string_equal(json_text_or(json, row->name, ""), row->value);
        assert_string_equal(json_text_or(json, "code", ""), "ValidationError");
        assert_string_equal(json_text_or(json, "detail", ""), "say \"why\"");
        assert_string_equal(json_text_or(json, "source", ""),
                            row->source != NULL ? row->source : "");
        assert_string_equal(json_text_or(json, "timestamp", ""),
                            row->stamp != NULL ? row->stamp : "");
        assert_int_equal(strlen(json_text_or(json, "id", "")), row->id_len);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turn_is_asked_for_each_time),
        cmocka_unit_test(slow_ones_are_taken_in_order),
        cmocka_unit_test(first_reason_counts),
        cmocka_unit_test(ends_have_codes_and_reasons),
        cmocka_unit_test(replies_are_sent_in_order),
        cmocka_unit_test(too_many_replies_close_the_socket),
        cmocka_unit_test(each_socket_has_its_own_error_frame),
    };

    json_setup();
    return cmocka_run_group_tests_name("gateway/connection", tests, NULL, NULL);
}
