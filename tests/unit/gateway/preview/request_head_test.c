/*
 * The head of a preview's request: to which address it goes, and what the program sees of it.
 */
#include "gateway/preview/request_head.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/strbuf.h"

static enum error_code take(const char *text, struct strbuf *bytes, struct preview_request *request)
{
    struct error err = ERROR_INIT;

    strbuf_reset(bytes);
    strbuf_append(bytes, text);
    return preview_request_take(bytes, request, &err) < 0 ? err.code : ERROR_NONE;
}

static void address_is_read_and_removed(void **state)
{
    CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
    struct preview_request request = {.asks_upgrade = true};
    char host[INET_ADDRSTRLEN] = "";

    (void)state;
    assert_int_equal(take("GET / HTTP/1.1\r\nA: 1\r\nX-Deft-Address: 255.255.255.255:65535\r\n"
                          "B: 2\r\n\r\nbody",
                          &bytes, &request),
                     ERROR_NONE);
    assert_string_equal(bytes.text, "GET / HTTP/1.1\r\nA: 1\r\nB: 2\r\n\r\nbody");
    assert_int_equal(bytes.len, strlen(bytes.text));
    assert_int_equal(ntohs(request.address.sin_port), 65535);
    assert_string_equal(inet_ntop(AF_INET, &request.address.sin_addr, host, sizeof(host)),
                        "255.255.255.255");
    assert_false(request.asks_upgrade);
    assert_int_equal(
        take("GET / HTTP/1.1\r\nX-Deft-Address: 10.1.2.3:1\r\nUpgrade: websocket\r\n\r\n", &bytes,
             &request),
        ERROR_NONE);
    assert_true(request.asks_upgrade);
}

/* A body, or a line of the program's own, is no head. */
static void request_without_a_valid_address_is_refused(void **state)
{
    static const char *const addresses[] = {
        "",
        "10.1.2.3",
        "10.1.2.3:",
        "10.1.2.3:0",
        "10.1.2.3:65536",
        "10.1.2:80",
        "sandbox:80",
        "[::1]:80",
        "10.1.2.3:80 ",
        "255.255.255.255:655350",
        "255.255.255.255:000080",
        "255.255.255.255:6553500",
        "255.255.255.255:0000000000000000000080",
    };
    CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    struct preview_request request = {.asks_upgrade = false};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
        strbuf_reset(&text);
        strbuf_appendf(&text, "GET / HTTP/1.1\r\nX-Deft-Address: %s\r\n\r\n", addresses[i]);
        if (take(text.text, &bytes, &request) != ERROR_INVALID)
            fail_msg("%s", addresses[i]);
    }
    assert_int_equal(take("GET / HTTP/1.1\r\nA: 1\r\n\r\n", &bytes, &request), ERROR_INVALID);
    assert_int_equal(
        take("GET / HTTP/1.1\r\n\r\n\r\nX-Deft-Address: 10.1.2.3:80\r\n\r\n", &bytes, &request),
        ERROR_INVALID);
}

static void head_is_whole_with_its_empty_line(void **state)
{
    static const char head[] = "GET / HTTP/1.1\r\nA: 1\r\n\r\n";
    CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;

    (void)state;
    for (size_t i = 0; i < strlen(head); i++) {
        assert_false(preview_request_is_whole(&bytes));
        strbuf_append_char(&bytes, head[i]);
    }
    assert_true(preview_request_is_whole(&bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(address_is_read_and_removed),
        cmocka_unit_test(request_without_a_valid_address_is_refused),
        cmocka_unit_test(head_is_whole_with_its_empty_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
