/*
 * Replies of HTTP/1, in pieces of every size: what their parts are, and where they end.
 */
#include "client/http1.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/strbuf.h"

enum { LINE_MAX_BYTES = 64 * 1024 };

/* Takes what the input holds; false once the reply has ended or is refused. */
static bool take_input(struct http1_reader *reader, struct http1_input *input, struct strbuf *out)
{
    struct http1_piece piece = {HTTP1_NONE, NULL, 0};
    struct error err = ERROR_INIT;

    do {
        if (http1_next(reader, input, &piece, &err) < 0) {
            strbuf_appendf(out, "!%s: %s", error_code_to_string(err.code), err.message);
            return false;
        }
        if (piece.kind == HTTP1_LINE)
            strbuf_append_char(out, '[');
        strbuf_append_bytes(out, piece.bytes != NULL ? piece.bytes : "", piece.len);
        if (piece.kind == HTTP1_LINE)
            strbuf_append_char(out, ']');
    } while (piece.kind == HTTP1_LINE || piece.kind == HTTP1_BYTES);
    return piece.kind == HTTP1_NONE;
}

/*
 * The parts of a text: "[line]" for each line, the body, then ". rest" at the reply's end, "$" if
 * the connection's end ends it, or "?" if that cuts it off; at last " kept", if the connection may
 * be used again.
 */
static void parse(const char *text, size_t piece, struct strbuf *out)
{
    CLEANUP(http1_done) struct http1_reader reader = HTTP1_READER_INIT;
    size_t len = strlen(text);
    struct http1_input input = {text, 0};
    bool goes_on = true;

    for (size_t at = 0; at < len && goes_on; at += piece) {
        input = (struct http1_input){text + at, len - at < piece ? len - at : piece};
        goes_on = take_input(&reader, &input, out);
    }
    if (reader.state == HTTP1_AT_END)
        strbuf_appendf(out, ".%s", input.bytes);
    else if (goes_on)
        strbuf_append_char(out, http1_ends_with_connection(&reader) ? '$' : '?');
    if (reader.state == HTTP1_AT_END && reader.is_kept)
        strbuf_append(out, " kept");
}

struct reply_case {
    const char *text;
    const char *parts;
};

static void assert_parts(const struct reply_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t piece = 1; piece <= strlen(cases[i].text); piece++) {
            CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;

            parse(cases[i].text, piece, &out);
            if (strcmp(out.text, cases[i].parts) != 0)
                fail_msg("%s in pieces of %zu: %s", cases[i].text, piece, out.text);
        }
    }
}

#define OK "HTTP/1.1 200 OK\r\n"
#define OK_LINE "[HTTP/1.1 200 OK]"

static void reply_ends_where_its_head_says(void **state)
{
    static const struct reply_case cases[] = {
        {OK "Content-Length: 5\r\n\r\nhello", OK_LINE "[Content-Length: 5]hello. kept"},
        {OK "Content-Length: 2\r\n\r\nokHTTP", OK_LINE "[Content-Length: 2]ok.HTTP kept"},
        {OK "Content-Length: 0\r\n\r\n", OK_LINE "[Content-Length: 0]. kept"},
        {OK "content-length:\t5\r\n\r\nhello", OK_LINE "[content-length:\t5]hello. kept"},
        {OK "Content-Length:5\r\nContent-Length: 5\r\n\r\nhello",
         OK_LINE "[Content-Length:5][Content-Length: 5]hello. kept"},
        {OK "Content-Length: 6\r\n\r\nhello", OK_LINE "[Content-Length: 6]hello?"},
        {OK "Content-Lengths: 9\r\nContent-Length: 1\r\n\r\nx",
         OK_LINE "[Content-Lengths: 9][Content-Length: 1]x. kept"},
        {OK "\r\nto the end", OK_LINE "to the end$"},
        {OK "X-Some: 1\r\n", OK_LINE "[X-Some: 1]?"},
        {OK, OK_LINE "?"},
        {"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello",
         "[HTTP/1.1 204 No Content][Content-Length: 5].hello kept"},
        {"HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n",
         "[HTTP/1.1 304 Not Modified][Transfer-Encoding: chunked]. kept"},
        {"HTTP/1.1 205 Reset\r\nContent-Length: 1\r\n\r\nx",
         "[HTTP/1.1 205 Reset][Content-Length: 1]x. kept"},
        {OK "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\nrest",
         OK_LINE "[Transfer-Encoding: chunked]abcd.rest kept"},
        {OK "Transfer-Encoding: Chunked\r\nContent-Length: 1\r\n\r\n2\r\nab\r\n0\r\n\r\n",
         OK_LINE "[Transfer-Encoding: Chunked][Content-Length: 1]ab. kept"},
        {OK "Transfer-Encoding: chunked\r\n\r\n3\r\nab", OK_LINE "[Transfer-Encoding: chunked]ab?"},
    };

    (void)state;
    assert_parts(cases, ARRAY_SIZE(cases));
}

