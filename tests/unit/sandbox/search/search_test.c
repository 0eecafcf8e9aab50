/*
 * Patterns of names and of lines.
 */
#include <string.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "sandbox/search/glob_pattern.h"
#include "sandbox/search/grep_pattern.h"
#include "unit/sandbox/sandbox_test.h"

static void names_match_globs(void **state)
{
    static const struct {
        const char *pattern;
        const char *path;
        bool matches;
    } rows[] = {
        {"*.c", "a.c", true},
        {"*.c", "deep/er/a.c", true},
        {"*.c", "a.h", false},
        {"a?c", "abc", true},
        {"a?c", "ac", false},
        {"[ab].c", "b.c", true},
        {"[ab].c", "c.c", false},
        {"src/*.c", "src/a.c", true},
        {"src/*.c", "src/x/a.c", false},
        {"src/*.c", "a.c", false},
        {"src/**/*.c", "src/a.c", true},
        {"src/**/*.c", "src/x/y/a.c", true},
        {"src/**/*.c", "lib/x/a.c", false},
        {"**/a.c", "a.c", true},
        {"**/a.c", "x/y/a.c", true},
        {"**", "x/y", true},
        {"src/**", "src/x/y", true},
        {"src/**", "lib/x", false},
        {"./src/a.c", "src/a.c", true},
        {"*.{js,ts}", "x/a.ts", true},
        {"*.{js,ts}", "x/a.tsx", false},
        {"{src,lib}/**/{a,b}.{c,h}", "lib/x/b.h", true},
        {"{src,lib}/**/{a,b}.{c,h}", "lib/x/c.h", false},
        {"a{b,{c,d}e}", "ade", true},
        {"a{b,{c,d}e}", "ab", true},
        {"a{b", "a{b", true},
        {"**/x/**/y", "a/x/b/c/y", true},
        {"**/x/**/y", "a/b/c/y", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CLEANUP(glob_pattern_done) struct glob_pattern pattern = GLOB_PATTERN_INIT;
        struct error err = ERROR_INIT;

        assert_int_equal(glob_pattern_read(&pattern, rows[i].pattern, &err), 0);
        if (glob_pattern_matches(&pattern, rows[i].path) != rows[i].matches)
            fail_msg("%s, %s", rows[i].pattern, rows[i].path);
    }
}

static void globs_have_limits(void **state)
{
    CLEANUP(strbuf_done) struct strbuf many = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf at_most = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf stars = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf deep = STRBUF_INIT;

    (void)state;
    for (int i = 0; i < 7; i++)
        strbuf_append(&many, "{a,b}");
    for (int i = 0; i < 6; i++)
        strbuf_append(&at_most, "{a,b}");
    for (int i = 0; i < 100; i++)
        strbuf_append(&stars, "**/");
    for (int i = 0; i < 100; i++)
        strbuf_append(&deep, "a/");
    strbuf_append(&stars, "z");
    strbuf_append(&deep, "y");
    {
        CLEANUP(glob_pattern_done) struct glob_pattern pattern = GLOB_PATTERN_INIT;
        CLEANUP(glob_pattern_done) struct glob_pattern ok = GLOB_PATTERN_INIT;
        CLEANUP(glob_pattern_done) struct glob_pattern walk = GLOB_PATTERN_INIT;
        struct error err = ERROR_INIT;

        assert_int_equal(glob_pattern_read(&pattern, many.text, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
        assert_int_equal(glob_pattern_read(&ok, at_most.text, &err), 0);
        assert_int_equal(ok.n, 64);
        assert_int_equal(glob_pattern_read(&walk, stars.text, &err), 0);
        assert_false(glob_pattern_matches(&walk, deep.text));
    }
}

static void refused_globs_say_why(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(glob_pattern_done) struct glob_pattern pattern = GLOB_PATTERN_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(glob_pattern_read(&pattern, "", &err), -1);
    strbuf_appendf(&text, "%0*d", GLOB_PATTERN_MAX_BYTES, 0);
    assert_int_equal(glob_pattern_read(&pattern, text.text, &err), 0);
    strbuf_append_char(&text, 'a');
    assert_int_equal(glob_pattern_read(&pattern, text.text, &err), -1);
    assert_non_null(strstr(err.message, "1024 bytes"));
}

static void expressions_become_posix(void **state)
{
    static const struct {
        const char *text;
        const char *posix;
    } rows[] = {
        {"a\\d+", "a[0-9]+"},
        {"\\D\\w\\W\\s\\S", "[^0-9][[:alnum:]_][^[:alnum:]_][[:space:]][^[:space:]]"},
        {"[\\d\\w\\s.]", "[0-9[:alnum:]_[:space:].]"},
        {"[^\\]x]", "[^]x]"},
        {"[]a]b", "[]a]b"},
        {"[^]a]b", "[^]a]b"},
        {"[[:alpha:]]+", "[[:alpha:]]+"},
        {"[a", "[a"},
        {"(?:ab)+", "(ab)+"},
        {"(?i)ab", "ab"},
        {"a*?b+?c??", "a*b+c?"},
        {"a{2}?", "a{2}"},
        {"a\\?", "a\\?"},
        {"\\(x\\)", "\\(x\\)"},
        {"\\bx", "\\bx"},
        {"\\-", "-"},
        {"a\\", "a\\"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
        struct error err = ERROR_INIT;

        assert_int_equal(grep_pattern_translate(rows[i].text, &out, &err), 0);
        assert_string_equal(out.text, rows[i].posix);
    }
}

static void lines_match_expressions(void **state)
{
    static const struct {
        const char *pattern;
        const char *text;
        bool found;
    } rows[] = {
        {"two", "one\ntwo\nthree", true},
        {"TWO", "one\ntwo\n", true},
        {"^two$", "one\ntwo\nthree\n", true},
        {"^wo", "one\ntwo\n", false},
        {"one.two", "one\ntwo", false},
        {"four", "one\ntwo", false},
        {"\\bsub\\b", "a sub b", true},
        {"\\bsub\\b", "submit", false},
        {"x|y\\d", "y7", true},
        {"def \\w+_test\\(", "  def a_test():", true},
        {"^$", "a\n\nb", true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CLEANUP(grep_pattern_done) struct grep_pattern pattern = {.is_set = false};
        struct error err = ERROR_INIT;

        if (grep_pattern_read(&pattern, rows[i].pattern, &err) < 0)
            fail_msg("%s: %s", rows[i].pattern, err.message);
        if (grep_pattern_finds(&pattern, rows[i].text, strlen(rows[i].text)) != rows[i].found)
            fail_msg("%s in %s", rows[i].pattern, rows[i].text);
    }
}

/* Text after the given length is not looked at. */
static void search_ends_with_the_text(void **state)
{
    CLEANUP(grep_pattern_done) struct grep_pattern pattern = {.is_set = false};
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(grep_pattern_read(&pattern, "bc", &err), 0);
    assert_false(grep_pattern_finds(&pattern, "abc", 2));
    assert_true(grep_pattern_finds(&pattern, "abc", 3));
}

static void refused_expressions_say_why(void **state)
{
    static const struct {
        const char *pattern;
        const char *words;
    } rows[] = {
        {"", "1 to 4096 bytes"},         {"(a", "Invalid regex pattern"},
        {"[a", "Invalid regex pattern"}, {"a(?=b)", "not supported"},
        {"(?<!a)b", "not supported"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CLEANUP(grep_pattern_done) struct grep_pattern pattern = {.is_set = false};
        struct error err = ERROR_INIT;

        assert_int_equal(grep_pattern_read(&pattern, rows[i].pattern, &err), -1);
        assert_int_equal(err.code, ERROR_INVALID);
        if (strstr(err.message, rows[i].words) == NULL)
            fail_msg("%s: %s", rows[i].pattern, err.message);
    }
}

int search_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_match_globs),           cmocka_unit_test(globs_have_limits),
        cmocka_unit_test(refused_globs_say_why),       cmocka_unit_test(expressions_become_posix),
        cmocka_unit_test(lines_match_expressions),     cmocka_unit_test(search_ends_with_the_text),
        cmocka_unit_test(refused_expressions_say_why),
    };

    return cmocka_run_group_tests_name("search", tests, NULL, NULL);
}
