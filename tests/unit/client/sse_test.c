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

/* An event of so many bytes of data, or a comment of so many bytes. */
static int read_long(const char *field, size_t n_bytes)
{
    CLEANUP(sse_done) struct sse sse = SSE_INIT(MAX_BYTES);
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct sse_event event = {NULL, NULL, 0};
    struct sse_input input = {NULL, 0};
    struct error err = ERROR_INIT;

    strbuf_append(&text, field);
    for (size_t i = 0; i < n_bytes; i++)
        strbuf_append_char(&text, 'x');
    strbuf_append(&text, "\n\n");
    input = (struct sse_input){text.text, text.len};
    sse_done(NULL);
    return sse_next(&sse, &input, &event, &err);
}

static void longest_line_and_event_are_read(void **state)
{
    (void)state;
    assert_int_equal(read_long(":", MAX_BYTES - 1), 0);
    assert_int_equal(read_long(":", MAX_BYTES), -1);
    assert_int_equal(read_long("data:", MAX_BYTES - 5), 0);
    assert_int_equal(read_long("data:", MAX_BYTES - 4), -1);
}

/* The data of several lines: the bound is that of all of them. */
static void longest_event_of_many_lines_is_read(void **state)
{
    (void)state;
    for (size_t more = 0; more < 2; more++) {
        CLEANUP(sse_done) struct sse sse = SSE_INIT(MAX_BYTES);
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        struct sse_event event = {NULL, NULL, 0};
        struct sse_input input = {NULL, 0};
        struct error err = ERROR_INIT;

        /* 499 bytes, the line end between them, and 500 or 501 more. */
        strbuf_append(&text, "data:");
        for (size_t i = 0; i < MAX_BYTES / 2 - 1; i++)
            strbuf_append_char(&text, 'x');
        strbuf_append(&text, "\ndata:");
        for (size_t i = 0; i < MAX_BYTES / 2 + more; i++)
            strbuf_append_char(&text, 'x');
        strbuf_append(&text, "\n\n");
        input = (struct sse_input){text.text, text.len};
        assert_int_equal(sse_next(&sse, &input, &event, &err), more == 0 ? 0 : -1);
        assert_int_equal(event.len, more == 0 ? MAX_BYTES : 0);
        assert_int_equal(err.code, more == 0 ? ERROR_NONE : ERROR_TOO_LARGE);
    }
}

static void name_of_an_event_is_its_own(void **state)
{
    (void)state;
    assert_events("event: x\ndata: 1\n\ndata: 2\n\n", "x=1|message=2|");
    assert_events("event: x\nevent: yy\ndata: 1\n\n", "yy=1|");
    assert_events("event\ndata: 1\n\n", "message=1|");
    assert_events("events: x\nevent x\ndata: 1\n\n", "message=1|");
    assert_events("data: 1\nevent:  x\n\n", " x=1|");
    assert_events("data: \xef\xbb\xbf\n\n\xef\xbb\xbf"
                  "data: 2\n\ndata: 3\n\n",
                  "message=\xef\xbb\xbf|message=3|");
}

/* What a stream leaves for its resumption, however it is split. */
static void assert_left(const char *text, size_t len, const char *last_id, int64_t retry_ms)
{
    for (size_t piece = 1; piece <= len; piece++) {
        CLEANUP(sse_done) struct sse sse = SSE_INIT(MAX_BYTES);
        struct error err = ERROR_INIT;

        for (size_t at = 0; at < len; at += piece) {
            struct sse_input input = {text + at, len - at < piece ? len - at : piece};
            struct sse_event event = {NULL, NULL, 0};

            do
                assert_int_equal(sse_next(&sse, &input, &event, &err), 0);
            while (event.data != NULL);
        }
        assert_string_equal(sse.last_id.text, last_id);
        assert_int_equal(sse.retry_ms, retry_ms);
    }
}

#define LEFT(text, last_id, retry_ms) assert_left(text, sizeof(text) - 1, last_id, retry_ms)

static void id_and_retry_are_kept(void **state)
{
    (void)state;
    LEFT("data: a\n\n", "", -1);
    LEFT("id: 1\nretry: 500\ndata: \n\n", "1", 500);
    LEFT("id: 1\ndata: a\n\ndata: b\n\n", "1", -1);
    LEFT("id: 1\n\n", "1", -1);
    LEFT("id: 1\ndata: a\n\nid\ndata: b\n\n", "", -1);
    LEFT("retry: 5\nretry: x\nretry: 1.5\nretry:\nretry: -1\nretry: 1234567890\n", "", 5);
}

/* An event that was cut has not come. */
static void id_of_an_unfinished_event_is_not_kept(void **state)
{
    (void)state;
    LEFT("id: 1\ndata: a\n\nid: 2\ndata: b\n", "1", -1);
}

static void id_that_cannot_be_sent_back_is_none(void **state)
{
    (void)state;
    LEFT("id: 1\n\nid: a\x01\n\n", "", -1);
    LEFT("id: 1\n\nid: a\x7f\n\n", "", -1);
    LEFT("id: 1\n\nid: a\0b\n\n", "1", -1);
}

static void id_that_is_too_long_is_none(void **state)
{
    (void)state;
    for (size_t more = 0; more < 2; more++) {
        CLEANUP(sse_done) struct sse sse = SSE_INIT(2000);
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        struct sse_event event = {NULL, NULL, 0};
        struct sse_input input = {NULL, 0};
        struct error err = ERROR_INIT;

        strbuf_append(&text, "id:");
        for (size_t i = 0; i < 1024 + more; i++)
            strbuf_append_char(&text, 'x');
        strbuf_append(&text, "\n\n");
        input = (struct sse_input){text.text, text.len};
        assert_int_equal(sse_next(&sse, &input, &event, &err), 0);
        assert_int_equal(sse.last_id.len, more == 0 ? 1024 : 0);
    }
}

/* Another stream: the rest of the first one is not a part of it. */
static void stream_that_is_restarted_keeps_the_id(void **state)
{
    static const char first[] = "id: 1\nretry: 7\ndata: a\n\nid: 2\nevent: x\ndata: b\rdat";
    static const char second[] = "\ndata: c\n\n";
    CLEANUP(sse_done) struct sse sse = SSE_INIT(MAX_BYTES);
    struct sse_input input = {first, sizeof(first) - 1};
    struct sse_event event = {NULL, NULL, 0};
    struct error err = ERROR_INIT;

    (void)state;
    do
        assert_int_equal(sse_next(&sse, &input, &event, &err), 0);
    while (event.data != NULL);
    sse_restart(&sse);
    input = (struct sse_input){second, sizeof(second) - 1};
    assert_int_equal(sse_next(&sse, &input, &event, &err), 0);
    assert_string_equal(event.name, "message");
    assert_string_equal(event.data, "c");
    assert_string_equal(sse.last_id.text, "1");
    assert_int_equal(sse.retry_ms, 7);
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
        cmocka_unit_test(longest_line_and_event_are_read),
        cmocka_unit_test(longest_event_of_many_lines_is_read),
        cmocka_unit_test(name_of_an_event_is_its_own),
        cmocka_unit_test(id_and_retry_are_kept),
        cmocka_unit_test(id_of_an_unfinished_event_is_not_kept),
        cmocka_unit_test(id_that_cannot_be_sent_back_is_none),
        cmocka_unit_test(id_that_is_too_long_is_none),
        cmocka_unit_test(stream_that_is_restarted_keeps_the_id),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
