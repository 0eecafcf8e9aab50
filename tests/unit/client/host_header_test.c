#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/strbuf.h"
#include "client/host_header.h"
#include "client/http.h"
#include "client/http_fixture.h"
#include "client/test_server.h"

static void port_is_told_unless_it_is_the_schemes(void **state)
{
    static const char *const rows[][2] = {
        {"http://h", "h"},
        {"https://h/a:b", "h"},
        {"http://h:80", "h"},
        {"http://h:443/", "h:443"},
        {"https://h:443?a", "h"},
        {"HTTPS://h:443", "h"},
        {"https://h:80", "h:80"},
        {"http://h:0080/", "h"},
        {"http://h:08081/", "h:8081"},
        {"http://h:/", "h"},
        {"http://[::1]/", "[::1]"},
        {"http://[::1]:80#a", "[::1]"},
        {"https://[::1]:8443", "[::1]:8443"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(strbuf_done) struct strbuf host = STRBUF_INIT;

        host_header_append(&host, rows[i][0]);
        assert_string_equal(host.text, rows[i][1]);
    }
}

/* libcurl sends the same, also for a port that is written in an odd way. */
static void libcurl_sends_the_same(void **state)
{
    static const struct test_reply reply = {.bytes =
                                                "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"};
    static const char *const zeros[] = {"", "0"};

    for (size_t i = 0; i < ARRAY_SIZE(zeros); i++) {
        CLEANUP(http_call_freep) struct http_call *call = NULL;
        CLEANUP(strbuf_done) struct strbuf url = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
        struct test_server *server = test_server_start(&reply, 1, NULL);
        const char *port = strrchr(test_server_url(server, ""), ':') + 1;
        struct http_request request = {0};

        strbuf_appendf(&url, "http://localhost:%s%s/", zeros[i], port);
        request = fixture_get(url.text);
        assert_int_equal(fixture_run(*state, &request, &call), ERROR_NONE);
        strbuf_append(&line, "\r\nHost: ");
        host_header_append(&line, url.text);
        strbuf_append(&line, "\r\n");
        assert_non_null(strstr(test_server_request(server, 0), line.text));
        test_server_stop(server);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(port_is_told_unless_it_is_the_schemes),
        cmocka_unit_test_setup_teardown(libcurl_sends_the_same, fixture_set_up, fixture_tear_down),
    };

    return cmocka_run_group_tests_name("host_header", tests, NULL, NULL);
}
