#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/error.h"
#include "fcgi/core/request.h"
#include "web/request_input.h"
#include "web/transfer_rate.h"

/* NOLINTNEXTLINE(readability-non-const-parameter): the type is that of a reader */
static int read_nothing(void *stream, char *buffer, int len)
{
    (void)stream;
    (void)buffer;
    (void)len;
    return 0;
}

static const struct fcgi_context *no_context(void)
{
    static const char nothing = 0;

    return (const struct fcgi_context *)(const void *)&nothing;
}

#define READ(request, rc, err, ...)                                                                \
    char get_[] = "REQUEST_METHOD=GET";                                                            \
    char *params_[] = {get_, __VA_ARGS__, NULL};                                                   \
    struct request_input input_ = {params_, read_nothing, NULL};                                   \
    CLEANUP(request_done) struct request request = {.body = STRBUF_INIT};                          \
    struct error err = ERROR_INIT;                                                                 \
    int rc = request_init(&(request), no_context(), &input_, &(err))

static void path_is_decoded_segment_by_segment(void **state)
{
    char uri[] = "REQUEST_URI=/api/a%2Fb/%c3%a9/?x=1";
    READ(request, rc, err, uri);

    (void)state;
    assert_int_equal(rc, 0);
    assert_int_equal(request.path.n_segments, 4);
    assert_string_equal(request.path.segments[1], "a/b");
    assert_string_equal(request.path.segments[2], "\xc3\xa9");
    assert_string_equal(request.path.segments[3], "");
    assert_string_equal(request.query_text, "x=1");
}

static void query_keeps_repeated_names_and_the_last_wins(void **state)
{
    char uri[] = "REQUEST_URI=/p?ids=a&ids=b&q=x+y%26z&flag&=";
    READ(request, rc, err, uri);

    (void)state;
    assert_int_equal(rc, 0);
    assert_int_equal(request.n_query, 5);
    assert_string_equal(request_query(&request, "ids"), "b");
    assert_string_equal(request_query(&request, "q"), "x y&z");
    assert_string_equal(request_query(&request, "flag"), "");
    assert_null(request_query(&request, "other"));
}

static void bad_utf8_and_nul_are_refused(void **state)
{
    char bad_path[] = "REQUEST_URI=/api/%ff";
    char nul_query[] = "REQUEST_URI=/api?x=%00";

    (void)state;
    {
        READ(request, rc, err, bad_path);
        assert_int_equal(rc, -1);
        assert_int_equal(err.code, ERROR_INVALID);
    }
    {
        READ(request, rc, err, nul_query);
        assert_int_equal(rc, -1);
    }
}

static void what_must_be_there_once_is_refused_twice(void **state)
{
    char uri[] = "REQUEST_URI=/";
    char key[] = "HTTP_X_SESSION_API_KEY=a";
    char key_again[] = "HTTP_X_SESSION_API_KEY=a";
    char origin[] = "HTTP_ORIGIN=http://a.example";
    char origin_again[] = "HTTP_ORIGIN=http://b.example";

    (void)state;
    {
        READ(request, rc, err, uri, key, key_again);
        assert_int_equal(rc, -1);
    }
    {
        READ(request, rc, err, uri, origin, origin_again);
        assert_int_equal(rc, -1);
    }
    {
        READ(request, rc, err, uri, key, origin);
        assert_int_equal(rc, 0);
    }
}

static void content_length_must_be_a_number(void **state)
{
    char uri[] = "REQUEST_URI=/";
    char length[] = "CONTENT_LENGTH=-5";
    READ(request, rc, err, uri, length);

    (void)state;
    assert_int_equal(rc, -1);
}

static void cookie_is_found_among_others(void **state)
{
    char uri[] = "REQUEST_URI=/";
    char cookie[] = "HTTP_COOKIE=other=1; deft_session=abc; xdeft_session=no";
    char value[8];
    char small[3];
    READ(request, rc, err, uri, cookie);

    (void)state;
    assert_int_equal(rc, 0);
    assert_true(request_cookie(&request, "deft_session", value, sizeof(value)));
    assert_string_equal(value, "abc");
    assert_false(request_cookie(&request, "deft_session", small, sizeof(small)));
    assert_false(request_cookie(&request, "missing", value, sizeof(value)));
}

static void cookie_twice_is_none(void **state)
{
    char uri[] = "REQUEST_URI=/";
    char cookie[] = "HTTP_COOKIE=deft_session=abc; deft_session=def";
    char value[8];
    READ(request, rc, err, uri, cookie);

    (void)state;
    assert_int_equal(rc, 0);
    assert_false(request_cookie(&request, "deft_session", value, sizeof(value)));
}

