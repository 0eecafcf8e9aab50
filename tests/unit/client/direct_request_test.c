/*
 * Which address a URL names, and which requests can be made directly.
 */
#include "client/direct_connections.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <string.h>

#include "base/attr.h"
#include "base/strbuf.h"
#include "client/http.h"

/* "127.0.0.1:80", or "" when the URL names no address. */
static void read_address(const char *url, struct strbuf *out)
{
    struct sockaddr_in address = {.sin_family = AF_UNSPEC};
    char host[INET_ADDRSTRLEN] = "";

    strbuf_reset(out);
    strbuf_append(out, "");
    if (!direct_request_read_address(url, &address))
        return;
    assert_int_equal(address.sin_family, AF_INET);
    assert_non_null(inet_ntop(AF_INET, &address.sin_addr, host, sizeof(host)));
    strbuf_appendf(out, "%s:%u", host, ntohs(address.sin_port));
}

static void address_is_read_whatever_the_path_is(void **state)
{
    static const struct {
        const char *url;
        const char *address;
    } cases[] = {
        {"http://10.1.2.3:8000", "10.1.2.3:8000"},
        {"http://10.1.2.3:8000/", "10.1.2.3:8000"},
        {"http://10.1.2.3/", "10.1.2.3:80"},
        {"http://10.1.2.3", "10.1.2.3:80"},
        {"http://255.255.255.255:65535/x", "255.255.255.255:65535"},
        {"http://10.1.2.3:1/", "10.1.2.3:1"},
        {"http://10.1.2.3:8000/.hidden", "10.1.2.3:8000"},
        {"http://10.1.2.3:8000/a/../b/./c/..", "10.1.2.3:8000"},
        {"http://10.1.2.3:8000//", "10.1.2.3:8000"},
        {"http://10.1.2.3:8000//127.0.0.1:22/x", "10.1.2.3:8000"},
        {"http://10.1.2.3:8000/http://127.0.0.1:22/", "10.1.2.3:8000"},
        {"http://10.1.2.3:8000/x@127.0.0.1:22", "10.1.2.3:8000"},
        {"http://10.1.2.3:8000?a=b", "10.1.2.3:8000"},
        {"http://10.1.2.3?a=/b:7", "10.1.2.3:80"},
        {"http://10.1.2.3:8000/?a=http://127.0.0.1:22/", "10.1.2.3:8000"},
        {"http://10.1.2.3:8000/%2e%2e/?q=%00", "10.1.2.3:8000"},
    };
    CLEANUP(strbuf_done) struct strbuf seen = STRBUF_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        read_address(cases[i].url, &seen);
        if (strcmp(seen.text, cases[i].address) != 0)
            fail_msg("%s: %s, not %s", cases[i].url, seen.text, cases[i].address);
    }
}

static void what_names_no_address_is_refused(void **state)
{
    static const char *const urls[] = {
        "",
        "http://",
        "http:///",
        "http://:8000/",
        "http:/10.1.2.3/",
        "10.1.2.3:8000",
        "https://10.1.2.3:8000/",
        "HTTPS://10.1.2.3/",
        "ftp://10.1.2.3/",
        "http://localhost:8000/",
        "http://sandbox/",
        "http://10.1.2.3:0/",
        "http://10.1.2.3:65536/",
        "http://10.1.2.3:99999999999999999999/",
        "http://10.1.2.3:-1/",
        "http://10.1.2.3:+1/",
        "http://10.1.2.3: 1/",
        "http://10.1.2.3:8000x/",
        "http://10.1.2.3:0x50/",
        "http://10.1.2.3:8000:8000/",
        "http://10.1.2.3:/",
        "http://[::1]:8000/",
        "http://[::ffff:10.1.2.3]:8000/",
        "http://::1/",
        "http://10.1.2/",
        "http://10.1.2.3.4/",
        "http://10.1.2.256/",
        "http://010.1.2.3/",
        "http://0x7f.0.0.1/",
        "http://2130706433/",
        "http://user@10.1.2.3/",
        "http://10.1.2.3@127.0.0.1/",
        "http://10.1.2.3#/",
        "http://10.1.2.3\\/",
        "http:// 10.1.2.3/",
        "http://10.1.2.3 /",
        "http://10.1.2.3.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/",
    };
    CLEANUP(strbuf_done) struct strbuf seen = STRBUF_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(urls); i++) {
        read_address(urls[i], &seen);
        if (seen.len > 0)
            fail_msg("%s: %s", urls[i], seen.text);
    }
}

static bool takes(const char *url, struct direct_target *target_out)
{
    const struct http_request request = {.method = "GET", .url = url};

    return direct_request_is_possible(&request, target_out);
}

/* A path that libcurl would change is left to libcurl. */
static void direct_request_leaves_paths_that_mean_others_to_libcurl(void **state)
{
    static const char *const left[] = {
        "http://10.1.2.3:8000/.",         "http://10.1.2.3:8000/../x",
        "http://10.1.2.3:8000/a/.b",      "http://10.1.2.3:8000/a#b",
        "http://10.1.2.3:8000/a b",       "http://10.1.2.3:8000/a@b",
        "http://10.1.2.3:8000/\xc3\xa4",  "http://10.1.2.3:8000?a=b",
        "http://10.1.2.3:65536/",         "http://10.1.2.3:8000/a\x7f",
        "http://10.1.2.3:8000/a\r\nX: y", "http://[::1]:8000/",
        "http://localhost:8000/",
    };
    struct direct_target target = {.path = NULL};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(left); i++) {
        if (takes(left[i], &target))
            fail_msg("%s", left[i]);
    }
    assert_true(takes("http://10.1.2.3:8000//a//?b=c", &target));
    assert_string_equal(target.path, "//a//?b=c");
    assert_int_equal(target.address.sin_addr.s_addr, inet_addr("10.1.2.3"));
    assert_int_equal(ntohs(target.address.sin_port), 8000);
    assert_true(takes("http://10.1.2.3:8000/!~", &target));
    assert_true(takes("http://10.1.2.3", &target));
    assert_string_equal(target.path, "");
}

