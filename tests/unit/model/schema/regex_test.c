#include "base/attr.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "model/schema/regex.h"
#include "unit/model/model_test.h"

struct row {
    const char *pattern;
    const char *text;
    bool matches; /* what Python's re.match() says */
};

static const struct row rows[] = {
    {"", "any", true},
    {"terminal", "terminal", true},
    {"term", "terminal", true},
    {"erm", "terminal", false},
    {"^(terminal|file_editor)$", "file_editor", true},
    {"^(terminal|file_editor)$", "file_editor2", false},
    {"^(?!repomix)(.*)|^repomix.*pack_codebase.*$", "terminal", true},
    {"^(?!repomix)(.*)|^repomix.*pack_codebase.*$", "repomix_read", false},
    {"^(?!repomix)(.*)|^repomix.*pack_codebase.*$", "repomix_pack_codebase_now", true},
    {"(?=.*_list)(?!x)\\w+$", "a_list", true},
    {"(?=.*_list)(?!x)\\w+$", "x_list", false},
    {"(?!(?=ab)abc)ab", "abd", true},
    {"(?!(?=ab)abc)ab", "abc", false},
    {"a*(?=b)b", "aab", true},
    {"(?!()+b)a", "a", true},
    {"(?=(a*)*)a", "a", true},
    {"(?:x|(?!b)c|(?=d))d", "d", true},
    {"(?:a|b|cd)*e", "abcdabe", true},
    {"(?:a|b|cd)*e", "abce", false},
    {"a{2,3}b", "aaab", true},
    {"a{2,3}b", "ab", false},
    {"a{2,3}b", "aaaab", false},
    {"a{2}$", "aa", true},
    {"a{2,}$", "aaaaa", true},
    {"a{,2}$", "aaa", false},
    {"(ab|c){2}$", "abc", true},
    {"(ab|c){0}$", "", true},
    {"a{x}", "a{x}", true},
    {"{", "{", true},
    {"a+?b??c", "aac", true},
    {"x*y?z+$", "zz", true},
    {"(a*)*b", "aaab", true},
    {"(a*)*b", "aaac", false},
    {"(?:(?:a|b)|(?:c|d))+$", "dcba", true},
    {"(|a)b", "b", true},
    {"a||b", "", true},
    {"[a-c_]+$", "a_b", true},
    {"[^a-c]", "b", false},
    {"[]x]+$", "]x", true},
    {"[a\\-z]+$", "a-z", true},
    {"[a-]+$", "-a", true},
    {"[\\d.]+$", "1.2", true},
    {"[^\\W\\d]+$", "ab_", true},
    {"\\x41\\t", "A\t", true},
    {"\\.\\*", ".*", true},
    {"\\bfile\\b", "file editor", true},
    {"\\bfile\\b", "files", false},
    {"fi\\Ble", "file", true},
    {"\\Aa\\Z", "a", true},
    {"a$", "a\n", true},
    {".", "\n", false},
    {"(?i)TERM[a-i]NAL$", "tErminaL", true},
    {"(?i)[^t]", "T", false},
    {"(?P<name>file)_", "file_editor", true},
};

static void matches_what_python_matches(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        CLEANUP(regex_freep) struct regex *pattern = NULL;
        struct error err = ERROR_INIT;

        if (regex_new(rows[i].pattern, &pattern, &err) < 0)
            fail_msg("%s: %s", rows[i].pattern, err.message);
        if (regex_matches(pattern, rows[i].text) != rows[i].matches)
            fail_msg("%s and %s", rows[i].pattern, rows[i].text);
    }
}

static void assert_refused(const char *text)
{
    CLEANUP(regex_freep) struct regex *pattern = NULL;
    struct error err = ERROR_INIT;

    if (regex_new(text, &pattern, &err) == 0 || err.code != ERROR_INVALID)
        fail_msg("%s", text);
}

static void refuses_what_is_no_pattern(void **state)
{
    static const char *const bad[] = {"(",   ")",   "a)", "[]",     "[a", "[b-a]", "*a",
                                      "a**", "(*)", "^*", "a{3,2}", "\\", "+",     "[a-\\d]"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        assert_refused(bad[i]);
}

/* Each of these never ends in a backtracking matcher, or fills the memory. */
static void is_bounded_in_time_and_size(void **state)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf deep = STRBUF_INIT;
    CLEANUP(regex_freep) struct regex *slow = NULL;
    CLEANUP(regex_freep) struct regex *ahead = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    assert_refused("((((a{100}){100}){100}){100}){100}");
    for (int i = 0; i < 200; i++) {
        strbuf_append_char(&text, 'a');
        strbuf_append_char(&deep, '(');
    }
    assert_refused(deep.text);
    assert_int_equal(regex_new("(a|a)*(a|a)*(a|a)*b", &slow, &err), 0);
    assert_false(regex_matches(slow, text.text));
    assert_int_equal(regex_new("(?=(a|a)*(a|a)*(a|a)*b)a", &ahead, &err), 0);
    assert_false(regex_matches(ahead, text.text));
}

static void a_refusal_tells_reason_and_position(void **state)
{
    CLEANUP(regex_freep) struct regex *pattern = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(regex_new("ab(", &pattern, &err), -1);
    assert_string_equal(err.message, "missing closing parenthesis at position 3");
    assert_null(pattern);
}

static void patterns_have_a_greatest_length(void **state)
{
    (void)state;
    for (size_t extra = 0; extra < 2; extra++) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        CLEANUP(regex_freep) struct regex *pattern = NULL;
        struct error err = ERROR_INIT;

        for (size_t i = 0; i < 4096 + extra; i++)
            strbuf_append_char(&text, 'a');
        assert_int_equal(regex_new(text.text, &pattern, &err), extra == 0 ? 0 : -1);
        if (extra > 0)
            assert_string_equal(err.message, "the pattern is too large");
    }
}

static void compiled_patterns_have_a_greatest_size(void **state)
{
    CLEANUP(regex_freep) struct regex *pattern = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    /* one copy of the letters for each repetition */
    assert_refused("(?:abcdefghijklmnop){9999}");
    assert_int_equal(regex_new("(?:abcdefghijklmnop){999}", &pattern, &err), 0);
}

static void letters_are_those_of_unicode(void **state)
{
    CLEANUP(regex_freep) struct regex *dot = NULL;
    CLEANUP(regex_freep) struct regex *word = NULL;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(regex_new(".$", &dot, &err), 0);
    assert_true(regex_matches(dot, "\xc3\xa4"));
    assert_int_equal(regex_new("\\w+$", &word, &err), 0);
    assert_true(regex_matches(word, "\xc3\xa4"));
}

int pattern_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches_what_python_matches),
        cmocka_unit_test(refuses_what_is_no_pattern),
        cmocka_unit_test(is_bounded_in_time_and_size),
        cmocka_unit_test(a_refusal_tells_reason_and_position),
        cmocka_unit_test(patterns_have_a_greatest_length),
        cmocka_unit_test(compiled_patterns_have_a_greatest_size),
        cmocka_unit_test(letters_are_those_of_unicode),
    };

    return cmocka_run_group_tests_name("pattern", tests, NULL, NULL);
}
