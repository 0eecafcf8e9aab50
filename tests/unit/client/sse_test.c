#include "client/sse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/error.h"

enum { MAX_BYTES = 1000 };

/* All events of the text as "name=data|", when it comes in pieces of `piece` bytes. */
static void parse(const char *text, size_t len, size_t piece, struct strbuf *out)
{
    CLEANUP(sse_done) struct sse sse = SSE_INIT(MAX_BYTES);
    struct error err = ERROR_INIT;

    for (size_t at = 0; at < len; at += piece) {
        struct sse_input input = {text + at, len - at < piece ? len - at : piece};
        struct sse_event event = {NULL, NULL, 0};

        for (;;) {
            assert_int_equal(sse_next(&sse, &input, &event, &err), 0);
            if (event.data == NULL)
                break;
            strbuf_appendf(out, "%s=%s|", event.name, event.data);
            assert_int_equal(event.len, strlen(event.data));
        }
    }
}

static void assert_events(const char *text, const char *expected)
{
    size_t len = strlen(text);

    for (size_t piece = 1; piece <= len; piece++) {
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;

        parse(text, len, piece, &out);
        assert_string_equal(out.text, expected);
    }
}

static void line_ends_may_be_mixed(void **state)
{
    (void)state;
    assert_events("data: a\n\ndata: b\r\n\r\ndata: c\r\rdata: d\r\n\ndata: e\n\r\n",
                  "message=a|message=b|message=c|message=d|message=e|");
}

static void fields_follow_the_standard(void **state)
{
    (void)state;
    assert_events("event: x\ndata: 1\ndata:2\ndata:  3\nid: 9\nretry: 5\nfoo: bar\n\n",
                  "x=1\n2\n 3|");
    assert_events("event: lost\n\ndata: kept\n\n", "message=kept|");
    assert_events("data\n\ndata:\n\n", "message=|message=|");
    assert_events("dataset: no\n\ndata: yes\n\n", "message=yes|");
}

static void comments_and_bom_are_skipped(void **state)
{
    (void)state;
    assert_events("\xef\xbb\xbf: hello\n\n:\n\ndata: a\n: between\n\n: end\n\n", "message=a|");
    assert_events("\xef\xbb\xbf"
                  "data: a\n\n",
                  "message=a|");
}

static void unfinished_events_are_not_given(void **state)
{
    (void)state;
    assert_events("data: a\n\ndata: b\n", "message=a|");
    assert_events("data: a\n\ndata: b", "message=a|");
}

static void long_lines_are_refused(void **state)
{
    CLEANUP(sse_done) struct sse sse = SSE_INIT(MAX_BYTES);
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct sse_event event = {NULL, NULL, 0};
    struct sse_input input = {NULL, 0};
    struct error err = ERROR_INIT;

    (void)state;
    for (size_t i = 0; i <= MAX_BYTES; i++)
        strbuf_append_char(&text, 'x');
    input = (struct sse_input){text.text, text.len};
    assert_int_equal(sse_next(&sse, &input, &event, &err), -1);
    assert_int_equal(err.code, ERROR_TOO_LARGE);
}

/* The bound is that of the line, not of the piece that arrives. */
static void long_lines_in_pieces_are_refused(void **state)
{
    CLEANUP(sse_done) struct sse sse = SSE_INIT(MAX_BYTES);
    struct sse_event event = {NULL, NULL, 0};
    struct error err = ERROR_INIT;
    size_t n_sent = 0;
    int rc = 0;

    (void)state;
    for (; n_sent <= 2UL * MAX_BYTES && rc == 0; n_sent += 10) {
        struct sse_input input = {"0123456789", 10};

        rc = sse_next(&sse, &input, &event, &err);
    }
    assert_int_equal(rc, -1);
    assert_int_equal(err.code, ERROR_TOO_LARGE);
    assert_in_range(n_sent, MAX_BYTES, MAX_BYTES + 20);
}

static void long_events_are_refused(void **state)
{
    CLEANUP(sse_done) struct sse sse = SSE_INIT(MAX_BYTES);
    struct sse_event event = {NULL, NULL, 0};
    struct error err = ERROR_INIT;
    int rc = 0;

    (void)state;
    for (int i = 0; i < 300 && rc == 0; i++) {
        struct sse_input input = {"data: 1234\n", strlen("data: 1234\n")};

        rc = sse_next(&sse, &input, &event, &err);
    }
    assert_int_equal(rc, -1);
    assert_int_equal(err.code, ERROR_TOO_LARGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(line_ends_may_be_mixed),
        cmocka_unit_test(fields_follow_the_standard),
        cmocka_unit_test(comments_and_bom_are_skipped),
        cmocka_unit_test(unfinished_events_are_not_given),
        cmocka_unit_test(long_lines_are_refused),
        cmocka_unit_test(long_events_are_refused),
        cmocka_unit_test(long_lines_in_pieces_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
