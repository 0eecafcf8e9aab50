#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "model/title.h"
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
        {"", NULL},
        {" \n\t\r\n", NULL},
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
        {"**Fix `make`**", "Fix `make"},
        {"one<think>never closed", "one"},
        {"<think>nothing else</think>", NULL},
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
        cmocka_unit_test(answer_is_a_title_without_what_is_around_it),
    };

    return cmocka_run_group_tests_name("model/title", tests, NULL, NULL);
}
