/*
 * Parsers of deft-gateway: upgrade requests of clients, and the workers' progress.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "auth/credential_header.h"
#include "base/error.h"
#include "gateway/ws/frame_heads.h"
#include "gateway/ws/upgrade_request.h"
#include "unit/linear/linear.h"

/* The text as every part of a request. */
static void run_upgrade(const char *text, size_t len)
{
    const struct upgrade_fields paths = {text, "key", "", "", "", "", "", "", ""};
    const struct upgrade_fields rest = {
        "/sockets/bash-events", "key", text, text, text, text, text, text, text};
    struct upgrade_request upgrade = {.has_credential = false};
    struct error err = ERROR_INIT;

    (void)len;
    (void)!credential_header_read(text, &upgrade.caller);
    if (upgrade_request_read(&paths, &upgrade, &err) < 0)
        assert_int_not_equal(err.code, ERROR_NONE);
    if (upgrade_request_read(&rest, &upgrade, &err) < 0)
        assert_int_not_equal(err.code, ERROR_NONE);
}

static const char *const requests[] = {"/sockets/events/|1|", "/sockets/bash-events|/|", "key |a|",
                                       "|1|", NULL};

static void run_frames(const char *text, size_t len)
{
    const unsigned char *bytes = (const unsigned char *)text;
    struct frame_heads whole = {.n_skipped = 0};
    struct frame_heads pieces = {.n_skipped = 0};
    size_t n = frame_heads_read(&whole, bytes, len);
    size_t at = 0;

    while (at < len && frame_heads_read(&pieces, bytes + at, 1) == 1)
        at++;
    assert_true(at == n);
}

/* Masked frames without a payload, with a short and with a long one. */
static const char *const frames[] = {"|\x81\x80 abc|", "|\x81\x81 abcx|", "|\x81\xfe\x01\x01 abc|",
                                     NULL};

static void time_is_linear_in_what_the_gateway_reads(void **state)
{
    static const struct linear_function functions[] = {
        {"upgrade_request_read", run_upgrade, requests, LINEAR_FEW_BYTES, 0},
        {"upgrade_request_read", run_upgrade, linear_any_text, LINEAR_FEW_BYTES, 0},
        {"frame_heads_read", run_frames, frames, 0, 0},
        {"frame_heads_read", run_frames, linear_any_text, LINEAR_FEW_BYTES, 0},
    };

    (void)state;
    linear_check(functions, ARRAY_SIZE(functions));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_linear_in_what_the_gateway_reads),
    };

    linear_setup();
    return cmocka_run_group_tests_name("linear_gateway", tests, NULL, NULL);
}
