/*
 * What a client says before the upgrade, as text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "gateway/frame_heads.h"
#include "gateway/gateway.h"
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
    const struct gateway gateway = {.app_url = "http://deft.test"};
    struct error err = ERROR_INIT;

    *handshake = (struct handshake){.has_credential = false};
    return handshake_read(&gateway, head, handshake, &err);
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
    /* The name of another cookie only ends like ours. */
    assert_int_equal(read_request("GET /sockets/events/" ID " HTTP/1.1\r\n" UPGRADE
                                  "X-Deft-Origin: app\r\nCookie: xdeft_session=token\r\n"
                                  "Origin: http://deft.test\r\n\r\n",
                                  &handshake),
                     0);
    assert_false(handshake.has_credential);
}

/* Wrong keys are counted by it: only what nginx says counts, which replaces what a client sends. */
static void address_is_what_nginx_says(void **state)
{
    struct handshake handshake;

    (void)state;
    assert_int_equal(read_request("GET /sockets/events/" ID " HTTP/1.1\r\n" UPGRADE
                                  "X-Forwarded-For: 192.0.2.1\r\nForwarded: for=192.0.2.1\r\n"
                                  "X-Real-IP: 192.0.2.7\r\n\r\n",
                                  &handshake),
                     0);
    assert_string_equal(handshake.request.address, "192.0.2.7");
    assert_int_equal(read_request("GET /sockets/events/" ID " HTTP/1.1\r\n" UPGRADE
                                  "X-Forwarded-For: 192.0.2.1\r\n\r\n",
                                  &handshake),
                     0);
    assert_string_equal(handshake.request.address, "");
}

static void a_cookie_counts_with_the_origin_that_was_come_to(void **state)
{
    static const struct {
        const char *lines;
        bool is_own;
    } rows[] = {
        {"Origin: http://deft.test\r\n", true},
        {"Origin: http://DEFT.test:80\r\n", true},
        {"Origin: https://deft.test\r\nX-Deft-Scheme: https\r\n", true},
        {"Origin: https://deft.test:443\r\nX-Deft-Scheme: https\r\n", true},
        {"", false},
        {"Origin: null\r\n", false},
        {"Origin: https://deft.test\r\n", false},
        {"Origin: http://deft.test\r\nX-Deft-Scheme: https\r\n", false},
        {"Origin: http://deft.test:8080\r\n", false},
        {"Origin: ftp://deft.test\r\n", false},
        {"Origin: http://evil.test\r\n", false},
        {"Origin: http://deft.test\r\nOrigin: http://evil.test\r\n", false},
        {"Origin: http://evil.test\r\norigin: http://deft.test\r\n", false},
        {"Origin: http://deft.test\r\nHost: evil.test\r\n", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(strbuf_done) struct strbuf head = STRBUF_INIT;
        struct handshake handshake;

        strbuf_appendf(&head,
                       "GET /sockets/events/" ID " HTTP/1.1\r\n" UPGRADE
                       "X-Deft-Origin: app\r\nCookie: deft_session=token\r\n%s\r\n",
                       rows[i].lines);
        if ((read_request(head.text, &handshake) == 0) != rows[i].is_own)
            fail_msg("%s", rows[i].lines);
    }
}

/* Three frames of lengths in all three forms, and a fourth one that is not masked. */
static void frames_that_are_not_masked_are_seen_in_any_piece(void **state)
{
    unsigned char bytes[5 + 6 + 3 + 8 + 300 + 14 + 70000 + 6 + 2 + 5];
    const size_t n_good = sizeof(bytes) - 7;
    unsigned char *at = bytes;

    (void)state;
    memset(bytes, 0x81, sizeof(bytes));
    memcpy(at, "HEAD\n", 5);
    at += 5;
    memcpy(at, "\x81\x83mask", 6);
    at += 6 + 3;
    memcpy(at, "\x02\xfe\x01\x2cmask", 8);
    at += 8 + 300;
    memcpy(at, "\x80\xff\0\0\0\0\0\1\x11\x70mask", 14);
    at += 14 + 70000;
    memcpy(at, "\x89\x80mask", 6);
    at += 6;
    memcpy(at, "\x81\x05hello", 7);
    for (size_t piece = 1; piece < sizeof(bytes); piece = piece * 3 + 1) {
        struct frame_heads heads = {.n_skipped = 5};
        size_t n_read = 0;
        size_t n = 0;

        while (n_read < sizeof(bytes) && n_read % piece == 0) {
            n = sizeof(bytes) - n_read < piece ? sizeof(bytes) - n_read : piece;
            n_read += frame_heads_read(&heads, bytes + n_read, n);
            if (n_read >= n_good)
                break;
        }
        assert_in_range(n_read, n_good, n_good + 1);
        assert_int_equal(frame_heads_read(&heads, bytes, 0), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_found_and_decoded),
        cmocka_unit_test(only_a_get_of_a_path_has_one),
        cmocka_unit_test(requests_say_what_is_wanted),
        cmocka_unit_test(what_cannot_be_served_is_refused),
        cmocka_unit_test(a_cookie_counts_on_the_app_origin_alone),
        cmocka_unit_test(address_is_what_nginx_says),
        cmocka_unit_test(a_cookie_counts_with_the_origin_that_was_come_to),
        cmocka_unit_test(frames_that_are_not_masked_are_seen_in_any_piece),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
