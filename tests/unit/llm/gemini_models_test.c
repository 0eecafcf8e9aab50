/*
 * What Gemini models take, by name.
 */
#include "llm/gemini_models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct {
    const char *model;
    struct gemini_model expected; /* without a name */
} names[] = {
    {"gemini-1.5-pro", {.thinking = GEMINI_THINKING_NONE}},
    {"gemini-exp-1206", {.thinking = GEMINI_THINKING_NONE}},
    {"gemini-gemma-2-9b-it", {.thinking = GEMINI_THINKING_NONE}},
    {"gemini-2.0-flash", {.thinking = GEMINI_THINKING_NONE}},
    {"gemini-2.5-pro", {NULL, GEMINI_THINKING_BY_BUDGET, 128, 32768, false, false, false}},
    {"gemini-2.5-flash", {NULL, GEMINI_THINKING_BY_BUDGET, 512, 24576, true, false, false}},
    {"gemini/Gemini-2.5-flash-lite",
     {NULL, GEMINI_THINKING_BY_BUDGET, 512, 24576, true, false, false}},
    {"gemini-3-pro-preview", {.thinking = GEMINI_THINKING_BY_LEVEL, .has_no_medium = true}},
    {"gemini-3-flash-preview", {.thinking = GEMINI_THINKING_BY_LEVEL, .has_minimal = true}},
    {"gemini-3.1-pro-preview", {.thinking = GEMINI_THINKING_BY_LEVEL}},
    {"gemini-3.1-flash-lite", {.thinking = GEMINI_THINKING_BY_LEVEL, .has_minimal = true}},
    {"gemini-3.5-flash", {.thinking = GEMINI_THINKING_BY_LEVEL, .has_minimal = true}},
    {"gemini-3.6-flash", {.thinking = GEMINI_THINKING_BY_LEVEL, .has_minimal = true}},
    {"gemini-3.8-flash", {.thinking = GEMINI_THINKING_BY_LEVEL}},
    {"vertex_ai/google/gemini-4-argon", {.thinking = GEMINI_THINKING_BY_LEVEL}},
    {"gemini-flash-latest", {.thinking = GEMINI_THINKING_BY_LEVEL}},
};

static void longest_name_that_fits_counts(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const struct gemini_model *model = gemini_find(names[i].model);
        const struct gemini_model *expected = &names[i].expected;

        if (model == NULL || model->thinking != expected->thinking ||
            model->budget_min != expected->budget_min ||
            model->budget_max != expected->budget_max ||
            model->may_not_think != expected->may_not_think ||
            model->has_minimal != expected->has_minimal ||
            model->has_no_medium != expected->has_no_medium)
            fail_msg("%s", names[i].model);
        assert_int_equal(gemini_needs_signatures(names[i].model),
                         expected->thinking == GEMINI_THINKING_BY_LEVEL);
        assert_int_equal(gemini_takes_result_images(names[i].model),
                         expected->thinking == GEMINI_THINKING_BY_LEVEL);
    }
}

static void other_models_are_not_known(void **state)
{
    static const char *const others[] = {"", "gemma-3-27b-it", "gpt-5", "gemini", "my-gemini-3"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        assert_null(gemini_find(others[i]));
        assert_false(gemini_needs_signatures(others[i]));
        assert_false(gemini_takes_result_images(others[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(longest_name_that_fits_counts),
        cmocka_unit_test(other_models_are_not_known),
    };

    return cmocka_run_group_tests_name("gemini_models", tests, NULL, NULL);
}
