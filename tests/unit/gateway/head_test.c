/*
 * What a client says before the upgrade, as text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "gateway/handshake.h"
#include "gateway/head.h"

#define ID "11111111-2222-3333-4444-555555555555"
#define UPGRADE                                                                                    \
    "Host: deft.test\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

static void values_are_found_and_decoded(void **state)
{
    static const char head[] = "GET /a%20b?x=1&name=a+b%2Fc&name=second&empty= HTTP/1.1\r\n"
                               "X-First:  one \r\nxother: no\r\nX-OTHER: yes\r\n\r\n";
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf first = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf other = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf none = STRBUF_INIT;

    (void)state;
    assert_true(head_path(head, &path));
    assert_string_equal(path.text, "/a b");
    assert_true(head_query(head, "name", &name));
    assert_string_equal(name.text, "a b/c");
    assert_true(head_header(head, "x-first", &first));
    assert_string_equal(first.text, "one");
    assert_true(head_header(head, "X-Other", &other));
    assert_string_equal(other.text, "yes");
    assert_false(head_query(head, "nam", &none));
    assert_false(head_header(head, "X-Firs", &none));
    assert_int_equal(none.len, 0);
}

static void only_a_get_of_a_path_has_one(void **state)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;

    (void)state;
    assert_false(head_path("POST /a HTTP/1.1\r\n\r\n", &path));
    assert_false(head_path("GET http://host/a HTTP/1.1\r\n\r\n", &path));
    assert_false(head_path("", &path));
}

static int read_request(const char *head, struct handshake *handshake)
{
    struct keyring keyring = {.hash = ""};
    struct error err = ERROR_INIT;

    *handshake = (struct handshake){.has_credential = false};
    return handshake_read(&keyring, head, handshake, &err);
}

static void requests_say_what_is_wanted(void **state)
{
    struct handshake handshake;

    (void)state;
    assert_int_equal(read_request("GET /sockets/session/" ID "?after_seq=-1 HTTP/1.1\r\n" UPGRADE
                                  "\r\n",
                                  &handshake),
                     0);
    assert_int_equal(handshake.request.kind, SOCKET_SESSION);
    assert_int_equal(handshake.request.after_seq, -1);
    assert_false(handshake.has_credential);
    assert_int_equal(read_request("GET /sockets/events/11111111222233334444555555555555"
                                  "?resend_mode=since&after_timestamp=2026-01-15T10:30:00Z"
                                  " HTTP/1.1\r\n" UPGRADE "X-Session-API-Key: key\r\n\r\n",
                                  &handshake),
                     0);
    assert_string_equal(handshake.request.conversation_id.text, ID);
    assert_int_equal(handshake.request.resend, RESEND_SINCE);
    assert_string_equal(handshake.request.since, "2026-01-15T10:30:00.000000");
    assert_true(handshake.has_credential);
    assert_int_equal(handshake.caller.kind, CALLER_SANDBOX_KEY);
}

static void what_cannot_be_served_is_refused(void **state)
{
    static const char *const heads[] = {
        "GET /sockets/session/" ID " HTTP/1.1\r\nHost: deft.test\r\n\r\n",
        "GET /sockets/session/" ID " HTTP/1.1\r\nUpgrade: websocket\r\n\r\n",
        "GET /sockets/session/" ID " HTTP/1.1\r\nUpgrade: websocket\r\nSec-WebSocket-Key: \r\n\r\n",
        "GET /sockets/session/xyz HTTP/1.1\r\n" UPGRADE "\r\n",
        "GET /sockets/none/" ID " HTTP/1.1\r\n" UPGRADE "\r\n",
        "GET /sockets/session/" ID "?after_seq=abc HTTP/1.1\r\n" UPGRADE "\r\n",
        "GET /sockets/session/" ID "?after_seq=-2 HTTP/1.1\r\n" UPGRADE "\r\n",
        "GET /sockets/events/" ID "?resend_mode=some HTTP/1.1\r\n" UPGRADE "\r\n",
        "GET /sockets/events/" ID " HTTP/1.1\r\n" UPGRADE
        "X-Deft-Origin: app\r\nCookie: deft_session=x\r\nOrigin: http://evil.test\r\n\r\n",
        "GET /sockets/events/" ID " HTTP/1.1\r\n" UPGRADE
        "X-Deft-Origin: app\r\nCookie: deft_session=x\r\n\r\n",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
        struct handshake handshake;

        assert_int_equal(read_request(heads[i], &handshake), -1);
    }
}

static void a_cookie_counts_on_the_app_origin_alone(void **state)
{
    struct handshake handshake;

    (void)state;
    assert_int_equal(read_request("GET /sockets/events/" ID " HTTP/1.1\r\n" UPGRADE
                                  "X-Deft-Origin: app\r\nCookie: a=b; deft_session=token; c=d\r\n"
                                  "Origin: http://deft.test\r\n\r\n",
                                  &handshake),
                     0);
    assert_true(handshake.has_credential);
    assert_int_equal(handshake.caller.kind, CALLER_SESSION);
    assert_int_equal(read_request("GET /sockets/events/" ID " HTTP/1.1\r\n" UPGRADE
                                  "X-Deft-Origin: agent\r\nCookie: deft_session=token\r\n\r\n",
                                  &handshake),
                     0);
    assert_false(handshake.has_credential);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_found_and_decoded),
        cmocka_unit_test(only_a_get_of_a_path_has_one),
        cmocka_unit_test(requests_say_what_is_wanted),
        cmocka_unit_test(what_cannot_be_served_is_refused),
        cmocka_unit_test(a_cookie_counts_on_the_app_origin_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
