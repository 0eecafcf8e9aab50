#include "sandbox/terminal/terminal_filter.h"

#include <string.h>

#include "base/text.h"
#include "sandbox/core/action_limits.h"
#include "unit/sandbox/sandbox_test.h"

struct filter_case {
    const char *printed;
    const char *text;
};

static const struct filter_case cases[] = {
    {"a\r\nb\r\n", "a\nb"},
    {"  a  \n\n", "  a"},
    {"10%\r50%\r100%\r\n", "100%"},
    {"hello world\rHELLO\n", "HELLO world"},
    {"abc\r\x1b[Kx\n", "\x1b[Kx"},
    {"abx\b\bc\n", "ac"},
    {"\xc3\xa9\b!\n", "!"},
    {"\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"},
    {"a\x1b[6nb\x1b[5nc\x1b[cd\x1b[>ce", "abcde"},
    {"a\x1b]0;title\x07"
     "b\x1b]11;?\x1b\\c",
     "abc"},
    {"a\x1bP$qm\x1b\\b", "ab"},
    {"a\x1b[?2004hb\x1b[?25lc\x1b[?1049h", "abc"},
    {"a\x1b(Bb\x1b=c\x1b>d", "abcd"},
    {"\x1b[1;1Hx", "\x1b[1;1Hx"},
    {"a\x07\x01"
     "b",
     "ab"},
    {"\xff"
     "a\xc3",
     "\xEF\xBF\xBD"
     "a\xEF\xBF\xBD"},
};

static void feed(struct terminal_filter *filter, const char *bytes, size_t len)
{
    bool marked = false;

    assert_int_equal(terminal_filter_feed(filter, bytes, len, &marked), len);
    assert_false(marked);
}

static void printed_text_reads_as_on_a_screen(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
        CLEANUP(terminal_filter_done) struct terminal_filter filter = {0};

        terminal_filter_init(&filter);
        feed(&filter, cases[i].printed, strlen(cases[i].printed));
        terminal_filter_take(&filter, &out);
        assert_string_equal(out.text, cases[i].text);
    }
}

static void pieces_of_any_size_give_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
        CLEANUP(terminal_filter_done) struct terminal_filter filter = {0};

        terminal_filter_init(&filter);
        for (const char *at = cases[i].printed; *at != '\0'; at++)
            feed(&filter, at, 1);
        terminal_filter_take(&filter, &out);
        assert_string_equal(out.text, cases[i].text);
    }
}

static void a_marker_ends_the_feed(void **state)
{
    static const char printed[] = "out\x1b]7770;n;1\x07rest";
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(terminal_filter_done) struct terminal_filter filter = {0};
    bool marked = false;
    size_t used = 0;

    (void)state;
    terminal_filter_init(&filter);
    terminal_filter_set_marker(&filter, "7770;n;2");
    assert_int_equal(terminal_filter_feed(&filter, printed, sizeof(printed) - 1, &marked),
                     sizeof(printed) - 1);
    assert_false(marked);
    terminal_filter_set_marker(&filter, "7770;n;1");
    used = terminal_filter_feed(&filter, printed, sizeof(printed) - 1, &marked);
    assert_true(marked);
    assert_string_equal(printed + used, "rest");
    terminal_filter_take(&filter, &out);
    assert_string_equal(out.text, "outrestout");
}

static void long_output_keeps_both_ends_in_the_cap(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(terminal_filter_done) struct terminal_filter filter = {0};

    (void)state;
    terminal_filter_init(&filter);
    feed(&filter, "first\n", 6);
    for (int i = 0; i < 100000; i++)
        feed(&filter, "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\n", 11);
    feed(&filter, "last \n", 6);
    assert_true(filter.tail.len < 4 * (size_t)MAX_OUTPUT_CHARS * 2);
    terminal_filter_take(&filter, &out);
    assert_int_equal(utf8_length(out.text, out.len), MAX_OUTPUT_CHARS);
    assert_true(utf8_is_valid(out.text, out.len));
    assert_true(text_starts_with(out.text, "first\n\xc3\xa9"));
    assert_true(text_ends_with(out.text, "\xc3\xa9\nlast"));
    assert_non_null(strstr(out.text, "<response clipped><NOTE>"));
}

static void output_just_at_the_cap_is_whole(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(terminal_filter_done) struct terminal_filter filter = {0};

    (void)state;
    terminal_filter_init(&filter);
    for (int i = 0; i < MAX_OUTPUT_CHARS; i++)
        feed(&filter, "x", 1);
    terminal_filter_take(&filter, &out);
    assert_int_equal(out.len, MAX_OUTPUT_CHARS);
    assert_null(strstr(out.text, "clipped"));
    strbuf_reset(&out);
    for (int i = 0; i < MAX_OUTPUT_CHARS + 1; i++)
        feed(&filter, "x", 1);
    terminal_filter_take(&filter, &out);
    assert_int_equal(out.len, MAX_OUTPUT_CHARS);
    assert_non_null(strstr(out.text, "clipped"));
}

static void a_sequence_without_end_is_dropped(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(terminal_filter_done) struct terminal_filter filter = {0};

    (void)state;
    terminal_filter_init(&filter);
    feed(&filter, "\x1b]", 2);
    for (int i = 0; i < 100000; i++)
        feed(&filter, "y", 1);
    assert_true(filter.sequence.len < 8192);
    feed(&filter, "\nend\n", 5);
    terminal_filter_take(&filter, &out);
    assert_true(text_ends_with(out.text, "end"));
}

int terminal_filter_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(printed_text_reads_as_on_a_screen),
        cmocka_unit_test(pieces_of_any_size_give_the_same),
        cmocka_unit_test(a_marker_ends_the_feed),
        cmocka_unit_test(long_output_keeps_both_ends_in_the_cap),
        cmocka_unit_test(output_just_at_the_cap_is_whole),
        cmocka_unit_test(a_sequence_without_end_is_dropped),
    };

    return cmocka_run_group_tests_name("terminal_filter", tests, NULL, NULL);
}
