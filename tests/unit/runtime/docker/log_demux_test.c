#include "runtime/docker/log_demux.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "unit/runtime/runtime_test.h"

static const char stream[] =
    "\1\0\0\0\0\0\0\3one\2\0\0\0\0\0\0\4two\n\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\1!";

static void payloads_are_joined(void **state)
{
    CLEANUP(log_demux_done) struct log_demux demux = LOG_DEMUX_INIT;

    (void)state;
    log_demux_feed(&demux, stream, sizeof(stream) - 1);
    assert_string_equal(demux.text.text, "onetwo\n!");
}

static void frames_may_split_anywhere(void **state)
{
    CLEANUP(log_demux_done) struct log_demux demux = LOG_DEMUX_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof(stream) - 1; i++)
        log_demux_feed(&demux, stream + i, 1);
    assert_string_equal(demux.text.text, "onetwo\n!");
}

static void only_the_end_is_kept(void **state)
{
    CLEANUP(log_demux_done) struct log_demux demux = LOG_DEMUX_INIT;
    const char header[] = "\1\0\0\0\0\0\0\2";

    (void)state;
    for (int i = 0; i < LOG_DEMUX_TEXT_MAX_BYTES; i++) {
        log_demux_feed(&demux, header, sizeof(header) - 1);
        log_demux_feed(&demux, i == LOG_DEMUX_TEXT_MAX_BYTES - 1 ? "yz" : "ab", 2);
    }
    assert_int_equal(demux.text.len, LOG_DEMUX_TEXT_MAX_BYTES);
    assert_string_equal(demux.text.text + demux.text.len - 4, "abyz");
}

static void lengths_are_of_four_bytes(void **state)
{
    static const size_t lens[] = {255, 256, 65536 + 258, 1UL << 24};
    static const char piece[4096] = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
        CLEANUP(log_demux_done) struct log_demux demux = LOG_DEMUX_INIT;
        const char header[] = {1,
                               0,
                               0,
                               0,
                               (char)(lens[i] >> 24),
                               (char)(lens[i] >> 16),
                               (char)(lens[i] >> 8),
                               (char)lens[i]};

        log_demux_feed(&demux, header, sizeof(header));
        for (size_t left = lens[i]; left > 0;) {
            size_t n = left < sizeof(piece) ? left : sizeof(piece);

            log_demux_feed(&demux, piece, n);
            left -= n;
        }
        log_demux_feed(&demux, stream, sizeof(stream) - 1);
        assert_string_equal(demux.text.text + demux.text.len - 8, "onetwo\n!");
    }
}

int test_log_demux(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(payloads_are_joined),
        cmocka_unit_test(frames_may_split_anywhere),
        cmocka_unit_test(only_the_end_is_kept),
        cmocka_unit_test(lengths_are_of_four_bytes),
    };

    return cmocka_run_group_tests_name("runtime/log_demux", tests, NULL, NULL);
}