static void limit_says_what_is_wrong(void **state)
{
    static const struct {
        const char *uri;
        const char *type;
    } rows[] = {
        {"REQUEST_URI=/?limit=0", "greater_than"},
        {"REQUEST_URI=/?limit=-3", "greater_than"},
        {"REQUEST_URI=/?limit=101", "less_than_equal"},
        {"REQUEST_URI=/?limit=ten", "int_parsing"},
        {"REQUEST_URI=/?limit=99999999999999999999", "int_parsing"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        char uri[64];
        int64_t limit = 0;

        memcpy(uri, rows[i].uri, strlen(rows[i].uri) + 1);
        READ(request, rc, err, uri);
        assert_int_equal(rc, 0);
        assert_int_equal(request_query_limit(&request, &limit, &err), -1);
        assert_string_equal(
            json_string_value(json_object_get(json_array_get(request.problems, 0), "type")),
            rows[i].type);
    }
}

static void path_rest_is_raw(void **state)
{
    char uri[] = "REQUEST_URI=/api/bash/bash_events/a%20b?x=1";
    CLEANUP(strbuf_done) struct strbuf rest = STRBUF_INIT;
    READ(request, rc, err, uri);

    (void)state;
    assert_int_equal(rc, 0);
    request_append_path_rest(&request, 2, &rest);
    assert_string_equal(rest.text, "/bash_events/a%20b");
}

/* Gives three bytes, then nothing more. */
static int read_three(void *stream, char *buffer, int len)
{
    int *n_left = stream;
    int n = *n_left;

    assert_true(len >= n);
    memcpy(buffer, "abc", (size_t)n);
    *n_left = 0;
    return n;
}

static void body_shorter_than_its_length_is_refused(void **state)
{
    int n_left = 3;
    const struct request_input input = {NULL, read_three, &n_left};
    struct request request = {.input = &input, .body = STRBUF_INIT, .content_length = 5};
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(request_read_body(&request, 100, &err), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    strbuf_done(&request.body);
    request = (struct request){.input = &input, .body = STRBUF_INIT, .content_length = 3};
    n_left = 3;
    assert_int_equal(request_read_body(&request, 100, &err), 0);
    assert_string_equal(request.body.text, "abc");
    strbuf_done(&request.body);
}

/* A side that was waited for from `ago_ms` before now, and moved n bytes. */
static bool is_too_slow(struct transfer_rate *rate, int64_t ago_ms, size_t n)
{
    return transfer_rate_is_too_slow(rate, clock_monotonic_ms() - ago_ms, n);
}

static void rate_counts_after_the_grace(void **state)
{
    struct transfer_rate silent = {.grace_ms = 20000};
    struct transfer_rate slow = {.grace_ms = 20000};
    struct transfer_rate fair = {.grace_ms = 20000};

    (void)state;
    assert_false(is_too_slow(&silent, 15000, 0));
    assert_true(is_too_slow(&silent, 15000, 0));
    /* A byte a second, and half the least rate. */
    for (int i = 0; i < 15; i++)
        assert_false(is_too_slow(&slow, 1000, 1));
    assert_true(is_too_slow(&slow, 10000, 1));
    slow = (struct transfer_rate){.grace_ms = 20000};
    assert_true(is_too_slow(&slow, 60000, 60UL * TRANSFER_MIN_BYTES_PER_S / 2));
    for (int i = 0; i < 600; i++)
        assert_false(is_too_slow(&fair, 1000, 2UL * TRANSFER_MIN_BYTES_PER_S));
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the type is that of a reader */
static int read_silence(void *stream, char *buffer, int len)
{
    (void)stream;
    (void)buffer;
    (void)len;
    return REQUEST_READ_SILENT;
}

static void slow_body_is_told_from_one_that_broke_off(void **state)
{
    const struct request_input silent = {NULL, read_silence, NULL};
    const struct request_input ended = {NULL, read_nothing, NULL};
    struct request request = {.input = &silent};
    struct transfer_rate rate = {.grace_ms = TRANSFER_CLIENT_GRACE_MS};
    struct error err = ERROR_INIT;
    char buffer[16];

    (void)state;
    assert_int_equal(request_read(&request, &rate, buffer, sizeof(buffer), &err), -1);
    assert_int_equal(err.code, ERROR_SLOW_CLIENT);
    request.input = &ended;
    assert_int_equal(request_read(&request, &rate, buffer, sizeof(buffer), &err), 0);
    rate.spent_ms = TRANSFER_CLIENT_GRACE_MS + 1;
    assert_int_equal(request_read(&request, &rate, buffer, sizeof(buffer), &err), -1);
    assert_int_equal(err.code, ERROR_SLOW_CLIENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(path_is_decoded_segment_by_segment),
        cmocka_unit_test(query_keeps_repeated_names_and_the_last_wins),
        cmocka_unit_test(bad_utf8_and_nul_are_refused),
        cmocka_unit_test(what_must_be_there_once_is_refused_twice),
        cmocka_unit_test(content_length_must_be_a_number),
        cmocka_unit_test(cookie_is_found_among_others),
        cmocka_unit_test(cookie_twice_is_none),
        cmocka_unit_test(limit_says_what_is_wrong),
        cmocka_unit_test(path_rest_is_raw),
        cmocka_unit_test(rate_counts_after_the_grace),
        cmocka_unit_test(slow_body_is_told_from_one_that_broke_off),
        cmocka_unit_test(body_shorter_than_its_length_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
