/*
 * Bodies of requests and what is written in reply: limits, rates and statuses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "web/reply_output.h"
#include "web/reply_status.h"
#include "web/request_input.h"
#include "web/transfer_rate.h"

enum { PIECE_BYTES = 16384, HOUR_MS = 3600000 };

struct body {
    const char *at;
    size_t piece;
};

static int read_body(void *stream, char *buffer, int len)
{
    struct body *body = stream;
    size_t n = strlen(body->at);

    if (n > body->piece)
        n = body->piece;
    if (n > (size_t)len)
        n = (size_t)len;
    memcpy(buffer, body->at, n);
    body->at += n;
    return (int)n;
}

static enum error_code read_error(const char *text, int64_t content_length, size_t max_bytes)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    struct body source = {text, 3};
    const struct request_input input = {NULL, read_body, &source};
    struct error err = ERROR_INIT;

    if (request_input_read_body(&input, content_length, max_bytes, &body, &err) < 0)
        return err.code;
    assert_string_equal(body.text, text);
    return ERROR_NONE;
}

static void body_is_held_against_its_limit_and_length(void **state)
{
    (void)state;
    assert_int_equal(read_error("0123456789", 10, 10), ERROR_NONE);
    assert_int_equal(read_error("0123456789", -1, 10), ERROR_NONE);
    assert_int_equal(read_error("0123456789", 10, 9), ERROR_TOO_LARGE);
    assert_int_equal(read_error("0123456789", -1, 9), ERROR_TOO_LARGE);
    assert_int_equal(read_error("0123456789", 11, 20), ERROR_INVALID);
    assert_int_equal(read_error("0123456789", 9, 20), ERROR_INVALID);
    assert_int_equal(read_error("0123456789", 0, 10), ERROR_NONE);
    assert_int_equal(read_error("0", 1, 1), ERROR_NONE);
    assert_int_equal(read_error("", 1, 1), ERROR_INVALID);
    assert_int_equal(read_error("", 0, 0), ERROR_NONE);
    assert_int_equal(read_error("", 1, 0), ERROR_TOO_LARGE);
}

static void parameters_are_found_by_their_whole_name(void **state)
{
    char params[][32] = {"REQUEST_URI=/a=b", "REQUEST=no", "EMPTY=", "TWICE=", "TWICE=x", "NONE"};
    char *list[] = {params[0], params[1], params[2], params[3], params[4], params[5], NULL};
    const struct request_input input = {list, NULL, NULL};

    (void)state;
    assert_string_equal(request_input_param(&input, "REQUEST_URI"), "/a=b");
    assert_string_equal(request_input_param(&input, "REQUEST"), "no");
    assert_string_equal(request_input_param(&input, "TWICE"), "x");
    assert_null(request_input_param(&input, "EMPTY"));
    assert_null(request_input_param(&input, "NONE"));
    assert_null(request_input_param(&input, "REQUEST_"));
    assert_int_equal(request_input_count(&input, "TWICE"), 2);
    assert_int_equal(request_input_count(&input, "EMPTY"), 1);
    assert_int_equal(request_input_count(&input, "NONE"), 0);
}

static void content_length_is_a_number_or_not_given(void **state)
{
    static const struct {
        const char *param;
        int64_t length;
        int rc;
    } cases[] = {
        {"CONTENT_LENGTH=0", 0, 0},
        {"CONTENT_LENGTH=9223372036854775807", INT64_MAX, 0},
        {"CONTENT_LENGTH=9223372036854775808", -1, -1},
        {"CONTENT_LENGTH=-1", -1, -1},
        {"CONTENT_LENGTH=1x", -1, -1},
        {"CONTENT_LENGTH=", -1, 0},
        {"CONTENT_LENGTHS=7", -1, 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char param[64] = "";
        char *list[] = {param, NULL};
        const struct request_input input = {list, NULL, NULL};
        struct error err = ERROR_INIT;
        int64_t length = 7;

        memcpy(param, cases[i].param, strlen(cases[i].param));
        assert_int_equal(request_input_content_length(&input, &length, &err), cases[i].rc);
        assert_int_equal(length, cases[i].length);
        assert_int_equal(err.code, cases[i].rc == 0 ? ERROR_NONE : ERROR_INVALID);
    }
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the prototype of a source */
static int fail_to_read(void *stream, char *buffer, int len)
{
    const int *result = stream;

    (void)buffer;
    (void)len;
    return *result;
}

