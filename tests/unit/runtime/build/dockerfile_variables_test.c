#include "runtime/build/dockerfile_variables.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/json.h"
#include "unit/runtime/runtime_test.h"

struct argument {
    enum dockerfile_position position;
    const char *word;
};

/* The meanings of a text as one text, separated by blanks; "!" if it is refused. */
static void assert_meanings(const struct argument *arguments, const char *text, const char *wanted)
{
    struct dockerfile_variables variables = {.early = NULL};
    json_auto_t *meanings = NULL;
    struct error err = ERROR_INIT;
    char found[256] = "";
    const json_t *one = NULL;
    size_t i = 0;

    dockerfile_variables_init(&variables);
    for (; arguments->word != NULL; arguments++)
        dockerfile_variables_add(&variables, arguments->position, arguments->word);
    if (dockerfile_expand(&variables, text, &meanings, &err) < 0) {
        assert_int_equal(err.code, ERROR_INVALID);
        assert_string_equal(wanted, "!");
    } else {
        json_array_foreach (meanings, i, one)
            (void)snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s%s",
                           i > 0 ? " " : "", json_string_value(one));
        assert_string_equal(found, wanted);
    }
    dockerfile_variables_done(&variables);
}

static void each_value_and_default_is_a_meaning(void **state)
{
    static const struct argument arguments[] = {
        {DOCKERFILE_EARLY, "A=x"}, {DOCKERFILE_EARLY, "A=\"y\""}, {DOCKERFILE_EARLY, "B=$A-1"},
        {DOCKERFILE_EARLY, "E="},  {DOCKERFILE_EARLY, "unset"},   {0, NULL}};

    (void)state;
    assert_meanings(arguments, "plain", "plain");
    assert_meanings(arguments, "'i'mage:$A", "image:x image:y");
    assert_meanings(arguments, "${B}.", "x-1. y-1.");
    assert_meanings(arguments, "${A:-z}", "x y");
    assert_meanings(arguments, "${E:-z}", "z ");
    assert_meanings(arguments, "a${unset-z}", "az");
    assert_meanings(arguments, "a$unset", "a");
}

static void forms_that_builders_read_differently_are_refused(void **state)
{
    static const struct argument arguments[] = {{DOCKERFILE_EARLY, "A=x"}, {0, NULL}};

    (void)state;
    assert_meanings(arguments, "$", "!");
    assert_meanings(arguments, "${A", "!");
    assert_meanings(arguments, "${A:+b}", "!");
    assert_meanings(arguments, "${A#x}", "!");
    assert_meanings(arguments, "${A:-$B}", "!");
}

static void value_after_the_first_from_is_refused_unless_it_is_the_same(void **state)
{
    static const struct argument same[] = {
        {DOCKERFILE_EARLY, "A=x"}, {DOCKERFILE_LATE, "A=x"}, {0, NULL}};
    static const struct argument other[] = {
        {DOCKERFILE_EARLY, "A=x"}, {DOCKERFILE_LATE, "A=y"}, {0, NULL}};

    (void)state;
    assert_meanings(same, "$A", "x");
    assert_meanings(other, "$A", "!");
}

static void expansions_are_bounded(void **state)
{
    static const struct argument circle[] = {
        {DOCKERFILE_EARLY, "A=$B"}, {DOCKERFILE_EARLY, "B=$A"}, {0, NULL}};
    static const struct argument many[] = {
        {DOCKERFILE_EARLY, "A=1"}, {DOCKERFILE_EARLY, "A=2"}, {DOCKERFILE_EARLY, "A=3"}, {0, NULL}};

    (void)state;
    assert_meanings(circle, "$A", "!");
    assert_meanings(many, "$A$A$A",
                    "111 112 113 121 122 123 131 132 133 211 212 213 221 222 223 "
                    "231 232 233 311 312 313 321 322 323 331 332 333");
    assert_meanings(many, "$A$A$A$A", "!");
}

int test_dockerfile_variables(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_value_and_default_is_a_meaning),
        cmocka_unit_test(forms_that_builders_read_differently_are_refused),
        cmocka_unit_test(value_after_the_first_from_is_refused_unless_it_is_the_same),
        cmocka_unit_test(expansions_are_bounded),
    };

    return cmocka_run_group_tests_name("runtime/dockerfile_variables", tests, NULL, NULL);
}