static void connection_is_kept_unless_the_reply_ends_it(void **state)
{
    static const struct reply_case cases[] = {
        {"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", "[HTTP/1.0 200 OK][Content-Length: 1]x."},
        {OK "Connection: close\r\nContent-Length: 1\r\n\r\nx",
         OK_LINE "[Connection: close][Content-Length: 1]x."},
        {OK "Content-Length: 1\r\nconnection: x, CLOSE\r\n\r\nx",
         OK_LINE "[Content-Length: 1][connection: x, CLOSE]x."},
        {OK "Connection: keep-alive\r\nContent-Length: 1\r\n\r\nx",
         OK_LINE "[Connection: keep-alive][Content-Length: 1]x. kept"},
        {OK "X-Connection: close\r\nContent-Length: 1\r\n\r\nx",
         OK_LINE "[X-Connection: close][Content-Length: 1]x. kept"},
    };

    (void)state;
    assert_parts(cases, ARRAY_SIZE(cases));
}

/* Headers of an interim reply say nothing of the final one. */
static void interim_replies_come_before_the_final_one(void **state)
{
    static const struct reply_case cases[] = {
        {"HTTP/1.1 100 Continue\r\n\r\n" OK "Content-Length: 1\r\n\r\nx",
         "[HTTP/1.1 100 Continue]" OK_LINE "[Content-Length: 1]x. kept"},
        {"HTTP/1.1 199 Odd\r\nConnection: close\r\nContent-Length: 9\r\n\r\n" OK
         "Content-Length: 1\r\n\r\nx",
         "[HTTP/1.1 199 Odd][Connection: close][Content-Length: 9]" OK_LINE
         "[Content-Length: 1]x. kept"},
        {"HTTP/1.1 103 Hints\r\nTransfer-Encoding: chunked\r\n\r\n" OK "Content-Length: 1\r\n\r\nx",
         "[HTTP/1.1 103 Hints][Transfer-Encoding: chunked]" OK_LINE "[Content-Length: 1]x. kept"},
        {"HTTP/1.1 100 Continue\r\n\r\n", "[HTTP/1.1 100 Continue]?"},
    };

    (void)state;
    assert_parts(cases, ARRAY_SIZE(cases));
}

static void lines_lose_the_space_at_their_end(void **state)
{
    static const struct reply_case cases[] = {
        {"HTTP/1.1 200\r\nX-A: b \t \r\nX-B:\r\nContent-Length: 1\r\n\r\n ",
         "[HTTP/1.1 200][X-A: b][X-B:][Content-Length: 1] . kept"},
        {"HTTP/1.1 200 OK\nContent-Length: 1\n\nx", OK_LINE "[Content-Length: 1]x. kept"},
        {"HTTP/1.1 200\tOK\r\nContent-Length: 1\r\n\r\nx",
         "[HTTP/1.1 200\tOK][Content-Length: 1]x. kept"},
        {"HTTP/1.1 599 Last\r\nContent-Length: 1\r\n\r\nx",
         "[HTTP/1.1 599 Last][Content-Length: 1]x. kept"},
    };

    (void)state;
    assert_parts(cases, ARRAY_SIZE(cases));
}

#define NOT_HTTP "!invalid: the response is not HTTP/1"
#define BAD_LENGTH "!invalid: the response's Content-Length is not valid"
#define BAD_CODING "!invalid: the response's transfer coding is unknown"

