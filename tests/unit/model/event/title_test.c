#include <string.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/event/title.h"
#include "unit/model/model_test.h"

struct title_case {
    const char *text;
    const char *title; /* NULL: none */
};

static void title_is_the_first_line_cut_to_size(void **state)
{
    static const struct title_case cases[] = {
        {"Fix CI", "Fix CI"},
        {"\n  \n\t Fix \t the  CI \nnow", "Fix the CI"},
        {"Fix\r\f\vthe CI\r\nnow", "Fix the CI"},
        {"", NULL},
        {" \n\t\r\n", NULL},
        {"Write a small program that prints the first twenty primes",
         "Write a small program that prints the first..."},
        {"Write a small program that prints some twenty-one primes",
         "Write a small program that prints some..."},
        {"12345678901234567890123456789012345678901234567890",
         "12345678901234567890123456789012345678901234567890"},
        {"123456789012345678901234567890123456789012345678901",
         "12345678901234567890123456789012345678901234567..."},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(mem_freep) char *title = title_from_text(cases[i].text);

        if (cases[i].title == NULL)
            assert_null(title);
        else
            assert_string_equal(title, cases[i].title);
    }
}

static void title_has_no_marks_of_markdown(void **state)
{
    static const struct title_case cases[] = {
        {"# Fix **the** `build`", "Fix the build"},
        {"> - [ ] *Fix* the ~~old~~ build", "Fix the old build"},
        {"1. Fix [the build](https://ci.example/1) ![now](x.png)", "Fix the build now"},
        {"```c\n---\n***\n## Fix it ##x", "Fix it ##x"},
        {"***Fix*** __the__ _build_", "Fix the build"},
        {"**Fix the build", "Fix the build"},
        {"Fix the `build", "Fix the build"},
        {"Use ``a `tick` here``", "Use a `tick` here"},
        {"Fix \\*all\\* of it", "Fix *all* of it"},
        {"Fix [the][1] build", "Fix the build"},
        {"---\n\n```\n", NULL},
        /* Text that only looks like markup. */
        {"rm src/*.c src/*.h", "rm src/*.c src/*.h"},
        {"2 * 3 = 6 * 1", "2 * 3 = 6 * 1"},
        {"Rename snake_case_name in __init__.py", "Rename snake_case_name in __init__.py"},
        {"#12 is broken", "#12 is broken"},
        {"-v is no list, +1", "-v is no list, +1"},
        {"a[0] and b [x] (y)", "a[0] and b [x] (y)"},
        {"Fix ![", "Fix !["},
        {"\\", "\\"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(mem_freep) char *title = title_from_text(cases[i].text);

        if (cases[i].title == NULL)
            assert_null(title);
        else
            assert_string_equal(title, cases[i].title);
    }
}

/* A family is four people and three joiners: all of it, or nothing. */
#define FAMILY                                                                                     \
    "\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7\xE2\x80\x8D\xF0\x9F" \
    "\x91\xA6"

static void title_is_cut_between_what_is_seen_as_letters(void **state)
{
    CLEANUP(mem_freep) char *family =
        title_from_text("1234567890123456789012345678901234567890" FAMILY "1234567890");
    CLEANUP(mem_freep) char *accent =
        title_from_text("1234567890123456789012345678901234567890123456e\xCC\x81"
                        "12345");

    (void)state;
    assert_string_equal(family, "1234567890123456789012345678901234567890" FAMILY "...");
    assert_string_equal(accent, "1234567890123456789012345678901234567890123456...");
}

/* 46 letters, then a letter whose modifier would be cut off. */
static void title_keeps_what_modifies_a_letter(void **state)
{
    static const struct {
        const char *modifier;
        bool is_kept_together;
    } cases[] = {
        {"\xCC\x80", true},          {"\xCD\xAF", true},         {"\xCD\xB0", false},
        {"\xE2\x80\x8D", true},      {"\xEF\xB8\x8F", true},     {"\xEF\xB8\x8E", false},
        {"\xF0\x9F\x8F\xBB", true},  {"\xF0\x9F\x8F\xBF", true}, {"\xF0\x9F\x8F\xBA", false},
        {"\xF0\x9F\x8E\xBB", false}, {"\xE2\x80\x8C", false},
    };
    static const char head[] = "1234567890123456789012345678901234567890123456";

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        CLEANUP(strbuf_done) struct strbuf expected = STRBUF_INIT;
        CLEANUP(mem_freep) char *title = NULL;

        strbuf_appendf(&text, "%sx%s12345", head, cases[i].modifier);
        strbuf_appendf(&expected, "%s%s...", head, cases[i].is_kept_together ? "" : "x");
        title = title_from_text(text.text);
        assert_string_equal(title, expected.text);
    }
}

static void title_of_endless_marks_takes_no_time(void **state)
{
    static const char *const marks[] = {"[", "![", "*a ", "_a ", "`", "> ", "**", "](", "\\"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
        CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
        CLEANUP(mem_freep) char *title = NULL;

        while (text.len < 1000000)
            strbuf_append(&text, marks[i]);
        title = title_from_text(text.text);
        assert_true(title == NULL || utf8_length(title, strlen(title)) <= TITLE_AUTO_MAX_CHARS);
    }
}

static void title_is_cut_between_characters(void **state)
{
    char text[2 * 60 + 1];
    CLEANUP(mem_freep) char *title = NULL;

    (void)state;
    for (size_t i = 0; i < 60; i++)
        memcpy(text + 2 * i, "\xc3\xa4", 2);
    text[sizeof(text) - 1] = '\0';
    title = title_from_text(text);
    assert_true(utf8_is_valid(title, strlen(title)));
    assert_int_equal(utf8_length(title, strlen(title)), TITLE_AUTO_MAX_CHARS);
}

static void answer_is_a_title_without_what_is_around_it(void **state)
{
    static const struct {
        const char *answer;
        const char *title;
    } cases[] = {
        {"Fix the build", "Fix the build"},
        {"<think>long\nthoughts</think>\n\"Fix the build\"\n", "Fix the build"},
        {"**Fix `make`**", "Fix make"},
        {"## **\"Learn C#\"**", "Learn C#"},
        {"one<think>never closed", "one"},
        {"<think>nothing else</think>", NULL},
        {"one <think>a</think>two <think>b</think>three", "one two three"},
        {" \t\r\n\f\v\"'`*#Fix \"it\"`*' \t\r\n\f\v", "Fix \"it"},
        {"\"'", NULL},
        {" \n ", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(mem_freep) char *title = title_from_answer(cases[i].answer);

        if (cases[i].title == NULL)
            assert_null(title);
        else
            assert_string_equal(title, cases[i].title);
    }
}

int title_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(title_is_the_first_line_cut_to_size),
        cmocka_unit_test(title_is_cut_between_characters),
        cmocka_unit_test(title_has_no_marks_of_markdown),
        cmocka_unit_test(title_is_cut_between_what_is_seen_as_letters),
        cmocka_unit_test(title_keeps_what_modifies_a_letter),
        cmocka_unit_test(title_of_endless_marks_takes_no_time),
        cmocka_unit_test(answer_is_a_title_without_what_is_around_it),
    };

    return cmocka_run_group_tests_name("model/title", tests, NULL, NULL);
}
