#include <string.h>

#include "base/lines.h"
#include "unit/base/base_test.h"

static void lines_are_the_same_however_they_are_cut(void **state)
{
    static const char text[] = "one\n\nthree\r\nfour";
    static const char *const expected[] = {"one", "", "three\r", ""};

    (void)state;
    for (size_t piece = 1; piece < sizeof(text); piece++) {
        CLEANUP(lines_done) struct lines lines = LINES_INIT;
        CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
        size_t n = 0;

        for (size_t at = 0; at < strlen(text); at += piece) {
            lines_add(&lines, text + at, strlen(text) - at < piece ? strlen(text) - at : piece);
            while (lines_next(&lines, &line)) {
                assert_string_equal(line.text, expected[n]);
                n += n + 1 < ARRAY_SIZE(expected);
            }
        }
        assert_int_equal(n, ARRAY_SIZE(expected) - 1);
        assert_int_equal(lines_pending(&lines), strlen("four"));
        assert_string_equal(line.text, "three\r");
    }
}

static void bytes_of_lines_may_be_zero(void **state)
{
    CLEANUP(lines_done) struct lines lines = LINES_INIT;
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;

    (void)state;
    assert_false(lines_next(&lines, &line));
    lines_add(&lines, "a\0b\n", 4);
    assert_true(lines_next(&lines, &line));
    assert_int_equal(line.len, 3);
    assert_memory_equal(line.text, "a\0b", 3);
    assert_int_equal(lines_pending(&lines), 0);
    lines_add(&lines, "abc", 3);
    assert_false(lines_next(&lines, &line));
    lines_done(&lines);
    assert_int_equal(lines_pending(&lines), 0);
    /* A new line begins with nothing of the old one. */
    lines_add(&lines, "d\n", 2);
    assert_true(lines_next(&lines, &line));
    assert_string_equal(line.text, "d");
    lines_done(NULL);
}

int lines_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_the_same_however_they_are_cut),
        cmocka_unit_test(bytes_of_lines_may_be_zero),
    };

    return cmocka_run_group_tests_name("lines", tests, NULL, NULL);
}