static void what_is_no_reply_is_refused(void **state)
{
    static const struct reply_case cases[] = {
        {"\r\n", NOT_HTTP},
        {"HTTP/1.1 20\r\n", NOT_HTTP},
        {"HTTP/1.1 2000 OK\r\n", NOT_HTTP},
        {"HTTP/1.1 2x0 OK\r\n", NOT_HTTP},
        {"HTTP/1.1 099 Low\r\n", NOT_HTTP},
        {"HTTP/1.1_200 OK\r\n", NOT_HTTP},
        {"HTTP/1.1 200OK\r\n", NOT_HTTP},
        {"HTTP/2.0 200 OK\r\n", NOT_HTTP},
        {"http/1.1 200 OK\r\n", NOT_HTTP},
        {"SSH-2.0-OpenSSH_9.2\r\n", NOT_HTTP},
        {"HTTP/1.1 101 Switching\r\n",
         "!invalid: the response has status 101, which cannot be forwarded"},
        {"HTTP/1.1 600 High\r\n",
         "!invalid: the response has status 600, which cannot be forwarded"},
        {"HTTP/1.1 999 Highest\r\n",
         "!invalid: the response has status 999, which cannot be forwarded"},
        {OK "Content-Length: 5x\r\n", OK_LINE BAD_LENGTH},
        {OK "Content-Length: -1\r\n", OK_LINE BAD_LENGTH},
        {OK "Content-Length:\r\n", OK_LINE BAD_LENGTH},
        {OK "Content-Length: 9223372036854775808\r\n", OK_LINE BAD_LENGTH},
        {OK "Content-Length: 5\r\nContent-Length: 6\r\n", OK_LINE "[Content-Length: 5]" BAD_LENGTH},
        {OK "Transfer-Encoding: gzip\r\n", OK_LINE BAD_CODING},
        {OK "Transfer-Encoding: gzip, chunked\r\n", OK_LINE BAD_CODING},
        {OK "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
         OK_LINE "[Transfer-Encoding: chunked]" BAD_CODING},
    };

    (void)state;
    assert_parts(cases, ARRAY_SIZE(cases));
}

static void chunk_without_a_size_is_refused(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    static const char text[] = OK "Transfer-Encoding: chunked\r\n\r\nxyz\r\n";

    (void)state;
    parse(text, sizeof(text), &out);
    assert_non_null(strstr(out.text, "[Transfer-Encoding: chunked]!invalid: "));
}

/* A header line of that length with its end, in pieces. */
static enum error_code read_line_of(size_t n_bytes, size_t piece)
{
    CLEANUP(http1_done) struct http1_reader reader = HTTP1_READER_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    struct error err = ERROR_INIT;
    struct http1_piece part = {HTTP1_NONE, NULL, 0};
    int rc = 0;

    strbuf_append(&text, OK);
    for (size_t i = 0; i < n_bytes - 2; i++)
        strbuf_append_char(&text, 'x');
    strbuf_append(&text, "\r\n");
    for (size_t at = 0; at < text.len && rc == 0; at += piece) {
        size_t len = text.len - at < piece ? text.len - at : piece;
        struct http1_input input = {text.text + at, len};

        while (input.len > 0 && rc == 0)
            rc = http1_next(&reader, &input, &part, &err);
    }
    assert_int_equal(part.kind, rc == 0 ? HTTP1_LINE : HTTP1_NONE);
    return err.code;
}

static void line_has_a_longest_length(void **state)
{
    (void)state;
    assert_int_equal(read_line_of(LINE_MAX_BYTES, LINE_MAX_BYTES * 2), ERROR_NONE);
    assert_int_equal(read_line_of(LINE_MAX_BYTES, 1000), ERROR_NONE);
    assert_int_equal(read_line_of(LINE_MAX_BYTES + 1, LINE_MAX_BYTES * 2), ERROR_TOO_LARGE);
    assert_int_equal(read_line_of(LINE_MAX_BYTES + 1, 1000), ERROR_TOO_LARGE);
}

static void reader_can_read_another_reply(void **state)
{
    static const char text[] = OK "Connection: close\r\nContent-Length: 0\r\n\r\n";
    struct http1_reader reader = HTTP1_READER_INIT;
    struct http1_input first = {text, strlen(text)};
    struct http1_input second = {text, strlen(text)};
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;

    (void)state;
    assert_false(take_input(&reader, &first, &out));
    assert_int_equal(reader.status, 200);
    /* At its end it takes nothing more. */
    first = (struct http1_input){"x", 1};
    assert_false(take_input(&reader, &first, &out));
    assert_int_equal(first.len, 1);
    http1_done(&reader);
    assert_int_equal(reader.status, 0);
    strbuf_reset(&out);
    assert_false(take_input(&reader, &second, &out));
    assert_string_equal(out.text, OK_LINE "[Connection: close][Content-Length: 0]");
    http1_done(&reader);
    http1_done(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reply_ends_where_its_head_says),
        cmocka_unit_test(connection_is_kept_unless_the_reply_ends_it),
        cmocka_unit_test(interim_replies_come_before_the_final_one),
        cmocka_unit_test(lines_lose_the_space_at_their_end),
        cmocka_unit_test(what_is_no_reply_is_refused),
        cmocka_unit_test(chunk_without_a_size_is_refused),
        cmocka_unit_test(line_has_a_longest_length),
        cmocka_unit_test(reader_can_read_another_reply),
    };

    return cmocka_run_group_tests_name("http1", tests, NULL, NULL);
}