static const struct http_header some_headers[] = {{"X-One", "1"}, {"X-Empty", ""}, {NULL, NULL}};

/* Each row alone sends a request to libcurl. */
static void what_needs_more_than_plain_http_is_left_to_libcurl(void **state)
{
    static const struct http_header reserved[][2] = {
        {{"Accept", "x"}, {NULL, NULL}},
        {{"connection", "x"}, {NULL, NULL}},
        {{"Content-Length", "1"}, {NULL, NULL}},
        {{"CONTENT-TYPE", "x"}, {NULL, NULL}},
        {{"Expect", "x"}, {NULL, NULL}},
        {{"Host", "x"}, {NULL, NULL}},
        {{"te", "x"}, {NULL, NULL}},
        {{"Trailer", "x"}, {NULL, NULL}},
        {{"transfer-encoding", "x"}, {NULL, NULL}},
        {{"Upgrade", "x"}, {NULL, NULL}},
        {{"User-Agent", "x"}, {NULL, NULL}},
        {{"X-A", "1\r\nX-B: 2"}, {NULL, NULL}},
        {{"X-A:", "1"}, {NULL, NULL}},
        {{"", "1"}, {NULL, NULL}},
        {{"X-A", "\x7f"}, {NULL, NULL}},
    };
    static const struct http_header second_is_reserved[] = {
        {"X-One", "1"}, {"Host", "x"}, {NULL, NULL}};
    static const char url[] = "http://10.1.2.3:8000/a";
    const struct http_request plain = {
        .method = "GET", .url = url, .headers = some_headers, .content_type = "a/b"};
    struct direct_target target = {.path = NULL};
    struct http_request request = plain;

    (void)state;
    assert_true(direct_request_is_possible(&plain, &target));
    for (size_t i = 0; i < ARRAY_SIZE(reserved); i++) {
        request.headers = reserved[i];
        if (direct_request_is_possible(&request, &target))
            fail_msg("%s", reserved[i][0].name);
    }
    request.headers = second_is_reserved;
    assert_false(direct_request_is_possible(&request, &target));
    request = plain;
    request.content_type = "a/b\n";
    assert_false(direct_request_is_possible(&request, &target));
    request = plain;
    request.method = "HEAD";
    assert_false(direct_request_is_possible(&request, &target));
    request = plain;
    request.send_stream = true;
    assert_false(direct_request_is_possible(&request, &target));
    request = plain;
    request.unix_socket = "/run/socket";
    assert_false(direct_request_is_possible(&request, &target));
}

#define STANDARD "User-Agent: deft\r\nAccept: */*\r\n"

static void head_says_what_is_sent(void **state)
{
    static const struct {
        struct http_request request;
        const char *head;
    } cases[] = {
        {{.method = "GET", .url = "http://10.1.2.3"},
         "GET / HTTP/1.1\r\nHost: 10.1.2.3\r\n" STANDARD "\r\n"},
        {{.method = "GET", .url = "http://10.1.2.3:80"},
         "GET / HTTP/1.1\r\nHost: 10.1.2.3\r\n" STANDARD "\r\n"},
        {{.method = "DELETE", .url = "http://10.1.2.3:8000/a/b?c=d"},
         "DELETE /a/b?c=d HTTP/1.1\r\nHost: 10.1.2.3:8000\r\n" STANDARD "\r\n"},
        {{.method = "PUT", .url = "http://10.1.2.3/", .body = "abc", .body_len = 3},
         "PUT / HTTP/1.1\r\nHost: 10.1.2.3\r\n" STANDARD
         "Content-Type: application/json\r\nContent-Length: 3\r\n\r\n"},
        {{.method = "POST", .url = "http://10.1.2.3/"},
         "POST / HTTP/1.1\r\nHost: 10.1.2.3\r\n" STANDARD "Content-Length: 0\r\n\r\n"},
        {{.method = "POST",
          .url = "http://10.1.2.3/",
          .headers = some_headers,
          .body = "",
          .content_type = "text/plain"},
         "POST / HTTP/1.1\r\nHost: 10.1.2.3\r\n" STANDARD
         "X-One: 1\r\nX-Empty: \r\nContent-Type: text/plain\r\nContent-Length: 0\r\n\r\n"},
        {{.method = "GET", .url = "http://10.1.2.3/", .content_type = "text/plain"},
         "GET / HTTP/1.1\r\nHost: 10.1.2.3\r\n" STANDARD "Content-Type: text/plain\r\n\r\n"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;
        struct direct_target target = {.path = NULL};

        assert_true(direct_request_is_possible(&cases[i].request, &target));
        direct_request_append_head(&cases[i].request, &target, &head);
        assert_string_equal(head.text, cases[i].head);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(address_is_read_whatever_the_path_is),
        cmocka_unit_test(what_names_no_address_is_refused),
        cmocka_unit_test(direct_request_leaves_paths_that_mean_others_to_libcurl),
        cmocka_unit_test(what_needs_more_than_plain_http_is_left_to_libcurl),
        cmocka_unit_test(head_says_what_is_sent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
