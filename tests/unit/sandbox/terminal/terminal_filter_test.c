#include "sandbox/terminal/terminal_filter.h"

#include <string.h>

#include "base/text.h"
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
    {"a\tb", "a\tb"},
    {"a\x1f"
     "b c",
     "ab c"},
    {"\b\bx", "x"},
    /* Text after a carriage return covers what was there, character by character. */
    {"ab\rc", "cb"},
    {"ab\rlonger\n", "longer"},
    {"abc\r", "abc"},
    {"abc\r\r\nd", "abc\nd"},
    {"abc\rX\rYZ\n", "YZc"},
    {"abc\rXYZ\r1\r23\n", "23Z"},
    {"\xc3\xa9\xc3\xa9\ra\rb\n", "b\xc3\xa9"},
    {"abc\rxyzw\r1\n", "1yzw"},
    {"abc\rx\nd\n", "xbc\nd"},
    {"ab\r\tc\n", "\tc"},
    /* With control sequences among it, nobody knows what it covers. */
    {"\x1b[1mabc\rX\n", "X"},
    {"abc\rX\x1b[1m\rY\n", "Y"},
    {"\x1b[1mabc\rXZ\rY\n", "YZ"},
    /* Sequences that ask or set are dropped; those that print or move stay. */
    {"a\x1b[2nb\x1b[0cc\x1b[8td\x1b[!pe\x1b[2 qf", "abcdef"},
    {"a\x1b[?1hb\x1b[?1lc\x1b[?1pd\x1b[>qe\x1b[=1uf", "abcdef"},
    {"\x1b[4ha\x1b[4lb\x1b[uc\x1b[?1mx", "\x1b[4ha\x1b[4lb\x1b[uc\x1b[?1mx"},
    {"\x1b[2@a\x1b[2~b\x1b[Kc", "\x1b[2@a\x1b[2~b\x1b[Kc"},
    {"a\x1b[3\nb", "ab"},
    {"a\x1b[3\x1fmb", "amb"},
    {"a\x1b Fb\x1b/Fc\x1b"
     "0d\x1b~e",
     "abcde"},
    {"a\x1b_x\x07"
     "b\x1b^x\x07"
     "c\x1bXx\x07"
     "d\x1b]x\x1b\\e",
     "abcde"},
    {"a\x1b]x\x1by\\z\x07"
     "b",
     "ab"},
    {"a\x1b]x", "a"},
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

/* Only an operating system command is a marker, and only the one that is looked for. */
static void other_strings_are_no_marker(void **state)
{
    static const char *const printed[] = {"\x1bP7770;n;1\x07", "\x1b]7770;n;12\x07", "\x1b]\x07",
                                          "\x1b]7770;n;1"};
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(terminal_filter_done) struct terminal_filter filter = {0};
    bool marked = false;

    (void)state;
    terminal_filter_init(&filter);
    feed(&filter, "\x1b]\x07", 3);
    terminal_filter_set_marker(&filter, "7770;n;1");
    for (size_t i = 0; i < ARRAY_SIZE(printed); i++)
        feed(&filter, printed[i], strlen(printed[i]));
    assert_int_equal(terminal_filter_feed(&filter, "\x1b\\x", 3, &marked), 2);
    assert_true(marked);
    assert_int_equal(terminal_filter_feed(&filter, "x", 1, &marked), 1);
    assert_false(marked);
    terminal_filter_take(&filter, &out);
    assert_string_equal(out.text, "x");
}

static void readable_text_alone_counts(void **state)
{
    static const struct {
        const char *printed;
        size_t extent;
        bool is_empty;
    } steps[] = {
        {"", 0, true},    {"  ", 2, true},          {"\x1b[6n", 2, true},     {"x", 3, false},
        {"\n", 4, false}, {"\xc3\xa9\n", 6, false}, {"\x1b]x\x07", 6, false},
    };
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(terminal_filter_done) struct terminal_filter filter = {0};

    (void)state;
    terminal_filter_init(&filter);
    for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
        feed(&filter, steps[i].printed, strlen(steps[i].printed));
        assert_int_equal(terminal_filter_extent(&filter), steps[i].extent);
        assert_int_equal(terminal_filter_is_empty(&filter), steps[i].is_empty);
    }
    terminal_filter_take(&filter, &out);
    assert_string_equal(out.text, "  x\n\xc3\xa9");
    assert_int_equal(terminal_filter_extent(&filter), 0);
    assert_true(terminal_filter_is_empty(&filter));
    /* It appends, and strips its own white space only. */
    strbuf_append(&out, "  ");
    terminal_filter_take(&filter, &out);
    assert_string_equal(out.text, "  x\n\xc3\xa9  ");
}

static void plain_output_has_no_sequences(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(terminal_filter_done) struct terminal_filter filter = {0};

    (void)state;
    terminal_filter_init(&filter);
    filter.is_plain = true;
    feed(&filter, "\x1b[31mred\x1b[0m\x1b[2Kx", 17);
    terminal_filter_take(&filter, &out);
    assert_string_equal(out.text, "redx");
}

int terminal_filter_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(printed_text_reads_as_on_a_screen),
        cmocka_unit_test(pieces_of_any_size_give_the_same),
        cmocka_unit_test(a_marker_ends_the_feed),
        cmocka_unit_test(other_strings_are_no_marker),
        cmocka_unit_test(readable_text_alone_counts),
        cmocka_unit_test(plain_output_has_no_sequences),
    };

    return cmocka_run_group_tests_name("terminal_filter", tests, NULL, NULL);
}