static void reading_says_why_it_failed(void **state)
{
    static const struct {
        int result;
        enum error_code code;
        const char *message;
    } cases[] = {
        {REQUEST_READ_SILENT, ERROR_SLOW_CLIENT, "The request body timed out"},
        {REQUEST_READ_BROKEN, ERROR_INVALID, "The request body was cut off"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
        int result = cases[i].result;
        const struct request_input input = {NULL, fail_to_read, &result};
        struct error err = ERROR_INIT;

        assert_int_equal(request_input_read_body(&input, -1, 10, &body, &err), -1);
        assert_int_equal(err.code, cases[i].code);
        assert_string_equal(err.message, cases[i].message);
    }
}

/* Before its grace is over, or above the least rate, a side is not too slow. */
static void side_is_too_slow_below_the_least_rate(void **state)
{
    static const struct {
        int64_t spent_ms;
        int64_t n_bytes;
        bool is_too_slow;
    } cases[] = {
        {0, 0, false},
        {HOUR_MS / 2, 0, false},
        {2 * HOUR_MS, 0, true},
        {2 * HOUR_MS, (int64_t)TRANSFER_MIN_BYTES_PER_S * 2 * 3600, false},
        {4 * HOUR_MS, (int64_t)TRANSFER_MIN_BYTES_PER_S * 2 * 3600, true},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct transfer_rate before = {
            .grace_ms = HOUR_MS, .spent_ms = cases[i].spent_ms, .n_bytes = cases[i].n_bytes};
        struct transfer_rate now = {.grace_ms = HOUR_MS};
        int64_t now_ms = clock_monotonic_ms();

        assert_int_equal(transfer_rate_is_too_slow(&before, now_ms, 0), cases[i].is_too_slow);
        assert_int_equal(
            transfer_rate_is_too_slow(&now, now_ms - cases[i].spent_ms, (size_t)cases[i].n_bytes),
            cases[i].is_too_slow);
        assert_int_equal(now.n_bytes, cases[i].n_bytes);
        assert_true(now.spent_ms >= cases[i].spent_ms);
    }
}

/* The lengths of what is written. */
static int note_length(void *stream, const char *bytes, int len)
{
    strbuf_appendf(stream, "%c%d|", bytes[0], len);
    return 0;
}

static void reply_is_written_in_small_pieces(void **state)
{
    CLEANUP(strbuf_done) struct strbuf lengths = STRBUF_INIT;
    const struct reply_output output = {.write = note_length, .stream = &lengths};
    struct transfer_rate rate = {.grace_ms = TRANSFER_CLIENT_GRACE_MS};
    char bytes[2 * PIECE_BYTES + 1];

    (void)state;
    memset(bytes, 'a', PIECE_BYTES);
    memset(bytes + PIECE_BYTES, 'b', PIECE_BYTES);
    bytes[sizeof(bytes) - 1] = 'c';
    assert_true(reply_output_write(&output, &rate, bytes, 0));
    assert_string_equal(lengths.text, "");
    assert_true(reply_output_write(&output, &rate, bytes, sizeof(bytes)));
    assert_string_equal(lengths.text, "a16384|b16384|c1|");
    assert_int_equal(rate.n_bytes, sizeof(bytes));
}

static void every_status_has_its_phrase(void **state)
{
    static const struct {
        int status;
        const char *phrase;
    } phrases[] = {
        {200, "OK"},
        {201, "Created"},
        {204, "No Content"},
        {206, "Partial Content"},
        {303, "See Other"},
        {304, "Not Modified"},
        {307, "Temporary Redirect"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {413, "Content Too Large"},
        {415, "Unsupported Media Type"},
        {416, "Range Not Satisfiable"},
        {422, "Unprocessable Content"},
        {429, "Too Many Requests"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(phrases); i++)
        assert_string_equal(reply_phrase(phrases[i].status), phrases[i].phrase);
    assert_string_equal(reply_phrase(0), "Unknown");
}

static int write_nothing(void *stream, const char *bytes, int len)
{
    size_t *n_left = stream;

    (void)bytes;
    if (*n_left < (size_t)len)
        return -1;
    *n_left -= (size_t)len;
    return 0;
}

static void reply_ends_when_the_client_is_gone(void **state)
{
    static const char bytes[40000] = "";
    size_t n_left = 20000;
    const struct reply_output output = {.write = write_nothing, .stream = &n_left};
    struct transfer_rate rate = {.grace_ms = TRANSFER_CLIENT_GRACE_MS};

    (void)state;
    assert_true(reply_output_write(&output, &rate, bytes, 10));
    assert_false(reply_output_write(&output, &rate, bytes, sizeof(bytes)));
}

/* As documented for clients, who decide by it whether to try again. */
static void every_error_has_its_status(void **state)
{
    static const int expected[ERROR_N_CODES] = {
        [ERROR_NONE] = 500,        [ERROR_INVALID] = 422,    [ERROR_UNAUTHENTICATED] = 401,
        [ERROR_FORBIDDEN] = 403,   [ERROR_NOT_FOUND] = 404,  [ERROR_CONFLICT] = 409,
        [ERROR_STALE] = 409,       [ERROR_TOO_LARGE] = 413,  [ERROR_RATE_LIMITED] = 429,
        [ERROR_TIMEOUT] = 504,     [ERROR_CANCELLED] = 503,  [ERROR_UNAVAILABLE] = 503,
        [ERROR_UNSUPPORTED] = 501, [ERROR_MEDIA_TYPE] = 415, [ERROR_SLOW_CLIENT] = 408,
        [ERROR_INTERNAL] = 500,
    };

    (void)state;
    for (int code = 0; code < ERROR_N_CODES; code++) {
        assert_int_equal(reply_status((enum error_code)code), expected[code]);
        assert_string_not_equal(reply_phrase(reply_status((enum error_code)code)), "Unknown");
    }
    assert_string_equal(reply_phrase(409), "Conflict");
    assert_string_equal(reply_phrase(299), "Unknown");
}

/* The time that was spent waiting for the client is over, and it has moved next to nothing. */
static void slow_client_ends_reading_and_writing(void **state)
{
    static const char bytes[] = "0123456789";
    size_t n_left = 1000;
    struct body source = {bytes, 3};
    const struct reply_output output = {.write = write_nothing, .stream = &n_left};
    const struct request_input input = {NULL, read_body, &source};
    struct transfer_rate fast = {.grace_ms = 1000, .spent_ms = 60000, .n_bytes = 1 << 20};
    struct transfer_rate slow = {.grace_ms = 1000, .spent_ms = 60000};
    char buffer[sizeof(bytes)];
    struct error err = ERROR_INIT;

    (void)state;
    assert_true(reply_output_write(&output, &fast, bytes, sizeof(bytes)));
    assert_false(reply_output_write(&output, &slow, bytes, sizeof(bytes)));
    assert_int_equal(request_input_read(&input, &fast, buffer, sizeof(buffer), &err), 3);
    assert_int_equal(request_input_read(&input, &slow, buffer, sizeof(buffer), &err), -1);
    assert_int_equal(err.code, ERROR_SLOW_CLIENT);
}

static void body_that_is_said_to_be_too_large_is_not_read(void **state)
{
    static const char bytes[] = "0123456789";
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    struct body source = {bytes, 3};
    const struct request_input input = {NULL, read_body, &source};
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(request_input_read_body(&input, 10, 9, &body, &err), -1);
    assert_int_equal(err.code, ERROR_TOO_LARGE);
    assert_ptr_equal(source.at, bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_found_by_their_whole_name),
        cmocka_unit_test(content_length_is_a_number_or_not_given),
        cmocka_unit_test(reading_says_why_it_failed),
        cmocka_unit_test(side_is_too_slow_below_the_least_rate),
        cmocka_unit_test(reply_is_written_in_small_pieces),
        cmocka_unit_test(every_status_has_its_phrase),
        cmocka_unit_test(body_is_held_against_its_limit_and_length),
        cmocka_unit_test(reply_ends_when_the_client_is_gone),
        cmocka_unit_test(every_error_has_its_status),
        cmocka_unit_test(slow_client_ends_reading_and_writing),
        cmocka_unit_test(body_that_is_said_to_be_too_large_is_not_read),
    };

    return cmocka_run_group_tests_name("web", tests, NULL, NULL);
}
