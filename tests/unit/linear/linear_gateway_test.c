/*
 * What deft-gateway reads of a client before it is one, and of the worker's progress.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "gateway/frame_heads.h"
#include "gateway/gateway.h"
#include "gateway/handshake.h"
#include "gateway/head.h"
#include "unit/linear/linear.h"

static void run_head(const char *text, size_t len)
{
    const struct gateway gateway = {.app_url = "http://deft.test"};
    CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;
    struct handshake handshake = {.has_credential = false};
    struct error err = ERROR_INIT;

    (void)!head_path(text, &value);
    (void)!head_query(text, "none", &value);
    (void)!head_header(text, "none", &value);
    assert_true(head_count(text, "none") <= len);
    if (handshake_read(&gateway, text, &handshake, &err) < 0)
        assert_int_not_equal(err.code, ERROR_NONE);
}

#define SOCKET "GET /sockets/events/11111111-2222-3333-4444-555555555555"
#define VERSION " HTTP/1.1\r\n"

static const char *const heads[] = {SOCKET "?|a=b&|" VERSION "\r\n",
                                    SOCKET "?a=|%41|" VERSION "\r\n",
                                    SOCKET "?|session_api_key|" VERSION "\r\n",
                                    SOCKET "?after_timestamp=|1|" VERSION "\r\n",
                                    SOCKET VERSION "|a: b\r\n|\r\n",
                                    SOCKET VERSION "a: |b|\r\n\r\n",
                                    SOCKET VERSION "a:| |\r\n\r\n",
                                    SOCKET VERSION "Cookie: |deft_session|=a\r\n\r\n",
                                    SOCKET VERSION "Cookie: |a=b; |\r\n\r\n",
                                    SOCKET VERSION "|Origin: a\r\n|\r\n",
                                    "GET |/|" VERSION "\r\n",
                                    NULL};

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
        {"handshake_read", run_head, heads, LINEAR_FEW_BYTES, 0},
        {"handshake_read", run_head, linear_any_text, LINEAR_FEW_BYTES, 0},
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
