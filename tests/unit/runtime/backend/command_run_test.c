#include "runtime/backend/command_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "unit/runtime/runtime_test.h"

#define SHELL(script) ((const char *const[]){"sh", "-c", script, NULL})

static void input_and_both_outputs_are_passed(void **state)
{
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(command_run(SHELL("cat; echo err >&2; echo out"), "in\n", &said, &err), 0);
    assert_string_equal(said.text, "in\nerr\nout\n");
}

static void failure_says_what_the_command_said(void **state)
{
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(command_run(SHELL("echo why; exit 1"), "", &said, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_string_equal(err.message, "sh failed: why\n");
    assert_string_equal(said.text, "why\n");
    assert_int_equal(command_run(SHELL("kill -9 $$"), "", &said, &err), -1);
    assert_int_equal(err.code, ERROR_UNAVAILABLE);
    assert_int_equal(
        command_run((const char *const[]){"/nonexistent/command", NULL}, "", &said, &err), -1);
    assert_string_equal(err.message, "/nonexistent/command: No such file or directory");
}

/* None of our variables is passed on. */
static void command_has_a_clean_environment(void **state)
{
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(command_run((const char *const[]){"env", NULL}, "", &said, &err), 0);
    assert_string_equal(
        said.text, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\nLC_ALL=C\n");
}

static void output_is_bounded(void **state)
{
    CLEANUP(strbuf_done) struct strbuf said = STRBUF_INIT;
    struct error err = ERROR_INIT;

    (void)state;
    assert_int_equal(command_run(SHELL("yes | head -c 1000000"), "", &said, &err), 0);
    assert_int_equal(said.len, 65536);
}

int test_command_run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(input_and_both_outputs_are_passed),
        cmocka_unit_test(failure_says_what_the_command_said),
        cmocka_unit_test(command_has_a_clean_environment),
        cmocka_unit_test(output_is_bounded),
    };

    return cmocka_run_group_tests_name("runtime/command_run", tests, NULL, NULL);
}
