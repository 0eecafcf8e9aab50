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
        "http://10.1.2.3:8000/.",         "http://10.1.2.3:8000/../x", "http://10.1.2.3:8000/a/.b",
        "http://10.1.2.3:8000/a#b",       "http://10.1.2.3:8000/a b",  "http://10.1.2.3:8000/a@b",
        "http://10.1.2.3:8000/\xc3\xa4",  "http://10.1.2.3:8000?a=b",  "http://10.1.2.3:65536/",
        "http://10.1.2.3:8000/a\r\nX: y", "http://[::1]:8000/",        "http://localhost:8000/",
    };
    struct direct_target target = {.host = NULL};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(left); i++) {
        if (takes(left[i], &target))
            fail_msg("%s", left[i]);
    }
    assert_true(takes("http://10.1.2.3:8000//a//?b=c", &target));
    assert_string_equal(target.path, "//a//?b=c");
    assert_int_equal(target.host_len, strlen("10.1.2.3:8000"));
    assert_int_equal(ntohs(target.address.sin_port), 8000);
    assert_true(takes("http://10.1.2.3", &target));
    assert_string_equal(target.path, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(address_is_read_whatever_the_path_is),
        cmocka_unit_test(what_names_no_address_is_refused),
        cmocka_unit_test(direct_request_leaves_paths_that_mean_others_to_libcurl),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
