/*
 * Programs that are run to completion: what they print, and how much of it.
 */
#include "sandbox/core/program.h"

#include "base/error.h"
#include "unit/sandbox/sandbox_test.h"

enum { OUT_MAX_BYTES = 100000 };

/* Runs a script; the code of the error. */
static enum error_code run(const char *script, struct program_result *result)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    char *const envp[] = {(char *)(uintptr_t)"PATH=/usr/bin:/bin", NULL};
    const struct program program = {.path = "/bin/sh",
                                    .argv = argv,
                                    .envp = envp,
                                    .out_fd = -1,
                                    .max_out_bytes = OUT_MAX_BYTES};
    struct error err = ERROR_INIT;

    return program_run(&program, result, &err) < 0 ? err.code : ERROR_NONE;
}

static void output_complaint_and_exit_code_come_back(void **state)
{
    CLEANUP(program_result_done) struct program_result result = PROGRAM_RESULT_INIT;

    (void)state;
    assert_int_equal(run("echo out; echo ' bad ' >&2; exit 3", &result), ERROR_NONE);
    assert_string_equal(result.out.text, "out\n");
    assert_string_equal(result.complaint.text, " bad");
    assert_int_equal(result.exit_code, 3);
}

static void program_has_no_input(void **state)
{
    CLEANUP(program_result_done) struct program_result result = PROGRAM_RESULT_INIT;

    (void)state;
    assert_int_equal(run("cat; echo over", &result), ERROR_NONE);
    assert_string_equal(result.out.text, "over\n");
}

static void signal_is_told_as_a_shell_tells_it(void **state)
{
    CLEANUP(program_result_done) struct program_result result = PROGRAM_RESULT_INIT;

    (void)state;
    assert_int_equal(run("kill -9 $$", &result), ERROR_NONE);
    assert_int_equal(result.exit_code, 128 + 9);
}

/* It would print on until the memory is full. */
static void program_that_prints_too_much_is_ended(void **state)
{
    CLEANUP(program_result_done) struct program_result fits = PROGRAM_RESULT_INIT;
    CLEANUP(program_result_done) struct program_result result = PROGRAM_RESULT_INIT;

    (void)state;
    assert_int_equal(run("head -c 100000 /dev/zero", &fits), ERROR_NONE);
    assert_int_equal(fits.out.len, OUT_MAX_BYTES);
    assert_int_equal(run("head -c 10000000 /dev/zero", &result), ERROR_TOO_LARGE);
    assert_int_equal(result.exit_code, 128 + 9);
}

int program_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_complaint_and_exit_code_come_back),
        cmocka_unit_test(program_has_no_input),
        cmocka_unit_test(signal_is_told_as_a_shell_tells_it),
        cmocka_unit_test(program_that_prints_too_much_is_ended),
    };

    return cmocka_run_group_tests_name("sandbox/program", tests, NULL, NULL);
}
