/*
 * A WebSocket's request, and the frames that follow it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/text.h"
#include "gateway/ws/frame_heads.h"
#include "gateway/ws/upgrade_request.h"

#define ID "11111111-2222-3333-4444-555555555555"
#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* A request with nothing but a path. */
static struct upgrade_fields request_of(const char *path)
{
    return (struct upgrade_fields){.path = path,
                                   .websocket_key = "dGhlIHNhbXBsZSBub25jZQ==",
                                   .resend_all = "",
                                   .resend_mode = "",
                                   .after_timestamp = "",
                                   .after_seq = "",
                                   .tool_progress = "",
                                   .credential = "",
                                   .address = ""};
}

static int read_request(const struct upgrade_fields *fields, struct upgrade_request *upgrade)
{
    struct error err = ERROR_INIT;

    *upgrade = (struct upgrade_request){.has_credential = false};
    return upgrade_request_read(fields, upgrade, &err);
}

static void requests_say_what_is_wanted(void **state)
{
    struct upgrade_fields session = request_of("/sockets/session/" ID);
    struct upgrade_fields events = request_of("/sockets/events/11111111222233334444555555555555");
    struct upgrade_request upgrade;

    (void)state;
    session.after_seq = "-1";
    session.address = "192.0.2.7";
    assert_int_equal(read_request(&session, &upgrade), 0);
    assert_int_equal(upgrade.request.kind, SOCKET_SESSION);
    assert_int_equal(upgrade.request.after_seq, -1);
    assert_string_equal(upgrade.request.address, "192.0.2.7");
    assert_false(upgrade.has_credential);
    assert_false(upgrade.request.wants_tool_progress);
    session.tool_progress = "1";
    assert_int_equal(read_request(&session, &upgrade), 0);
    assert_true(upgrade.request.wants_tool_progress);
    events.resend_mode = "since";
    events.after_timestamp = "2026-01-15T10:30:00Z";
    events.credential = "session " HASH;
    assert_int_equal(read_request(&events, &upgrade), 0);
    assert_string_equal(upgrade.request.conversation_id.text, ID);
    assert_int_equal(upgrade.request.resend, RESEND_SINCE);
    assert_string_equal(upgrade.request.since, "2026-01-15T10:30:00.000000");
    assert_int_equal(upgrade.request.after_seq, -2);
    assert_true(upgrade.has_credential);
    assert_int_equal(upgrade.caller.kind, CALLER_SESSION);
    assert_string_equal(upgrade.caller.hash, HASH);
}

static void all_is_asked_for_in_three_ways(void **state)
{
    struct upgrade_fields rows[] = {request_of("/sockets/bash-events"),
                                    request_of("/sockets/bash-events"),
                                    request_of("/sockets/bash-events")};

    (void)state;
    rows[0].resend_all = "TRUE";
    rows[1].resend_all = "1";
    rows[2].resend_mode = "all";
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct upgrade_request upgrade;

        assert_int_equal(read_request(&rows[i], &upgrade), 0);
        assert_int_equal(upgrade.request.kind, SOCKET_BASH);
        assert_int_equal(upgrade.request.resend, RESEND_ALL);
    }
}

static void what_cannot_be_served_is_refused(void **state)
{
    struct upgrade_fields rows[] = {
        request_of("/sockets/session/xyz"),     request_of("/sockets/none/" ID),
        request_of("/sockets/session/" ID "/"), request_of("/sockets/bash-events/more"),
        request_of("/sockets/session/" ID),     request_of("/sockets/session/" ID),
        request_of("/sockets/events/" ID),      request_of("/sockets/events/" ID),
        request_of("/sockets/events/" ID),      request_of("/sockets/events/" ID),
    };

    (void)state;
    rows[4].after_seq = "abc";
    rows[5].after_seq = "-2";
    rows[6].resend_mode = "some";
    rows[7].after_timestamp = "yesterday";
    rows[8].websocket_key = "";
    rows[9].credential = "key";
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct upgrade_request upgrade;

        if (read_request(&rows[i], &upgrade) == 0)
            fail_msg("row %zu", i);
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
        cmocka_unit_test(requests_say_what_is_wanted),
        cmocka_unit_test(all_is_asked_for_in_three_ways),
        cmocka_unit_test(what_cannot_be_served_is_refused),
        cmocka_unit_test(frames_that_are_not_masked_are_seen_in_any_piece),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
