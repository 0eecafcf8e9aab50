#include <string.h>

#include "base/codec/chunked.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "unit/base/base_test.h"

/* Reads a body that arrives in pieces of `piece` bytes; -1 when it is none. */
static int read_body(const char *body, size_t piece, struct strbuf *out,
                     enum chunked_state *state_out)
{
    struct chunked chunked = {.state = CHUNKED_SIZE};
    struct error err = ERROR_INIT;
    size_t left = strlen(body);

    while (left > 0) {
        size_t len = left < piece ? left : piece;
        struct chunked_input input = {body, len};
        const char *data = NULL;
        size_t n = 0;

        do {
            if (chunked_next(&chunked, &input, &data, &n, &err) < 0)
                return -1;
            strbuf_append_bytes(out, data, n);
        } while (n > 0);
        body += len;
        left -= len;
    }
    *state_out = chunked.state;
    return 0;
}

static void data_is_whole_however_it_is_cut(void **state)
{
    static const char *const bodies[] = {
        "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
        "b;a=1\r\nhello world\r\n000\r\nTrailer: x\r\nOther: y\r\n\r\n",
        "B \nhello world\n0\n\n",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        for (size_t piece = 1; piece <= strlen(bodies[i]); piece++) {
            CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
            enum chunked_state end = CHUNKED_SIZE;

            assert_int_equal(read_body(bodies[i], piece, &out, &end), 0);
            assert_int_equal(end, CHUNKED_OVER);
            assert_string_equal(out.text, "hello world");
        }
    }
}

static void what_is_cut_short_is_not_over(void **state)
{
    static const char *const bodies[] = {"5", "5\r\nhel", "5\r\nhello\r\n", "0\r\n",
                                         "0\r\nA: b\r\n"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
        enum chunked_state end = CHUNKED_OVER;

        assert_int_equal(read_body(bodies[i], 3, &out, &end), 0);
        assert_int_not_equal(end, CHUNKED_OVER);
    }
}

static void nonsense_is_refused(void **state)
{
    static const char *const bodies[] = {
        "x\r\n", "\r\n", "-1\r\n", "1g\r\n", "5\r\nhelloX\r\n", "fffffffffffff\r\n"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
        enum chunked_state end = CHUNKED_OVER;

        assert_int_equal(read_body(bodies[i], 4, &out, &end), -1);
    }
}

/* Otherwise a body that never ends would cost its sender nothing but bytes. */
static void framing_has_a_limit(void **state)
{
    static const char *const begins[] = {"", "5;a=", "5\r\nhello", "0\r\n", "0\r\n"};
    static const char *const repeats[] = {"0", "\r", "\r", "\r", "A: b\r\n"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(begins); i++) {
        CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
        enum chunked_state end = CHUNKED_OVER;

        strbuf_append(&body, begins[i]);
        while (body.len < 8300)
            strbuf_append(&body, repeats[i]);
        assert_int_equal(read_body(body.text, 100, &out, &end), -1);
    }
}

static void chunks_are_any_number(void **state)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    enum chunked_state end = CHUNKED_SIZE;

    (void)state;
    for (int i = 0; i < 5000; i++)
        strbuf_append(&body, "1;x=y\r\na\r\n");
    strbuf_append(&body, "0\r\n\r\n");
    assert_int_equal(read_body(body.text, 100, &out, &end), 0);
    assert_int_equal(out.len, 5000);
    assert_int_equal(end, CHUNKED_OVER);
}

/* A body whose framing has exactly so many bytes. */
static int read_framing(size_t n_bytes)
{
    CLEANUP(strbuf_done) struct strbuf body = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    enum chunked_state end = CHUNKED_SIZE;

    strbuf_append(&body, "0;");
    while (body.len < n_bytes - 4)
        strbuf_append_char(&body, 'x');
    strbuf_append(&body, "\r\n\r\n");
    return read_body(body.text, 1000, &out, &end) == 0 && end == CHUNKED_OVER ? 0 : -1;
}

static void longest_framing_and_size_are_read(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    enum chunked_state end = CHUNKED_OVER;

    (void)state;
    assert_int_equal(read_framing(8192), 0);
    assert_int_equal(read_framing(8193), -1);
    assert_int_equal(read_body("000000000001\r\na\r\n000000000000\r\n\r\n", 5, &out, &end), 0);
    assert_string_equal(out.text, "a");
    assert_int_equal(end, CHUNKED_OVER);
    assert_int_equal(read_body("0000000000001\r\n", 5, &out, &end), -1);
    assert_int_equal(read_body("ffffffffffff\r\nx", 5, &out, &end), 0);
    assert_int_equal(end, CHUNKED_DATA);
}

/* What follows a body belongs to the next message. */
static void rest_of_the_input_is_left(void **state)
{
    static const char body[] = "1;a\tb\r\nx\r\n0\r\nT: 1\r\n\r\nrest";
    struct chunked chunked = {.state = CHUNKED_SIZE};
    struct chunked_input input = {body, sizeof(body) - 1};
    struct error err = ERROR_INIT;
    const char *data = NULL;
    size_t n = 0;

    (void)state;
    assert_int_equal(chunked_next(&chunked, &input, &data, &n, &err), 0);
    assert_int_equal(n, 1);
    assert_int_equal(*data, 'x');
    assert_int_equal(chunked_next(&chunked, &input, &data, &n, &err), 0);
    assert_int_equal(n, 0);
    assert_int_equal(chunked.state, CHUNKED_OVER);
    assert_string_equal(input.bytes, "rest");
    assert_int_equal(input.len, 4);
}

static void size_without_digits_is_refused_in_words(void **state)
{
    static const char *const bodies[] = {";a\r\n", " 1\r\n", "1\v\r\n", "1\r\nab\r\n", "1\r\na\rx"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        struct chunked chunked = {.state = CHUNKED_SIZE};
        struct chunked_input input = {bodies[i], strlen(bodies[i])};
        struct error err = ERROR_INIT;
        const char *data = NULL;
        size_t n = 0;
        int rc = 0;

        while (rc == 0 && input.len > 0)
            rc = chunked_next(&chunked, &input, &data, &n, &err);
        assert_int_equal(rc, -1);
        assert_string_equal(err.message, "The body is not valid chunked encoding");
        assert_int_equal(err.code, ERROR_INVALID);
    }
}

int chunked_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_is_whole_however_it_is_cut),
        cmocka_unit_test(what_is_cut_short_is_not_over),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(framing_has_a_limit),
        cmocka_unit_test(chunks_are_any_number),
        cmocka_unit_test(longest_framing_and_size_are_read),
        cmocka_unit_test(rest_of_the_input_is_left),
        cmocka_unit_test(size_without_digits_is_refused_in_words),
    };

    return cmocka_run_group_tests_name("chunked", tests, NULL, NULL);
}
