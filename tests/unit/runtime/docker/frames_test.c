#include "runtime/docker/frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unit/runtime/runtime_test.h"

static const char stream[] =
    "\1\0\0\0\0\0\0\3one\2\0\0\0\0\0\0\4two\n\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\1!";

static void payloads_are_joined(void **state)
{
    CLEANUP(frames_done) struct frames frames = FRAMES_INIT;

    (void)state;
    frames_feed(&frames, stream, sizeof(stream) - 1);
    assert_string_equal(frames.text.text, "onetwo\n!");
}

static void frames_may_split_anywhere(void **state)
{
    CLEANUP(frames_done) struct frames frames = FRAMES_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof(stream) - 1; i++)
        frames_feed(&frames, stream + i, 1);
    assert_string_equal(frames.text.text, "onetwo\n!");
}

static void only_the_end_is_kept(void **state)
{
    CLEANUP(frames_done) struct frames frames = FRAMES_INIT;
    const char header[] = "\1\0\0\0\0\0\0\2";

    (void)state;
    for (int i = 0; i < FRAMES_TEXT_MAX_BYTES; i++) {
        frames_feed(&frames, header, sizeof(header) - 1);
        frames_feed(&frames, i == FRAMES_TEXT_MAX_BYTES - 1 ? "yz" : "ab", 2);
    }
    assert_int_equal(frames.text.len, FRAMES_TEXT_MAX_BYTES);
    assert_string_equal(frames.text.text + frames.text.len - 4, "abyz");
}

int test_frames(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(payloads_are_joined),
        cmocka_unit_test(frames_may_split_anywhere),
        cmocka_unit_test(only_the_end_is_kept),
    };

    return cmocka_run_group_tests_name("runtime/frames", tests, NULL, NULL);
}
