/*
 * deft-launch as a process: its arguments, and the program that it becomes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "support/program.h"

#ifndef DEFT_LAUNCH /* for tools that read this file alone */
#define DEFT_LAUNCH "./deft-launch"
#endif

#define USAGE "deft-launch: usage: deft-launch [FOLDER...] -- /PATH/OF/PROGRAM [ARGUMENT...]\n"

enum { ARGUMENTS_MAX = 16 };

/* Runs it with these words. */
static int launch(const char *const *words, struct strbuf *out, struct strbuf *err)
{
    char *arguments[ARGUMENTS_MAX] = {(char *)(uintptr_t)DEFT_LAUNCH};

    for (size_t i = 0; words[i] != NULL; i++)
        arguments[i + 1] = (char *)(uintptr_t)words[i];
    strbuf_reset(out);
    strbuf_reset(err);
    return program_run(arguments, out, err);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void wrong_arguments_are_explained(void **state)
{
    const char *const *const cases[] = {
        (const char *const[]){NULL},
        WORDS("--"),
        WORDS("/tmp"),
        WORDS("/tmp", "--"),
        WORDS("/tmp", "/bin/echo"),
        WORDS("--", "echo"),
        WORDS("/tmp", "--", "./echo"),
    };
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(launch(cases[i], &out, &err), EX_USAGE);
        assert_string_equal(err.text, USAGE);
        assert_string_equal(out.text, "");
    }
    assert_int_equal(
        launch(WORDS("/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8", "/9", "--", "/bin/echo"), &out,
               &err),
        EX_USAGE);
    assert_string_equal(err.text, "deft-launch: too many folders\n");
}

static void program_runs_with_its_arguments(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;

    (void)state;
    assert_int_equal(launch(WORDS("--", "/bin/echo", "one", "--", "two"), &out, &err), 0);
    assert_string_equal(out.text, "one -- two\n");
    assert_int_equal(launch(WORDS("/tmp", "/tmp", "/tmp", "/tmp", "/tmp", "/tmp", "/tmp", "/tmp",
                                  "--", "/bin/echo"),
                            &out, &err),
                     0);
    assert_string_equal(out.text, "\n");
    assert_int_equal(launch(WORDS("--", "/bin/sh", "-c", "exit 7"), &out, &err), 7);
}

static void program_starts_no_other_one(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;

    (void)state;
    assert_int_not_equal(launch(WORDS("--", "/bin/sh", "-c", "/bin/echo started"), &out, &err), 0);
    assert_string_equal(out.text, "");
}

/* Where the kernel cannot restrict it, it may write elsewhere, too. */
static void program_writes_below_its_folders(void **state)
{
    static const char script[] = "echo text > \"$0/file\"";
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
    char one[] = "/tmp/deft-launch-test.XXXXXX";
    char two[] = "/tmp/deft-launch-test.XXXXXX";
    const char *const folders[] = {one, two};
    char path[64] = "";

    (void)state;
    assert_non_null(mkdtemp(one));
    assert_non_null(mkdtemp(two));
    for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
        assert_int_equal(
            launch(WORDS(one, two, "--", "/bin/sh", "-c", script, folders[i]), &out, &err), 0);
        (void)snprintf(path, sizeof(path), "%s/file", folders[i]);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(one), 0);
    assert_int_equal(rmdir(two), 0);
}

static void file_that_is_no_program_is_said(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;

    (void)state;
    /* Confined, it may not look for leaks, and would end with another status. */
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
    assert_int_equal(setenv("ASAN_OPTIONS", "detect_leaks=0", 1), 0);
    assert_int_equal(launch(WORDS("--", "/etc/passwd"), &out, &err), EX_UNAVAILABLE);
    assert_string_equal(err.text, "deft-launch: /etc/passwd: Permission denied\n");
}

static void missing_program_or_folder_is_said(void **state)
{
    CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf err = STRBUF_INIT;
    int status = launch(WORDS("--", "/nonexistent/program"), &out, &err);

    (void)state;
    assert_true(status == EX_UNAVAILABLE || status == EX_OSERR);
    assert_non_null(strstr(err.text, "/nonexistent/program"));
    assert_int_equal(strncmp(err.text, "deft-launch: ", 13), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_arguments_are_explained),
        cmocka_unit_test(program_runs_with_its_arguments),
        cmocka_unit_test(program_starts_no_other_one),
        cmocka_unit_test(program_writes_below_its_folders),
        cmocka_unit_test(file_that_is_no_program_is_said),
        cmocka_unit_test(missing_program_or_folder_is_said),
    };

    return cmocka_run_group_tests_name("launcher", tests, NULL, NULL);
}
