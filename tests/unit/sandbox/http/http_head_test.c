#include "sandbox/http/http_head.h"

#include <string.h>

#include "base/error.h"
#include "sandbox/core/action_limits.h"
#include "unit/sandbox/sandbox_test.h"

/* Reads a head that arrives in pieces; returns 0 or the error's code. */
static enum error_code read_pieces(struct http_head *head, const char *text, size_t piece,
                                   size_t *n_read_out)
{
    struct error err = ERROR_INIT;
    size_t len = strlen(text);

    *n_read_out = 0;
    while (*n_read_out < len && !head->is_complete) {
        size_t n = len - *n_read_out < piece ? len - *n_read_out : piece;
        size_t used = 0;

        if (http_head_read(head, text + *n_read_out, n, &used, &err) < 0)
            return err.code;
        *n_read_out += used;
    }
    return ERROR_NONE;
}

static void head_is_the_same_however_it_is_cut(void **state)
{
    static const char text[] = "PUT /a%20b/c?x=1&y=%2F HTTP/1.1\r\n"
                               "Host: example\r\n"
                               "X-Padded: \t a b \t \r\n"
                               "X-Empty:\r\n"
                               "Content-Length: 17\r\n\r\n";

    (void)state;
    for (size_t piece = 1; piece <= sizeof(text); piece++) {
        CLEANUP(http_head_done) struct http_head head = HTTP_HEAD_INIT;
        size_t n = 0;

        assert_int_equal(read_pieces(&head, text, piece, &n), ERROR_NONE);
        assert_true(head.is_complete);
        assert_int_equal(n, sizeof(text) - 1);
        assert_int_equal(head.method, METHOD_PUT);
        assert_string_equal(head.path.text, "/a b/c");
        assert_string_equal(head.query, "x=1&y=%2F");
        assert_int_equal(head.content_length, 17);
        assert_string_equal(http_head_header(&head, "x-padded"), "a b");
        assert_string_equal(http_head_header(&head, "X-EMPTY"), "");
        assert_null(http_head_header(&head, "x-pad"));
        assert_true(head.keeps_alive && !head.is_chunked && !head.wants_upgrade);
    }
}

static void bytes_after_the_head_are_left(void **state)
{
    static const char text[] = "POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nhello";
    CLEANUP(http_head_done) struct http_head head = HTTP_HEAD_INIT;
    size_t n = 0;

    (void)state;
    assert_int_equal(read_pieces(&head, text, sizeof(text), &n), ERROR_NONE);
    assert_string_equal(text + n, "5\r\nhello");
    assert_true(head.is_chunked);
    assert_int_equal(head.content_length, -1);
}

static void path_is_plain(void **state)
{
    static const char *const cases[][2] = {
        {"/", "/"},
        {"//", "/"},
        {"/a/../b", "/b"},
        {"/../../a", "/a"},
        {"/a//b///c", "/a/b/c"},
        {"/a/./b/", "/a/b/"},
        {"/a/..", "/"},
        {"/a/%2e%2E/b", "/b"},
        {"/%2Fetc", "/etc"},
        {"/a+b", "/a+b"},
        {"/..a/.b", "/..a/.b"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(http_head_done) struct http_head head = HTTP_HEAD_INIT;
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        size_t n = 0;

        strbuf_appendf(&text, "GET %s HTTP/1.1\r\n\r\n", cases[i][0]);
        assert_int_equal(read_pieces(&head, text.text, text.len, &n), ERROR_NONE);
        assert_string_equal(head.path.text, cases[i][1]);
    }
}

/* Each could be read differently by another server on the way, or is no request. */
static void ambiguous_head_is_refused(void **state)
{
    static const char *const heads[] = {
        "POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 5x\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length : 5\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked, chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\ntransfer-encoding: identity\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\n\rx",
        "GET /%zz HTTP/1.1\r\n\r\n",
        "GET /%00 HTTP/1.1\r\n\r\n",
        "GET /a?b=%4 HTTP/1.1\r\n\r\n",
        "GET http://x/ HTTP/1.1\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\n\r\n",
        "GET /\r\n\r\n",
        "GET / HTTP/2.0\r\n\r\n",
        "BREW / HTTP/1.1\r\n\r\n",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
        CLEANUP(http_head_done) struct http_head whole = HTTP_HEAD_INIT;
        CLEANUP(http_head_done) struct http_head cut = HTTP_HEAD_INIT;
        size_t n = 0;

        assert_int_equal(read_pieces(&whole, heads[i], strlen(heads[i]), &n), ERROR_INVALID);
        assert_int_equal(read_pieces(&cut, heads[i], 1, &n), ERROR_INVALID);
    }
}

static void head_has_a_limit(void **state)
{
    static const char *const begins[] = {"GET /", "GET / HTTP/1.1\r\nX-A: ", "GET / HTTP/1.1\r\nX"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(begins); i++) {
        CLEANUP(http_head_done) struct http_head head = HTTP_HEAD_INIT;
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        size_t n = 0;

        strbuf_append(&text, begins[i]);
        while (text.len < MAX_HEADER_BYTES - 1)
            strbuf_append_char(&text, 'a');
        assert_int_equal(read_pieces(&head, text.text, 1000, &n), ERROR_NONE);
        assert_false(head.is_complete);
        strbuf_append(&text, "aaaa");
        assert_int_equal(read_pieces(&head, text.text + n, 1000, &n), ERROR_TOO_LARGE);
    }
}

static void connection_ends_as_the_client_says(void **state)
{
    static const struct {
        const char *text;
        bool keeps_alive;
        bool is_http_1_0;
        bool wants_upgrade;
    } cases[] = {
        {"GET / HTTP/1.1\r\n\r\n", true, false, false},
        {"GET / HTTP/1.1\r\nConnection: close\r\n\r\n", false, false, false},
        {"GET / HTTP/1.0\r\n\r\n", false, true, false},
        {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true, true, false},
        {"GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", true, false, true},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(http_head_done) struct http_head head = HTTP_HEAD_INIT;
        size_t n = 0;

        assert_int_equal(read_pieces(&head, cases[i].text, 7, &n), ERROR_NONE);
        assert_true(head.is_complete);
        assert_int_equal(head.keeps_alive, cases[i].keeps_alive);
        assert_int_equal(head.is_http_1_0, cases[i].is_http_1_0);
        assert_int_equal(head.wants_upgrade, cases[i].wants_upgrade);
    }
}

int http_head_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(head_is_the_same_however_it_is_cut),
        cmocka_unit_test(bytes_after_the_head_are_left),
        cmocka_unit_test(path_is_plain),
        cmocka_unit_test(ambiguous_head_is_refused),
        cmocka_unit_test(head_has_a_limit),
        cmocka_unit_test(connection_ends_as_the_client_says),
    };

    return cmocka_run_group_tests_name("http_head", tests, NULL, NULL);
}
